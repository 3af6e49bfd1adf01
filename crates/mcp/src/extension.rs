//! The extension `dev.entreat/forms`: clients that support it receive complete form definitions
//! besides flat schemas, and may answer by the control API. See `docs/extension.md`.

use std::pin::Pin;
use std::time::Duration;

use entreat_core::{ElicitationId, Form, Outcome};
use entreat_engine::{ActError, Channel, Snapshot};
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult};
use serde_json::{Value, json};

use crate::call::{AskOptions, Call};
use crate::client::Client;
use crate::error::AskError;
use crate::journal::{JournalOutcome, OpenQuestion};
use crate::mcp::Inner;

/// The control API methods that such clients may call.
const METHODS: [&str; 3] = [
    "elicitation/submit",
    "elicitation/extend_timeout",
    "elicitation/status",
];
/// The control API, implemented by the service.
pub trait Control: Send + Sync {
    /// Handles one JSON-RPC request and returns its response.
    fn answer(&self, request: Value) -> Pin<Box<dyn Future<Output = Value> + Send>>;
}

/// Builds the `_meta` value: the form definition, and the id by which it can be answered.
pub(crate) fn form_meta(form: &Form, id: Option<ElicitationId>) -> Value {
    let mut meta = json!({"form": form.definition()});
    if let Some(id) = id {
        meta["elicitationId"] = json!(id);
    }
    meta
}

impl Call {
    /// Whether the client may answer by the control API.
    pub(crate) fn has_control(&self) -> bool {
        self.client().capabilities.forms_extension && self.mcp().control.is_some()
    }

    /// Returns the engine's record of a question asked in rounds, which the control API settles.
    /// `None` if the client has no control API, or if another process holds the record; the client
    /// then answers in the usual way.
    pub(crate) async fn record(
        &self,
        options: &AskOptions,
        form: &Form,
        open: &mut OpenQuestion,
    ) -> Result<Option<Snapshot>, AskError> {
        if !self.has_control() {
            return Ok(None);
        }
        let mcp = self.mcp();
        let question = if let Some(id) = open.page {
            mcp.asker.elicitation(id)
        } else {
            // Not bound to this call's connection: it outlives the round and ends by its deadline.
            let ask = self.engine_ask(options, form, Channel::NativeForm);
            self.asker.ask(ask).await?
        };
        open.page = Some(question.id());
        let snapshot = match question.outcome_within(Duration::ZERO).await {
            Err(ActError::NotFound) => return Ok(None),
            other => other?,
        };
        // The deadline may have been extended since.
        open.deadline = snapshot.lifecycle().deadline();
        Ok(Some(snapshot))
    }

    /// Settles the engine's record with the client's own answer, so that the control API reports
    /// the same outcome.
    pub(crate) async fn settle_record(&self, open: &OpenQuestion, outcome: &JournalOutcome) {
        let Some(id) = open.page.filter(|_| self.has_control()) else {
            return;
        };
        let respondent = self.mcp().asker.engine().elicitation(id);
        let settled = match outcome {
            JournalOutcome::Content(content) => respondent.submit(content).await,
            JournalOutcome::Declined(shown) => respondent.decline_as(*shown).await,
            JournalOutcome::Cancelled(reason, shown) => respondent.cancel_as(*reason, *shown).await,
            // The deadline settles it.
            JournalOutcome::TimedOut | JournalOutcome::Page(_) => return,
        };
        if let Err(error) = settled {
            // Another process holds it, or it has already settled.
            tracing::debug!(%id, %error, "a record was not settled");
        }
    }
}

/// The outcome of a record, for later rounds; `None` while it is open.
pub(crate) fn outcome_of(snapshot: &Snapshot) -> Option<JournalOutcome> {
    let shown = snapshot.lifecycle().presented();
    Some(match snapshot.outcome()? {
        Outcome::Completed => JournalOutcome::Content(snapshot.result().unwrap_or_default()),
        Outcome::Declined => JournalOutcome::Declined(shown),
        Outcome::Cancelled(reason) => JournalOutcome::Cancelled(reason, shown),
        Outcome::TimedOut => JournalOutcome::TimedOut,
    })
}

impl Inner {
    /// Whether the client is currently asked this question in its own form. Questions on a page are
    /// hidden from the client.
    async fn is_asked(&self, client: &Client, id: ElicitationId) -> bool {
        let asked = self.asker.engine().elicitation(id).status().await;
        asked.is_ok_and(|asked| {
            self.asker_for(client).owns(&asked)
                && asked.record().request.channel == Channel::NativeForm
                && asked.outcome().is_none()
        })
    }

    /// Handles a request of the extension; `None` if it is not one.
    pub(crate) async fn extension(
        &self,
        client: &Client,
        request: &CustomRequest,
    ) -> Option<Result<CustomResult, ErrorData>> {
        let control = self.control.as_ref()?;
        let is_ours = client.capabilities.forms_extension && METHODS.contains(&&*request.method);
        let mut params = request.params.clone().filter(|_| is_ours)?;
        if let Some(params) = params.as_object_mut() {
            // `_meta` belongs to MCP.
            params.shift_remove("_meta");
            let id = params.get("elicitationId").and_then(Value::as_str);
            let is_asked = match id.and_then(|id| id.parse().ok()) {
                Some(id) => self.is_asked(client, id).await,
                None => false,
            };
            if !is_asked {
                // An empty id gets the error for questions that do not exist or belong to others.
                params.insert("elicitationId".to_owned(), "".into());
            }
        }
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": request.method, "params": params});
        let mut answer = control.answer(message).await;
        Some(match answer.get_mut("error").map(Value::take) {
            Some(error) => Err(serde_json::from_value(error).unwrap_or_else(|_| {
                ErrorData::internal_error("the control API returned an invalid error", None)
            })),
            None => Ok(CustomResult::new(answer["result"].take())),
        })
    }
}
