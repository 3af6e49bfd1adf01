//! Reads messages.

use std::collections::VecDeque;
use std::io;

use bytes::{Bytes, BytesMut};
use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The default for the longest message, in bytes.
pub const MAX_MESSAGE: usize = 16 << 20;

/// How much is kept of the beginning of a line that is too long.
pub const HEAD: usize = 64 << 10;

/// How much is kept of the end of a line that is too long: TypeScript writes the id last.
pub const TAIL: usize = 1 << 10;

/// The least and the most that one read asks for. The least is what an idle connection keeps.
const CHUNK: (usize, usize) = (4 << 10, 64 << 10);

/// A line that has something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A message, without the white space around it.
    ///
    /// It shares memory with up to 64 KiB of its neighbours: copy what is kept for long.
    Message(Bytes),
    /// A message that is too long, and was skipped. [`Overlong`](super::Overlong) finds its id.
    TooLong {
        /// Its first [`HEAD`] bytes.
        head: Bytes,
        /// Its last bytes, at most [`TAIL`].
        tail: Bytes,
    },
}

/// Reads lines of bounded length.
pub struct LineSource<R> {
    reader: R,
    longest: usize,
    /// What was read and not returned yet.
    buffer: BytesMut,
    /// How much of the buffer is known to be free of newlines.
    searched: usize,
    /// How much the next read asks for.
    chunk: usize,
    /// The overlong line that is being skipped.
    skipped: Option<Skipped>,
    is_at_end: bool,
}

#[derive(Default)]
struct Skipped {
    head: Bytes,
    tail: VecDeque<u8>,
}

impl<R: AsyncRead + Unpin> LineSource<R> {
    /// Reads from `reader` messages of up to `longest` bytes.
    pub fn new(reader: R, longest: usize) -> Self {
        Self {
            reader,
            longest,
            buffer: BytesMut::new(),
            searched: 0,
            chunk: CHUNK.0,
            skipped: None,
            is_at_end: false,
        }
    }

    /// Returns the next line that is not blank, or `None` at the end of the input. What the last
    /// newline does not end is a line, too: it may be a message. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            while let Some(line) = self.take_line() {
                if let Some(line) = line {
                    return Ok(Some(line));
                }
            }
            if self.is_at_end {
                return Ok(None);
            }
            self.read().await?;
        }
    }

    /// Takes a line from the buffer; `None` if it has no complete one, `Some(None)` if the line is
    /// blank.
    #[expect(
        clippy::option_option,
        reason = "both cases are looked at right where it is called"
    )]
    fn take_line(&mut self) -> Option<Option<Line>> {
        let newline = memchr(b'\n', &self.buffer[self.searched..]);
        let length = match newline {
            Some(offset) => self.searched + offset,
            None if self.is_at_end && (!self.buffer.is_empty() || self.skipped.is_some()) => {
                self.buffer.len()
            }
            None => {
                self.searched = self.buffer.len();
                self.skip_if_too_long();
                return None;
            }
        };
        if length > self.longest && self.skipped.is_none() {
            self.skipped = Some(Skipped::begin(&self.buffer[..length]));
        }
        self.searched = 0;
        let mut line = self.buffer.split_to(length);
        if newline.is_some() {
            let _ = self.buffer.split_to(1);
        }
        if let Some(mut skipped) = self.skipped.take() {
            skipped.add(&line);
            drop(line);
            self.let_go();
            return Some(Some(skipped.end()));
        }
        if line.len() > CHUNK.1 {
            self.let_go();
        }
        trim(&mut line);
        Some((!line.is_empty()).then(|| Line::Message(line.freeze())))
    }

    fn skip_if_too_long(&mut self) {
        if let Some(skipped) = &mut self.skipped {
            skipped.add(&self.buffer);
        } else if self.buffer.len() > self.longest {
            let mut skipped = Skipped::begin(&self.buffer);
            skipped.add(&self.buffer);
            self.skipped = Some(skipped);
        } else {
            return;
        }
        self.searched = 0;
        if self.buffer.len() > CHUNK.1 {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
    }

    /// Gives back the memory of a long line, of which the rest of the buffer is a part.
    fn let_go(&mut self) {
        self.buffer = BytesMut::from(&self.buffer[..]);
    }

    async fn read(&mut self) -> io::Result<()> {
        if self.buffer.capacity() - self.buffer.len() < self.chunk {
            // A line that does not end grows the buffer by its own length, up to the limit.
            let limit = self.longest + CHUNK.1;
            let more = self.chunk.max(self.buffer.len());
            let more = more.min(limit.saturating_sub(self.buffer.len()));
            self.buffer.reserve(more.max(self.chunk));
        }
        let before = self.buffer.len();
        let room = self.buffer.capacity() - before;
        let read = self.reader.read_buf(&mut self.buffer).await?;
        if read == 0 {
            self.is_at_end = true;
        } else if read >= room.min(self.chunk) {
            self.chunk = (self.chunk * 2).min(CHUNK.1);
        } else if read < self.chunk / 4 {
            self.chunk = (self.chunk / 2).max(CHUNK.0);
        }
        Ok(())
    }
}

impl Skipped {
    fn begin(line: &[u8]) -> Self {
        Self {
            head: Bytes::copy_from_slice(&line[..line.len().min(HEAD)]),
            tail: VecDeque::new(),
        }
    }

    fn add(&mut self, part: &[u8]) {
        let part = &part[part.len().saturating_sub(TAIL)..];
        let overflow = (self.tail.len() + part.len()).saturating_sub(TAIL);
        self.tail.drain(..overflow);
        self.tail.extend(part);
    }

    fn end(self) -> Line {
        let tail = Vec::from(self.tail);
        Line::TooLong {
            head: self.head,
            tail: tail.trim_ascii_end().to_vec().into(),
        }
    }
}

fn trim(line: &mut BytesMut) {
    let end = line.trim_ascii_end().len();
    line.truncate(end);
    let start = line.len() - line.trim_ascii_start().len();
    if start > 0 {
        let _ = line.split_to(start);
    }
}

impl<R> std::fmt::Debug for LineSource<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineSource").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    async fn lines(input: &[u8], longest: usize) -> Vec<Line> {
        let mut source = LineSource::new(input, longest);
        let mut lines = Vec::new();
        while let Some(line) = source.next().await.unwrap() {
            lines.push(line);
        }
        lines
    }

    fn message(text: &str) -> Line {
        Line::Message(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[tokio::test]
    async fn lines_come_in_order_without_blank_ones_and_with_the_unfinished_last() {
        let input = b"\n {\"a\": 1} \r\n\r\n \nb\nc";
        let expected = [message("{\"a\": 1}"), message("b"), message("c")];
        assert_eq!(lines(input, MAX_MESSAGE).await, expected);
        assert!(lines(b"", MAX_MESSAGE).await.is_empty());
        assert!(lines(b"\n\n", MAX_MESSAGE).await.is_empty());
    }

    #[tokio::test]
    async fn the_longest_message_passes_and_one_byte_more_does_not() {
        for longest in [1, 7, CHUNK.0, CHUNK.1, 200_000] {
            for (length, fits) in [(longest, true), (longest + 1, false)] {
                let long = "x".repeat(length);
                let all = lines(format!("a\n{long}\nb\n").as_bytes(), longest).await;
                assert_eq!(all.len(), 3, "{longest}");
                assert_eq!(all[1] == message(&long), fits, "{longest}");
                assert_eq!(all[2], message("b"));
            }
        }
    }

    #[tokio::test]
    async fn an_overlong_line_leaves_its_beginning_and_its_end() {
        let long = format!("head{}tail", "x".repeat(3 << 20));
        for end in ["\n", ""] {
            let input = format!("{long}{end}");
            let all = lines(input.as_bytes(), 1 << 20).await;
            let [Line::TooLong { head, tail }] = all.as_slice() else {
                panic!("one line expected, not {}", all.len());
            };
            assert_eq!((head.len(), tail.len()), (HEAD, TAIL));
            assert!(head.starts_with(b"headx") && tail.ends_with(b"xtail"));
        }
    }

    #[tokio::test]
    async fn an_overlong_line_is_not_kept_while_it_is_skipped() {
        let (mut ours, theirs) = tokio::io::duplex(64 << 10);
        let mut source = LineSource::new(theirs, 1 << 20);
        let chunk = vec![b'x'; 64 << 10];
        let writing = async move {
            for _ in 0..512 {
                ours.write_all(&chunk).await.unwrap();
            }
            ours.write_all(b"\nnext\n").await.unwrap();
            ours
        };
        let reading = async {
            assert!(matches!(
                source.next().await.unwrap(),
                Some(Line::TooLong { .. })
            ));
            assert!(source.buffer.capacity() <= 2 * CHUNK.1);
            assert_eq!(source.next().await.unwrap(), Some(message("next")));
        };
        let ((), _ours) = tokio::join!(reading, writing);
    }

    #[tokio::test]
    async fn memory_of_a_long_message_is_given_back() {
        let input = format!("{}\nnext\n", "x".repeat(1 << 20));
        let mut source = LineSource::new(input.as_bytes(), MAX_MESSAGE);
        drop(source.next().await.unwrap());
        assert!(source.buffer.capacity() <= 2 * CHUNK.1);
        assert_eq!(source.next().await.unwrap(), Some(message("next")));
    }

    #[tokio::test]
    async fn a_read_that_is_dropped_goes_on_where_it_was() {
        let (mut ours, theirs) = tokio::io::duplex(64);
        let mut source = LineSource::new(theirs, MAX_MESSAGE);
        ours.write_all(b"fir").await.unwrap();
        tokio::select! {
            biased;
            _ = source.next() => panic!("there is no line yet"),
            () = tokio::task::yield_now() => {}
        }
        ours.write_all(b"st\nsecond\n").await.unwrap();
        assert_eq!(source.next().await.unwrap(), Some(message("first")));
        assert_eq!(source.next().await.unwrap(), Some(message("second")));
    }
}
