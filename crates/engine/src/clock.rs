//! Reads the time and sleeps. No other code in Entreat does.
//!
//! The wall clock jumps when somebody sets it. Monotonic time only counts up, and deadlines use it.
//! A [`Clock`] provides both; only `Timeline` combines them.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use entreat_core::UnixTime;

/// A source of time: the system's clock, or a test's.
///
/// ```
/// use std::time::Duration;
/// use entreat_core::UnixTime;
/// use entreat_engine::Clock;
/// use entreat_testkit::VirtualClock;
///
/// let clock = VirtualClock::new(UnixTime::from_millis(1_000));
/// clock.advance(Duration::from_millis(500));
/// assert_eq!(clock.wall(), UnixTime::from_millis(1_500));
/// assert_eq!(clock.elapsed(), Duration::from_millis(500));
/// ```
pub trait Clock: Send + Sync + 'static {
    /// Returns the wall clock time, which may jump in either direction.
    fn wall(&self) -> UnixTime;

    /// Returns the monotonic time since a fixed but arbitrary origin.
    ///
    /// Never goes back, and advances while the machine is suspended.
    fn elapsed(&self) -> Duration;

    /// Resolves once [`elapsed`](Self::elapsed) has advanced by `duration` since the call (not
    /// since the first poll). It may be late, but never early.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The system's clock.
///
/// On Linux, monotonic time includes suspend. Elsewhere it follows the standard library's
/// `Instant`, and deadlines may be late by the time that the machine was suspended.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    #[cfg(not(target_os = "linux"))]
    origin: std::time::Instant,
}

/// The maximum delay of a sleep when the machine was suspended meanwhile.
///
/// The runtime's timers stop then, so longer sleeps consist of several short ones.
const SLEEP_CHUNK: Duration = Duration::from_secs(10);

impl SystemClock {
    /// Creates the system's clock.
    pub fn new() -> Self {
        Self {
            #[cfg(not(target_os = "linux"))]
            origin: instant(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the home of the wall clock; everyone else gets the time as an argument"
    )]
    fn wall(&self) -> UnixTime {
        // A clock before 1970 was never set; use 1970.
        let since_1970 = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        UnixTime::default().after(since_1970)
    }

    #[cfg(target_os = "linux")]
    fn elapsed(&self) -> Duration {
        // Not `Instant`, which excludes suspend on Linux.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // Neither part can be negative or too large.
        Duration::new(
            u64::try_from(now.tv_sec).unwrap_or_default(),
            u32::try_from(now.tv_nsec).unwrap_or_default(),
        )
    }

    #[cfg(not(target_os = "linux"))]
    fn elapsed(&self) -> Duration {
        instant().saturating_duration_since(self.origin)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let clock = *self;
        Box::pin(sleep_by(move || clock.elapsed(), self.elapsed(), duration))
    }
}

/// Sleeps until `elapsed` returns at least `begun + duration`.
async fn sleep_by(elapsed: impl Fn() -> Duration, begun: Duration, duration: Duration) {
    // Time slept counts even if the clock disagrees: with tokio's paused time, timers run ahead of
    // the system clock.
    let mut slept = Duration::ZERO;
    loop {
        let passed = slept.max(elapsed().saturating_sub(begun));
        let left = duration.saturating_sub(passed);
        if left.is_zero() {
            return;
        }
        let chunk = left.min(SLEEP_CHUNK);
        tokio::time::sleep(chunk).await;
        slept += chunk;
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::disallowed_methods,
    reason = "the home of the monotonic clock; everyone else gets the time as an argument"
)]
fn instant() -> std::time::Instant {
    std::time::Instant::now()
}

/// The time that deadlines use: the wall clock at start, plus the monotonic time since.
///
/// It never jumps, so that a timeout of an hour is an hour. The price is that it ignores later
/// corrections of the wall clock until the next start.
pub(crate) struct Timeline {
    clock: Arc<dyn Clock>,
    start: UnixTime,
    elapsed_at_start: Duration,
}

impl Timeline {
    /// Starts at the current wall clock time.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            start: clock.wall(),
            elapsed_at_start: clock.elapsed(),
            clock,
        }
    }

    /// The current time.
    pub(crate) fn now(&self) -> UnixTime {
        self.at(self.clock.elapsed())
    }

    /// The time at an earlier reading of [`Clock::elapsed`].
    pub(crate) fn at(&self, elapsed: Duration) -> UnixTime {
        let passed = elapsed.saturating_sub(self.elapsed_at_start);
        self.start.after(passed)
    }

    /// Sleeps until [`now`](Self::now) is `moment` or later.
    pub(crate) async fn sleep_until(&self, moment: UnixTime) {
        loop {
            let left = moment.since(self.now());
            if left.is_zero() {
                return;
            }
            self.clock.sleep(left).await;
        }
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timeline")
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A wall clock and a counter, both set manually; sleeping advances the counter.
    #[derive(Default)]
    struct ManualClock {
        wall: AtomicU64,
        elapsed: Arc<AtomicU64>,
    }

    impl Clock for ManualClock {
        fn wall(&self) -> UnixTime {
            UnixTime::from_millis(self.wall.load(Ordering::Relaxed))
        }

        fn elapsed(&self) -> Duration {
            Duration::from_millis(self.elapsed.load(Ordering::Relaxed))
        }

        fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            let elapsed = Arc::clone(&self.elapsed);
            Box::pin(async move {
                // At most a second at a time: a timeline sleeps again if it wakes early.
                let millis = duration.as_millis().min(1_000);
                elapsed.fetch_add(u64::try_from(millis).unwrap(), Ordering::Relaxed);
            })
        }
    }

    #[test]
    fn a_timeline_follows_elapsed_time_and_no_jump_of_the_wall_clock() {
        let manual = Arc::new(ManualClock::default());
        manual.wall.store(1_000_000, Ordering::Relaxed);
        manual.elapsed.store(77, Ordering::Relaxed);
        let timeline = Timeline::new(Arc::clone(&manual) as Arc<dyn Clock>);
        assert_eq!(timeline.now(), UnixTime::from_millis(1_000_000));

        manual.wall.store(5, Ordering::Relaxed);
        assert_eq!(timeline.now(), UnixTime::from_millis(1_000_000));
        manual.wall.store(u64::MAX, Ordering::Relaxed);
        manual.elapsed.store(77 + 250, Ordering::Relaxed);
        assert_eq!(timeline.now(), UnixTime::from_millis(1_000_250));
    }

    #[tokio::test]
    async fn a_timeline_sleeps_until_the_moment_and_not_beyond() {
        let manual = Arc::new(ManualClock::default());
        let timeline = Timeline::new(Arc::clone(&manual) as Arc<dyn Clock>);
        timeline.sleep_until(UnixTime::from_millis(4_500)).await;
        assert_eq!(timeline.now(), UnixTime::from_millis(4_500));
        timeline.sleep_until(UnixTime::from_millis(4_000)).await;
        assert_eq!(timeline.now(), UnixTime::from_millis(4_500));
    }

    #[test]
    fn the_system_clock_shows_this_century_and_only_counts_up() {
        let clock = SystemClock::new();
        assert!(clock.wall() > UnixTime::from_millis(1_700_000_000_000));
        let mut last = clock.elapsed();
        for _ in 0..1_000 {
            let now = clock.elapsed();
            assert!(now >= last);
            last = now;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_the_machine_slept_counts() {
        let (hour, begun) = (Duration::from_secs(3_600), tokio::time::Instant::now());
        // The machine was suspended for an hour before the second reading.
        let readings = AtomicU64::new(0);
        let elapsed = || match readings.fetch_add(1, Ordering::Relaxed) {
            0 => Duration::ZERO,
            _ => hour,
        };
        sleep_by(elapsed, Duration::ZERO, hour).await;
        assert!(begun.elapsed() <= SLEEP_CHUNK + Duration::from_millis(1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_system_clock_sleeps_as_long_as_it_is_told() {
        let begun = tokio::time::Instant::now();
        SystemClock::new().sleep(Duration::from_secs(3_600)).await;
        let slept = begun.elapsed();
        assert!(
            slept >= Duration::from_secs(3_599) && slept <= Duration::from_secs(3_601),
            "{slept:?}"
        );
        SystemClock::new().sleep(Duration::ZERO).await;
        assert_eq!(begun.elapsed(), slept);
    }
}
