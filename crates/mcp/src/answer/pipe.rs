//! A transport of one message a line, which hands questions over as they came.

use std::io;
use std::sync::Arc;

use futures_util::StreamExt as _;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use super::raw::Raw;

/// The longest message that is taken.
const LONGEST: usize = 64 << 20;

/// A connection of lines, such as a child's standard input and output.
pub struct Pipe<R, W> {
    lines: FramedRead<R, LinesCodec>,
    writer: Arc<Mutex<Option<W>>>,
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
            lines: FramedRead::new(reader, LinesCodec::new_with_max_length(LONGEST)),
            writer: Arc::new(Mutex::new(Some(writer))),
            raw: Raw::default(),
        }
    }

    fn read(&self, line: &str) -> Option<ServerJsonRpcMessage> {
        let message = serde_json::from_str(line).and_then(|mut message: Value| {
            self.raw.keep(&mut message);
            serde_json::from_value(message)
        });
        match message {
            Ok(message) => Some(message),
            Err(error) => {
                // Servers print all kinds of things there. What they print is not ours to log.
                tracing::debug!(%error, "a line of the server is no message");
                None
            }
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
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut writer = writer.lock().await;
            let Some(writer) = writer.as_mut() else {
                return Err(io::ErrorKind::BrokenPipe.into());
            };
            writer.write_all(&line).await?;
            writer.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            match self.lines.next().await? {
                Ok(line) => {
                    if let Some(message) = self.read(&line) {
                        return Some(message);
                    }
                }
                Err(LinesCodecError::MaxLineLengthExceeded) => {
                    tracing::warn!("a message of the server is longer than {LONGEST} bytes");
                }
                Err(LinesCodecError::Io(error)) => {
                    tracing::debug!(%error, "the server cannot be read any more");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // The server reads the end of its input.
        self.writer.lock().await.take();
        Ok(())
    }
}
