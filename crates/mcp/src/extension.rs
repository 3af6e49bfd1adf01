//! The extension `dev.entreat/forms`: a client that knows it gets whole forms beside flat schemas,
//! and may answer them as programs do that speak the control API. See `docs/extension.md`.

use std::pin::Pin;
use std::time::Duration;

use entreat_core::{ElicitationId, Form, Outcome};
use entreat_engine::{ActError, Channel, Snapshot};
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult};
use serde_json::{Value, json};

use crate::call::{Asked, Call};
use crate::client::Client;
use crate::error::AskError;
use crate::journal::{Ending, Open};
use crate::mcp::Inner;

/// The methods of the control API that such a client may call.
const METHODS: [&str; 3] = [
    "elicitation/submit",
    "elicitation/extend_timeout",
    "elicitation/status",
];
/// Answers the control API. A seam: the service has it.
pub trait Control: Send + Sync {
    /// Answers one request of JSON-RPC with its response.
    fn answer(&self, request: Value) -> Pin<Box<dyn Future<Output = Value> + Send>>;
}

/// What comes along with a request: the form, and under which name it can be answered.
pub(crate) fn whole(form: &Form, id: Option<ElicitationId>) -> Value {
    let mut whole = json!({"form": form.definition()});
    if let Some(id) = id {
        whole["elicitationId"] = json!(id);
    }
    whole
}

impl Call {
    /// Whether the client may answer by the control API.
    pub(crate) fn has_control(&self) -> bool {
        self.client().abilities.whole_forms && self.mcp().control.is_some()
    }

    /// The engine's own record of a question in rounds, for clients that may answer it by the
    /// control API. Another process may have it; then the client answers as all others do.
    pub(crate) async fn record(
        &self,
        asked: &Asked,
        form: &Form,
        open: &mut Open,
    ) -> Result<Option<Snapshot>, AskError> {
        if !self.has_control() {
            return Ok(None);
        }
        let mcp = self.mcp();
        let question = if let Some(id) = open.page {
            mcp.asker.elicitation(id)
        } else {
            // It outlives this round; what nobody answers ends by its deadline.
            let ask = self.engine_ask(asked, form, Channel::NativeForm);
            self.asker.ask(ask).await?
        };
        open.page = Some(question.id());
        let snapshot = match question.outcome_within(Duration::ZERO).await {
            Err(ActError::NotFound) => return Ok(None),
            other => other?,
        };
        // More time may have been asked for meanwhile.
        open.deadline = snapshot.lifecycle().deadline();
        Ok(Some(snapshot))
    }

    /// Settles the engine's record as the client's own answer did, so that the control API tells
    /// the same.
    pub(crate) async fn settle_record(&self, open: &Open, ending: &Ending) {
        let Some(id) = open.page.filter(|_| self.has_control()) else {
            return;
        };
        let person = self.mcp().asker.engine().elicitation(id);
        let settled = match ending {
            Ending::Content(content) => person.submit(content).await,
            Ending::Declined(shown) => person.decline_as(*shown).await,
            Ending::Cancelled(reason, shown) => person.cancel_as(*reason, *shown).await,
            // Its deadline does that.
            Ending::TimedOut | Ending::Page(_) => return,
        };
        if let Err(error) = settled {
            // Another process keeps it, or it has ended by itself.
            tracing::debug!(%id, %error, "a record was not settled");
        }
    }
}

/// How a record ended, for the rounds that follow; `None` if it has not.
pub(crate) fn ending_of(snapshot: &Snapshot) -> Option<Ending> {
    let shown = snapshot.lifecycle().presented();
    Some(match snapshot.outcome()? {
        Outcome::Completed => Ending::Content(snapshot.result().unwrap_or_default()),
        Outcome::Declined => Ending::Declined(shown),
        Outcome::Cancelled(reason) => Ending::Cancelled(reason, shown),
        Outcome::TimedOut => Ending::TimedOut,
    })
}

impl Inner {
    /// Whether a client is being asked a question by a form of its own. What is asked on a page is
    /// not for the client to see.
    async fn is_asked(&self, client: &Client, id: ElicitationId) -> bool {
        let asked = self.asker.engine().elicitation(id).status().await;
        asked.is_ok_and(|asked| {
            self.asker_for(client).owns(&asked)
                && asked.record().request.channel == Channel::NativeForm
                && asked.outcome().is_none()
        })
    }

    /// Answers a request of the extension; `None` if it is not one.
    pub(crate) async fn extension(
        &self,
        client: &Client,
        request: &CustomRequest,
    ) -> Option<Result<CustomResult, ErrorData>> {
        let control = self.control.as_ref()?;
        let is_ours = client.abilities.whole_forms && METHODS.contains(&&*request.method);
        let mut params = request.params.clone().filter(|_| is_ours)?;
        if let Some(params) = params.as_object_mut() {
            // That is between the client and MCP.
            params.shift_remove("_meta");
            let id = params.get("elicitationId").and_then(Value::as_str);
            let is_asked = match id.and_then(|id| id.parse().ok()) {
                Some(id) => self.is_asked(client, id).await,
                None => false,
            };
            if !is_asked {
                // No id at all: the control API says of it what it says of one that is not yours.
                params.insert("elicitationId".to_owned(), "".into());
            }
        }
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": request.method, "params": params});
        let mut answer = control.answer(message).await;
        Some(match answer.get_mut("error").map(Value::take) {
            Some(error) => Err(serde_json::from_value(error).unwrap_or_else(|_| {
                ErrorData::internal_error("the control API gave no error", None)
            })),
            None => Ok(CustomResult::new(answer["result"].take())),
        })
    }
}
