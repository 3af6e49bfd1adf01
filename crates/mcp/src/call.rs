//! One call of a handler: who called, what may be asked of them, and by which way.

use std::borrow::Cow;
use std::sync::Arc;

use entreat_core::schema::Era;
use entreat_core::{Answers, CancelReason, ElicitationId, Form, Outcome, Presented, Timeout};
use entreat_engine::{Ask as EngineAsk, Asker, Channel, Connection, Snapshot};
use rmcp::RoleServer;
use rmcp::model::RequestId;
use rmcp::service::Peer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::{Abilities, Client, needed};
use crate::digest::{Digest, Meaning};
use crate::drive::Run;
use crate::error::AskError;
use crate::extension;
use crate::forms::Known;
use crate::mcp::Inner;
use crate::replay::Replay;
use crate::seal::Binding;
use crate::wire::{CREATE, ElicitRequest, FORMS, SAMPLE};

tokio::task_local! {
    /// Set while an effect runs that must not ask.
    static WITHIN_ONCE: ();
}

/// What is asked, apart from its terms.
pub(crate) enum Subject {
    Form(Form),
    Url(String),
    /// Another request of MCP, with its parameters.
    Other(&'static str, Value),
}

/// A question's terms.
pub(crate) struct Asked {
    pub(crate) key: String,
    pub(crate) message: Cow<'static, str>,
    pub(crate) timeout: Timeout,
    /// Whether a page is asked for by an error.
    pub(crate) by_error: bool,
}

impl Asked {
    /// This question on another rung of the ladder of ways to ask.
    fn again(&self, rung: usize) -> Self {
        Self {
            key: format!("{}#{rung}", self.key),
            message: self.message.clone(),
            timeout: self.timeout,
            by_error: self.by_error,
        }
    }
}

/// How a question ended.
pub(crate) enum Ended {
    Answered(Given),
    Declined(Presented),
    Cancelled(CancelReason, Presented),
    TimedOut,
}

/// What an answer brought.
pub(crate) enum Given {
    Answers(Answers<'static>),
    Other(Value),
    Nothing,
}

impl Given {
    pub(crate) fn answers(self) -> Result<Answers<'static>, AskError> {
        match self {
            Self::Answers(answers) => Ok(answers),
            Self::Other(_) | Self::Nothing => Err(AskError::Misfit("it is no form".to_owned())),
        }
    }

    pub(crate) fn other(self) -> Value {
        match self {
            Self::Other(value) => value,
            Self::Answers(_) | Self::Nothing => Value::Null,
        }
    }
}

/// How a question reaches the person.
pub(crate) enum Way {
    /// The client shows it.
    Client,
    /// The client shows the address of a page.
    ClientUrl,
    /// A page opens in the browser of this machine.
    Browser,
    /// The tool's result has the address of a page.
    Link,
}

/// One call of a handler.
pub(crate) struct Call {
    inner: Arc<Inner>,
    client: Client,
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) id: RequestId,
    pub(crate) binding: Binding,
    pub(crate) run: Run,
    /// What an earlier round brought; `None` where the handler waits instead.
    pub(crate) replay: Option<Replay>,
    /// Who asks on behalf of the client.
    pub(crate) asker: Asker,
    /// What is asked on it ends with the call.
    pub(crate) connection: Connection,
    is_tool: bool,
}

impl Call {
    pub(crate) fn new(
        inner: Arc<Inner>,
        client: Client,
        (peer, id): (Peer<RoleServer>, RequestId),
        binding: Binding,
        replay: Option<Replay>,
        is_tool: bool,
    ) -> Self {
        let asker = inner.asker_for(&client);
        Self {
            connection: asker.connect(),
            asker,
            run: Run::default(),
            inner,
            client,
            peer,
            id,
            binding,
            replay,
            is_tool,
        }
    }

    pub(crate) fn mcp(&self) -> &Inner {
        &self.inner
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) async fn ask(&self, asked: &Asked, subject: &Subject) -> Result<Ended, AskError> {
        if WITHIN_ONCE.try_with(|()| ()).is_ok() {
            return Err(AskError::WithinOnce(asked.key.clone()));
        }
        self.run.use_key(&asked.key)?;
        let mut ended = None;
        for (rung, way) in self.ways(asked, subject)?.into_iter().enumerate() {
            let again;
            let asked = if rung == 0 {
                asked
            } else {
                // Another way is another question to the client.
                again = asked.again(rung);
                &again
            };
            // In a box: handlers are moved before they begin, with room for this.
            let this = Box::pin(self.ask_by(way, asked, subject)).await?;
            let unshown = matches!(
                this,
                Ended::Declined(Presented::No) | Ended::Cancelled(_, Presented::No)
            );
            if !(unshown && self.inner.settings.ladder_when_unshown) {
                return Ok(this);
            }
            ended = Some(this);
        }
        // There is always a way, or else an error.
        ended.ok_or(AskError::CallEnded)
    }

    async fn ask_by(&self, way: Way, asked: &Asked, subject: &Subject) -> Result<Ended, AskError> {
        match (way, subject, &self.replay) {
            (Way::Client, _, Some(replay)) => replay.ask_client(self, asked, subject).await,
            (Way::Client, Subject::Form(form), None) => self.push_form(asked, form).await,
            (Way::Client, Subject::Url(url), None) => self.push_url(asked, url).await,
            (Way::Client, Subject::Other(method, params), None) => {
                self.push_other(method, params).await
            }
            (Way::ClientUrl, Subject::Form(form), Some(replay)) => {
                replay.ask_page(self, asked, form, true).await
            }
            (Way::ClientUrl, Subject::Form(form), None) if asked.by_error => {
                self.page_by_error(asked, form).await
            }
            (Way::ClientUrl, Subject::Form(form), None) => self.push_page(asked, form).await,
            (Way::Browser, Subject::Form(form), Some(replay)) => {
                replay.ask_page(self, asked, form, false).await
            }
            (Way::Browser, Subject::Form(form), None) => self.open_page(asked, form).await,
            (Way::Link, Subject::Form(form), _) => self.link_page(asked, form).await,
            // Only forms have a page.
            (_, Subject::Url(_) | Subject::Other(..), _) => Err(AskError::CallEnded),
        }
    }

    /// The ways by which the question can reach the person, the best first.
    fn ways(&self, asked: &Asked, subject: &Subject) -> Result<Vec<Way>, AskError> {
        let can = if self.run.is_answered() {
            Abilities::default()
        } else {
            self.client.abilities
        };
        let no_way = |needs, required| {
            let key = asked.key.clone();
            Err(AskError::NoWay {
                key,
                needs,
                required,
            })
        };
        let by_client = |can: bool, needs, required| {
            if can {
                return Ok(vec![Way::Client]);
            }
            no_way(needs, required)
        };
        match subject {
            Subject::Other(method, _) if *method == SAMPLE => {
                let needs = "it does not declare sampling";
                by_client(can.sampling, needs, json!({"sampling": {}}))
            }
            Subject::Other(..) => {
                by_client(can.roots, "it does not declare roots", json!({"roots": {}}))
            }
            Subject::Url(_) => by_client(can.url, "it does not show URLs", needed("url")),
            Subject::Form(form) => {
                let needs_url = self.known(form).projection().needs_url;
                let mut ways = Vec::new();
                if can.form && !needs_url {
                    ways.push(Way::Client);
                }
                if self.inner.has_page_for(&self.client) {
                    if can.url {
                        ways.push(Way::ClientUrl);
                    }
                    if !self.client.is_remote && self.inner.browser.is_some() {
                        ways.push(Way::Browser);
                    }
                    if self.is_tool {
                        ways.push(Way::Link);
                    }
                }
                if !ways.is_empty() {
                    return Ok(ways);
                }
                if needs_url {
                    let needs = "secrets and files are asked on a page, and there is none for it";
                    return no_way(needs, needed("url"));
                }
                no_way("it does not show forms", needed("form"))
            }
        }
    }

    pub(crate) async fn once<T, E, F, W>(&self, key: &str, effect: F) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<AskError>,
        F: FnOnce() -> W,
        W: Future<Output = Result<T, E>>,
    {
        let broken = |source| AskError::Once {
            key: key.to_owned(),
            source,
        };
        if WITHIN_ONCE.try_with(|()| ()).is_ok() {
            return Err(AskError::WithinOnce(key.to_owned()).into());
        }
        self.run.use_key(key)?;
        let Some(replay) = &self.replay else {
            return WITHIN_ONCE.scope((), effect()).await;
        };
        if let Some(result) = replay.result_of(key) {
            return Ok(serde_json::from_value(result).map_err(broken)?);
        }
        let _busy = self.run.busy();
        let result = WITHIN_ONCE.scope((), effect()).await?;
        replay.keep_result(key, serde_json::to_value(&result).map_err(broken)?);
        Ok(result)
    }

    /// The question as the engine is asked it.
    pub(crate) fn engine_ask(&self, asked: &Asked, form: &Form, channel: Channel) -> EngineAsk {
        let ask = EngineAsk::form(form.clone())
            .message(&asked.message)
            .timeout(asked.timeout)
            .channel(channel);
        match &self.inner.links {
            Some(links) if links.needs_respondent() => ask.respondent(&self.client.principal),
            _ => ask,
        }
    }

    /// The request by which a client is asked a form.
    pub(crate) fn form_request(
        &self,
        form: &Form,
        message: &str,
        id: Option<ElicitationId>,
    ) -> ElicitRequest {
        let schema = self.known(form).projection().requested_schema.clone();
        let request = ElicitRequest::form(self.era(), message, schema);
        if self.client.abilities.whole_forms {
            request.with_meta(FORMS, extension::whole(form, id))
        } else {
            request
        }
    }

    /// The era whose words the client is asked in.
    fn era(&self) -> Era {
        self.client.era.unwrap_or(Era::V2025_06_18)
    }

    fn known(&self, form: &Form) -> Arc<Known> {
        self.inner.forms.of(form, self.era())
    }

    /// What identifies a question, besides its key: an answer to another is none to this.
    pub(crate) fn digest(&self, asked: &Asked, subject: &Subject) -> Digest {
        let mut meaning = Meaning::default();
        meaning.text(&asked.message);
        match subject {
            Subject::Form(form) => {
                meaning.text(CREATE);
                meaning.digested(self.known(form).digest());
            }
            Subject::Url(url) => {
                meaning.text("url");
                meaning.text(url);
            }
            Subject::Other(method, params) => {
                meaning.text(method);
                meaning.value(params);
            }
        }
        meaning.digest()
    }
}

impl Ended {
    /// Answered, with content that was found valid.
    pub(crate) fn with(form: &Form, content: &Value) -> Result<Self, AskError> {
        let answers = form.check(content);
        let answers = answers.map_err(|error| AskError::Misfit(error.to_string()))?;
        Ok(Self::Answered(Given::Answers(answers.into_owned())))
    }

    /// How an elicitation of the engine ended.
    pub(crate) fn of(snapshot: &Snapshot) -> Result<Self, AskError> {
        let shown = snapshot.lifecycle().presented();
        Ok(match snapshot.outcome() {
            Some(Outcome::Completed) => Self::Answered(match snapshot.answers() {
                Some(answers) => {
                    Given::Answers(answers.map_err(|error| AskError::Misfit(error.to_string()))?)
                }
                None => Given::Nothing,
            }),
            Some(Outcome::Declined) => Self::Declined(shown),
            Some(Outcome::Cancelled(reason)) => Self::Cancelled(reason, shown),
            Some(Outcome::TimedOut) | None => Self::TimedOut,
        })
    }
}

/// A message with what was wrong with the last answer.
pub(crate) fn with_errors(message: &str, errors: &[entreat_core::FieldError]) -> String {
    let mut text = message.to_owned();
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str("Please correct:");
    for error in errors {
        text.push_str("\n- ");
        text.push_str(&error.message);
    }
    text
}
