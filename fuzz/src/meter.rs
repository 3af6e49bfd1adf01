//! Holds every call to its bounds: 100 ms and 64 MiB for inputs up to 64 KiB.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// The longest a call may take when it is optimised.
const MAX_TIME: Duration = Duration::from_millis(100);

/// Debug builds, and builds that count covered edges, are slower than what is shipped.
const SLACK: u32 = if cfg!(debug_assertions) { 4 } else { 1 };

/// The most memory that a call may hold at any moment.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A machine that is busy with other things makes every call slow once, not three times.
const ATTEMPTS: usize = 3;

/// Times calls, counts their memory, and remembers the worst of each entry point.
#[derive(Debug, Default)]
pub struct Meter {
    worst: BTreeMap<&'static str, Cost>,
}

/// What a call took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// From call to return.
    pub time: Duration,
    /// The most memory held at any moment, in bytes.
    pub bytes: u64,
}

impl Meter {
    /// Makes a call; panics when it is beyond a bound.
    pub fn call<T>(&mut self, entry: &'static str, work: impl Fn() -> T) -> T {
        let (result, mut cost) = measure(&work);
        let mut attempts = 1;
        while cost.time > MAX_TIME * SLACK && attempts < ATTEMPTS {
            cost.time = cost.time.min(measure(&work).1.time);
            attempts += 1;
        }
        let worst = self.worst.entry(entry).or_default();
        worst.time = worst.time.max(cost.time);
        worst.bytes = worst.bytes.max(cost.bytes);
        assert!(
            cost.time <= MAX_TIME * SLACK,
            "{entry} takes {:?}",
            cost.time
        );
        assert!(
            cost.bytes <= MAX_BYTES,
            "{entry} takes {} bytes",
            cost.bytes
        );
        result
    }

    /// Takes over the worst of another meter.
    pub fn merge(&mut self, other: &Self) {
        for (entry, cost) in &other.worst {
            let worst = self.worst.entry(entry).or_default();
            worst.time = worst.time.max(cost.time);
            worst.bytes = worst.bytes.max(cost.bytes);
        }
    }
}

/// One line for each entry point.
impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (entry, cost) in &self.worst {
            let kib = cost.bytes.div_ceil(1024);
            writeln!(f, "{entry:<24} {:>10.1?} {kib:>7} KiB", cost.time)?;
        }
        Ok(())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a call takes is what is asked here"
)]
fn measure<T>(work: &impl Fn() -> T) -> (T, Cost) {
    let mut result = None;
    let mut time = Duration::ZERO;
    let memory = allocation_counter::measure(|| {
        let start = Instant::now();
        result = Some(work());
        time = start.elapsed();
    });
    let cost = Cost {
        time,
        bytes: memory.bytes_max,
    };
    (result.expect("the work was done"), cost)
}
