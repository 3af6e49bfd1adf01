//! Rate limits: a number of events per period, and a burst.
//!
//! The generic cell rate algorithm: a token bucket whose whole state is the time at which it will
//! be full again, so that it needs no timer and 8 bytes. By hand, because the crates that have it
//! read a clock of their own, and time here is the caller's.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use entreat_core::UnixTime;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// How many events are allowed per period, and how many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Nanoseconds until one more event is allowed.
    interval: u64,
    burst: u64,
}

impl Rate {
    /// Allows this many events per second, and a burst of as many.
    pub fn per_second(count: NonZeroU32) -> Self {
        Self::per(Duration::from_secs(1), count)
    }

    /// Allows this many events per minute, and a burst of as many.
    pub fn per_minute(count: NonZeroU32) -> Self {
        Self::per(Duration::from_secs(60), count)
    }

    /// Sets the size of the burst.
    pub fn burst(mut self, count: NonZeroU32) -> Self {
        self.burst = count.get().into();
        self
    }

    fn per(period: Duration, count: NonZeroU32) -> Self {
        let nanos = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        Self {
            interval: nanos / u64::from(count.get()),
            burst: count.get().into(),
        }
    }
}

/// Counts events against a [`Rate`].
#[derive(Debug)]
pub struct RateLimiter {
    rate: Rate,
    /// When the whole burst is available again, in nanoseconds since 1970.
    full_at: AtomicU64,
}

impl RateLimiter {
    /// Creates a limiter with the whole burst available.
    pub fn new(rate: Rate) -> Self {
        Self {
            rate,
            full_at: AtomicU64::new(0),
        }
    }

    /// Counts one event. The error is the time to wait until the next one is allowed; a refused
    /// event is not counted.
    pub fn check(&self, now: UnixTime) -> Result<(), Duration> {
        let now = nanos(now);
        let Rate { interval, burst } = self.rate;
        let limit = now.saturating_add(interval.saturating_mul(burst));
        let take = |full_at: u64| {
            // Beyond the limit only after the clock was set back, which must not lock anybody out.
            let full_at = if full_at > limit {
                now
            } else {
                full_at.max(now)
            };
            let taken = full_at.saturating_add(interval);
            (taken <= limit).then_some(taken)
        };
        let order = Ordering::Relaxed;
        let updated = self.full_at.fetch_update(order, order, take);
        updated.map(drop).map_err(|full_at| {
            let wait = full_at.saturating_add(interval).saturating_sub(limit);
            // Rounded up: a caller that comes back in time must not be a moment early.
            Duration::from_millis(wait.div_ceil(NANOS_PER_MILLI).max(1))
        })
    }

    /// Whether the whole burst is available, so that there is nothing to remember.
    pub fn is_full(&self, now: UnixTime) -> bool {
        self.full_at.load(Ordering::Relaxed) <= nanos(now)
    }
}

fn nanos(time: UnixTime) -> u64 {
    time.as_millis().saturating_mul(NANOS_PER_MILLI)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: u64 = 1_800_000_000_000;

    fn at(millis: u64) -> UnixTime {
        UnixTime::from_millis(START + millis)
    }

    fn number(count: u32) -> NonZeroU32 {
        NonZeroU32::new(count).unwrap()
    }

    #[test]
    fn a_burst_is_allowed_and_then_one_per_interval() {
        let limiter = RateLimiter::new(Rate::per_second(number(10)).burst(number(3)));
        for _ in 0..3 {
            assert_eq!(limiter.check(at(0)), Ok(()));
        }
        assert_eq!(limiter.check(at(0)), Err(Duration::from_millis(100)));
        assert_eq!(limiter.check(at(99)), Err(Duration::from_millis(1)));
        assert_eq!(limiter.check(at(100)), Ok(()));
        assert_eq!(limiter.check(at(100)), Err(Duration::from_millis(100)));
        assert!(!limiter.is_full(at(399)));
        assert!(limiter.is_full(at(400)));
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out() {
        let limiter = RateLimiter::new(Rate::per_minute(number(6)));
        limiter.check(at(3_600_000)).unwrap();
        for _ in 0..6 {
            assert_eq!(limiter.check(at(0)), Ok(()));
        }
        assert_eq!(limiter.check(at(0)), Err(Duration::from_secs(10)));
    }

    proptest! {
        #[test]
        fn whoever_waits_as_told_is_let_in_and_nobody_gets_more_than_the_rate(
            count in 1..200_u32,
            burst in 1..50_u32,
            pauses in prop::collection::vec(0..2_000_u64, 1..200),
        ) {
            let limiter = RateLimiter::new(Rate::per_second(number(count)).burst(number(burst)));
            let (mut now, mut allowed) = (0, 0);
            for pause in pauses {
                now += pause;
                if let Err(wait) = limiter.check(at(now)) {
                    now += u64::try_from(wait.as_millis()).unwrap();
                    prop_assert_eq!(limiter.check(at(now)), Ok(()));
                }
                allowed += 1;
                prop_assert!(allowed <= u64::from(burst) + now * u64::from(count) / 1_000 + 1);
            }
        }
    }
}
