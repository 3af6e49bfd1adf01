//! Lines of stdin, read by one thread for the program's lifetime.
//!
//! A thread blocked on a read cannot be woken. So there is a single one, it reads a line only on
//! request, and the line stays queued for the next reader: a closed prompt consumes nothing that
//! belongs to the next.

use std::io;

use tokio::sync::mpsc;

use crate::console::line;

/// A line of text, `None` at the end of the input, or the read error.
pub(crate) type Line = io::Result<Option<String>>;

pub(crate) struct LineReader {
    /// Requests a line from the thread; `None` if lines come from a channel.
    requests: Option<std::sync::mpsc::SyncSender<()>>,
    lines: mpsc::Receiver<Line>,
    /// A line was requested and has not arrived.
    is_requested: bool,
    pub(crate) has_read: bool,
    pub(crate) has_ended: bool,
}

impl LineReader {
    /// Starts the thread that reads stdin.
    pub(crate) fn stdin() -> Self {
        // One request is in flight at a time.
        let (requests, requested) = std::sync::mpsc::sync_channel(1);
        let (sender, lines) = mpsc::channel(1);
        // Never joined: it may block on a line that never comes, and ends with the process.
        std::thread::spawn(move || {
            while requested.recv().is_ok() {
                let line = line::read(&mut io::stdin().lock());
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self::new(Some(requests), lines)
    }

    /// Reads lines from a channel.
    pub(crate) fn from_channel(lines: mpsc::Receiver<Line>) -> Self {
        Self::new(None, lines)
    }

    fn new(requests: Option<std::sync::mpsc::SyncSender<()>>, lines: mpsc::Receiver<Line>) -> Self {
        Self {
            requests,
            lines,
            is_requested: false,
            has_read: false,
            has_ended: false,
        }
    }

    /// Returns the next line. Cancel-safe: a line that arrives later goes to the next call.
    pub(crate) async fn next(&mut self) -> Line {
        if self.has_ended {
            return Ok(None);
        }
        if !self.is_requested {
            if let Some(requests) = &self.requests {
                // If the thread has exited, the input has ended.
                let _ = requests.send(());
            }
            self.is_requested = true;
        }
        let line = self.lines.recv().await.unwrap_or(Ok(None));
        self.is_requested = false;
        match &line {
            Ok(None) => self.has_ended = true,
            Ok(Some(_)) | Err(_) => self.has_read = true,
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_comes_too_late_for_one_prompt_is_the_next_ones() {
        let (keyboard, lines) = mpsc::channel(1);
        let mut lines = LineReader::from_channel(lines);
        {
            let mut closed = std::pin::pin!(lines.next());
            let poll = futures_util::poll!(&mut closed);
            assert!(poll.is_pending());
        }
        keyboard.send(Ok(Some("late".to_owned()))).await.unwrap();
        assert_eq!(lines.next().await.unwrap().as_deref(), Some("late"));
        drop(keyboard);
        assert_eq!(lines.next().await.unwrap(), None);
        assert!(lines.has_ended && lines.has_read);
    }
}
