//! The side of a plain terminal that is written to.

use std::io::{self, Write};
use std::ops::{Deref, DerefMut};

use super::DEFAULT_WIDTH;
use super::echo::{self, Hidden};
use crate::lines::{Line, Lines};
use crate::typography::{ascii, behind_bar, own_words};

/// Beyond this, lines of prose are hard to read.
const WIDEST: usize = 100;
/// Below this, nothing would fit on a line.
const NARROWEST: usize = 20;

/// Writes lines and prompts.
pub(crate) struct Talk {
    out: Box<dyn Write + Send>,
    /// Whether lines are typed at a terminal, which echoes them and can hide them.
    is_typed: bool,
    unicode: bool,
    /// A prompt is out, and the cursor stands behind it.
    prompt: Option<Prompt>,
}

struct Prompt {
    hidden: Option<Hidden>,
}

impl Talk {
    pub(crate) fn new(out: impl Write + Send + 'static, is_typed: bool, unicode: bool) -> Self {
        Self {
            out: Box::new(out),
            is_typed,
            unicode,
            prompt: None,
        }
    }

    /// Whether lines are typed at a terminal.
    pub(crate) fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// One line as it is.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        self.write(line)?;
        self.write("\n")?;
        self.out.flush()
    }

    /// Entreat's own words.
    pub(crate) fn own(&mut self, words: &str) -> io::Result<()> {
        let lines = own_words(words, self.width());
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// What another wrote.
    pub(crate) fn theirs(&mut self, text: &str) -> io::Result<()> {
        let lines = behind_bar(text, self.width());
        lines.iter().try_for_each(|line| self.line(line))
    }

    pub(crate) fn width(&self) -> usize {
        let columns = if self.is_typed { echo::columns() } else { None };
        columns
            .map_or(DEFAULT_WIDTH, |columns| columns.min(WIDEST))
            .max(NARROWEST)
    }

    /// Shows a prompt. What is typed at it is not shown if it is a secret.
    pub(crate) fn prompt(&mut self, prompt: &str, secret: bool) -> io::Result<()> {
        // Before the prompt: whoever sees it may already type.
        let hidden = if secret && self.is_typed {
            Some(Hidden::new()?)
        } else {
            None
        };
        self.prompt = Some(Prompt { hidden });
        self.write(prompt)?;
        self.out.flush()
    }

    /// A line has come: shows what is typed again, and ends the prompt's line where the terminal
    /// has not.
    fn answered(&mut self, line: &Line) -> io::Result<()> {
        let Some(prompt) = self.prompt.take() else {
            return Ok(());
        };
        let was_echoed = self.is_typed && prompt.hidden.is_none() && !matches!(line, Ok(None));
        drop(prompt);
        if was_echoed {
            return Ok(());
        }
        self.line("")
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if self.unicode {
            self.out.write_all(text.as_bytes())
        } else {
            self.out.write_all(ascii(text).as_bytes())
        }
    }
}

/// A [`Talk`] on loan: whatever prompt is out is closed when this is dropped.
pub(crate) struct Held<'t>(&'t mut Talk);

impl<'t> Held<'t> {
    pub(crate) fn new(talk: &'t mut Talk) -> Self {
        Self(talk)
    }

    /// Waits for a line at the prompt that is out. Cancel-safe.
    pub(crate) async fn read(&mut self, lines: &mut Lines) -> Line {
        let line = lines.next().await;
        self.0.answered(&line)?;
        line
    }
}

impl Deref for Held<'_> {
    type Target = Talk;

    fn deref(&self) -> &Talk {
        self.0
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Talk {
        self.0
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.0.prompt.take().is_some() {
            // Whatever is said next begins at the margin. Nobody looks if this fails.
            let _ = self.0.line("");
        }
    }
}
