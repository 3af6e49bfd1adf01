//! The control API on a pair of pipes, one message a line.
//!
//! The pipes are a connection: when the input ends, what was asked on it is cancelled, unless it
//! is durable.

use std::io;

use entreat_engine::Asker;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::rpc::{Rpc, Session};
use crate::told::Told;

/// The longest line, in bytes.
const LINE_LIMIT: usize = 32 << 20;
/// So many calls may be under way; no line is read beyond that.
const CALLS: usize = 1024;

/// Answers the lines of `input` on `output`, until the input ends or `end` comes.
///
/// Calls run side by side and are answered as they end; notifications stand between the answers.
/// When the input has ended, calls that were begun are still answered, but for those that wait
/// for an outcome.
pub async fn serve(
    rpc: &Rpc,
    asker: Asker,
    input: impl AsyncBufRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    end: impl Future<Output = ()>,
) -> io::Result<()> {
    let told = Told::new(rpc.engine().clone());
    let mut stream = told.stream(asker.clone(), None);
    let session = Session::connected(asker);
    let mut follow = std::pin::pin!(told.follow());
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
            telling = stream.next() => String::from(&*telling.text),
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
    // What was asked is cancelled now, so that every wait comes to its end.
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
    /// The line was given out.
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

    /// The next line, without its end; `None` after the last. May be dropped and called again:
    /// what was read of a line is kept.
    async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if std::mem::take(&mut self.is_done) {
            self.line.clear();
        }
        loop {
            let chunk = self.input.fill_buf().await?;
            if chunk.is_empty() {
                // The last line may lack its end.
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
