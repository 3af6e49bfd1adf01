//! Measures durations.
//!
//! A probe stores every sample and reports average and percentiles, because an average alone hides
//! tail latency. It reports no variance; the caller decides what is noise.

use std::fmt;
use std::time::{Duration, Instant};

/// Named samples of a duration.
///
/// ```
/// use entreat_testkit::{Probe, samples};
///
/// let form = samples::comprehensive();
/// let answer = samples::comprehensive_answer();
/// let probe = Probe::measure("check", 20, 10, || form.check(&answer).is_ok());
/// assert_eq!(probe.count(), 20);
/// assert!(probe.percentile(50) <= probe.percentile(99));
/// let table = format!("{}\n{probe}", Probe::HEADER);
/// # assert_eq!(table.lines().count(), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Probe {
    name: String,
    /// Sorted, so that a percentile is an index.
    samples: Vec<Duration>,
}

impl Probe {
    /// The header of the Markdown table whose rows are displayed probes.
    pub const HEADER: &str = "| what | samples | avg | p50 | p95 | p99 | min | max |\n\
                              |---|---:|---:|---:|---:|---:|---:|---:|";

    /// Creates a probe without samples.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            samples: Vec::new(),
        }
    }

    /// Runs `work` in `iterations` batches of `batch` runs; the mean of a batch is one sample. Work
    /// below a microsecond needs batches, to amortize reading the clock. One batch runs first as a
    /// warm-up.
    #[expect(
        clippy::disallowed_methods,
        reason = "a benchmark is the shell: it exists to read the clock"
    )]
    pub fn measure<T>(
        name: impl Into<String>,
        iterations: usize,
        batch: u32,
        mut work: impl FnMut() -> T,
    ) -> Self {
        let batch = batch.max(1);
        let mut probe = Self::new(name);
        let mut run = || {
            for _ in 0..batch {
                std::hint::black_box(work());
            }
        };
        run();
        for _ in 0..iterations {
            let start = Instant::now();
            run();
            probe.samples.push(start.elapsed() / batch);
        }
        probe.samples.sort_unstable();
        probe
    }

    /// Adds a duration that was measured elsewhere.
    pub fn record(&mut self, sample: Duration) {
        let place = self.samples.partition_point(|other| *other <= sample);
        self.samples.insert(place, sample);
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.samples.len()
    }

    /// Returns the mean; zero without samples.
    pub fn average(&self) -> Duration {
        let count = u128::try_from(self.samples.len()).unwrap_or(1).max(1);
        let total: u128 = self.samples.iter().map(Duration::as_nanos).sum();
        Duration::from_nanos(u64::try_from(total / count).unwrap_or(u64::MAX))
    }

    /// Returns the smallest sample that at least `percent` of all do not exceed; zero if empty.
    pub fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.samples.len() * percent.min(100)).div_ceil(100);
        self.samples
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or_default()
    }

    /// Returns the fastest sample; zero without samples.
    pub fn min(&self) -> Duration {
        self.percentile(0)
    }

    /// Returns the slowest sample; zero without samples.
    pub fn max(&self) -> Duration {
        self.percentile(100)
    }
}

/// A row of the table with [`Probe::HEADER`].
impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} |", self.name, self.count())?;
        for duration in [
            self.average(),
            self.percentile(50),
            self.percentile(95),
            self.percentile(99),
            self.min(),
            self.max(),
        ] {
            write!(f, " {duration:.1?} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(millis: impl IntoIterator<Item = u64>) -> Probe {
        let mut probe = Probe::new("thing");
        for ms in millis {
            probe.record(Duration::from_millis(ms));
        }
        probe
    }

    #[test]
    fn percentiles_are_samples_whatever_the_order_of_recording() {
        let probe = probe((1..=100).rev());
        for (percent, ms) in [(0, 1), (1, 1), (50, 50), (95, 95), (99, 99), (100, 100)] {
            assert_eq!(
                probe.percentile(percent),
                Duration::from_millis(ms),
                "p{percent}"
            );
        }
        assert_eq!(probe.average(), Duration::from_micros(50_500));
        assert_eq!(
            (probe.min(), probe.max()),
            (Duration::from_millis(1), Duration::from_millis(100))
        );
    }

    #[test]
    fn a_single_sample_is_every_percentile() {
        let probe = probe([7]);
        assert_eq!(probe.percentile(50), probe.percentile(99));
    }

    #[test]
    fn without_samples_everything_is_zero() {
        assert_eq!(Probe::default().average(), Duration::ZERO);
        assert_eq!(Probe::default().max(), Duration::ZERO);
    }

    #[test]
    fn every_batch_is_one_sample_and_one_more_runs_to_warm_up() {
        let mut runs = 0;
        let probe = Probe::measure("count", 5, 3, || runs += 1);
        assert_eq!((probe.count(), runs), (5, 18));
    }

    #[test]
    fn a_probe_is_shown_as_one_row() {
        let row = probe([1, 2, 3]).to_string();
        assert_eq!(
            row,
            "| thing | 3 | 2.0ms | 2.0ms | 3.0ms | 3.0ms | 1.0ms | 3.0ms |"
        );
    }
}
