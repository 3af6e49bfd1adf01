//! What comes from the keyboard, for all prompts of a program.

use std::io;

use crossterm::event::{Event, EventStream};
use futures_util::{FutureExt as _, StreamExt as _};

/// Begun with the first prompt and kept for the next ones.
///
/// One stream for all: `crossterm` wakes its reader when a stream is dropped, and keys that come
/// in the same moment would wait there until another key is pressed.
#[derive(Default)]
pub(crate) struct Inputs(Option<EventStream>);

impl Inputs {
    /// What was typed before a prompt is on the screen is no answer to it, and above all no
    /// consent.
    pub(super) fn forget(&mut self) {
        let stream = self.0.get_or_insert_with(EventStream::new);
        while let Some(Some(Ok(_))) = stream.next().now_or_never() {}
    }

    /// The next one; `None` when the terminal is gone. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        self.0.get_or_insert_with(EventStream::new).next().await
    }
}
