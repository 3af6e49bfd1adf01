//! The terminal as plain prompts use it: lines are written and read.
//!
//! Moves no cursor and uses no colours. Interrupts are left to the program.

mod echo;
pub(crate) mod line;
mod output;

use std::io;

pub(crate) use echo::size;
pub(crate) use output::{Output, PromptGuard};

/// The width in columns when the terminal's is unknown.
pub const DEFAULT_WIDTH: usize = 80;

/// Writes and reads lines.
///
/// A line that is not valid text is an error of kind [`io::ErrorKind::InvalidData`]: the dialogue
/// reports it and asks again. Any other error ends the dialogue.
pub trait Console {
    /// Writes one line.
    fn say(&mut self, line: &str) -> io::Result<()>;

    /// Shows a prompt and reads one line, without the line ending; `None` at the end of the input.
    fn read_line(&mut self, prompt: &str) -> io::Result<Option<String>>;

    /// Works like [`read_line`](Self::read_line), with echo off.
    fn read_secret(&mut self, prompt: &str) -> io::Result<Option<String>>;

    /// The number of columns that a line may use.
    fn width(&self) -> usize {
        DEFAULT_WIDTH
    }

    /// Whether the `:extend` command is available.
    fn can_extend(&self) -> bool {
        false
    }
}
