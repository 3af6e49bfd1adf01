//! A transport of one message a line, which hands questions over as they came.

use std::io;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::raw::Raw;
use crate::lines::{LineReader, LineWriter};
use crate::requests::{OpenRequests, Writing, answered};

/// A connection of lines, such as a child's standard input and output.
pub struct Pipe<R, W> {
    reader: LineReader<R>,
    writer: LineWriter<W>,
    raw: Raw,
    open: OpenRequests,
    refusing: Writing,
}

impl<R, W> Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Reads messages from one end and writes them to the other.
    pub fn new(reader: R, writer: W) -> Self {
        Self {
            reader: LineReader::new(reader),
            writer: LineWriter::new(writer),
            raw: Raw::default(),
            open: OpenRequests::default(),
            refusing: Writing::default(),
        }
    }

    /// Whether a message may be worked on; if not, the server is told so before anything else is
    /// read.
    fn admits(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let refused = match message {
            JsonRpcMessage::Request(request) => self.open.open(&request.id),
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It is not answered.
                    drop(self.open.close(id));
                }
                Ok(())
            }
            _ => Ok(()),
        };
        let Err(refused) = refused else {
            return true;
        };
        let (error, id) = *refused;
        if id.is_none() {
            // The first is still to be answered, and an answer without its id says nothing.
            tracing::debug!("a request has the id of one that is open");
            return false;
        }
        let message = ClientJsonRpcMessage::error(error, id);
        let writer = self.writer.clone();
        self.refusing
            .begin(async move { writer.send(serde_json::to_vec(&message)?).await });
        false
    }
}

fn read(line: &[u8], raw: &Raw) -> Option<ServerJsonRpcMessage> {
    match raw.read(line).and_then(serde_json::from_value) {
        Ok(message) => Some(message),
        Err(error) => {
            // Servers print all kinds of things there. What they print is not ours to log.
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
        self.raw.sent(&message);
        let writer = self.writer.clone();
        let closing = answered(&message).and_then(|id| self.open.close(id));
        async move {
            let sent = writer.send(serde_json::to_vec(&message)?).await;
            drop(closing);
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            self.refusing.end().await.ok()?;
            match self.reader.next().await {
                Ok(line) => {
                    if let Some(message) = read(line?, &self.raw)
                        && self.admits(&message)
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
