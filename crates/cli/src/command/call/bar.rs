//! How far a call is, on the last line of the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use entreat::mcp::answer::Progress;
use parking_lot::Mutex;
use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthChar as _;

use crate::output;

/// The bar's width in columns.
const COLUMNS: u16 = 30;
/// The width of a terminal that does not tell it.
const DEFAULT_WIDTH: u16 = 80;
/// Goes back to the first column and clears the line.
const CLEAR: &str = "\r\x1b[K";

/// A line on stderr that shows progress, if stderr is a terminal.
#[derive(Default)]
pub(super) struct Bar {
    /// The line as it was drawn last; empty if there is none.
    drawn: Mutex<String>,
}

impl Bar {
    /// Draws the line anew if it changed; `None` clears it.
    pub(super) fn show(&self, progress: Option<&Progress>) {
        let stderr = io::stderr();
        if !stderr.is_terminal() {
            return;
        }
        let width = terminal_size_of(&stderr).map_or(DEFAULT_WIDTH, |(Width(width), _)| width);
        let line = progress.map_or_else(String::new, |progress| line(progress, width));
        let mut drawn = self.drawn.lock();
        if *drawn != line {
            // Nobody is left to show it to if this fails.
            let _ = write!(stderr.lock(), "{CLEAR}{line}");
            *drawn = line;
        }
    }
}

/// Progress on one line of a terminal; a line that fills the last column would wrap.
fn line(progress: &Progress, width: u16) -> String {
    let message = output::sanitize(progress.message.as_deref().unwrap_or_default());
    let line = match progress.total {
        Some(total) if total > 0.0 => {
            let share = share(progress.done / total);
            let done = usize::from((share * COLUMNS + 50) / 100);
            let left = usize::from(COLUMNS) - done;
            format!(
                "{}{} {share}% {message}",
                "█".repeat(done),
                "░".repeat(left)
            )
        }
        // Servers that do not know the end count, if they count at all, in any measure.
        _ => message.into_owned(),
    };
    let mut columns = 0;
    let fits = |character: &char| {
        columns += character.width().unwrap_or_default();
        columns < usize::from(width)
    };
    line.chars().take_while(fits).collect()
}

/// A share in percent; servers send shares of every kind.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is between 0 and 100"
)]
fn share(share: f64) -> u16 {
    (share.clamp(0.0, 1.0) * 100.0) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(done: f64, total: Option<f64>, message: &str, width: u16) -> String {
        let message = Some(message.to_owned());
        line(
            &Progress {
                done,
                total,
                message,
            },
            width,
        )
    }

    #[test]
    fn odd_shares_stay_within_the_bar() {
        let shares = [0.5, -1.0, 7.0, f64::NAN, f64::INFINITY];
        assert_eq!(shares.map(share), [50, 0, 100, 0, 100]);
    }

    #[test]
    fn the_line_shows_the_share_and_the_message() {
        let bar = format!("{}{}", "█".repeat(10), "░".repeat(20));
        assert_eq!(
            shown(1.0, Some(3.0), "Copying", 80),
            format!("{bar} 33% Copying")
        );
        assert_eq!(shown(7.0, None, "Copying", 80), "Copying");
    }

    #[test]
    fn the_line_never_wraps() {
        assert_eq!(shown(1.0, None, "Kopieren", 5), "Kopi");
        assert_eq!(shown(1.0, None, "日本語", 5), "日本");
        assert_eq!(shown(1.0, None, "two\nlines\x1b[2J", 80).lines().count(), 1);
    }
}
