//! What prompts need of a terminal: to say a line, and to read one.
//!
//! Moves no cursor and knows no colours. Ends nothing either: an interrupt is the program's
//! to handle.

mod echo;
pub(crate) mod line;
mod talk;

use std::io;

pub(crate) use echo::size;
pub(crate) use talk::{Held, Talk};

/// The width in columns where nobody knows better.
pub const DEFAULT_WIDTH: usize = 80;

/// Says and reads lines.
///
/// A line that cannot be read as text is an error of kind [`io::ErrorKind::InvalidData`];
/// the person is told and asked again. Any other error ends the dialogue.
pub trait Console {
    /// Says one line.
    fn say(&mut self, line: &str) -> io::Result<()>;

    /// Shows a prompt and reads one line, without its end; `None` when the input has ended.
    fn read_line(&mut self, prompt: &str) -> io::Result<Option<String>>;

    /// Does as [`read_line`](Self::read_line) does, without showing what is typed.
    fn read_secret(&mut self, prompt: &str) -> io::Result<Option<String>>;

    /// How many columns a line may take.
    fn width(&self) -> usize {
        DEFAULT_WIDTH
    }

    /// Whether the line `:extend` asks for more time here.
    fn can_extend(&self) -> bool {
        false
    }
}
