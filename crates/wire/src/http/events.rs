//! Server-sent events, of bounded length.

use std::io;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use sse_stream::SseStream;

use super::exchange::ExchangeError;
use crate::MAX_MESSAGE;

pub use sse_stream::{Error as EventError, Sse as Event};

/// The events of a response. It ends with an error at an event of more than [`MAX_MESSAGE`] bytes.
pub type EventStream = BoxStream<'static, Result<Event, EventError>>;

pub(super) fn events(
    chunks: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
) -> EventStream {
    let chunks = chunks.map_err(|error| io::Error::other(ExchangeError::from(error)));
    SseStream::from_bytes_stream(limited(chunks)).boxed()
}

/// Fails if an event gets too long.
fn limited(
    chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let mut event = EventLength::default();
    chunks.map(move |chunk| {
        let chunk = chunk?;
        event.read(&chunk);
        if event.length > MAX_MESSAGE {
            return Err(io::Error::other(ExchangeError::TooLong(MAX_MESSAGE)));
        }
        Ok(chunk)
    })
}

/// Measures the current event, which ends with an empty line.
#[derive(Default)]
struct EventLength {
    length: usize,
    line: usize,
    last: u8,
}

impl EventLength {
    fn read(&mut self, chunk: &[u8]) {
        for byte in chunk {
            self.length += 1;
            match (self.last, byte) {
                // The second byte of a line ending.
                (b'\r', b'\n') => {}
                (_, b'\r' | b'\n') => {
                    if self.line == 0 {
                        self.length = 0;
                    }
                    self.line = 0;
                }
                _ => self.line += 1,
            }
            self.last = *byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_ends_with_an_empty_line_however_lines_end() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("data: a{end}data: b{end}{end}data: c{end}");
            let left = format!("data: c{end}").len();
            for cut in 0..text.len() {
                let mut event = EventLength::default();
                event.read(&text.as_bytes()[..cut]);
                event.read(&text.as_bytes()[cut..]);
                let slack = end.len() - 1;
                assert!(
                    (left..=left + slack).contains(&event.length),
                    "{end:?} {cut}"
                );
            }
        }
    }

    #[tokio::test]
    async fn an_event_of_any_number_of_lines_is_cut_off() {
        let line = Bytes::from(format!("data: {}\n", "x".repeat(1 << 20)));
        let endless = futures_util::stream::repeat_with(move || Ok(line.clone()));
        let mut taken = 0;
        let mut events = std::pin::pin!(limited(endless));
        while let Some(Ok(chunk)) = events.next().await {
            taken += chunk.len();
            assert!(taken <= 2 * MAX_MESSAGE, "it is never cut off");
        }
        assert!(taken > MAX_MESSAGE / 2);
    }
}
