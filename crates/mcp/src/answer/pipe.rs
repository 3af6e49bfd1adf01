//! A newline-delimited client transport that preserves messages.

use std::io;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite};

use super::raw::Raw;
use crate::line_connection::{Admission, LineConnection};

/// A newline-delimited transport, such as a child's stdin and stdout.
pub struct Pipe<R, W> {
    lines: LineConnection<R, W>,
    raw: Raw,
}

impl<R, W> Pipe<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Creates a transport that reads messages from `reader` and writes them to `writer`.
    pub fn new(reader: R, writer: W) -> Self {
        Self {
            lines: LineConnection::new(reader, writer),
            raw: Raw::default(),
        }
    }

    /// Starts to reject a request.
    fn reject(&mut self, error: ErrorData, id: Option<RequestId>) {
        if id.is_none() {
            // The first request is still open, and an error without its id would mean nothing.
            tracing::debug!("a request has the id of one that is open");
        } else if let Ok(line) = to_line(&ClientJsonRpcMessage::error(error, id)) {
            self.lines.reject(line);
        }
    }
}

fn cancelled(notification: &ServerNotification) -> Option<&RequestId> {
    match notification {
        ServerNotification::CancelledNotification(it) => it.params.request_id.as_ref(),
        _ => None,
    }
}

fn to_line(message: &ClientJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(message)
}

fn read(line: &[u8], raw: &Raw) -> Option<ServerJsonRpcMessage> {
    match raw.read(line).and_then(serde_json::from_value) {
        Ok(message) => Some(message),
        Err(error) => {
            // Servers print all kinds of text on stdout, which must not be logged.
            tracing::debug!(
                column = error.column(),
                "a line from the server is not a message"
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
        self.lines.send(message, to_line)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let line = match self.lines.next().await {
                Ok(line) => line?,
                Err(error) => {
                    tracing::debug!(%error, "reading from the server failed");
                    return None;
                }
            };
            let Some(mut message) = read(line, &self.raw) else {
                continue;
            };
            match self.lines.admit(&mut message, cancelled) {
                Admission::Admitted => return Some(message),
                Admission::Dropped => {}
                Admission::Rejected(rejection) => {
                    let (error, id) = *rejection;
                    self.reject(error, id);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.lines.close().await
    }
}
