//! A transport of one message a line, which hands questions over as they came.

use std::io;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::raw::Raw;
use crate::lines::{LineReader, LineWriter};

/// A connection of lines, such as a child's standard input and output.
pub struct Pipe<R, W> {
    reader: LineReader<R>,
    writer: LineWriter<W>,
    raw: Raw,
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
        }
    }
}

fn read(line: &[u8], raw: &Raw) -> Option<ServerJsonRpcMessage> {
    let message = serde_json::from_slice(line).and_then(|mut message: Value| {
        raw.keep(&mut message);
        serde_json::from_value(message)
    });
    match message {
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
        async move { writer.send(serde_json::to_vec(&message)?).await }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            match self.reader.next().await {
                Ok(line) => {
                    if let Some(message) = read(line?, &self.raw) {
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
