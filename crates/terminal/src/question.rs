//! What is asked, and what came of it.

use std::path::PathBuf;
use std::time::Duration;

use entreat_core::jiff::civil::Date;
use entreat_core::{FieldError, Form, Messages, Script};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// How a terminal is to be talked to. Passed in: libraries read no environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// A screen that is redrawn, or lines.
    pub mode: Mode,
    /// Whether colours may be used.
    pub colour: bool,
    /// Whether the terminal shows more than ASCII.
    pub unicode: bool,
}

/// A screen that is redrawn, or lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The whole screen, redrawn at every key.
    Full,
    /// One line after the other, nothing redrawn: for screen readers and logs.
    Plain,
}

/// One form for one person.
///
/// ```
/// use entreat_core::{Catalogue, Form};
/// use entreat_terminal::TerminalQuestion;
/// use serde_json::json;
///
/// let form = Form::from_value(&json!({"id": "f", "title": "Who are you?", "fields": [
///     {"id": "name", "type": "text", "label": "Name", "required": true},
/// ]}))?;
/// let messages = Catalogue::default().messages(["en"]);
/// let question = TerminalQuestion::new(form, messages).asker("door").message("Before you enter:");
/// # let _ = question;
/// # Ok::<(), entreat_core::Problems>(())
/// ```
#[derive(Clone, Debug)]
pub struct TerminalQuestion {
    pub(crate) form: Form,
    pub(crate) messages: Messages,
    pub(crate) asker: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) draft: Map<String, Value>,
    pub(crate) errors: Vec<FieldError>,
    pub(crate) notices: Vec<String>,
    pub(crate) script: Option<Script>,
    pub(crate) today: Option<Date>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) time: Option<Time>,
}

/// How long a question is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    pub(crate) deadline: Instant,
    pub(crate) extensions_left: u32,
}

impl Time {
    /// What is left now.
    pub(crate) fn left(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl TerminalQuestion {
    /// A form, with error sentences in the person's language.
    pub fn new(form: Form, messages: Messages) -> Self {
        Self {
            form,
            messages,
            asker: None,
            message: None,
            draft: Map::new(),
            errors: Vec::new(),
            notices: Vec::new(),
            script: None,
            today: None,
            home: None,
            time: None,
        }
    }

    /// What a script asks; what it says is said in between.
    pub fn of_script(script: &Script, messages: Messages) -> Self {
        Self {
            script: Some(script.clone()),
            ..Self::new(script.form().clone(), messages)
        }
    }

    /// Names who asks.
    pub fn asker(mut self, name: impl Into<String>) -> Self {
        self.asker = Some(name.into());
        self
    }

    /// Says why it is asked, in the asker's words.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Raw answers to begin with, by field id; null is an answer that was cleared.
    pub fn draft(mut self, draft: Map<String, Value>) -> Self {
        self.draft = draft;
        self
    }

    /// What was refused when the draft was sent, by rules that only the asker knows.
    pub fn errors(mut self, errors: Vec<FieldError>) -> Self {
        self.errors = errors;
        self
    }

    /// Adds something to know beforehand, in Entreat's words, such as that a part cannot be shown
    /// as fields.
    pub fn notice(mut self, words: impl Into<String>) -> Self {
        self.notices.push(words.into());
        self
    }

    /// When the question is over, and how often that can be put off. Only told: whoever asks
    /// ends the question by dropping what waits for the answer.
    pub fn deadline(mut self, at: Instant, extensions_left: u32) -> Self {
        self.time = Some(Time {
            deadline: at,
            extensions_left,
        });
        self
    }

    /// The day that a calendar begins at.
    pub fn today(mut self, today: Date) -> Self {
        self.today = Some(today);
        self
    }

    /// The folder that a `~` at the beginning of a path stands for.
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }
}

/// What became of a form.
///
/// Decline is a decision, cancel the lack of one. An asker may ask again after a cancel, so
/// the two never share a variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Filled {
    /// Raw answers that pass [`Form::check`], to be sent; null is an answer that was cleared.
    Answered(Map<String, Value>),
    /// The person refuses to answer.
    Declined,
    /// The person left, or the input ended.
    Cancelled,
}

/// An address that somebody wants to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlCard {
    /// Who asks.
    pub asker: String,
    /// Why, in the asker's words.
    pub message: String,
    /// The whole address.
    pub url: String,
    /// The part of it that says where it leads; empty if nothing in it can be trusted to.
    pub host: String,
    /// What the person should know, in Entreat's words.
    pub warnings: Vec<String>,
    /// Whether opening it is offered at all.
    pub may_be_opened: bool,
}

/// What the person says to a [`UrlCard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardReply {
    /// It may be opened.
    Open,
    /// The person refuses.
    Decline,
    /// The person left, or the input ended.
    Cancel,
}

/// What the person says after an address was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedReply {
    /// Everything there is done.
    Done,
    /// It is to be opened once more.
    Again,
    /// The person left, or the input ended.
    Cancel,
}
