//! Questions for the terminal, and the person's replies.

use std::path::PathBuf;
use std::time::Duration;

use entreat_core::{FieldError, Form, Messages, Script, TextFormat};
use serde_json::{Map, Value};
use tokio::time::Instant;

/// How to present prompts on the terminal. Passed in, since libraries read no environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Redrawn prompts or plain lines.
    pub mode: Mode,
    /// Whether to use colours.
    pub colour: bool,
    /// Whether the terminal can show more than ASCII.
    pub unicode: bool,
}

/// Redrawn prompts or plain lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Redraws on every key: a form uses the whole screen, a single question a few lines of it.
    Full,
    /// Writes one line after another and redraws nothing: for screen readers and logs.
    Plain,
}

/// A form to ask at a terminal, with its context.
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
    pub(crate) text_format: TextFormat,
    pub(crate) draft: Map<String, Value>,
    pub(crate) errors: Vec<FieldError>,
    pub(crate) notices: Vec<String>,
    pub(crate) script: Option<Script>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) time: Option<Time>,
}

/// The deadline of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    pub(crate) deadline: Instant,
    pub(crate) extensions_left: u32,
}

impl Time {
    pub(crate) fn new(deadline: Instant, extensions_left: u32) -> Self {
        Self {
            deadline,
            extensions_left,
        }
    }

    /// Returns the time left from now.
    pub(crate) fn left(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

impl TerminalQuestion {
    /// Creates a question from a form; `messages` renders errors in the person's language.
    pub fn new(form: Form, messages: Messages) -> Self {
        Self {
            form,
            messages,
            asker: None,
            message: None,
            text_format: TextFormat::default(),
            draft: Map::new(),
            errors: Vec::new(),
            notices: Vec::new(),
            script: None,
            home: None,
            time: None,
        }
    }

    /// Creates a question from a script; its texts are shown between its questions.
    pub fn of_script(script: &Script, messages: Messages) -> Self {
        Self {
            script: Some(script.clone()),
            ..Self::new(script.form().clone(), messages)
        }
    }

    /// Sets the asker's name.
    pub fn asker(mut self, name: impl Into<String>) -> Self {
        self.asker = Some(name.into());
        self
    }

    /// Sets the asker's message: why it asks.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = self.form.rest_of_message(&message.into());
        self
    }

    /// Sets how the message and the descriptions in the form are formatted. Texts of others, who
    /// did not write for Entreat, are better shown as they are.
    pub fn text_format(mut self, format: TextFormat) -> Self {
        self.text_format = format;
        self
    }

    /// Sets the initial raw answers by field id; null is an answer that was cleared.
    pub fn draft(mut self, draft: Map<String, Value>) -> Self {
        self.draft = draft;
        self
    }

    /// Sets the errors of an earlier submission, from rules that only the asker knows.
    pub fn errors(mut self, errors: Vec<FieldError>) -> Self {
        self.errors = errors;
        self
    }

    /// Adds a notice shown before the questions, as Entreat's own text.
    pub fn notice(mut self, words: impl Into<String>) -> Self {
        self.notices.push(words.into());
        self
    }

    /// Sets the deadline to display and the number of extensions left. The terminal does not
    /// enforce it: the caller ends the question by dropping the future.
    pub fn deadline(mut self, at: Instant, extensions_left: u32) -> Self {
        self.time = Some(Time::new(at, extensions_left));
        self
    }

    /// Sets the folder that a leading `~` in a path expands to.
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }
}

/// The person's reply to a form.
///
/// Decline is a decision, cancel the lack of one. An asker may ask again after a cancel, so
/// the two never share a variant.
#[derive(Clone, Debug, PartialEq)]
pub enum FormReply {
    /// Raw answers that pass [`Form::check`]; null is an answer that was cleared.
    Answered(Map<String, Value>),
    /// The person declined to answer.
    Declined,
    /// The person cancelled, or the input ended.
    Cancelled,
}

/// A URL that an asker wants to open, with what the person needs to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlCard {
    /// The asker's name.
    pub asker: String,
    /// The asker's message: why it should be opened.
    pub message: String,
    /// The complete URL.
    pub url: String,
    /// The host to highlight; empty if no part of the URL can be trusted to name one.
    pub host: String,
    /// Warnings about the URL, as Entreat's own text.
    pub warnings: Vec<String>,
    /// Whether opening is offered at all.
    pub may_be_opened: bool,
}

/// The person's reply to a [`UrlCard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardReply {
    /// The URL may be opened.
    Open,
    /// The person declined.
    Decline,
    /// The person cancelled, or the input ended.
    Cancel,
}

/// The person's reply after a URL was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenedReply {
    /// The person has finished there.
    Done,
    /// Open the URL again.
    Again,
    /// The person cancelled, or the input ended.
    Cancel,
}
