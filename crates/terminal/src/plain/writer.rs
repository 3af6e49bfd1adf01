//! Writes Entreat's text and the asker's to the console, and reads lines.

use std::io;

use entreat_core::TextFormat;

use crate::Console;
use crate::prompt::line::Line;
use crate::safe_text::one_line;
use crate::texts::PlainTexts;
use crate::typography::{block_quote, numbered_block_quote, own_text, prose_quote, quoted_long};

const PROMPT: &str = "> ";

/// The width below which nothing fits on a line.
const MIN_WIDTH: usize = 20;

pub(super) struct ConsoleWriter<'c> {
    console: &'c mut dyn Console,
    texts: &'static PlainTexts,
    width: usize,
}

impl<'c> ConsoleWriter<'c> {
    pub(super) fn new(console: &'c mut dyn Console, texts: &'static PlainTexts) -> Self {
        let width = console.width().max(MIN_WIDTH);
        Self {
            console,
            texts,
            width,
        }
    }

    /// Writes Entreat's own text; nothing if it is empty.
    pub(super) fn write_own(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        for line in own_text(text, self.width) {
            self.console.say(&line)?;
        }
        Ok(())
    }

    /// Writes untrusted text as a block quote.
    pub(super) fn write_quoted(&mut self, text: &str) -> io::Result<()> {
        for line in block_quote(text, self.width) {
            self.console.say(&line)?;
        }
        Ok(())
    }

    /// Writes untrusted text that may be formatted.
    pub(super) fn write_prose(&mut self, text: &str, format: TextFormat) -> io::Result<()> {
        for line in prose_quote(text, format, self.width) {
            self.console.say(&line)?;
        }
        Ok(())
    }

    /// Writes untrusted text on one line, as far as it fits.
    pub(super) fn write_quoted_line(&mut self, text: &str) -> io::Result<()> {
        self.write_quoted(&one_line(text))
    }

    /// Writes a numbered item of untrusted text. Continuation lines are indented, so that the text
    /// cannot fake further items.
    pub(super) fn write_quoted_item(&mut self, number: usize, text: &str) -> io::Result<()> {
        for line in numbered_block_quote(number, text, self.width) {
            self.console.say(&line)?;
        }
        Ok(())
    }

    /// Writes the heading of a section.
    pub(super) fn write_section(&mut self, heading: &str) -> io::Result<()> {
        self.write_own(&(self.texts.section)(&quoted_long(heading)))
    }

    pub(super) fn commands(&mut self) -> io::Result<()> {
        let texts = self.texts;
        for line in texts.commands {
            self.write_own(line)?;
        }
        if self.console.can_extend() {
            self.write_own(texts.extend)?;
        }
        self.write_own(texts.colon)
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        self.console.say("")
    }

    /// Reads until there is an answer or a known command; the end of the input is a cancel.
    pub(super) fn read(&mut self, secret: bool) -> io::Result<Line> {
        loop {
            let read = if secret {
                self.console.read_secret(PROMPT)
            } else {
                self.console.read_line(PROMPT)
            };
            match read {
                Ok(None) => return Ok(Line::Cancel),
                Ok(Some(typed)) => match Line::read(typed) {
                    Line::Unknown => self.write_own(self.texts.no_command)?,
                    line => return Ok(line),
                },
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    self.write_own(self.texts.no_text)?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
