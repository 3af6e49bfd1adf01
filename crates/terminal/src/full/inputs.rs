//! What comes from the keyboard, read by one thread for the program's whole life.
//!
//! Not `crossterm`'s own stream of events: it wakes the task that first waited on it, whichever
//! waits now, and when it is dropped, keys that come in the same moment stay unread until another
//! one is pressed.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event};
use tokio::sync::mpsc;

/// More keys than anybody types while a frame is drawn; the rest waits in the terminal.
const AHEAD: usize = 64;

/// Begun with the first prompt and kept for the next ones.
#[derive(Default)]
pub(crate) struct Inputs(Option<mpsc::Receiver<io::Result<Event>>>);

impl Inputs {
    /// Listens from now on, to the size of the window too.
    pub(super) fn begin(&mut self) {
        self.begun();
    }

    /// What was typed before a prompt is on the screen is no answer to it, and above all no
    /// consent.
    pub(super) fn forget(&mut self) {
        let inputs = self.begun();
        while inputs.try_recv().is_ok() {}
    }

    /// The next one; `None` when the terminal is gone. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        self.begun().recv().await
    }

    fn begun(&mut self) -> &mut mpsc::Receiver<io::Result<Event>> {
        self.0.get_or_insert_with(|| {
            let (sender, inputs) = mpsc::channel(AHEAD);
            // Here and not on the thread: a window that is resized right after it was measured
            // must be noticed. What is wrong with the terminal is told when it is read.
            let _ = event::poll(Duration::ZERO);
            // Nobody joins it: it may wait for a key that never comes, and ends with the program.
            std::thread::spawn(move || {
                loop {
                    let input = event::read();
                    let is_over = input.is_err();
                    if sender.blocking_send(input).is_err() || is_over {
                        return;
                    }
                }
            });
            inputs
        })
    }
}
