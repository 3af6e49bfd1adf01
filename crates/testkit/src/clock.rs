//! A clock that tests advance manually, so that no test sleeps.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::Clock;
use parking_lot::Mutex;

/// A clock that only moves when a test advances it. Clones share the same time.
///
/// [`advance`](Self::advance) wakes sleepers in the order of their deadlines, and in FIFO order for
/// equal deadlines.
///
/// ```
/// use std::time::Duration;
/// use entreat_core::UnixTime;
/// use entreat_engine::Clock;
/// use entreat_testkit::VirtualClock;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let clock = VirtualClock::new(UnixTime::from_millis(1_000_000));
/// let sleeper = tokio::spawn(clock.sleep(Duration::from_secs(60)));
/// tokio::task::yield_now().await; // it falls asleep
/// assert_eq!(clock.next_due(), Some(Duration::from_secs(60)));
///
/// // Somebody sets the wall clock back: no time has passed.
/// clock.jump_wall(-5_000);
/// assert_eq!(clock.wall(), UnixTime::from_millis(995_000));
/// assert_eq!(clock.elapsed(), Duration::ZERO);
///
/// clock.advance(Duration::from_secs(60));
/// sleeper.await?;
/// # Ok::<(), tokio::task::JoinError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct VirtualClock {
    state: Arc<Mutex<State>>,
}

struct State {
    start: UnixTime,
    elapsed: Duration,
    /// Offset of the wall clock from start plus elapsed time, in milliseconds.
    offset: i64,
    sleepers: BTreeMap<Place, Waker>,
    next_number: u64,
}

/// A sleeper's deadline and sequence number.
type Place = (Duration, u64);

impl VirtualClock {
    /// Creates a clock at `start`, with nothing elapsed.
    pub fn new(start: UnixTime) -> Self {
        Self {
            state: Arc::new(Mutex::new(State {
                start,
                elapsed: Duration::ZERO,
                offset: 0,
                sleepers: BTreeMap::new(),
                next_number: 0,
            })),
        }
    }

    /// Advances time and wakes due sleepers.
    ///
    /// Time jumps to its new value, and woken tasks run afterwards: one that sleeps again does so
    /// from there. To observe intermediate states, take smaller steps, such as up to
    /// [`next_due`](Self::next_due).
    pub fn advance(&self, duration: Duration) {
        let due = {
            let state = &mut *self.state.lock();
            state.elapsed = state.elapsed.saturating_add(duration);
            let later = state.sleepers.split_off(&(state.elapsed, u64::MAX));
            std::mem::replace(&mut state.sleepers, later)
        };
        // Outside the lock: a waker may run arbitrary code.
        due.into_values().for_each(Waker::wake);
    }

    /// Shifts the wall clock by milliseconds in either direction; no time passes.
    pub fn jump_wall(&self, millis: i64) {
        let state = &mut *self.state.lock();
        state.offset = state.offset.saturating_add(millis);
    }

    /// Returns the number of sleepers.
    pub fn sleepers(&self) -> usize {
        self.state.lock().sleepers.len()
    }

    /// Returns the time until the next sleeper is due; `None` if there is none.
    pub fn next_due(&self) -> Option<Duration> {
        let state = self.state.lock();
        let ((due, _), _) = state.sleepers.first_key_value()?;
        Some(due.saturating_sub(state.elapsed))
    }
}

impl Clock for VirtualClock {
    fn wall(&self) -> UnixTime {
        let state = self.state.lock();
        let unmoved = state.start.after(state.elapsed).as_millis();
        UnixTime::from_millis(unmoved.saturating_add_signed(state.offset))
    }

    fn elapsed(&self) -> Duration {
        self.state.lock().elapsed
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(Sleep {
            state: Arc::clone(&self.state),
            due: self.elapsed().saturating_add(duration),
            place: None,
        })
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualClock")
            .field("wall", &self.wall())
            .field("elapsed", &self.elapsed())
            .field("sleepers", &self.sleepers())
            .finish()
    }
}

struct Sleep {
    state: Arc<Mutex<State>>,
    due: Duration,
    /// Its key among the sleepers, once it was polled.
    place: Option<Place>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let shared = Arc::clone(&self.state);
        let state = &mut *shared.lock();
        if state.elapsed >= self.due {
            return Poll::Ready(());
        }
        let due = self.due;
        let place = *self.place.get_or_insert_with(|| {
            state.next_number += 1;
            (due, state.next_number)
        });
        state.sleepers.insert(place, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.state.lock().sleepers.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Default)]
    struct Log(Mutex<Vec<u32>>);

    struct Note(u32, Arc<Log>);

    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            self.1.0.lock().push(self.0);
        }
    }

    fn poll(
        sleep: &mut Pin<Box<dyn Future<Output = ()> + Send>>,
        name: u32,
        log: &Arc<Log>,
    ) -> bool {
        let waker = Arc::new(Note(name, Arc::clone(log))).into();
        sleep
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
    }

    #[test]
    fn sleepers_wake_when_due_and_in_order() {
        let (clock, log) = (
            VirtualClock::new(UnixTime::default()),
            Arc::new(Log::default()),
        );
        let mut sleeps = [3, 1, 2, 1].map(|seconds| clock.sleep(SECOND * seconds));
        for (sleep, name) in sleeps.iter_mut().zip(0..) {
            assert!(!poll(sleep, name, &log));
        }
        clock.advance(Duration::from_millis(999));
        assert!(log.0.lock().is_empty());
        clock.advance(SECOND * 2);
        assert_eq!(*log.0.lock(), [1, 3, 2]);
        assert_eq!(clock.sleepers(), 1);
        clock.advance(Duration::from_millis(1));
        assert_eq!(*log.0.lock(), [1, 3, 2, 0]);
        for (sleep, name) in sleeps.iter_mut().zip(0..) {
            assert!(poll(sleep, name, &log));
        }
    }

    #[test]
    fn the_last_waker_is_woken_once_and_a_dropped_sleep_never() {
        let (clock, log) = (
            VirtualClock::new(UnixTime::default()),
            Arc::new(Log::default()),
        );
        let (mut kept, mut dropped) = (clock.sleep(SECOND), clock.sleep(SECOND));
        assert!(!poll(&mut kept, 1, &log) && !poll(&mut kept, 2, &log));
        assert!(!poll(&mut dropped, 3, &log));
        assert_eq!(clock.sleepers(), 2);
        drop(dropped);
        assert_eq!((clock.sleepers(), clock.next_due()), (1, Some(SECOND)));
        clock.advance(SECOND);
        assert_eq!(*log.0.lock(), [2]);
        assert_eq!((clock.sleepers(), clock.next_due()), (0, None));
    }

    #[test]
    fn a_sleep_counts_from_the_call_and_not_from_the_first_poll() {
        let (clock, log) = (
            VirtualClock::new(UnixTime::default()),
            Arc::new(Log::default()),
        );
        let mut sleep = clock.sleep(SECOND);
        clock.advance(SECOND);
        assert!(poll(&mut sleep, 0, &log));
        assert!(poll(&mut clock.sleep(Duration::ZERO), 0, &log));
    }

    #[test]
    fn the_wall_clock_jumps_and_stays_within_time() {
        let clock = VirtualClock::new(UnixTime::from_millis(10_000));
        clock.jump_wall(-4_000);
        clock.clone().advance(SECOND);
        assert_eq!(clock.wall(), UnixTime::from_millis(7_000));
        clock.jump_wall(4_000);
        assert_eq!(clock.wall(), UnixTime::from_millis(11_000));
        clock.jump_wall(i64::MIN);
        assert_eq!(clock.wall(), UnixTime::default());
        assert_eq!(clock.elapsed(), SECOND);
    }
}
