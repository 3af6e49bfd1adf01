//! A console that tells the engine's side what happens at it, and that can be closed.
//!
//! A thread that waits for a line cannot be woken. Once the question is over, whatever it still
//! says or reads goes nowhere.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use entreat::terminal::Console;
use entreat::{Engine, UnixTime};
use serde_json::Value;
use tokio::sync::mpsc;

/// What the engine is to know while the person types.
#[derive(Debug)]
pub(super) enum Note {
    /// The first line came.
    Begun,
    /// A question was answered; this is the whole draft.
    Drafted(Value),
}

/// What both sides know of the screen.
#[derive(Debug)]
pub(super) struct Screen {
    engine: Engine,
    deadline: UnixTime,
    /// The question is over.
    closed: AtomicBool,
    /// A prompt is out, and the cursor stands behind it.
    at_prompt: AtomicBool,
    input_ended: AtomicBool,
    /// The deadline is near, and the person does not know it yet.
    warning: AtomicBool,
}

impl Screen {
    pub(super) fn new(engine: Engine, deadline: UnixTime) -> Self {
        Self {
            engine,
            deadline,
            closed: AtomicBool::new(false),
            at_prompt: AtomicBool::new(false),
            input_ended: AtomicBool::new(false),
            warning: AtomicBool::new(false),
        }
    }

    /// Nothing is said or read from now on. Tells whether the cursor stands behind a prompt.
    pub(super) fn close(&self) -> bool {
        self.closed.store(true, Ordering::SeqCst);
        self.at_prompt.load(Ordering::SeqCst)
    }

    /// The person is to be told before the next prompt that time runs out. Not at once: a line
    /// in the middle of theirs would garble it.
    pub(super) fn warn(&self) {
        self.warning.store(true, Ordering::SeqCst);
    }

    pub(super) fn input_ended(&self) -> bool {
        self.input_ended.load(Ordering::SeqCst)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

/// A console under watch.
pub(super) struct Watched<C> {
    pub(super) console: C,
    pub(super) screen: Arc<Screen>,
    pub(super) notes: mpsc::Sender<Note>,
    pub(super) begun: bool,
}

impl<C: Console> Watched<C> {
    fn read(
        &mut self,
        line: impl FnOnce(&mut C) -> io::Result<Option<String>>,
    ) -> io::Result<Option<String>> {
        if self.screen.warning.swap(false, Ordering::SeqCst) {
            let left = self.screen.deadline.since(self.screen.engine.now());
            self.say(&in_words(left))?;
        }
        if self.screen.is_closed() {
            return Ok(None);
        }
        self.screen.at_prompt.store(true, Ordering::SeqCst);
        let line = line(&mut self.console);
        self.screen.at_prompt.store(false, Ordering::SeqCst);
        match &line {
            _ if self.screen.is_closed() => return Ok(None),
            Ok(None) => self.screen.input_ended.store(true, Ordering::SeqCst),
            Ok(Some(_)) if !self.begun => {
                self.begun = true;
                // Nobody is there to be told once the question is over.
                let _ = self.notes.blocking_send(Note::Begun);
            }
            Ok(Some(_)) | Err(_) => {}
        }
        line
    }
}

impl<C: Console> Console for Watched<C> {
    fn say(&mut self, line: &str) -> io::Result<()> {
        if self.screen.is_closed() {
            return Ok(());
        }
        self.console.say(line)
    }

    fn read_line(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.read(|console| console.read_line(prompt))
    }

    fn read_secret(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.read(|console| console.read_secret(prompt))
    }

    fn width(&self) -> usize {
        self.console.width()
    }
}

fn in_words(left: Duration) -> String {
    let (number, unit) = match left.as_secs() {
        seconds @ 0..120 => (seconds, "second"),
        seconds => (seconds / 60, "minute"),
    };
    let s = if number == 1 { "" } else { "s" };
    format!("Time runs out: {number} {unit}{s} left.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_in_words() {
        let words = |seconds| in_words(Duration::from_secs(seconds));
        assert_eq!(words(1), "Time runs out: 1 second left.");
        assert_eq!(words(119), "Time runs out: 119 seconds left.");
        assert_eq!(words(150), "Time runs out: 2 minutes left.");
    }
}
