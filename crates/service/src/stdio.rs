//! The control API over a pair of pipes, one message per line.
//!
//! The pipes are one connection: when the input ends, its questions are cancelled unless they are
//! durable.

use std::io;

use entreat_engine::Asker;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::notification_log::NotificationLog;
use crate::rpc::{Rpc, Session};

/// Maximum length of a line, in bytes.
const LINE_LIMIT: usize = 32 << 20;
/// Maximum number of calls in flight; reading pauses at that number.
const CALLS: usize = 1024;

/// Answers the messages of `input` on `output`, until the input ends or `end` resolves.
///
/// Calls run concurrently and are answered in order of completion; notifications come in between.
/// After the end of the input, calls in flight are still answered; those that wait for an outcome
/// return at once.
pub async fn serve(
    rpc: &Rpc,
    asker: Asker,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let notifications = NotificationLog::new(rpc.engine().clone());
    let mut stream = notifications.stream(asker.clone(), None);
    let session = Session::connected(asker);
    let mut follow = std::pin::pin!(notifications.follow());
    let mut end = std::pin::pin!(end);
    let mut lines = Lines::of(input);
    let mut calls = FuturesUnordered::new();
    loop {
        let has_room = calls.len() < CALLS;
        let text = tokio::select! {
            biased;
            () = &mut end => break,
            () = &mut follow => break,
            Some(body) = calls.next() => match body {
                Some(body) => body,
                None => continue,
            },
            notification = stream.next() => String::from(&*notification.text),
            line = lines.next(), if has_room => {
                match line? {
                    Some(line) if line.trim_ascii().is_empty() => {}
                    Some(line) => {
                        let answering = rpc.answer(&session, line);
                        calls.push(async move { answering.await.body });
                    }
                    None => break,
                }
                continue;
            }
        };
        write_line(&mut output, text).await?;
    }
    drop(session);
    // Dropping the session cancelled its questions, so every wait ends.
    while let Some(body) = calls.next().await {
        if let Some(body) = body {
            write_line(&mut output, body).await?;
        }
    }
    Ok(())
}

async fn write_line(output: &mut (impl AsyncWrite + Unpin), mut text: String) -> io::Result<()> {
    text.push('\n');
    output.write_all(text.as_bytes()).await?;
    output.flush().await
}

/// Lines of bounded length.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
    /// The line was returned and is cleared by the next call.
    is_done: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    fn of(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            is_done: false,
        }
    }

    /// Returns the next line without its terminator; `None` after the last. Cancel-safe.
    async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if std::mem::take(&mut self.is_done) {
            self.line.clear();
        }
        loop {
            let chunk = self.input.fill_buf().await?;
            if chunk.is_empty() {
                // The last line may lack its terminator.
                self.is_done = true;
                return Ok((!self.line.is_empty()).then_some(&self.line));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            self.line.extend_from_slice(&chunk[..taken]);
            self.input.consume(end.map_or(taken, |end| end + 1));
            if self.line.len() > LINE_LIMIT {
                let message = format!("a message is longer than {LINE_LIMIT} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            if end.is_some() {
                self.is_done = true;
                return Ok(Some(&self.line));
            }
        }
    }
}
