//! Contestants that take turns on one core.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long each contestant runs in one round.
const TURN: Duration = Duration::from_micros(400);
const ROUNDS: usize = 400;

/// What a contestant does; the number keeps the compiler from leaving it out.
type Run<'c> = Box<dyn FnMut() -> usize + 'c>;

/// Things that do the same, measured side by side.
pub(crate) struct Contest<'c> {
    title: String,
    /// Whose times the ratios are of.
    rivals: Vec<&'static str>,
    entries: Vec<(&'static str, Run<'c>)>,
}

impl<'c> Contest<'c> {
    pub(crate) fn new(title: &str, rival: &'static str) -> Self {
        Self {
            title: title.to_owned(),
            rivals: vec![rival],
            entries: Vec::new(),
        }
    }

    /// Shows the ratios to another contestant too.
    pub(crate) fn and(mut self, rival: &'static str) -> Self {
        self.rivals.push(rival);
        self
    }

    pub(crate) fn enter(&mut self, name: &'static str, run: impl FnMut() -> usize + 'c) {
        self.entries.push((name, Box::new(run)));
    }

    /// Measures all and prints a table.
    pub(crate) fn run(mut self) {
        let batches: Vec<usize> = self.entries.iter_mut().map(|(_, run)| batch(run)).collect();
        let mut times = vec![Vec::with_capacity(ROUNDS); self.entries.len()];
        for _ in 0..ROUNDS {
            for (i, (_, run)) in self.entries.iter_mut().enumerate() {
                times[i].push(turn(run, batches[i]));
            }
        }
        let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
        println!("\n{}", self.title);
        for ((name, _), median) in self.entries.iter().zip(&medians) {
            print!("  {name:<24} {median:>10.1} ns");
            for rival in &self.rivals {
                let place = self.entries.iter().position(|(name, _)| name == rival);
                let base = place.map_or(f64::NAN, |i| medians[i]);
                print!("   {:>5.2} of {rival}", median / base);
            }
            println!();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn timed(run: &mut dyn FnMut() -> usize, times: usize) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        black_box(run());
    }
    start.elapsed()
}

fn batch(run: &mut Run<'_>) -> usize {
    let mut times = 1;
    while timed(run, times) < TURN {
        times *= 2;
    }
    times
}

#[expect(clippy::cast_precision_loss, reason = "counts and durations are small")]
fn turn(run: &mut Run<'_>, times: usize) -> f64 {
    timed(run, times).as_nanos() as f64 / times as f64
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
