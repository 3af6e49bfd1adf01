//! What a handler asks with.

use std::borrow::Cow;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;

use entreat_core::schema::{Era, import};
use entreat_core::{
    Answer, Answers, CancelReason, Choice, ElicitationId, Form, Presented, SEALED, Timeout,
    TypedForm,
};
use entreat_engine::Elicitation;
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::handler::server::common::{AsRequestContext, FromContextPart};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::{Asked, Call, Ended, Given, Subject};
use crate::client::Abilities;
use crate::error::AskError;
use crate::wire::{ROOTS, SAMPLE};

/// Asks the person behind the client that called.
///
/// An extractor for functions under `#[tool]` and `#[prompt]`; elsewhere [`Ask::of`] finds it. The
/// server has to be [wrapped](crate::Mcp::wrap).
///
/// A handler reads as if it waited for the person, and in the eras of 2025 it does. Since
/// 2026-07-28 it is dropped where it asks and runs again from the top when the answer is there.
/// So each question and each effect has a key, by which it finds what it already has; what
/// happens between them may happen again, unless it is in [`once`](Self::once).
#[derive(Clone)]
pub struct Ask {
    call: Arc<Call>,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<T> {
    /// With an answer.
    Answered(T),
    /// By the person's decision.
    Declined {
        /// Whether it was on a screen at all: [`Presented::No`] means that it came back faster
        /// than a person reads.
        shown: Presented,
    },
    /// Without a decision.
    Cancelled {
        /// Why.
        reason: CancelReason,
        /// Whether it was on a screen at all.
        shown: Presented,
    },
    /// By its deadline.
    TimedOut,
}

impl<T> Outcome<T> {
    /// The answer, if there is one.
    pub fn answer(self) -> Option<T> {
        match self {
            Self::Answered(answer) => Some(answer),
            Self::Declined { .. } | Self::Cancelled { .. } | Self::TimedOut => None,
        }
    }

    /// As a client says it: `accept`, `decline` or `cancel`; a timeout is a `cancel`.
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

    /// What asks within a request.
    pub fn of(context: &RequestContext<RoleServer>) -> Result<Self, AskError> {
        let ask = context.extensions.get::<Self>();
        ask.cloned().ok_or(AskError::NotWrapped)
    }

    /// Asks a form that is a type.
    pub fn form<T: TypedForm + Send + 'static>(
        &self,
        key: &str,
        message: &str,
    ) -> AskRequest<'_, T> {
        let subject = match T::try_form() {
            Ok(form) => Ok(Subject::Form(form.clone())),
            Err(problems) => Err(AskError::Form(problems.clone())),
        };
        self.question(key, message, subject, |given| {
            let misfit = |error: entreat_core::NotThisForm| AskError::Misfit(error.to_string());
            T::from_answers(given.answers()?).map_err(misfit)
        })
    }

    /// Asks a form that was read from somewhere.
    pub fn form_of(
        &self,
        key: &str,
        message: &str,
        form: &Form,
    ) -> AskRequest<'_, Answers<'static>> {
        let subject = Ok(Subject::Form(form.clone()));
        self.question(key, message, subject, Given::answers)
    }

    /// Asks a form by the name of its template.
    pub fn template(
        &self,
        key: &str,
        message: &str,
        name: &str,
    ) -> AskRequest<'_, Answers<'static>> {
        let form = self.call.mcp().template(name);
        let subject = form.map(Subject::Form);
        let subject = subject.ok_or_else(|| AskError::NoTemplate(name.to_owned()));
        self.question(key, message, subject, Given::answers)
    }

    /// Asks by a flat schema of one's own, which the client gets as it is.
    pub fn schema(&self, key: &str, message: &str, schema: &Value) -> AskRequest<'_, Value> {
        let subject = import(schema).map(|import| Subject::Form(import.form));
        let subject = subject.map_err(AskError::Form);
        self.question(key, message, subject, |given| {
            Ok(given.answers()?.reveal().to_json().into())
        })
    }

    /// Asks for a yes or a no. A person who declines has said neither.
    pub fn confirm(&self, key: &str, message: &str) -> AskRequest<'_, bool> {
        let field = json!({"id": "confirmed", "type": "boolean", "label": "Yes", "required": true});
        self.one_field(key, message, &field, |answer| match answer {
            Some(Answer::Boolean(confirmed)) => Ok(*confirmed),
            _ => Err(AskError::Misfit("it is neither yes nor no".to_owned())),
        })
    }

    /// Asks for one of several options, each a value and what the person reads.
    pub fn choose(
        &self,
        key: &str,
        message: &str,
        options: &[(&str, &str)],
    ) -> AskRequest<'_, String> {
        self.one_field(key, message, &choice(options.iter().copied()), read_text)
    }

    /// Asks for one of the values of a type.
    pub fn choose_one<T: Choice + Send + 'static>(
        &self,
        key: &str,
        message: &str,
    ) -> AskRequest<'_, T> {
        let options = T::OPTIONS.iter();
        let field = choice(options.map(|(value, title)| (*value, title.unwrap_or(value))));
        self.one_field(key, message, &field, |answer| {
            let value = read_text(answer)?;
            T::from_value(&value).ok_or(AskError::Misfit(format!("`{value}` is no option")))
        })
    }

    /// Asks for a line of text.
    pub fn text(&self, key: &str, message: &str) -> AskRequest<'_, String> {
        let field = json!({"id": "text", "type": "text", "label": "Answer", "required": true});
        self.one_field(key, message, &field, read_text)
    }

    /// Asks for a line of text that nobody else may see. It is asked on a page and never by a form
    /// of the client.
    pub fn secret(&self, key: &str, message: &str) -> AskRequest<'_, String> {
        let field = json!({"id": "text", "type": "text", "label": "Secret", "required": true,
            "sensitive": true});
        self.one_field(key, message, &field, read_text)
    }

    /// Sends the person to a URL. The answer is that the person went, not what happened there.
    pub fn url(&self, key: &str, message: &str, url: &str) -> AskRequest<'_, ()> {
        let subject = Ok(Subject::Url(url.to_owned()));
        self.question(key, message, subject, |_| Ok(()))
    }

    /// Asks the client's model. The parameters and the result are those of
    /// `sampling/createMessage`.
    pub fn sample(&self, key: &str, params: Value) -> AskRequest<'_, Value> {
        let subject = Ok(Subject::Other(SAMPLE, params));
        self.question(key, "", subject, |given| Ok(given.other()))
    }

    /// Asks which folders the client lets us work in. The result is that of `roots/list`.
    pub fn roots(&self, key: &str) -> AskRequest<'_, Value> {
        let subject = Ok(Subject::Other(ROOTS, json!({})));
        self.question(key, "", subject, |given| Ok(given.other()))
    }

    /// Runs an effect once in a call, however often the handler runs, and gives its result again
    /// each time. An effect that failed runs again.
    ///
    /// Once per call means per state that the client holds: one that sends an older state again
    /// is refused as long as this process or its store remembers it.
    pub async fn once<T, E, F, W>(&self, key: &str, effect: F) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<AskError>,
        F: FnOnce() -> W,
        W: Future<Output = Result<T, E>>,
    {
        self.call.once(key, effect).await
    }

    /// Leaves a question to its page, and waits for nothing: its name and its address.
    pub(crate) async fn leave(
        &self,
        form: &Form,
        message: &str,
        timeout: Timeout,
    ) -> Result<(ElicitationId, String), AskError> {
        self.call.leave(form, message, timeout).await
    }

    /// A question that was left to its page, if it is the client's.
    pub(crate) fn elicitation(&self, id: ElicitationId) -> Elicitation {
        self.call.asker.elicitation(id)
    }

    /// What the client can do, as this request says.
    pub fn abilities(&self) -> Abilities {
        self.call.client().abilities
    }

    /// The protocol that the client speaks, unless it is older than elicitation.
    pub fn era(&self) -> Option<Era> {
        self.call.client().era
    }

    fn one_field<T: Send + 'static>(
        &self,
        key: &str,
        message: &str,
        field: &Value,
        read: impl FnOnce(Option<&Answer<'static>>) -> Result<T, AskError> + Send + 'static,
    ) -> AskRequest<'_, T> {
        let id = field["id"].as_str().unwrap_or_default().to_owned();
        let title = message.lines().next().filter(|line| !line.is_empty());
        let title: String = title.unwrap_or("Question").chars().take(200).collect();
        let form = Form::from_value(&json!({"id": "question", "title": title, "fields": [field]}));
        let subject = form.map(Subject::Form).map_err(AskError::Form);
        self.question(key, message, subject, move |given| {
            read(given.answers()?.get(&id))
        })
    }

    fn question<T>(
        &self,
        key: &str,
        message: &str,
        subject: Result<Subject, AskError>,
        read: impl FnOnce(Given) -> Result<T, AskError> + Send + 'static,
    ) -> AskRequest<'_, T> {
        AskRequest {
            call: &self.call,
            subject,
            asked: Asked {
                key: key.to_owned(),
                message: Cow::Owned(message.to_owned()),
                timeout: Timeout::default(),
                by_error: false,
            },
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

/// A field whose options are values and what the person reads.
fn choice<'a>(options: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    let options: Vec<_> = options
        .map(|(value, title)| json!({"value": value, "title": title}))
        .collect();
    json!({"id": "choice", "type": "select", "label": "Choice", "required": true,
        "options": options})
}

fn read_text(answer: Option<&Answer<'static>>) -> Result<String, AskError> {
    let text = answer.and_then(Answer::as_str);
    let text = text.filter(|text| *text != SEALED).map(str::to_owned);
    text.ok_or_else(|| AskError::Misfit("it is no text".to_owned()))
}

impl<C: AsRequestContext> FromContextPart<C> for Ask {
    fn from_context_part(context: &mut C) -> Result<Self, ErrorData> {
        Ok(Self::of(context.as_request_context())?)
    }
}

/// A question that is asked when it is awaited.
///
/// Awaited as it is, anything but an answer is an error; [`outcome`](Self::outcome) tells them
/// apart.
#[must_use = "nothing is asked until it is awaited"]
pub struct AskRequest<'a, T> {
    call: &'a Arc<Call>,
    subject: Result<Subject, AskError>,
    asked: Asked,
    read: Box<dyn FnOnce(Given) -> Result<T, AskError> + Send>,
}

impl<'a, T: Send + 'a> AskRequest<'a, T> {
    /// How long it waits, for the person and not for the call: since 2026-07-28 a timeout around
    /// the question would measure a round.
    pub fn timeout(mut self, timeout: Timeout) -> Self {
        self.asked.timeout = timeout;
        self
    }

    /// Where a page is needed, the call fails with -32042 and the URL, and is to be called again
    /// when the page has its answer. For clients of 2025-11-25 that show such errors well; others
    /// are asked as ever.
    pub fn by_error(mut self) -> Self {
        self.asked.by_error = true;
        self
    }

    /// Asks, and tells how it ended.
    pub async fn outcome(self) -> Result<Outcome<T>, AskError> {
        let ended = self.call.ask(&self.asked, &self.subject?).await?;
        Ok(match ended {
            Ended::Answered(given) => Outcome::Answered((self.read)(given)?),
            Ended::Declined(shown) => Outcome::Declined { shown },
            Ended::Cancelled(reason, shown) => Outcome::Cancelled { reason, shown },
            Ended::TimedOut => Outcome::TimedOut,
        })
    }
}

impl<'a, T: Send + 'a> IntoFuture for AskRequest<'a, T> {
    type Output = Result<T, AskError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let key = self.asked.key.clone();
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
