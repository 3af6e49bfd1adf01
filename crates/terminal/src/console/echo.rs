//! Turns the terminal's echo off, and reliably on again.
//!
//! On platforms without support, secrets are refused rather than shown.

use std::io;

use super::DEFAULT_WIDTH;
#[cfg(unix)]
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

/// The number of rows when the terminal's is unknown.
const DEFAULT_ROWS: usize = 24;

/// A guard that keeps echo off until it is dropped.
#[cfg(unix)]
pub(super) struct EchoOff {
    before: Box<Termios>,
}

#[cfg(unix)]
impl EchoOff {
    pub(super) fn new() -> io::Result<Self> {
        let before = Box::new(termios::tcgetattr(io::stdin())?);
        let mut silent = (*before).clone();
        silent.local_modes -= LocalModes::ECHO;
        // Created first, so that a partial failure is undone as well.
        let hidden = Self { before };
        // Not `Flush`, which would discard lines pasted ahead, nor `Drain`, which
        // would block while the terminal is stopped.
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        Ok(hidden)
    }
}

#[cfg(unix)]
impl Drop for EchoOff {
    fn drop(&mut self) {
        // There is no fallback if this fails.
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(not(unix))]
pub(super) struct EchoOff;

#[cfg(not(unix))]
impl EchoOff {
    pub(super) fn new() -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "secrets cannot be hidden while typed on this system",
        ))
    }
}

/// Returns the width of the terminal on stderr, if it is one.
pub(super) fn columns() -> Option<usize> {
    window().map(|(columns, _)| columns)
}

/// Returns the columns and rows of the terminal on stderr.
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
