//! Turns a terminal's echo off and surely on again.
//!
//! Where the system's terminals are not known to us, a secret is refused rather than shown.

use std::io;

use super::DEFAULT_WIDTH;
#[cfg(unix)]
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

/// The rows of a terminal that does not say.
const DEFAULT_ROWS: usize = 24;

/// While this lives, echo is off.
#[cfg(unix)]
pub(super) struct Hidden {
    before: Box<Termios>,
}

#[cfg(unix)]
impl Hidden {
    pub(super) fn new() -> io::Result<Self> {
        let before = Box::new(termios::tcgetattr(io::stdin())?);
        let mut silent = (*before).clone();
        silent.local_modes -= LocalModes::ECHO;
        // Made before it is done: what fails half-way is undone too.
        let hidden = Self { before };
        // Not `Flush`, which would throw away lines that were pasted ahead, nor `Drain`, which
        // would wait while the terminal is stopped.
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        Ok(hidden)
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        // Nothing is left to try if this fails.
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(not(unix))]
pub(super) struct Hidden;

#[cfg(not(unix))]
impl Hidden {
    pub(super) fn new() -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "secrets cannot be typed unseen on this system",
        ))
    }
}

/// How wide the terminal is that is talked on, if it is one.
pub(super) fn columns() -> Option<usize> {
    window().map(|(columns, _)| columns)
}

/// Columns and rows of the terminal that is talked on.
pub(crate) fn size() -> (usize, usize) {
    window().unwrap_or((DEFAULT_WIDTH, DEFAULT_ROWS))
}

#[cfg(unix)]
fn window() -> Option<(usize, usize)> {
    let size = termios::tcgetwinsize(io::stderr()).ok()?;
    let size = (usize::from(size.ws_col), usize::from(size.ws_row));
    Some(size).filter(|(columns, rows)| *columns > 0 && *rows > 0)
}

#[cfg(not(unix))]
fn window() -> Option<(usize, usize)> {
    let (columns, rows) = crossterm::terminal::size().ok()?;
    Some((usize::from(columns), usize::from(rows)))
}
