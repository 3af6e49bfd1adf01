//! Limits how often one server may ask.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const PERIOD: Duration = Duration::from_secs(60);

/// A sliding window of one minute.
pub(super) struct RateLimiter {
    limit: usize,
    window: Mutex<Window>,
}

#[derive(Default)]
struct Window {
    admitted: VecDeque<Instant>,
    last_report: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Allowed,
    /// Rejected, and the person has not been notified in this window.
    RejectedFirst,
    Rejected,
}

impl RateLimiter {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            window: Mutex::default(),
        }
    }

    pub(super) fn admit(&self) -> Admission {
        let now = Instant::now();
        let mut window = self.window.lock();
        while window
            .admitted
            .front()
            .is_some_and(|at| now.duration_since(*at) >= PERIOD)
        {
            window.admitted.pop_front();
        }
        if window.admitted.len() < self.limit {
            window.admitted.push_back(now);
            return Admission::Allowed;
        }
        let is_reported = window
            .last_report
            .is_some_and(|at| now.duration_since(at) < PERIOD);
        if is_reported {
            return Admission::Rejected;
        }
        window.last_report = Some(now);
        Admission::RejectedFirst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minute_later_there_is_room_again() {
        let limiter = RateLimiter::new(2);
        assert_eq!(limiter.admit(), Admission::Allowed);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(limiter.admit(), Admission::Allowed);
        assert_eq!(limiter.admit(), Admission::RejectedFirst);
        assert_eq!(limiter.admit(), Admission::Rejected);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(limiter.admit(), Admission::Allowed);
        assert_eq!(limiter.admit(), Admission::Rejected);
    }
}
