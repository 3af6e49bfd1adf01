//! How many steps that nobody waits for may go into one transaction.
//!
//! Somebody may come while it is on its way to disk, and then waits for its end. So these steps
//! may take about as long as reaching the disk takes anyway: on a fast disk that is a few dozen,
//! on a slow one many hundreds, and a caller's wait at most doubles on either.

use std::time::{Duration, Instant};

use super::turn::BATCH;

/// Measures transactions, and says how many steps fit.
pub(super) struct Pace {
    /// What reaching the disk takes at least, lately.
    disk: Duration,
    /// What a step adds to that lately, on disk and before.
    step: Duration,
}

/// Fewer would spend most of the time on the disk.
const FEWEST: usize = 64;
/// A single transaction is an accident; a few in a row are the disk.
const MEMORY: u32 = 8;
/// That one was slow says less: it may have had much to write.
const MEMORY_OF_SLOW: u32 = 64;

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            disk: Duration::from_micros(500),
            step: Duration::from_micros(10),
        }
    }

    /// How many steps may go into the next transaction.
    pub(super) fn portion(&self) -> usize {
        let fitting = self.disk.as_nanos() / self.step.as_nanos().max(1);
        usize::try_from(fitting).map_or(BATCH, |fitting| fitting.clamp(FEWEST, BATCH))
    }

    /// Learns from a transaction of so many steps.
    pub(super) fn learn(&mut self, timing: Timing, steps: usize) {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX).max(1);
        let mix = |old: Duration, new: Duration, memory| (old * (memory - 1) + new) / memory;
        let is_slow = timing.disk > self.disk;
        let memory = if is_slow { MEMORY_OF_SLOW } else { MEMORY };
        self.disk = mix(self.disk, timing.disk, memory);
        let added = timing.work + timing.disk.saturating_sub(self.disk);
        self.step = mix(self.step, added / steps, MEMORY);
    }
}

/// How long the parts of a transaction took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) work: Duration,
    pub(super) disk: Duration,
}

/// Counts from when it was made.
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
    fn a_portion_takes_about_as_long_as_the_disk() {
        let mut pace = Pace::new();
        let micros = Duration::from_micros;
        let mut after = |disk, work| {
            for _ in 0..1000 {
                let (disk, work) = (micros(disk), micros(work));
                pace.learn(Timing { work, disk }, 100);
            }
            pace.portion()
        };
        assert!((95..=105).contains(&after(1_000, 1_000)));
        assert!((380..=420).contains(&after(4_000, 1_000)));
        assert_eq!(after(10, 1_000), FEWEST);
        assert_eq!(after(1_000_000, 1_000), BATCH);
        assert_eq!(after(1_000, 0), BATCH);
    }
}
