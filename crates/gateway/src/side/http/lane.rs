//! The order of messages: HTTP has none, and a server reads what arrives first.
//!
//! Notifications and answers go one after the other, and a request goes after those before it. A
//! server that is slow to accept them holds up the rest only for a while.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long messages wait for those before them.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Where messages queue up.
#[derive(Debug)]
pub(super) struct Lane(Mutex<Turn>);

/// The turn of a message, which comes when those before it are done.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    is_done: CancellationToken,
    until: Instant,
}

impl Lane {
    pub(super) fn new() -> Self {
        let is_done = CancellationToken::new();
        is_done.cancel();
        let until = Instant::now();
        Self(Mutex::new(Turn { is_done, until }))
    }

    /// Waits behind all that has joined.
    pub(super) fn last(&self) -> Turn {
        self.0.lock().clone()
    }

    /// Joins: those behind it wait until the guard is dropped.
    pub(super) fn join(&self) -> (Turn, DropGuard) {
        let is_done = CancellationToken::new();
        let until = Instant::now() + LONGEST_WAIT;
        let own = Turn {
            is_done: is_done.clone(),
            until,
        };
        let before = std::mem::replace(&mut *self.0.lock(), own);
        (before, is_done.drop_guard())
    }
}

impl Turn {
    /// Waits for the turn.
    pub(super) async fn come(&self) {
        if self.is_done.is_cancelled() {
            return;
        }
        // Whoever is late is overtaken.
        let _ = timeout_at(self.until, self.is_done.cancelled()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn messages_wait_for_those_before_them_but_not_forever() {
        let lane = Lane::new();
        let start = Instant::now();
        let (turn, first) = lane.join();
        turn.come().await;
        let (second, _guard) = lane.join();
        assert_eq!(start.elapsed(), Duration::ZERO);
        tokio::join!(second.come(), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(first);
        });
        assert_eq!(start.elapsed(), Duration::from_secs(1));
        // The second one is never done.
        lane.last().come().await;
        assert_eq!(start.elapsed(), LONGEST_WAIT);
        lane.last().come().await;
        assert_eq!(start.elapsed(), LONGEST_WAIT);
    }
}
