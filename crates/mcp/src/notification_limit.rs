//! Bounds how far reading runs ahead of the handlers of notifications.
//!
//! rmcp starts a task for each notification and tells nobody when it ends. So each carries a guard
//! in its extensions, which is dropped with the handler, and while there are too many guards,
//! nothing is read, which applies backpressure.
//!
//! A handler may itself wait for the peer, for example for its roots, and that response may be
//! behind notifications that are not read yet. So if no handler completes for a while, reading
//! continues, and further notifications are dropped until one does.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Sleep;

/// The maximum size of the notifications being handled, in bytes.
const MAX_SIZE: usize = 1 << 20;
/// The size of a notification in addition to its text: mostly the task.
const OVERHEAD: usize = 1 << 10;
/// How long reading waits for a handler to complete.
const PATIENCE: Duration = Duration::from_millis(100);

/// The notifications of a connection that are being handled.
#[derive(Default)]
pub(crate) struct NotificationLimit {
    handled: Arc<Handled>,
    /// Set while reading waits. It survives cancellation of the task that waits.
    patience: Option<Pin<Box<Sleep>>>,
    /// Whether reading continues although no handler completed in time.
    is_stalled: bool,
}

#[derive(Default)]
struct Handled {
    size: AtomicUsize,
    /// Notified when a handler completes.
    completed: Notify,
}

impl Handled {
    fn is_full(&self) -> bool {
        self.size.load(Ordering::Acquire) >= MAX_SIZE
    }
}

impl NotificationLimit {
    /// Waits until a further notification may be handled, or no handler completes. Cancel safe.
    pub(crate) async fn ready(&mut self) {
        while self.handled.is_full() && !self.is_stalled {
            let patience = self
                .patience
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(PATIENCE)));
            tokio::select! {
                biased;
                () = self.handled.completed.notified() => self.patience = None,
                () = patience => {
                    tracing::warn!("handlers of notifications hang; dropping further notifications");
                    self.is_stalled = true;
                }
            }
        }
        self.patience = None;
    }

    /// Counts a notification of this length until the guard is dropped. `None` if it must not be
    /// handled, because too many are.
    pub(crate) fn admit(&mut self, length: usize) -> Option<NotificationGuard> {
        if self.handled.is_full() {
            return None;
        }
        self.is_stalled = false;
        Some(self.count(length))
    }

    /// Counts a notification that must be handled.
    pub(crate) fn count(&self, length: usize) -> NotificationGuard {
        let size = length + OVERHEAD;
        self.handled.size.fetch_add(size, Ordering::AcqRel);
        NotificationGuard(Arc::new(Place {
            handled: self.handled.clone(),
            size,
        }))
    }
}

/// Counts a notification until the last clone is dropped.
#[derive(Clone)]
pub(crate) struct NotificationGuard(#[expect(dead_code, reason = "held until dropped")] Arc<Place>);

struct Place {
    handled: Arc<Handled>,
    size: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.handled.size.fetch_sub(self.size, Ordering::AcqRel);
        self.handled.completed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn filled(limit: &mut NotificationLimit) -> Vec<NotificationGuard> {
        std::iter::from_fn(|| limit.admit(1_000)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn reading_waits_until_a_handler_completes() {
        let mut limit = NotificationLimit::default();
        limit.ready().await;
        let mut guards = filled(&mut limit);
        assert!((500..600).contains(&guards.len()), "{}", guards.len());
        assert!(limit.ready().now_or_never().is_none());
        guards.pop();
        limit.ready().now_or_never().expect("there is room again");
        assert!(
            limit.admit(MAX_SIZE).is_some(),
            "one of any size is admitted"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn if_no_handler_completes_notifications_are_dropped_until_one_does() {
        let mut limit = NotificationLimit::default();
        let mut guards = filled(&mut limit);
        let start = tokio::time::Instant::now();
        limit.ready().await;
        assert_eq!(start.elapsed(), PATIENCE);
        for _ in 0..3 {
            assert!(limit.admit(0).is_none());
            limit.ready().now_or_never().expect("it waits only once");
        }
        guards.pop();
        guards.push(limit.admit(1_000).expect("there is room again"));
        assert!(limit.ready().now_or_never().is_none(), "it waits again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_cancelled_again_and_again_still_ends() {
        let mut limit = NotificationLimit::default();
        let _guards = filled(&mut limit);
        let start = tokio::time::Instant::now();
        for _ in 0..20 {
            let _ = tokio::time::timeout(PATIENCE / 10, limit.ready()).await;
        }
        limit.ready().now_or_never().expect("the wait is over");
        assert!(start.elapsed() <= PATIENCE * 2);
    }
}
