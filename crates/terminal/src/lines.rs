//! Lines of stdin, read by one thread for the program's whole life.
//!
//! A thread that waits for a line cannot be woken. So there is one, it reads a line when it is
//! asked for one, and the line waits for whoever wants it: a prompt that was closed takes
//! nothing away from the next.

use std::io;

use tokio::sync::mpsc;

use crate::console::line;

/// What a line is: text, the end of the input, or why it cannot be had.
pub(crate) type Line = io::Result<Option<String>>;

pub(crate) struct Lines {
    /// Asks the thread for a line; none where lines come by themselves.
    asks: Option<std::sync::mpsc::SyncSender<()>>,
    come: mpsc::Receiver<Line>,
    /// A line was asked for and has not come.
    is_awaited: bool,
    pub(crate) has_read: bool,
    pub(crate) has_ended: bool,
}

impl Lines {
    /// Lines of stdin.
    pub(crate) fn of_stdin() -> Self {
        // One line is asked for at a time, in both directions.
        let (asks, asked) = std::sync::mpsc::sync_channel(1);
        let (sender, lines) = mpsc::channel(1);
        // Nobody joins it: it may wait for a line that never comes, and ends with the program.
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                let line = line::read(&mut io::stdin().lock());
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self::of(Some(asks), lines)
    }

    /// Lines that somebody else brings.
    pub(crate) fn brought(lines: mpsc::Receiver<Line>) -> Self {
        Self::of(None, lines)
    }

    fn of(asks: Option<std::sync::mpsc::SyncSender<()>>, lines: mpsc::Receiver<Line>) -> Self {
        Self {
            asks,
            come: lines,
            is_awaited: false,
            has_read: false,
            has_ended: false,
        }
    }

    /// The next line. Cancel-safe: what comes after this was given up is the next one's.
    pub(crate) async fn next(&mut self) -> Line {
        if self.has_ended {
            return Ok(None);
        }
        if !self.is_awaited {
            if let Some(asks) = &self.asks {
                // A thread that is gone is an input that has ended.
                let _ = asks.send(());
            }
            self.is_awaited = true;
        }
        let line = self.come.recv().await.unwrap_or(Ok(None));
        self.is_awaited = false;
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
        let mut lines = Lines::brought(lines);
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
