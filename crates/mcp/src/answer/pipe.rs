//! A newline-delimited client transport that preserves messages.

use std::io;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::raw::Raw;
use crate::lines::{LineReader, LineWriter};
use crate::requests::{OpenRequests, PendingWrite, answered_id};

/// A newline-delimited transport, such as a child's stdin and stdout.
pub struct Pipe<R, W> {
    reader: LineReader<R>,
    writer: LineWriter<W>,
    raw: Raw,
    open: OpenRequests,
    error_write: PendingWrite,
}

impl<R, W> Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport that reads messages from `reader` and writes them to `writer`.
    pub fn new(reader: R, writer: W) -> Self {
        Self {
            reader: LineReader::new(reader),
            writer: LineWriter::new(writer),
            raw: Raw::default(),
            open: OpenRequests::default(),
            error_write: PendingWrite::default(),
        }
    }

    /// Registers a request, or starts to reject it if too many are open. Returns whether to handle
    /// the message.
    fn admit(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let rejection = match message {
            JsonRpcMessage::Request(request) => self.open.open(&request.id),
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // A cancelled request gets no response.
                    drop(self.open.close(id));
                }
                Ok(())
            }
            _ => Ok(()),
        };
        let Err(rejection) = rejection else {
            return true;
        };
        let (error, id) = *rejection;
        if id.is_none() {
            // The first request is still open, and an error without its id would mean nothing.
            tracing::debug!("a request has the id of one that is open");
            return false;
        }
        let message = ClientJsonRpcMessage::error(error, id);
        let writer = self.writer.clone();
        self.error_write
            .start(async move { writer.send(serde_json::to_vec(&message)?).await });
        false
    }
}

fn read(line: &[u8], raw: &Raw) -> Option<ServerJsonRpcMessage> {
    match raw.read(line).and_then(serde_json::from_value) {
        Ok(message) => Some(message),
        Err(error) => {
            // Servers print all kinds of text on stdout, which must not be logged.
            tracing::debug!(
                column = error.column(),
                "a line of the server is no message"
            );
            None
        }
    }
}

impl<R, W> std::fmt::Debug for Pipe<R, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipe").finish_non_exhaustive()
    }
}

impl<R, W> Transport<RoleClient> for Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.raw.note_sent(&message);
        let writer = self.writer.clone();
        let closing = answered_id(&message).and_then(|id| self.open.close(id));
        async move {
            let sent = writer.send(serde_json::to_vec(&message)?).await;
            drop(closing);
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            self.error_write.finish().await.ok()?;
            match self.reader.next().await {
                Ok(line) => {
                    if let Some(message) = read(line?, &self.raw)
                        && self.admit(&message)
                    {
                        return Some(message);
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "the server cannot be read any more");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.close().await;
        Ok(())
    }
}
