//! Newline-delimited messages, as MCP uses them on stdio.

use std::io;
use std::sync::Arc;

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::Mutex;

use crate::MAX_MESSAGE;

/// Reads lines. Skips lines longer than [`MAX_MESSAGE`] without buffering them.
pub struct LineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Whether the buffered line was already returned.
    is_complete: bool,
    /// Whether the rest of an overlong line is being skipped.
    is_skipping: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads from `reader`.
    pub fn new(reader: R) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            is_complete: false,
            is_skipping: false,
        }
    }

    /// Returns the next line without its newline, or `None` at the end of the input. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if std::mem::take(&mut self.is_complete) {
            self.line.clear();
        }
        loop {
            let room = MAX_MESSAGE.saturating_sub(self.line.len()) as u64;
            let mut reader = (&mut self.reader).take(room);
            reader.read_until(b'\n', &mut self.line).await?;
            if self.line.ends_with(b"\n") {
                if std::mem::take(&mut self.is_skipping) {
                    self.line.clear();
                    continue;
                }
                self.is_complete = true;
                return Ok(Some(self.line.trim_ascii()));
            }
            if self.line.len() < MAX_MESSAGE {
                // End of input. An unterminated line is incomplete and is dropped.
                return Ok(None);
            }
            tracing::warn!("skipped a message of more than {MAX_MESSAGE} bytes");
            self.is_skipping = true;
            self.line = Vec::new();
        }
    }
}

impl<R> std::fmt::Debug for LineReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineReader").finish_non_exhaustive()
    }
}

/// Writes lines. Clones share the writer.
pub struct LineWriter<W>(Arc<Mutex<Option<W>>>);

impl<W> Clone for LineWriter<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    /// Writes to `writer`.
    pub fn new(writer: W) -> Self {
        Self(Arc::new(Mutex::new(Some(writer))))
    }

    /// Writes a line and its newline.
    pub async fn send(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        let mut writer = self.0.lock().await;
        let Some(writer) = writer.as_mut() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        writer.write_all(&line).await?;
        writer.flush().await
    }

    /// Drops the writer, so that the other side reads end of file.
    pub async fn close(&self) {
        self.0.lock().await.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8]) -> Vec<Vec<u8>> {
        let mut reader = LineReader::new(input);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line.to_vec());
        }
        lines
    }

    #[tokio::test]
    async fn lines_come_one_by_one_and_without_their_ends() {
        assert_eq!(lines(b"a\r\nb\n\nc").await, [&b"a"[..], b"b", b""]);
        assert!(lines(b"").await.is_empty());
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_left_out_and_the_next_one_comes() {
        let mut input = vec![b'x'; MAX_MESSAGE + 7];
        input.extend_from_slice(b"\nnext\n");
        assert_eq!(lines(&input).await, [b"next"]);
    }

    #[tokio::test]
    async fn a_read_that_is_dropped_goes_on_where_it_was() {
        let (mut ours, theirs) = tokio::io::duplex(64);
        let mut reader = LineReader::new(theirs);
        ours.write_all(b"fir").await.unwrap();
        tokio::select! {
            biased;
            _ = reader.next() => panic!("there is no line yet"),
            () = tokio::task::yield_now() => {}
        }
        ours.write_all(b"st\nsecond\n").await.unwrap();
        assert_eq!(reader.next().await.unwrap(), Some(&b"first"[..]));
        assert_eq!(reader.next().await.unwrap(), Some(&b"second"[..]));
    }
}
