//! Terminal input, read by one thread for the program's lifetime.
//!
//! Not `crossterm`'s `EventStream`: it wakes the task that first polled it, not the one polling
//! now, and keys that arrive while it is dropped stay unread until another one is pressed.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event};
use tokio::sync::mpsc;

/// More keys than a person types while a frame is drawn; the rest stays in the terminal's buffer.
const CAPACITY: usize = 64;

/// Started with the first prompt and reused by the next ones.
#[derive(Default)]
pub(crate) struct Inputs(Option<mpsc::Receiver<io::Result<Event>>>);

impl Inputs {
    /// Starts listening, for window resizes too.
    pub(super) fn start(&mut self) {
        self.receiver();
    }

    /// Discards keys typed before the prompt was visible: they are not an answer, and above all not
    /// consent.
    pub(super) fn discard_pending(&mut self) {
        let inputs = self.receiver();
        while inputs.try_recv().is_ok() {}
    }

    /// Waits for the next event; `None` when the terminal is closed. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        self.receiver().recv().await
    }

    fn receiver(&mut self) -> &mut mpsc::Receiver<io::Result<Event>> {
        self.0.get_or_insert_with(|| {
            let (sender, inputs) = mpsc::channel(CAPACITY);
            // Here and not on the thread, so that a resize right after the size was measured is
            // noticed. Errors surface on the first read.
            let _ = event::poll(Duration::ZERO);
            // Never joined: it may block on a key that never comes, and ends with the process.
            std::thread::spawn(move || {
                loop {
                    let input = event::read();
                    let has_failed = input.is_err();
                    if sender.blocking_send(input).is_err() || has_failed {
                        return;
                    }
                }
            });
            inputs
        })
    }
}
