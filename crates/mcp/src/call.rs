//! One call of a handler: who called, and by which routes the person can be asked.

use std::borrow::Cow;
use std::sync::Arc;

use entreat_core::schema::Era;
use entreat_core::{
    Answers, CancelReason, ElicitationId, FieldError, Form, Mode, Outcome, Presented, Timeout,
};
use entreat_engine::{Ask as EngineAsk, Asker, Channel, Connection, Snapshot};
use entreat_wire::digest::{CanonicalBytes, Digest};
use entreat_wire::message::{CREATE, ElicitRequest, FORMS, SAMPLE};
use entreat_wire::seal::Binding;
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::RequestId;
use rmcp::service::Peer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::{Capabilities, Client, needed};
use crate::drive::Run;
use crate::error::AskError;
use crate::extension;
use crate::forms::{self, WireForm};
use crate::mcp::Inner;
use crate::replay::Replay;

tokio::task_local! {
    /// Set while a `once` effect runs, which must not ask.
    static WITHIN_ONCE: ();
}

/// What is asked.
pub(crate) enum Subject {
    Form(Form),
    Url(String),
    /// Another MCP request: its method and parameters.
    Other(&'static str, Value),
}

/// The options of a question.
pub(crate) struct AskOptions {
    pub(crate) key: String,
    pub(crate) message: Cow<'static, str>,
    pub(crate) timeout: Timeout,
    /// Whether a page is requested by failing the call.
    pub(crate) by_error: bool,
    /// Whether the client asks, rather than this program.
    pub(crate) as_client: bool,
}

impl AskOptions {
    pub(crate) fn new(key: &str, message: &str, timeout: Timeout) -> Self {
        Self {
            key: key.to_owned(),
            message: Cow::Owned(message.to_owned()),
            timeout,
            by_error: false,
            as_client: false,
        }
    }

    /// The options for asking again by the next route, under a key of its own.
    fn fallback(&self, attempt: usize) -> Self {
        Self {
            key: format!("{}#{attempt}", self.key),
            message: self.message.clone(),
            timeout: self.timeout,
            by_error: self.by_error,
            as_client: self.as_client,
        }
    }
}

pub(crate) enum AskOutcome {
    Answered(AnswerPayload),
    Declined(Presented),
    Cancelled(CancelReason, Presented),
    TimedOut,
}

/// The content of an answer.
pub(crate) enum AnswerPayload {
    Answers(Answers<'static>),
    Other(Value),
    Empty,
}

impl AnswerPayload {
    pub(crate) fn answers(self) -> Result<Answers<'static>, AskError> {
        match self {
            Self::Answers(answers) => Ok(answers),
            Self::Other(_) | Self::Empty => {
                Err(AskError::Mismatch("it is not a form answer".to_owned()))
            }
        }
    }

    pub(crate) fn other(self) -> Value {
        match self {
            Self::Other(value) => value,
            Self::Answers(_) | Self::Empty => Value::Null,
        }
    }
}

/// A route by which a question reaches the person.
pub(crate) enum Route {
    /// The client shows the question.
    Client,
    /// The client shows the URL of a page.
    ClientUrl,
    /// A page opens in the browser of this machine.
    Browser,
    /// The tool's result contains the URL of a page.
    Link,
}

/// The default timeout of a question that nobody waits for.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub(crate) struct Call {
    inner: Arc<Inner>,
    client: Client,
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) id: RequestId,
    pub(crate) binding: Binding,
    pub(crate) run: Run,
    /// Results of earlier rounds; `None` if the client is asked by push.
    pub(crate) replay: Option<Replay>,
    /// Asks on behalf of the client.
    pub(crate) asker: Asker,
    /// Cancels the questions asked on it when the call ends.
    pub(crate) connection: Connection,
    /// What was wrong with the last answer that was not valid.
    pub(crate) last_errors: Mutex<Vec<String>>,
    is_tool: bool,
}

/// A question that outlives its call.
pub(crate) struct DetachedQuestion {
    pub(crate) id: String,
    /// The URL of its page.
    pub(crate) url: String,
    /// Whether it outlives this process.
    pub(crate) is_durable: bool,
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
            last_errors: Mutex::default(),
            is_tool,
        }
    }

    pub(crate) fn mcp(&self) -> &Inner {
        &self.inner
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) async fn ask(
        &self,
        options: &AskOptions,
        subject: &Subject,
    ) -> Result<AskOutcome, AskError> {
        if WITHIN_ONCE.try_with(|()| ()).is_ok() {
            return Err(AskError::WithinOnce(options.key.clone()));
        }
        self.run.use_key(&options.key)?;
        let mut unshown_outcome = None;
        for (attempt, route) in self.routes(options, subject)?.into_iter().enumerate() {
            let fallback;
            let options = if attempt == 0 {
                options
            } else {
                fallback = options.fallback(attempt);
                &fallback
            };
            // Boxed to keep handler futures small: they are moved before they are polled.
            let outcome = Box::pin(self.ask_by(route, options, subject)).await?;
            let is_unshown = matches!(
                outcome,
                AskOutcome::Declined(Presented::No) | AskOutcome::Cancelled(_, Presented::No)
            );
            if !(is_unshown && self.inner.settings.fall_back_when_unshown) {
                return Ok(outcome);
            }
            unshown_outcome = Some(outcome);
        }
        // `routes` never returns an empty list.
        unshown_outcome.ok_or(AskError::CallEnded)
    }

    async fn ask_by(
        &self,
        route: Route,
        options: &AskOptions,
        subject: &Subject,
    ) -> Result<AskOutcome, AskError> {
        match (route, subject, &self.replay) {
            (Route::Client, _, Some(replay)) => replay.ask_client(self, options, subject).await,
            (Route::Client, Subject::Form(form), None) => self.push_form(options, form).await,
            (Route::Client, Subject::Url(url), None) => self.push_url(options, url).await,
            (Route::Client, Subject::Other(method, params), None) => {
                self.push_other(method, params).await
            }
            (Route::ClientUrl, Subject::Form(form), Some(replay)) => {
                replay.ask_page(self, options, form, true).await
            }
            (Route::ClientUrl, Subject::Form(form), None) if options.by_error => {
                self.page_by_error(options, form).await
            }
            (Route::ClientUrl, Subject::Form(form), None) => self.push_page(options, form).await,
            (Route::Browser, Subject::Form(form), Some(replay)) => {
                replay.ask_page(self, options, form, false).await
            }
            (Route::Browser, Subject::Form(form), None) => self.open_page(options, form).await,
            (Route::Link, Subject::Form(form), _) => self.link_page(options, form).await,
            (_, Subject::Url(_) | Subject::Other(..), _) => Err(AskError::CallEnded),
        }
    }

    /// Returns the routes by which the question can reach the person, best first.
    fn routes(&self, options: &AskOptions, subject: &Subject) -> Result<Vec<Route>, AskError> {
        let can = if self.run.is_answered() {
            Capabilities::default()
        } else {
            self.client.capabilities
        };
        let no_route = |needs, required| {
            let key = options.key.clone();
            Err(AskError::NoRoute {
                key,
                needs,
                required,
            })
        };
        let by_client = |can: bool, needs, required| {
            if can {
                return Ok(vec![Route::Client]);
            }
            no_route(needs, required)
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
                let needs_url = self.wire_form(form).projection().needs_url;
                let mut routes = Vec::new();
                if can.form && !needs_url {
                    routes.push(Route::Client);
                }
                if self.inner.has_page_for(&self.client) {
                    if can.url {
                        routes.push(Route::ClientUrl);
                    }
                    if !self.client.is_remote && self.inner.browser.is_some() {
                        routes.push(Route::Browser);
                    }
                    if self.is_tool {
                        routes.push(Route::Link);
                    }
                }
                if !routes.is_empty() {
                    return Ok(routes);
                }
                if needs_url {
                    let needs = if self.inner.has_page_without(&self.client) {
                        "secrets and files are asked on a page, and the pages do not know who \
                         this client's person is"
                    } else {
                        "secrets and files are asked on a page, and none is available"
                    };
                    return no_route(needs, needed("url"));
                }
                if self.inner.has_page_without(&self.client) {
                    let needs = "it does not show forms, and the pages do not know who its person \
                                 is";
                    return no_route(needs, needed("form"));
                }
                no_route("it does not show forms", needed("form"))
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
        if let Some(result) = replay.effect_result(key) {
            return Ok(serde_json::from_value(result).map_err(broken)?);
        }
        let _busy = self.run.busy();
        let result = WITHIN_ONCE.scope((), effect()).await?;
        replay.store_effect(key, serde_json::to_value(&result).map_err(broken)?);
        Ok(result)
    }

    /// Builds the engine's question.
    pub(crate) fn engine_ask(
        &self,
        options: &AskOptions,
        form: &Form,
        channel: Channel,
    ) -> EngineAsk {
        let ask = EngineAsk::form(form.clone())
            .message(&options.message)
            .timeout(options.timeout)
            .channel(channel);
        let ask = match &self.client.name {
            Some(name) if options.as_client => ask.introduced_as(name),
            _ => ask,
        };
        match &self.inner.links {
            Some(links) if links.needs_respondent() => match &self.client.respondent {
                Some(respondent) => ask.respondent(respondent),
                None => ask,
            },
            _ => ask,
        }
    }

    /// Builds the engine's question for a page that nobody waits for: without a timeout of its own,
    /// it has a day.
    pub(crate) fn engine_ask_by_link(&self, options: &AskOptions, form: &Form) -> EngineAsk {
        let timeout = self.timeout_by_link(options, form);
        self.engine_ask(options, form, Channel::Link)
            .timeout(timeout)
    }

    /// The timeout of a question that nobody waits for.
    pub(crate) fn timeout_by_link(&self, options: &AskOptions, form: &Form) -> Timeout {
        let maximum = self.asker.timeout_config(Mode::Form).max_ms;
        let day = Timeout {
            initial: Some(DAY_MS.min(maximum)),
            ..Timeout::default()
        };
        options.timeout.or(form.timeout()).or(day)
    }

    /// Keeps what was wrong with an answer, for the case that it was the last.
    pub(crate) fn note_errors(&self, errors: &[FieldError]) {
        let messages = errors.iter().map(|error| error.message.clone());
        *self.last_errors.lock() = messages.collect();
    }

    /// Converts a settled question for the handler.
    pub(crate) fn settled(&self, snapshot: &Snapshot) -> Result<AskOutcome, AskError> {
        let errors = errors_in(snapshot);
        if !errors.is_empty() {
            *self.last_errors.lock() = errors;
        }
        AskOutcome::of(snapshot)
    }

    /// Builds the request that asks the client a form.
    pub(crate) fn form_request(
        &self,
        form: &Form,
        message: &str,
        id: Option<ElicitationId>,
    ) -> ElicitRequest {
        let mut schema = self.wire_form(form).projection().requested_schema.clone();
        forms::name_the_answer(&mut schema, form, message);
        let request = ElicitRequest::form(self.era(), message, schema);
        if self.client.capabilities.forms_extension {
            request.with_meta(FORMS, extension::form_meta(form, id))
        } else {
            request
        }
    }

    /// The protocol version whose schema subset the client is sent.
    fn era(&self) -> Era {
        self.client.era.unwrap_or(Era::V2025_06_18)
    }

    fn wire_form(&self, form: &Form) -> Arc<WireForm> {
        self.inner.forms.of(form, self.era())
    }

    /// Identifies a question besides its key, so that an answer to one question is never used for
    /// another.
    pub(crate) fn digest(&self, options: &AskOptions, subject: &Subject) -> Digest {
        let mut canonical = CanonicalBytes::default();
        canonical.text(&options.message);
        match subject {
            Subject::Form(form) => {
                canonical.text(CREATE);
                canonical.nested(self.wire_form(form).digest());
            }
            Subject::Url(url) => {
                canonical.text("url");
                canonical.text(url);
            }
            Subject::Other(method, params) => {
                canonical.text(method);
                canonical.value(params);
            }
        }
        canonical.digest()
    }
}

impl AskOutcome {
    /// Checks content that was found valid in an earlier round.
    pub(crate) fn with(form: &Form, content: &Value) -> Result<Self, AskError> {
        let answers = form.check(content);
        let answers = answers.map_err(|error| AskError::Mismatch(error.to_string()))?;
        Ok(Self::Answered(AnswerPayload::Answers(answers.into_owned())))
    }

    pub(crate) fn of(snapshot: &Snapshot) -> Result<Self, AskError> {
        let shown = snapshot.lifecycle().presented();
        Ok(match snapshot.outcome() {
            Some(Outcome::Completed) => Self::Answered(match snapshot.answers() {
                Some(answers) => AnswerPayload::Answers(
                    answers.map_err(|error| AskError::Mismatch(error.to_string()))?,
                ),
                None => AnswerPayload::Empty,
            }),
            Some(Outcome::Declined) => Self::Declined(shown),
            Some(Outcome::Cancelled(reason)) => Self::Cancelled(reason, shown),
            Some(Outcome::TimedOut) | None => Self::TimedOut,
        })
    }
}

/// What was wrong with the last answer to a question.
pub(crate) fn errors_in(snapshot: &Snapshot) -> Vec<String> {
    let state = snapshot.record().answer_state.as_ref();
    let errors = state.and_then(|state| state.errors.as_deref());
    let errors: Option<Vec<Value>> = errors.and_then(|text| serde_json::from_str(text).ok());
    let message = |error: Value| Some(error.get("message")?.as_str()?.to_owned());
    errors.into_iter().flatten().filter_map(message).collect()
}

/// Appends the errors of the last answer to a message.
pub(crate) fn with_errors(message: &str, errors: &[FieldError]) -> String {
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
