//! Reads the time and waits for it. Nothing else in Entreat does.
//!
//! A machine has two kinds of time. The wall clock says what people call the time, and jumps
//! when somebody sets it. The other kind only counts, and is what deadlines are kept by. A
//! [`Clock`] gives both and mixes neither; `Timeline` is the one place that joins them.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use entreat_core::UnixTime;

/// Where the time comes from: the system's clock, or a test's.
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
    /// What the wall clock shows. It may jump, in either direction.
    fn wall(&self) -> UnixTime;

    /// How long it is since some fixed point, which is the same for the clock's whole life.
    ///
    /// Never goes back, and goes on while the machine is asleep.
    fn elapsed(&self) -> Duration;

    /// Becomes ready once [`elapsed`](Self::elapsed) has grown by this much, counted from the
    /// call and not from the first poll; a little later is fine, earlier is not.
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The clock of the machine.
///
/// On Linux time goes on while the machine is asleep. Elsewhere that is as the standard
/// library's `Instant` has it; a deadline may then be late by as long as the machine slept.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    #[cfg(not(target_os = "linux"))]
    origin: std::time::Instant,
}

/// How much later than due a sleeper may wake when the machine was asleep meanwhile.
///
/// The runtime's timers stand still then, so longer sleeps are made of several short ones. One
/// look at the clock in this time costs nothing that could be measured.
const NAP: Duration = Duration::from_secs(10);

impl SystemClock {
    /// The clock of the machine.
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
        reason = "the home of the wall clock; everyone else is handed the time"
    )]
    fn wall(&self) -> UnixTime {
        // A clock before 1970 was never set; the time then counts from 1970.
        let since_1970 = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        UnixTime::default().after(since_1970)
    }

    #[cfg(target_os = "linux")]
    fn elapsed(&self) -> Duration {
        // Not `Instant`, which stands still while a Linux machine sleeps.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        // Neither part can be negative or too large; without a failure to handle, none is made up.
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

/// Sleeps until `elapsed` is `duration` more than it was at the beginning.
async fn sleep_by(elapsed: impl Fn() -> Duration, begun: Duration, duration: Duration) {
    // What was slept counts even if the clock denies it: under tokio's paused time the
    // runtime's timers run ahead of the machine.
    let mut slept = Duration::ZERO;
    loop {
        let passed = slept.max(elapsed().saturating_sub(begun));
        let left = duration.saturating_sub(passed);
        if left.is_zero() {
            return;
        }
        let nap = left.min(NAP);
        tokio::time::sleep(nap).await;
        slept += nap;
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(
    clippy::disallowed_methods,
    reason = "the home of the counting clock; everyone else is handed the time"
)]
fn instant() -> std::time::Instant {
    std::time::Instant::now()
}

/// The time by which Entreat keeps deadlines: the wall clock's at the start, and what has
/// passed since.
///
/// It never goes back and never jumps, whatever becomes of the wall clock, so an hour that
/// somebody was given is an hour. The price is that it disagrees with a wall clock that was
/// set right later; the next start heals that.
pub(crate) struct Timeline {
    clock: Arc<dyn Clock>,
    start: UnixTime,
    elapsed_at_start: Duration,
}

impl Timeline {
    /// Starts at what the wall clock shows now.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            start: clock.wall(),
            elapsed_at_start: clock.elapsed(),
            clock,
        }
    }

    /// The time.
    pub(crate) fn now(&self) -> UnixTime {
        self.at(self.clock.elapsed())
    }

    /// The time at a look at the clock that was taken for something else too.
    pub(crate) fn at(&self, elapsed: Duration) -> UnixTime {
        let passed = elapsed.saturating_sub(self.elapsed_at_start);
        self.start.after(passed)
    }

    /// Waits until [`now`](Self::now) is `moment` or later; not at all if it is already.
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

    /// A wall clock and a counter, both set by hand; sleeping moves the counter.
    #[derive(Default)]
    struct Hands {
        wall: AtomicU64,
        elapsed: Arc<AtomicU64>,
    }

    impl Clock for Hands {
        fn wall(&self) -> UnixTime {
            UnixTime::from_millis(self.wall.load(Ordering::Relaxed))
        }

        fn elapsed(&self) -> Duration {
            Duration::from_millis(self.elapsed.load(Ordering::Relaxed))
        }

        fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            let elapsed = Arc::clone(&self.elapsed);
            Box::pin(async move {
                // At most a second at a time: a timeline asks again if it is woken early.
                let millis = duration.as_millis().min(1_000);
                elapsed.fetch_add(u64::try_from(millis).unwrap(), Ordering::Relaxed);
            })
        }
    }

    #[test]
    fn a_timeline_follows_elapsed_time_and_no_jump_of_the_wall_clock() {
        let hands = Arc::new(Hands::default());
        hands.wall.store(1_000_000, Ordering::Relaxed);
        hands.elapsed.store(77, Ordering::Relaxed);
        let timeline = Timeline::new(Arc::clone(&hands) as Arc<dyn Clock>);
        assert_eq!(timeline.now(), UnixTime::from_millis(1_000_000));

        hands.wall.store(5, Ordering::Relaxed);
        assert_eq!(timeline.now(), UnixTime::from_millis(1_000_000));
        hands.wall.store(u64::MAX, Ordering::Relaxed);
        hands.elapsed.store(77 + 250, Ordering::Relaxed);
        assert_eq!(timeline.now(), UnixTime::from_millis(1_000_250));
    }

    #[tokio::test]
    async fn a_timeline_sleeps_until_the_moment_and_not_beyond() {
        let hands = Arc::new(Hands::default());
        let timeline = Timeline::new(Arc::clone(&hands) as Arc<dyn Clock>);
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
        // By the first look after falling asleep, the lid was closed for an hour.
        let looks = AtomicU64::new(0);
        let elapsed = || match looks.fetch_add(1, Ordering::Relaxed) {
            0 => Duration::ZERO,
            _ => hour,
        };
        sleep_by(elapsed, Duration::ZERO, hour).await;
        assert!(begun.elapsed() <= NAP + Duration::from_millis(1));
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
