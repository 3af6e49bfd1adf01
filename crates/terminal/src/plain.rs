//! Plain, linear prompts: one line after the other, nothing redrawn, no cursor moved.
//!
//! Who asks and what for comes first, then the commands, then one question after the other,
//! then everything once more before it is sent. Each answer is judged by the form at once
//! and asked again until it fits; answers that do not fit together are asked again at the
//! end.
//!
//! # Whose words are whose
//!
//! A line that begins at the margin is Entreat's. What the asker wrote stands behind a bar
//! (`│`), or within `“ ”` in a line of Entreat's, where it cannot break out. So no label can
//! pass for a question of Entreat's own, whatever it says. Control characters, escape
//! sequences and marks that turn the direction of text never reach the terminal.
//!
//! # Typing
//!
//! | line | means |
//! |---|---|
//! | Enter alone | takes what is offered: the answer given before, or the default; else no answer |
//! | `:empty` | no answer, even where one is offered |
//! | `:back` | the previous question again |
//! | `:help` | this question again, and the commands |
//! | `:decline` | refuses to answer |
//! | `:cancel`, the end of the input | leaves without a decision |
//! | `:extend` | asks for more time, where there is a deadline |
//! | `::…` | an answer that begins with a colon |
//!
//! A required boolean is shown off: Enter says no. A file that takes several is answered
//! with one path a line. Numbers stay in the draft as they were typed, so that no digit is
//! lost.
//!
//! # Limits
//!
//! Texts of several lines cannot be typed, and a terminal itself takes no more than some
//! 4000 bytes a line.

pub(crate) mod cards;
pub(crate) mod desk;
pub(crate) mod dialogue;
mod page;
mod question;

use std::io;

use entreat_core::{FieldError, Form, Messages, Script};
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
/// /// Answers from a list, and hears nothing.
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
/// // The empty line is refused, since the name is required.
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
    script: Option<&'a Script>,
    notices: &'a [String],
    listener: Option<&'a dyn Fn(&Value)>,
}

impl<'a> Plain<'a> {
    /// Prompts for a form, with error sentences in the person's language.
    pub fn new(form: &'a Form, messages: &'a Messages) -> Self {
        Self {
            form,
            messages,
            asker: None,
            message: None,
            script: None,
            notices: &[],
            listener: None,
        }
    }

    /// Names who asks.
    pub fn asker(mut self, name: &'a str) -> Self {
        self.asker = Some(name);
        self
    }

    /// Says why it is asked, in the asker's words.
    pub fn message(mut self, message: &'a str) -> Self {
        self.message = Some(message);
        self
    }

    /// Says what a script says, between what it asks; the form is the script's.
    pub fn script(mut self, script: &'a Script) -> Self {
        self.script = Some(script);
        self
    }

    /// Says beforehand what the person should know, in Entreat's words.
    pub fn notices(mut self, notices: &'a [String]) -> Self {
        self.notices = notices;
        self
    }

    /// Shows the draft to `listener` after each answer, so that it can be kept while the
    /// person goes on: an object of raw answers, secrets included.
    pub fn after_each(mut self, listener: &'a dyn Fn(&Value)) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Asks every active field in order.
    ///
    /// The draft holds raw answers by field id. What it holds already is offered; null means
    /// that an answer was cleared. It is up to date whatever the result, and when that is
    /// [`Reply::Answered`], it passes [`Form::check`]. Fails when the console does.
    pub fn fill(
        &self,
        console: &mut dyn Console,
        draft: &mut Map<String, Value>,
    ) -> io::Result<Reply> {
        self.converse(console, draft, None)
    }

    /// Shows errors and asks again what they name, then what became active by it.
    ///
    /// For answers that passed here and were refused later, by rules that only the asker
    /// knows. Draft and result are as in [`fill`](Self::fill).
    pub fn correct(
        &self,
        console: &mut dyn Console,
        draft: &mut Map<String, Value>,
        errors: &[FieldError],
    ) -> io::Result<Reply> {
        self.converse(console, draft, Some(errors))
    }

    fn converse(
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
