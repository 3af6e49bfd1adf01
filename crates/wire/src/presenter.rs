//! The interface to whatever shows questions to a person.

use entreat_core::url_guard::{Action, Card, Warning, inspect};
use entreat_core::{FieldError, Form};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value};

/// Shows questions to a person.
///
/// Questions are shown one at a time. Dropping a future closes its prompt: the server withdrew the
/// question, or the page is complete.
pub trait Presenter: Send + Sync + 'static {
    /// Returns the modes it can show, which are declared to the server.
    fn modes(&self) -> Modes {
        Modes::ALL
    }

    /// Asks a form. An accepted answer is checked; if invalid, the form is asked again with the
    /// errors.
    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresenterError>>;

    /// Asks whether a URL may be opened. Must not fetch or open it.
    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresenterError>>;

    /// Opens a URL after consent.
    fn open<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<(), PresenterError>>;

    /// Waits until the person is done at an opened URL. Dropped when the server reports completion.
    fn opened<'a>(&'a self, card: &'a UrlCard)
    -> BoxFuture<'a, Result<VisitReply, PresenterError>>;

    /// Shows a message from Entreat itself.
    fn notice(&self, line: &str);

    /// Shows the progress of a call.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }
}

/// The elicitation modes that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Whether forms can be shown.
    pub form: bool,
    /// Whether URLs can be shown.
    pub url: bool,
}

impl Modes {
    /// All modes.
    pub const ALL: Self = Self::new(true, true);

    /// Creates a set of modes.
    pub const fn new(form: bool, url: bool) -> Self {
        Self { form, url }
    }
}

/// A form asked by a server.
#[derive(Clone, Debug)]
pub struct FormQuestion {
    /// The server's name, as it reports it.
    pub server: String,
    /// The server's message. Untrusted: do not present it as Entreat's own text.
    pub message: String,
    /// The form to ask.
    pub form: Form,
    /// The initial values: defaults, or the previous answers.
    pub draft: Map<String, Value>,
    /// The errors of the previous answers.
    pub errors: Vec<FieldError>,
    /// Notices about the form, such as that a field is answered as JSON.
    pub notices: Vec<String>,
}

impl FormQuestion {
    /// Returns the message, unless it repeats the form's title.
    pub fn message_beside_title(&self) -> Option<&str> {
        let message = self.message.as_str();
        (!message.trim().is_empty() && message != self.form.title()).then_some(message)
    }
}

/// A person's reply to a form.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The answers. A missing field is unanswered, even if it has a default.
    Accept(Map<String, Value>),
    /// The person decided not to answer.
    Decline,
    /// The person made no decision.
    Cancel,
}

/// A URL that a server asks to visit.
#[derive(Clone, Debug)]
pub struct UrlCard {
    /// The server's name, as it reports it.
    pub server: String,
    /// The server's message. Untrusted: do not present it as Entreat's own text.
    pub message: String,
    /// The complete URL.
    pub url: String,
    /// How to display the URL: warnings, and the part of the host to highlight.
    pub card: Card,
}

impl UrlCard {
    /// Inspects a URL asked by `server`, whose own address is `origin` if known.
    pub fn new(server: &str, origin: Option<&str>, message: &str, url: &str) -> Self {
        Self {
            server: server.to_owned(),
            message: message.to_owned(),
            url: url.to_owned(),
            card: inspect(url, origin),
        }
    }

    /// Whether opening may be offered; if not, the warnings say why.
    pub fn may_be_opened(&self) -> bool {
        self.card.action != Action::Reject
    }

    /// Returns the warnings as sentences.
    pub fn warnings(&self) -> impl Iterator<Item = &'static str> + '_ {
        let unreadable = self.card.warnings.is_empty() && !self.may_be_opened();
        let sentences = self.card.warnings.iter().map(Warning::message);
        sentences.chain(unreadable.then_some("This is not an address that can be opened."))
    }
}

/// A person's consent to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// It may be opened.
    Open,
    /// The person decided against it.
    Decline,
    /// The person made no decision.
    Cancel,
}

/// A person's reply after a URL was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitReply {
    /// They are done there.
    Done,
    /// Open it again.
    Again,
    /// They gave up.
    Cancel,
}

/// The progress of a call, as reported by the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The progress so far.
    pub done: f64,
    /// The total, if known.
    pub total: Option<f64>,
    /// The server's message.
    pub message: Option<String>,
}

/// The question could not be shown.
#[derive(Debug, thiserror::Error)]
#[error("the question cannot be shown: {0}")]
pub struct PresenterError(String);

impl PresenterError {
    /// Creates an error with a reason.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl From<std::io::Error> for PresenterError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// A question for a [`callback`].
#[derive(Clone, Debug)]
pub enum CallbackQuestion {
    /// A form.
    Form(FormQuestion),
    /// A URL. Accepting it means that the callback opens it.
    Url(UrlCard),
}

/// Presents questions through a function, for programs with their own interface.
///
/// ```
/// use entreat_wire::presenter::{Answer, CallbackQuestion, callback};
///
/// let presenter = callback(async |question: CallbackQuestion| match question {
///     CallbackQuestion::Form(form) => Answer::Accept(form.draft),
///     CallbackQuestion::Url(_) => Answer::Decline,
/// });
/// # drop(presenter);
/// ```
pub fn callback<F, A>(function: F) -> Callback<F>
where
    F: Fn(CallbackQuestion) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    Callback(function)
}

/// A function as a [`Presenter`]; returned by [`callback`].
#[derive(Clone, Debug)]
pub struct Callback<F>(F);

impl<F, A> Presenter for Callback<F>
where
    F: Fn(CallbackQuestion) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresenterError>> {
        (self.0)(CallbackQuestion::Form(question.clone()))
            .map(Ok)
            .boxed()
    }

    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresenterError>> {
        let answer = (self.0)(CallbackQuestion::Url(card.clone()));
        let consent = answer.map(|answer| match answer {
            Answer::Accept(_) => Ok(Consent::Open),
            Answer::Decline => Ok(Consent::Decline),
            Answer::Cancel => Ok(Consent::Cancel),
        });
        consent.boxed()
    }

    fn open<'a>(&'a self, _: &'a UrlCard) -> BoxFuture<'a, Result<(), PresenterError>> {
        ready(Ok(())).boxed()
    }

    fn opened<'a>(&'a self, _: &'a UrlCard) -> BoxFuture<'a, Result<VisitReply, PresenterError>> {
        ready(Ok(VisitReply::Done)).boxed()
    }

    fn notice(&self, line: &str) {
        tracing::info!("{line}");
    }
}
