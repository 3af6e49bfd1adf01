//! Plain, linear prompts: one line after another, nothing redrawn, no cursor moved.
//!
//! A dialogue shows who asks and why, then the commands, then one question after another, then a
//! review of all answers. The form checks each answer at once, and an invalid one is asked again;
//! answers that contradict each other are asked again at the end.
//!
//! # Entreat's text and the asker's
//!
//! A line that starts at the margin is Entreat's. The asker's text follows a bar (`│`), or stands
//! in `“ ”` within one of Entreat's lines, where it cannot break out. So no label can pass for a
//! prompt of Entreat's. Control characters, escape sequences and bidirectional controls never
//! reach the terminal.
//!
//! # Typing
//!
//! | line | means |
//! |---|---|
//! | Enter alone | accepts the offered value: the previous answer or the default; else no answer |
//! | `:empty` | no answer, even if one is offered |
//! | `:back` | the previous question again |
//! | `:help` | this question again, and the commands |
//! | `:decline` | declines to answer |
//! | `:cancel`, the end of the input | cancels without a decision |
//! | `:extend` | asks for more time, if there is a deadline |
//! | `::…` | an answer that starts with a colon |
//!
//! Nothing is the default of a yes/no question: Enter alone does not answer it. A field for several files takes one path
//! per line. Numbers stay in the draft as typed, so that no digit is lost.
//!
//! # Limits
//!
//! Multi-line text cannot be typed, and terminals themselves limit a line to about 4000 bytes.

pub(crate) mod cards;
pub(crate) mod dialogue;
pub(crate) mod session;

mod question;
mod writer;

use std::io;

use entreat_core::{FieldError, Form, Messages, Script, TextFormat};
use serde_json::{Map, Value};

use crate::{Console, Reply};
use dialogue::Dialogue;

/// Asks one form in plain prompts.
///
/// ```
/// use std::collections::VecDeque;
/// use std::io;
///
/// use entreat_core::{Catalogue, Form};
/// use entreat_terminal::{Console, Reply, plain::Plain};
/// use serde_json::{Map, json};
///
/// /// Answers from a list and ignores all output.
/// struct Script(VecDeque<&'static str>);
///
/// impl Console for Script {
///     fn say(&mut self, _: &str) -> io::Result<()> {
///         Ok(())
///     }
///     fn read_line(&mut self, _: &str) -> io::Result<Option<String>> {
///         Ok(self.0.pop_front().map(str::to_owned))
///     }
///     fn read_secret(&mut self, prompt: &str) -> io::Result<Option<String>> {
///         self.read_line(prompt)
///     }
/// }
///
/// let form = Form::from_value(&json!({"id": "f", "title": "Who are you?", "fields": [
///     {"id": "name", "type": "text", "label": "Name", "required": true},
/// ]}))?;
/// let messages = Catalogue::default().messages(["en"]);
/// let mut draft = Map::new();
///
/// // The empty line is rejected, since the name is required.
/// let mut console = Script(["", "Ada"].into());
/// let reply = Plain::new(&form, &messages).asker("door").fill(&mut console, &mut draft)?;
/// assert_eq!(reply, Reply::Answered);
/// assert_eq!(draft["name"], "Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Plain<'a> {
    form: &'a Form,
    messages: &'a Messages,
    asker: Option<&'a str>,
    message: Option<&'a str>,
    text_format: TextFormat,
    script: Option<&'a Script>,
    notices: &'a [String],
    listener: Option<&'a dyn Fn(&Value)>,
}

impl<'a> Plain<'a> {
    /// Creates prompts for a form; `messages` renders errors in the person's language.
    pub fn new(form: &'a Form, messages: &'a Messages) -> Self {
        Self {
            form,
            messages,
            asker: None,
            message: None,
            text_format: TextFormat::default(),
            script: None,
            notices: &[],
            listener: None,
        }
    }

    /// Sets the asker's name.
    pub fn asker(mut self, name: &'a str) -> Self {
        self.asker = Some(name);
        self
    }

    /// Sets the asker's message: why it asks.
    pub fn message(mut self, message: &'a str) -> Self {
        self.message = Some(message);
        self
    }

    /// Sets how the message and the descriptions in the form are formatted.
    pub fn text_format(mut self, format: TextFormat) -> Self {
        self.text_format = format;
        self
    }

    /// Shows a script's texts between its questions. The form must be the script's.
    pub fn script(mut self, script: &'a Script) -> Self {
        self.script = Some(script);
        self
    }

    /// Sets notices shown before the questions, as Entreat's own text.
    pub fn notices(mut self, notices: &'a [String]) -> Self {
        self.notices = notices;
        self
    }

    /// Calls `listener` with the draft after each answer, so that it can be saved: an object of raw
    /// answers, secrets included.
    pub fn after_each(mut self, listener: &'a dyn Fn(&Value)) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Asks every active field in order.
    ///
    /// The draft holds raw answers by field id. Existing values are offered as defaults; null is an
    /// answer that was cleared. The draft is up to date whatever the result, and passes
    /// [`Form::check`] if that is [`Reply::Answered`]. Returns the console's I/O errors.
    pub fn fill(
        &self,
        console: &mut dyn Console,
        draft: &mut Map<String, Value>,
    ) -> io::Result<Reply> {
        self.run(console, draft, None)
    }

    /// Shows errors and asks the fields they name again, then any fields that became active.
    ///
    /// For answers that passed here and were rejected later, by rules that only the asker knows.
    /// Draft and result are as in [`fill`](Self::fill).
    pub fn correct(
        &self,
        console: &mut dyn Console,
        draft: &mut Map<String, Value>,
        errors: &[FieldError],
    ) -> io::Result<Reply> {
        self.run(console, draft, Some(errors))
    }

    fn run(
        &self,
        console: &mut dyn Console,
        draft: &mut Map<String, Value>,
        refused: Option<&[FieldError]>,
    ) -> io::Result<Reply> {
        let mut dialogue = Dialogue::new(self, console, std::mem::take(draft));
        let begun = match refused {
            Some(errors) => dialogue.reopen_refused(errors),
            None => dialogue.introduce(),
        };
        let reply = begun.and_then(|()| dialogue.run());
        *draft = dialogue.into_draft();
        reply
    }
}
