//! Lines on their way to the console, each in its voice.

use std::io;

use crate::Console;
use crate::prompt::line::{COMMANDS, Line, NO_COMMAND};
use crate::safe_text::one_line;
use crate::typography::{behind_bar, item_behind_bar, own_words};

const PROMPT: &str = "> ";

/// Below this, nothing would fit on a line.
const NARROWEST: usize = 20;

pub(super) struct ConsolePage<'c> {
    console: &'c mut dyn Console,
    width: usize,
}

impl<'c> ConsolePage<'c> {
    pub(super) fn new(console: &'c mut dyn Console) -> Self {
        let width = console.width().max(NARROWEST);
        Self { console, width }
    }

    /// Says something in Entreat's voice; no words are no line.
    pub(super) fn own(&mut self, words: &str) -> io::Result<()> {
        if words.is_empty() {
            return Ok(());
        }
        for line in own_words(words, self.width) {
            self.console.say(&line)?;
        }
        Ok(())
    }

    /// Shows what another wrote.
    pub(super) fn theirs(&mut self, text: &str) -> io::Result<()> {
        for line in behind_bar(text, self.width) {
            self.console.say(&line)?;
        }
        Ok(())
    }

    /// Shows what another wrote, on one line as far as it fits.
    pub(super) fn their_line(&mut self, text: &str) -> io::Result<()> {
        self.theirs(&one_line(text))
    }

    /// Shows one of several that another wrote; what goes on below is indented, so that
    /// nobody can make up numbers.
    pub(super) fn their_item(&mut self, number: usize, text: &str) -> io::Result<()> {
        for line in item_behind_bar(number, text, self.width) {
            self.console.say(&line)?;
        }
        Ok(())
    }

    pub(super) fn commands(&mut self) -> io::Result<()> {
        let [others @ .., colon] = &COMMANDS;
        others.iter().try_for_each(|line| self.own(line))?;
        if self.console.can_extend() {
            self.own(":extend   ask for more time")?;
        }
        self.own(colon)
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        self.console.say("")
    }

    /// Reads until there is a line that says something; the end of the input is a cancel.
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
                    Line::Unknown => self.own(NO_COMMAND)?,
                    line => return Ok(line),
                },
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    self.own(&format!("That cannot be taken: {error}."))?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
