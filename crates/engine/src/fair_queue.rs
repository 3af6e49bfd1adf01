//! A semaphore with a fair share for each holder.
//!
//! Unlike [`Shares`](crate::shares::Shares), holders over their limit wait, in FIFO order.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A global limit on permits, with at most a share for each holder. Clones share the permits.
#[derive(Debug)]
pub struct FairQueue<K> {
    all: Arc<Semaphore>,
    each: usize,
    shares: Arc<Mutex<Shares<K>>>,
}

/// The semaphores of active holders, and some stale ones.
#[derive(Debug)]
struct Shares<K> {
    by_holder: HashMap<K, Weak<Semaphore>>,
    /// The number of entries at which stale ones are removed.
    sweep_at: usize,
}

/// A permit; released when dropped.
#[derive(Debug)]
#[must_use = "it is released when dropped"]
pub struct Permit {
    _of_all: OwnedSemaphorePermit,
    _of_share: OwnedSemaphorePermit,
}

impl<K: Eq + Hash> FairQueue<K> {
    /// Creates a limit of `all` in total and `each` per holder, both at least 1: with none, callers
    /// would wait forever.
    pub fn new(all: usize, each: usize) -> Self {
        let all = all.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(all)),
            each: each.clamp(1, all),
            shares: Arc::new(Mutex::new(Shares {
                by_holder: HashMap::new(),
                sweep_at: 0,
            })),
        }
    }

    /// Waits for a permit.
    ///
    /// # Panics
    ///
    /// Never: its semaphores are not closed.
    pub async fn acquire(&self, holder: K) -> Permit {
        // The share first: a holder that waits for it must not occupy a global permit.
        let of_share = self.share(holder).acquire_owned().await;
        let of_all = self.all.clone().acquire_owned().await;
        Permit {
            _of_all: of_all.expect("the semaphore is never closed"),
            _of_share: of_share.expect("the semaphore is never closed"),
        }
    }

    fn share(&self, holder: K) -> Arc<Semaphore> {
        let mut shares = self.shares.lock();
        let known = shares.by_holder.get(&holder);
        if let Some(share) = known.and_then(Weak::upgrade) {
            return share;
        }
        if shares.by_holder.len() >= shares.sweep_at {
            shares.by_holder.retain(|_, share| share.strong_count() > 0);
            // Doubling, so that cleanup takes amortized constant time.
            shares.sweep_at = 2 * shares.by_holder.len() + 16;
        }
        let share = Arc::new(Semaphore::new(self.each));
        shares.by_holder.insert(holder, Arc::downgrade(&share));
        share
    }
}

impl<K> Clone for FairQueue<K> {
    fn clone(&self) -> Self {
        Self {
            all: self.all.clone(),
            each: self.each,
            shares: self.shares.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn one_holder_waits_within_its_share_and_leaves_permits_to_others() {
        let queue = FairQueue::new(4, 2);
        let acquire = |holder| queue.acquire(holder).now_or_never();
        let held = [acquire("greedy").unwrap(), acquire("greedy").unwrap()];
        let mut next = Box::pin(queue.acquire("greedy"));
        assert!(next.as_mut().now_or_never().is_none());
        let others = [acquire("other").unwrap(), acquire("another").unwrap()];
        assert!(acquire("last").is_none());
        drop(held);
        assert!(next.as_mut().now_or_never().is_some());
        drop(others);
    }

    #[test]
    fn holders_that_left_are_forgotten() {
        let queue = FairQueue::new(4, 2);
        for holder in 0..100 {
            assert!(queue.acquire(holder).now_or_never().is_some());
        }
        assert!(queue.shares.lock().by_holder.len() <= 16);
    }
}
