//! Log lines about what peers do: few and short, so that nobody can fill the log.

use std::fmt::{self, Write as _};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The time between two lines about the same thing.
const INTERVAL: Duration = Duration::from_secs(10);
/// How many bytes of a peer's words are shown.
const MAX_WORDS: usize = 1 << 10;

/// Lets one line through in ten seconds, where there is no clock of an engine for a
/// [`LogThrottle`](entreat_engine::LogThrottle).
#[derive(Debug, Default)]
pub(crate) struct LineThrottle(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    written_at: Option<Instant>,
    untold: u64,
}

impl LineThrottle {
    /// Counts an event. Returns how many events a line has to report, this one included; `None` if
    /// there was a line a moment ago.
    pub(crate) fn count(&self) -> Option<u64> {
        let mut state = self.0.lock();
        state.untold = state.untold.saturating_add(1);
        if state.written_at.is_some_and(|at| at.elapsed() < INTERVAL) {
            return None;
        }
        state.written_at = Some(Instant::now());
        Some(std::mem::take(&mut state.untold))
    }
}

/// A text that a peer may have written, cut to what a line can show.
pub(crate) fn cut(words: impl fmt::Display) -> String {
    let mut cut = Cut(String::new());
    // An error says that the rest is left out.
    if write!(cut, "{words}").is_err() {
        cut.0.push('…');
    }
    cut.0
}

struct Cut(String);

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_WORDS - self.0.len();
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end));
        self.0.push_str(&text[..end.unwrap_or_default()]);
        Err(fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_flood_gets_one_line_in_ten_seconds() {
        let seldom = LineThrottle::default();
        let mut told = Vec::new();
        for _ in 0..25 {
            told.extend(seldom.count());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(told, [1, 10, 10]);
    }

    #[test]
    fn long_words_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = cut("é".repeat(1 << 20));
        assert_eq!(long, format!("{}…", "é".repeat(MAX_WORDS / 2)));
        assert_eq!(
            cut(format_args!("x{}", "é".repeat(600))).len(),
            MAX_WORDS - 1 + 3
        );
    }
}
