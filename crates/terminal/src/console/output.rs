//! The output side of a plain terminal.

use std::io::{self, Write};
use std::ops::{Deref, DerefMut};

use super::DEFAULT_WIDTH;
use super::echo::{self, EchoOff};
use crate::lines::{Line, LineReader};
use crate::typography::{ascii, block_quote, own_text};

/// Longer lines of prose are hard to read.
const MAX_WIDTH: usize = 100;
/// The width below which nothing fits on a line.
const MIN_WIDTH: usize = 20;

/// Writes lines and prompts.
pub(crate) struct Output {
    out: Box<dyn Write + Send>,
    /// Whether stdin is a terminal, which echoes lines and can hide them.
    is_terminal: bool,
    unicode: bool,
    /// The prompt that is open, with the cursor behind it.
    prompt: Option<OpenPrompt>,
}

struct OpenPrompt {
    echo_off: Option<EchoOff>,
}

impl Output {
    pub(crate) fn new(out: impl Write + Send + 'static, is_terminal: bool, unicode: bool) -> Self {
        Self {
            out: Box::new(out),
            is_terminal,
            unicode,
            prompt: None,
        }
    }

    /// Whether stdin is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Writes one line unchanged.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        self.write(line)?;
        self.write("\n")?;
        self.out.flush()
    }

    /// Writes Entreat's own text, wrapped.
    pub(crate) fn write_own(&mut self, text: &str) -> io::Result<()> {
        let lines = own_text(text, self.width());
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// Writes untrusted text as a block quote.
    pub(crate) fn write_quoted(&mut self, text: &str) -> io::Result<()> {
        let lines = block_quote(text, self.width());
        lines.iter().try_for_each(|line| self.line(line))
    }

    pub(crate) fn width(&self) -> usize {
        let columns = if self.is_terminal {
            echo::columns()
        } else {
            None
        };
        columns
            .map_or(DEFAULT_WIDTH, |columns| columns.min(MAX_WIDTH))
            .max(MIN_WIDTH)
    }

    /// Shows a prompt, with echo off for secrets.
    pub(crate) fn prompt(&mut self, prompt: &str, secret: bool) -> io::Result<()> {
        // Before the prompt is visible, since typing may start at once.
        let echo_off = if secret && self.is_terminal {
            Some(EchoOff::new()?)
        } else {
            None
        };
        self.prompt = Some(OpenPrompt { echo_off });
        self.write(prompt)?;
        self.out.flush()
    }

    /// Closes the prompt after a line: restores echo, and ends the prompt's line if the terminal
    /// has not.
    fn end_prompt(&mut self, line: &Line) -> io::Result<()> {
        let Some(prompt) = self.prompt.take() else {
            return Ok(());
        };
        let was_echoed = self.is_terminal && prompt.echo_off.is_none() && !matches!(line, Ok(None));
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

/// Borrows an [`Output`] and closes any open prompt on drop.
pub(crate) struct PromptGuard<'t>(&'t mut Output);

impl<'t> PromptGuard<'t> {
    pub(crate) fn new(output: &'t mut Output) -> Self {
        Self(output)
    }

    /// Waits for a line at the open prompt. Cancel-safe.
    pub(crate) async fn read(&mut self, lines: &mut LineReader) -> Line {
        let line = lines.next().await;
        self.0.end_prompt(&line)?;
        line
    }
}

impl Deref for PromptGuard<'_> {
    type Target = Output;

    fn deref(&self) -> &Output {
        self.0
    }
}

impl DerefMut for PromptGuard<'_> {
    fn deref_mut(&mut self) -> &mut Output {
        self.0
    }
}

impl Drop for PromptGuard<'_> {
    fn drop(&mut self) {
        if self.0.prompt.take().is_some() {
            // The next output starts at the margin. Errors have no reader here.
            let _ = self.0.line("");
        }
    }
}
