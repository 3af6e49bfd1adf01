//! Events into the model, and effects out of it.

use std::time::Duration;

use serde_json::Value;

use crate::prompt::file::FetchedFile;
use crate::question::FormReply;

/// An input to the model.
pub(crate) enum Event {
    Key(Key),
    /// Pasted text, which is never a command.
    Paste(String),
    /// The window's new columns and rows.
    Resized(usize, usize),
    /// The time left, once a second.
    TimeLeft(Duration),
    /// The deadline changed: the time and the number of extensions left.
    Deadline(Duration, u32),
    /// The deadline is near; carries the time left.
    ExpiryWarning(Duration),
    /// The deadline was not extended; carries the reason.
    ExtensionRefused(String),
    /// A path was completed as far as it is unambiguous.
    Completed(Completion),
    /// A file was read, or could not be.
    Fetched {
        index: usize,
        fetched: Result<FetchedFile, String>,
    },
}

/// The completion of a partial path.
pub(crate) struct Completion {
    pub(crate) index: usize,
    /// The input that was completed; stale if the person has typed since.
    pub(crate) typed: String,
    /// The path as far as it is unambiguous.
    pub(crate) path: String,
    /// The candidates for the next component.
    pub(crate) names: Vec<String>,
    /// Whether `path` is a file.
    pub(crate) is_file: bool,
}

/// A key, independent of the terminal's encoding.
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

/// Something for the shell to do.
pub(crate) enum Effect {
    /// The person pressed the first key.
    Started,
    /// A question was answered.
    DraftChanged(Value),
    /// The person asks for more time.
    RequestExtension,
    /// Complete a path.
    Complete { index: usize, typed: String },
    /// Read the file at a path.
    Fetch { index: usize, path: String },
    /// The question has ended.
    Done(FormReply),
}
