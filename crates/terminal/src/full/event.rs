//! What the model hears, and what it wants done.

use std::time::Duration;

use serde_json::Value;

use crate::prompt::file::Fetched;
use crate::question::Filled;

/// Something that happened.
pub(crate) enum Event {
    Key(Key),
    /// Text that came at once, and so is never a command.
    Paste(String),
    /// The window has this many columns and rows.
    Resized(usize, usize),
    /// So much time is left.
    Left(Duration),
    /// The question is open for so long, and that can be put off so often.
    Deadline(Duration, u32),
    /// Time is running out.
    Warned(Duration),
    /// There is no more time, in Entreat's words.
    NotExtended(String),
    /// A path was completed as far as it is clear.
    Completed(Completion),
    /// A file was read, or why it was not.
    Fetched {
        place: usize,
        fetched: Result<Fetched, String>,
    },
}

/// What can become of the beginning of a path.
pub(crate) struct Completion {
    pub(crate) place: usize,
    /// What was completed; no longer wanted if something else was typed since.
    pub(crate) typed: String,
    /// The path as far as it is clear.
    pub(crate) path: String,
    /// The names it may go on with.
    pub(crate) names: Vec<String>,
    /// It is a file as it stands.
    pub(crate) is_file: bool,
}

/// A key, whatever bytes a terminal sends for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Ctrl(char),
    Enter,
    Tab,
    BackTab,
    Up,
    Down,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    PageUp,
    PageDown,
    Backspace,
    Delete,
    Escape,
}

/// Something to be done.
pub(crate) enum Effect {
    /// The first key came.
    Begun,
    /// A question was answered.
    Drafted(Value),
    /// The person wants more time.
    Extend,
    /// Find out how a path may go on.
    Complete { place: usize, typed: String },
    /// Read the file at a path.
    Fetch { place: usize, path: String },
    /// It is over.
    Done(Filled),
}
