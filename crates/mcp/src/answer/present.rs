//! How questions come before a person: the seam, and what is handed over it.

use entreat_core::url_guard::{Action, Card, Warning, inspect};
use entreat_core::{FieldError, Form};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value};

/// Shows questions to a person.
///
/// One question at a time: the next is shown when the one before has ended. A future that is
/// dropped closes its prompt, because the server withdrew the question or the page is done.
pub trait Present: Send + Sync + 'static {
    /// What it can show. A server is told no more than that.
    fn modes(&self) -> Modes {
        Modes::ALL
    }

    /// Asks a form. What is accepted is checked; if it does not fit, the form is asked again with
    /// the errors.
    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresentError>>;

    /// Asks whether a URL may be opened. Nothing is fetched or opened before.
    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresentError>>;

    /// Opens a URL after consent.
    fn open<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<(), PresentError>>;

    /// Waits until the person is done there. Dropped when the server says that they are.
    fn opened<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Followed, PresentError>>;

    /// Tells the person something, in Entreat's own words.
    fn notice(&self, line: &str);

    /// Shows how far a call is.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }
}

/// Which questions can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Forms.
    pub form: bool,
    /// URLs.
    pub url: bool,
}

impl Modes {
    /// Everything.
    pub const ALL: Self = Self::new(true, true);

    /// Forms, URLs.
    pub const fn new(form: bool, url: bool) -> Self {
        Self { form, url }
    }
}

/// A form that a server asks.
#[derive(Clone, Debug)]
pub struct FormQuestion {
    /// Who asks, by the name that the server gives itself.
    pub server: String,
    /// What the server says. Not to be taken for Entreat's words.
    pub message: String,
    /// What is asked.
    pub form: Form,
    /// What is filled in at first: the defaults, or what was answered before.
    pub draft: Map<String, Value>,
    /// Why what was answered before does not fit.
    pub errors: Vec<FieldError>,
    /// What the person should know of the form, such as a part that is answered as JSON.
    pub notices: Vec<String>,
}

impl FormQuestion {
    /// The message, unless the form's title says it already.
    pub fn message_beside_title(&self) -> Option<&str> {
        let message = self.message.as_str();
        (!message.trim().is_empty() && message != self.form.title()).then_some(message)
    }
}

/// What a person does with a form.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Answers it. A field that is left out is unanswered, whatever its default.
    Accept(Map<String, Value>),
    /// Decides against it.
    Decline,
    /// Decides nothing.
    Cancel,
}

/// A URL that a server wants to be visited.
#[derive(Clone, Debug)]
pub struct UrlCard {
    /// Who asks, by the name that the server gives itself.
    pub server: String,
    /// What the server says. Not to be taken for Entreat's words.
    pub message: String,
    /// The whole URL.
    pub url: String,
    /// What is to be seen of it: warnings, and the part of the host to set off.
    pub card: Card,
}

impl UrlCard {
    pub(crate) fn new(server: &str, origin: Option<&str>, message: &str, url: &str) -> Self {
        Self {
            server: server.to_owned(),
            message: message.to_owned(),
            url: url.to_owned(),
            card: inspect(url, origin),
        }
    }

    /// Whether it may be offered to be opened; if not, the warnings say why.
    pub fn may_be_opened(&self) -> bool {
        self.card.action != Action::Reject
    }

    /// The warnings as sentences.
    pub fn warnings(&self) -> impl Iterator<Item = &'static str> + '_ {
        let unreadable = self.card.warnings.is_empty() && !self.may_be_opened();
        let sentences = self.card.warnings.iter().map(Warning::message);
        sentences.chain(unreadable.then_some("This is not an address that can be opened."))
    }
}

/// What a person says to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// It may be opened.
    Open,
    /// Decides against it.
    Decline,
    /// Decides nothing.
    Cancel,
}

/// What a person says after a URL was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Everything is done there.
    Done,
    /// It is to be opened once more.
    Again,
    /// It leads nowhere.
    Cancel,
}

/// How far a call is, in the server's measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// So much is done.
    pub done: f64,
    /// Of so much, if that is known.
    pub total: Option<f64>,
    /// What the server says of it.
    pub message: Option<String>,
}

impl Progress {
    pub(crate) fn new(done: f64, total: Option<f64>, message: Option<String>) -> Self {
        Self {
            done,
            total,
            message,
        }
    }
}

/// A question could not be shown.
#[derive(Debug, thiserror::Error)]
#[error("the question cannot be shown: {0}")]
pub struct PresentError(String);

impl PresentError {
    /// Why it cannot.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl From<std::io::Error> for PresentError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// A question for a [`callback`].
#[derive(Clone, Debug)]
pub enum CallbackQuestion {
    /// A form.
    Form(FormQuestion),
    /// A URL. Whoever accepts it opens it.
    Url(UrlCard),
}

/// Presents questions by a function, as programs with an interface of their own do.
///
/// ```
/// use entreat_mcp::answer::{Answer, Answering, CallbackQuestion, callback};
///
/// let handler = Answering::new(callback(async |question: CallbackQuestion| match question {
///     CallbackQuestion::Form(form) => Answer::Accept(form.draft),
///     CallbackQuestion::Url(_) => Answer::Decline,
/// }));
/// # drop(handler);
/// ```
pub fn callback<F, A>(function: F) -> Callback<F>
where
    F: Fn(CallbackQuestion) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    Callback(function)
}

/// A function as a [`Present`]; made by [`callback`].
#[derive(Clone, Debug)]
pub struct Callback<F>(F);

impl<F, A> Present for Callback<F>
where
    F: Fn(CallbackQuestion) -> A + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    fn form<'a>(
        &'a self,
        question: &'a FormQuestion,
    ) -> BoxFuture<'a, Result<Answer, PresentError>> {
        (self.0)(CallbackQuestion::Form(question.clone()))
            .map(Ok)
            .boxed()
    }

    fn consent<'a>(&'a self, card: &'a UrlCard) -> BoxFuture<'a, Result<Consent, PresentError>> {
        let answer = (self.0)(CallbackQuestion::Url(card.clone()));
        let consent = answer.map(|answer| match answer {
            Answer::Accept(_) => Ok(Consent::Open),
            Answer::Decline => Ok(Consent::Decline),
            Answer::Cancel => Ok(Consent::Cancel),
        });
        consent.boxed()
    }

    fn open<'a>(&'a self, _: &'a UrlCard) -> BoxFuture<'a, Result<(), PresentError>> {
        ready(Ok(())).boxed()
    }

    fn opened<'a>(&'a self, _: &'a UrlCard) -> BoxFuture<'a, Result<Followed, PresentError>> {
        ready(Ok(Followed::Done)).boxed()
    }

    fn notice(&self, line: &str) {
        tracing::info!("{line}");
    }
}
