//! A server that speaks in lines on a connection that is open already: a socket, or a server in this
//! process.

use std::fmt;
use std::future::pending;

use tokio::io::{AsyncRead, AsyncWrite};

use super::lines::{Line, LineSource, MAX_MESSAGE, Outbox, Overlong};
use super::{Closed, Failure, UpstreamEvent, UpstreamReceiver, UpstreamSender, too_many_values};

/// Receives the messages of a server on a connection.
pub struct PipeReceiver {
    source: LineSource<Box<dyn AsyncRead + Send + Unpin>>,
    is_closed: bool,
}

/// Returns the two directions of a connection to a server.
///
/// # Panics
///
/// Outside a Tokio runtime.
pub fn connect(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> (UpstreamSender, UpstreamReceiver) {
    let receiver = PipeReceiver {
        source: LineSource::new(Box::new(reader), MAX_MESSAGE),
        is_closed: false,
    };
    (
        UpstreamSender::Pipe(Outbox::new(writer)),
        UpstreamReceiver::Pipe(receiver),
    )
}

impl PipeReceiver {
    /// Returns the next event. Cancel safe. After [`UpstreamEvent::Closed`], it never returns.
    pub async fn next(&mut self) -> UpstreamEvent {
        if self.is_closed {
            pending::<()>().await;
        }
        loop {
            let found = match self.source.next().await {
                Ok(Some(Line::Message(text))) => match too_many_values(&text) {
                    None => return UpstreamEvent::Message { text, via: None },
                    Some(found) => found,
                },
                Ok(Some(Line::TooLong { head, tail })) => Overlong::read(&head, &tail),
                Ok(None) | Err(_) => {
                    self.is_closed = true;
                    return UpstreamEvent::Closed(Closed::Exited(None));
                }
            };
            if let Some(id) = found.id.filter(|_| !found.has_method) {
                let failure = Failure::too_long(MAX_MESSAGE);
                return UpstreamEvent::Failed { id, failure };
            }
        }
    }
}

impl fmt::Debug for PipeReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipeReceiver").finish_non_exhaustive()
    }
}
