//! Server-sent events of a response, as rmcp takes them.

use std::io;

use bytes::Bytes;
use futures_util::stream::{BoxStream, try_unfold};
use futures_util::{Stream, StreamExt as _};

use super::exchange::ExchangeError;
use super::sse::{Data, EventParser, ServerEvent};
use crate::MAX_MESSAGE;

pub use sse_stream::{Error as EventError, Sse as Event};

/// The events of a response. It ends with an error at an event of more than [`MAX_MESSAGE`] bytes.
pub type EventStream = BoxStream<'static, Result<Event, EventError>>;

pub(super) fn events(
    chunks: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
) -> EventStream {
    let parser = EventParser::new(MAX_MESSAGE);
    let start = (Box::pin(chunks), parser, Bytes::new());
    let events = try_unfold(start, async |(mut chunks, mut parser, mut chunk)| {
        loop {
            if let Some(event) = parser.read(&mut chunk) {
                return Ok(Some((converted(event)?, (chunks, parser, chunk))));
            }
            match chunks.next().await {
                Some(next) => chunk = next.map_err(|error| failed(error.into()))?,
                None => return Ok(None),
            }
        }
    });
    events.boxed()
}

fn converted(event: ServerEvent) -> Result<Event, EventError> {
    let data = match event.data {
        None => None,
        Some(Data::Whole(data)) => Some(String::from_utf8_lossy(&data).into_owned()),
        Some(Data::TooLong { .. }) => return Err(failed(ExchangeError::TooLong(MAX_MESSAGE))),
    };
    Ok(Event {
        event: event.kind,
        data,
        id: event.id,
        retry: event.retry,
    })
}

fn failed(error: ExchangeError) -> EventError {
    EventError::Body(Box::new(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn an_event_that_is_too_long_ends_the_stream_with_an_error() {
        let line = Bytes::from(format!("data: {}\n", "x".repeat(1 << 20)));
        let long = stream::iter(std::iter::repeat_n(line, MAX_MESSAGE / (1 << 20) + 1));
        let rest = stream::once(async { Bytes::from_static(b"\ndata: a\n\n") });
        let before = stream::once(async { Bytes::from_static(b"id: 1\ndata: b\n\n") });
        let mut events = events(before.chain(long).chain(rest).map(Ok));
        let first = events.next().await.unwrap().unwrap();
        assert_eq!(
            (first.id.as_deref(), first.data.as_deref()),
            (Some("1"), Some("b"))
        );
        let error = events.next().await.unwrap().unwrap_err();
        assert!(error.to_string().contains("bytes"), "{error}");
        assert!(events.next().await.is_none());
    }
}
