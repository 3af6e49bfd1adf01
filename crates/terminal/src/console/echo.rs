//! Turns a terminal's echo off and surely on again.
//!
//! Where the system's terminals are not known to us, a secret is refused rather than shown.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(unix)]
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

/// Gives the terminal back before a program ends in the middle of a dialogue.
///
/// Made by [`StdConsole::restorer`](crate::StdConsole::restorer); clones belong to the same
/// console.
#[derive(Clone, Default)]
pub struct Restorer(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    /// The terminal is as we found it.
    #[default]
    Untouched,
    /// Echo is off; the terminal was like this before.
    #[cfg(unix)]
    Hidden(Box<Termios>),
    /// The program is about to end: the terminal is left alone from now on.
    Closed,
}

impl Restorer {
    /// Turns echo on again if it is off, and keeps the console from turning it off once
    /// more: a secret asked for from now on reads as the end of the input.
    pub fn restore(&self) {
        self.leave(State::Closed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whatever panicked: the terminal is worth more than the invariant.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(unix)]
    fn leave(&self, next: State) {
        let mut state = self.state();
        if let State::Hidden(before) = &*state {
            // Nothing is left to try if this fails.
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
        if !matches!(*state, State::Closed) {
            *state = next;
        }
    }

    #[cfg(not(unix))]
    fn leave(&self, next: State) {
        let mut state = self.state();
        if !matches!(*state, State::Closed) {
            *state = next;
        }
    }

    /// Turns echo off until the result is dropped; `None` once the program is ending.
    #[cfg(unix)]
    pub(super) fn hide(&self) -> io::Result<Option<Hidden<'_>>> {
        let mut state = self.state();
        match *state {
            State::Closed => return Ok(None),
            State::Hidden(_) | State::Untouched => {}
        }
        let before = termios::tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes -= LocalModes::ECHO;
        // Known before it is done: a restore in between finds what to go back to.
        *state = State::Hidden(Box::new(before));
        // Not `Flush`, which would throw away lines that were pasted ahead, nor `Drain`, which
        // would hold the lock while the terminal is stopped.
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        Ok(Some(Hidden(self)))
    }

    #[cfg(not(unix))]
    pub(super) fn hide(&self) -> io::Result<Option<Hidden<'_>>> {
        match *self.state() {
            State::Closed => Ok(None),
            State::Untouched => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "secrets cannot be typed unseen on this system",
            )),
        }
    }
}

impl fmt::Debug for Restorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Restorer")
    }
}

/// While this lives, echo is off.
pub(super) struct Hidden<'r>(&'r Restorer);

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        self.0.leave(State::Untouched);
    }
}

/// How wide the terminal is that is talked on, if it is one.
#[cfg(unix)]
pub(super) fn columns() -> Option<usize> {
    let size = termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
pub(super) fn columns() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_hidden_once_the_program_is_ending() {
        let restorer = Restorer::default();
        restorer.clone().restore();
        assert!(restorer.hide().unwrap().is_none());
        restorer.restore();
    }
}
