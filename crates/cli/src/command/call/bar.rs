//! How far a call is, on the last line of the terminal.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};

use entreat::mcp::answer::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// So many steps a bar has; servers count in any measure.
const STEPS: u64 = 1000;

/// A bar that is there while there is progress.
#[derive(Default)]
pub(super) struct Bar(Mutex<Option<ProgressBar>>);

impl Bar {
    /// Shows progress; `None` takes the bar away.
    pub(super) fn show(&self, progress: Option<&Progress>) {
        let mut bar = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(progress) = progress else {
            if let Some(bar) = bar.take() {
                bar.finish_and_clear();
            }
            return;
        };
        let bar = bar.get_or_insert_with(|| {
            let target = if io::stderr().is_terminal() {
                ProgressDrawTarget::stderr()
            } else {
                ProgressDrawTarget::hidden()
            };
            ProgressBar::with_draw_target(Some(STEPS), target)
        });
        let (share, template) = match progress.total {
            Some(total) if total > 0.0 => (progress.done / total, "{bar:30} {percent}% {msg}"),
            // Without an end there is only movement.
            _ => (0.0, "{spinner} {msg}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(
            output::plain(progress.message.as_deref().unwrap_or_default()).into_owned(),
        );
        bar.set_position(steps(share));
        bar.tick();
    }
}

/// A share in steps of the bar; servers send shares of every kind.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "it is between nothing and the whole"
)]
fn steps(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * STEPS as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_shares_stay_within_the_bar() {
        let shares = [0.5, -1.0, 7.0, f64::NAN, f64::INFINITY];
        assert_eq!(shares.map(steps), [500, 0, STEPS, 0, STEPS]);
    }
}
