//! The pauses between attempts, which double up to a maximum.

use std::time::Duration;

/// Counts the pauses between attempts. It does not wait itself: every caller has its own clock.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// Begins with the first pause.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            next: first,
        }
    }

    /// Returns the pause before the next attempt; the one after that is twice as long.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        pause
    }

    /// Whether no pause was taken since the beginning or the last reset.
    pub fn is_fresh(&self) -> bool {
        self.next == self.first
    }

    /// Begins anew, after an attempt that succeeded.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_maximum_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        assert!(backoff.is_fresh());
        let pauses: Vec<u64> = (0..5).map(|_| backoff.next_pause().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 5, 5]);
        assert!(!backoff.is_fresh());
        backoff.reset();
        assert!(backoff.is_fresh());
        assert_eq!(backoff.next_pause(), Duration::from_secs(1));
    }
}
