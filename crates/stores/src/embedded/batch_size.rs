//! The number of low-priority steps per transaction, adapted to the disk.
//!
//! A caller that arrives during a transaction waits for its end. So low-priority steps may take
//! about as long as the fsync does anyway: a few dozen on a fast disk, many hundreds on a slow one.
//! A caller's latency at most doubles.

use std::time::{Duration, Instant};

use super::group_commit::BATCH;

/// Measures transactions and derives the limit.
pub(super) struct BatchSizer {
    /// Moving average of the shortest fsync time.
    disk: Duration,
    /// Moving average of the time that a step adds.
    step: Duration,
}

/// With fewer, most of the time would go to fsync.
const MIN_LIMIT: usize = 64;
/// Window of the moving averages, in transactions.
const WINDOW: u32 = 8;
/// Window for slow transactions, which may just have written more.
const SLOW_WINDOW: u32 = 64;

impl BatchSizer {
    pub(super) fn new() -> Self {
        Self {
            disk: Duration::from_micros(500),
            step: Duration::from_micros(10),
        }
    }

    /// Returns the limit for the next transaction.
    pub(super) fn low_priority_limit(&self) -> usize {
        let limit = self.disk.as_nanos() / self.step.as_nanos().max(1);
        usize::try_from(limit).map_or(BATCH, |limit| limit.clamp(MIN_LIMIT, BATCH))
    }

    /// Updates the averages with a transaction of `steps`.
    pub(super) fn update(&mut self, timing: Timing, steps: usize) {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX).max(1);
        let mix = |old: Duration, new: Duration, window| (old * (window - 1) + new) / window;
        let is_slow = timing.disk > self.disk;
        let window = if is_slow { SLOW_WINDOW } else { WINDOW };
        self.disk = mix(self.disk, timing.disk, window);
        let added = timing.work + timing.disk.saturating_sub(self.disk);
        self.step = mix(self.step, added / steps, WINDOW);
    }
}

/// Durations of the parts of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) work: Duration,
    pub(super) disk: Duration,
}

/// Measures elapsed time since its creation.
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "measures the disk; no outcome depends on it"
    )]
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_takes_about_as_long_as_an_fsync() {
        let mut sizer = BatchSizer::new();
        let micros = Duration::from_micros;
        let mut after = |disk, work| {
            for _ in 0..1000 {
                let (disk, work) = (micros(disk), micros(work));
                sizer.update(Timing { work, disk }, 100);
            }
            sizer.low_priority_limit()
        };
        assert!((95..=105).contains(&after(1_000, 1_000)));
        assert!((380..=420).contains(&after(4_000, 1_000)));
        assert_eq!(after(10, 1_000), MIN_LIMIT);
        assert_eq!(after(1_000_000, 1_000), BATCH);
        assert_eq!(after(1_000, 0), BATCH);
    }
}
