//! The API with which a handler asks.

use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;

use entreat_core::schema::{Era, import};
use entreat_core::{
    Answer, Answers, CancelReason, Choice, ElicitationId, Form, Presented, SEALED, Timeout,
    TypedForm,
};
use entreat_engine::Elicitation;
use entreat_wire::message::{ROOTS, SAMPLE};
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::handler::server::common::{AsRequestContext, FromContextPart};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::ask_server::Record;
use crate::call::{AnswerPayload, AskOptions, AskOutcome, Call, DetachedQuestion, Subject};
use crate::client::Capabilities;
use crate::error::AskError;
use crate::question_service::QuestionService;

/// Asks the person behind the calling client.
///
/// Use it as an extractor in `#[tool]` and `#[prompt]` functions, or get it by [`Ask::of`]. The
/// server has to be [wrapped](crate::Mcp::wrap).
///
/// Awaiting a question looks like waiting for the person, and with the 2025 protocol versions it
/// is. Since 2026-07-28, the handler is dropped at the question and runs again from the top once
/// the answer is available. Each question and effect therefore has a key, under which its result is
/// found on the next run. Code between them may run more than once; wrap side effects in
/// [`once`](Self::once).
#[derive(Clone)]
pub struct Ask {
    call: Arc<Call>,
}

/// The outcome of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<T> {
    /// The person answered.
    Answered(T),
    /// The person decided not to answer.
    Declined {
        /// Whether a person saw the question: [`Presented::No`] means the reply came faster than a
        /// person can read.
        shown: Presented,
    },
    /// The question ended without a decision.
    Cancelled {
        /// Why it was cancelled.
        reason: CancelReason,
        /// Whether a person saw the question.
        shown: Presented,
    },
    /// The deadline passed.
    TimedOut,
}

impl<T> Outcome<T> {
    /// Returns the answer, if any.
    pub fn answer(self) -> Option<T> {
        match self {
            Self::Answered(answer) => Some(answer),
            Self::Declined { .. } | Self::Cancelled { .. } | Self::TimedOut => None,
        }
    }

    /// Returns the MCP action: `accept`, `decline` or `cancel`; a timeout is a `cancel`.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Answered(_) => "accept",
            Self::Declined { .. } => "decline",
            Self::Cancelled { .. } | Self::TimedOut => "cancel",
        }
    }
}

impl Ask {
    pub(crate) fn new(call: Arc<Call>) -> Self {
        Self { call }
    }

    /// Returns the `Ask` of a request.
    ///
    /// Fails with [`AskError::NotWrapped`] if the server is not wrapped.
    pub fn of(context: &RequestContext<RoleServer>) -> Result<Self, AskError> {
        let ask = context.extensions.get::<Self>();
        ask.cloned().ok_or(AskError::NotWrapped)
    }

    /// Asks the form derived from a type.
    pub fn form<T: TypedForm + Send + 'static>(
        &self,
        key: &str,
        message: &str,
    ) -> AskRequest<'_, T> {
        let subject = match T::try_form() {
            Ok(form) => Ok(Subject::Form(form.clone())),
            Err(problems) => Err(AskError::Form(problems.clone())),
        };
        self.question(key, message, subject, |payload| {
            let misfit = |error: entreat_core::FormMismatch| AskError::Mismatch(error.to_string());
            T::from_answers(payload.answers()?).map_err(misfit)
        })
    }

    /// Asks a form built at run time.
    pub fn form_of(
        &self,
        key: &str,
        message: &str,
        form: &Form,
    ) -> AskRequest<'_, Answers<'static>> {
        let subject = Ok(Subject::Form(form.clone()));
        self.question(key, message, subject, AnswerPayload::answers)
    }

    /// Asks the template of this name.
    pub fn template(
        &self,
        key: &str,
        message: &str,
        name: &str,
    ) -> AskRequest<'_, Answers<'static>> {
        let form = self.call.mcp().template(name);
        let subject = form.map(Subject::Form);
        let subject = subject.ok_or_else(|| AskError::NoTemplate(name.to_owned()));
        self.question(key, message, subject, AnswerPayload::answers)
    }

    /// Asks by a flat JSON Schema, which the client receives unchanged.
    pub fn schema(&self, key: &str, message: &str, schema: &Value) -> AskRequest<'_, Value> {
        let subject = import(schema).map(|import| Subject::Form(import.form));
        let subject = subject.map_err(AskError::Form);
        self.question(key, message, subject, |payload| {
            Ok(payload.answers()?.reveal().to_json().into())
        })
    }

    /// Asks a yes/no question. Declining counts as neither.
    pub fn confirm(&self, key: &str, message: &str) -> AskRequest<'_, bool> {
        let field = json!({"id": "confirmed", "type": "boolean", "required": true});
        self.one_field(key, message, field, |answer| match answer {
            Some(Answer::Boolean(confirmed)) => Ok(*confirmed),
            _ => Err(AskError::Mismatch("it is neither yes nor no".to_owned())),
        })
    }

    /// Asks to choose one of `options`, each a value and its label.
    pub fn choose(
        &self,
        key: &str,
        message: &str,
        options: &[(&str, &str)],
    ) -> AskRequest<'_, String> {
        self.one_field(key, message, choice(options.iter().copied()), read_text)
    }

    /// Asks to choose one variant of a type.
    pub fn choose_one<T: Choice + Send + 'static>(
        &self,
        key: &str,
        message: &str,
    ) -> AskRequest<'_, T> {
        let options = T::OPTIONS.iter();
        let field = choice(options.map(|(value, title)| (*value, title.unwrap_or(value))));
        self.one_field(key, message, field, |answer| {
            let value = read_text(answer)?;
            T::from_value(&value).ok_or(AskError::Mismatch(format!("`{value}` is not an option")))
        })
    }

    /// Asks for a line of text.
    pub fn text(&self, key: &str, message: &str) -> AskRequest<'_, String> {
        let field = json!({"id": "text", "type": "text", "required": true});
        self.one_field(key, message, field, read_text)
    }

    /// Asks for a secret line of text. It is always asked on a page, never in a form shown by the
    /// client.
    pub fn secret(&self, key: &str, message: &str) -> AskRequest<'_, String> {
        let field = json!({"id": "text", "type": "text", "label": "Secret", "required": true,
            "sensitive": true});
        self.one_field(key, message, field, read_text)
    }

    /// Asks the person to visit a URL. An answer means that they agreed to go, not that they
    /// completed anything there.
    pub fn url(&self, key: &str, message: &str, url: &str) -> AskRequest<'_, ()> {
        let subject = Ok(Subject::Url(url.to_owned()));
        self.question(key, message, subject, |_| Ok(()))
    }

    /// Sends `sampling/createMessage` to the client, with its parameters, and returns its result.
    pub fn sample(&self, key: &str, params: Value) -> AskRequest<'_, Value> {
        let subject = Ok(Subject::Other(SAMPLE, params));
        self.question(key, "", subject, |payload| Ok(payload.other()))
    }

    /// Sends `roots/list` to the client and returns its result.
    pub fn roots(&self, key: &str) -> AskRequest<'_, Value> {
        let subject = Ok(Subject::Other(ROOTS, json!({})));
        self.question(key, "", subject, |payload| Ok(payload.other()))
    }

    /// Runs an effect once per call, however often the handler runs, and returns the stored result
    /// on later runs. A failed effect is retried on the next run.
    ///
    /// "Once per call" holds per request state: a client that replays an older state is refused as
    /// long as this process or its store remembers that state.
    pub async fn once<T, E, F, W>(&self, key: &str, effect: F) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<AskError>,
        F: FnOnce() -> W,
        W: Future<Output = Result<T, E>>,
    {
        self.call.once(key, effect).await
    }

    /// Asks on a page without waiting for the answer.
    pub(crate) async fn ask_detached(
        &self,
        form: &Form,
        message: &str,
        timeout: Timeout,
        metadata: Value,
    ) -> Result<DetachedQuestion, AskError> {
        let options = AskOptions {
            as_client: true,
            ..AskOptions::new("question", message, timeout)
        };
        self.call.ask_detached(&options, form, metadata).await
    }

    /// Reads a record of another service; `None` if it is not this client's.
    pub(crate) async fn record_at(
        &self,
        service: &dyn QuestionService,
        record: Option<Value>,
    ) -> Result<Option<Record>, String> {
        let Some(record) = record else {
            return Ok(None);
        };
        let id = record["elicitationId"].as_str().unwrap_or_default();
        let form = service.form(id).await?;
        Ok(Record::read(&record, &form, self.principal()))
    }

    /// The principal of the client.
    pub(crate) fn principal(&self) -> &str {
        &self.call.client().principal
    }

    /// Returns what was wrong with the last answer that was not valid.
    pub(crate) fn last_errors(&self) -> Vec<String> {
        self.call.last_errors.lock().clone()
    }

    /// Whether the client is connected over HTTP.
    pub(crate) fn is_remote(&self) -> bool {
        self.call.client().is_remote
    }

    /// Returns a question asked by `ask_detached`, if it belongs to this client.
    pub(crate) fn elicitation(&self, id: ElicitationId) -> Elicitation {
        self.call.asker.elicitation(id)
    }

    /// Returns the capabilities that the client declares in this request.
    pub fn capabilities(&self) -> Capabilities {
        self.call.client().capabilities
    }

    /// Returns the protocol version of the client; `None` if it predates elicitation.
    pub fn era(&self) -> Option<Era> {
        self.call.client().era
    }

    fn one_field<T: Send + 'static>(
        &self,
        key: &str,
        message: &str,
        mut field: Value,
        read: impl FnOnce(Option<&Answer<'static>>) -> Result<T, AskError> + Send + 'static,
    ) -> AskRequest<'_, T> {
        let id = field["id"].as_str().unwrap_or_default().to_owned();
        let title = message.lines().next().filter(|line| !line.is_empty());
        let title: String = title.unwrap_or("Question").chars().take(200).collect();
        // Pages show it once.
        if field.get("label").is_none() {
            field["label"] = title.as_str().into();
        }
        let form = Form::from_value(&json!({"id": "question", "title": title, "fields": [field]}));
        let subject = form.map(Subject::Form).map_err(AskError::Form);
        self.question(key, message, subject, move |payload| {
            read(payload.answers()?.get(&id))
        })
    }

    fn question<T>(
        &self,
        key: &str,
        message: &str,
        subject: Result<Subject, AskError>,
        read: impl FnOnce(AnswerPayload) -> Result<T, AskError> + Send + 'static,
    ) -> AskRequest<'_, T> {
        AskRequest {
            call: &self.call,
            subject,
            options: AskOptions::new(key, message, Timeout::default()),
            read: Box::new(read),
        }
    }
}

impl std::fmt::Debug for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ask")
            .field("client", self.call.client())
            .finish_non_exhaustive()
    }
}

/// A select field with these values and labels.
fn choice<'a>(options: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    let options: Vec<_> = options
        .map(|(value, title)| json!({"value": value, "title": title}))
        .collect();
    json!({"id": "choice", "type": "select", "required": true, "options": options})
}

fn read_text(answer: Option<&Answer<'static>>) -> Result<String, AskError> {
    let text = answer.and_then(Answer::as_str);
    let text = text.filter(|text| *text != SEALED).map(str::to_owned);
    text.ok_or_else(|| AskError::Mismatch("it is not text".to_owned()))
}

impl<C: AsRequestContext> FromContextPart<C> for Ask {
    fn from_context_part(context: &mut C) -> Result<Self, ErrorData> {
        Ok(Self::of(context.as_request_context())?)
    }
}

/// A question, sent when awaited.
///
/// Awaiting it directly returns an error for anything but an answer; [`outcome`](Self::outcome)
/// tells the cases apart.
#[must_use = "nothing is asked until it is awaited"]
pub struct AskRequest<'a, T> {
    call: &'a Arc<Call>,
    subject: Result<Subject, AskError>,
    options: AskOptions,
    read: Box<dyn FnOnce(AnswerPayload) -> Result<T, AskError> + Send>,
}

impl<'a, T: Send + 'a> AskRequest<'a, T> {
    /// Sets how long the person has to answer. A timeout around the future would, since 2026-07-28,
    /// limit a single round instead.
    pub fn timeout(mut self, timeout: Timeout) -> Self {
        self.options.timeout = timeout;
        self
    }

    /// If the question needs a page, fails the call with error -32042 and the URL; the client calls
    /// again when the page is answered. For clients of 2025-11-25 that display this error well.
    /// Clients of other versions are asked as usual.
    pub fn by_error(mut self) -> Self {
        self.options.by_error = true;
        self
    }

    /// Asks in the client's name instead of this program's.
    pub(crate) fn in_client_name(mut self) -> Self {
        self.options.as_client = true;
        self
    }

    /// Asks, and returns the outcome.
    pub async fn outcome(self) -> Result<Outcome<T>, AskError> {
        let outcome = self.call.ask(&self.options, &self.subject?).await?;
        Ok(match outcome {
            AskOutcome::Answered(payload) => Outcome::Answered((self.read)(payload)?),
            AskOutcome::Declined(shown) => Outcome::Declined { shown },
            AskOutcome::Cancelled(reason, shown) => Outcome::Cancelled { reason, shown },
            AskOutcome::TimedOut => Outcome::TimedOut,
        })
    }
}

impl<'a, T: Send + 'a> IntoFuture for AskRequest<'a, T> {
    type Output = Result<T, AskError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let key = self.options.key.clone();
            match self.outcome().await? {
                Outcome::Answered(answer) => Ok(answer),
                Outcome::Declined { shown } => Err(AskError::Declined { key, shown }),
                Outcome::Cancelled { reason, shown } => {
                    Err(AskError::Cancelled { key, reason, shown })
                }
                Outcome::TimedOut => Err(AskError::TimedOut { key }),
            }
        })
    }
}
