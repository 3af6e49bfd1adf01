//! Throughput of durable steps, compared to a bare log in the same run.
//!
//! The baseline does the minimum for an acknowledged step: one thread appends queued entries to a
//! preallocated file, syncs once, and acknowledges all. Both alternate, so that noise of the
//! machine affects them alike. Run it with `cargo xtask bench engine`; `-- quick` takes fewer
//! rounds.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the figures are what a benchmark is run for, and they come from the clock"
)]

#[path = "embedded/bare_log.rs"]
mod bare_log;
#[path = "embedded/load.rs"]
mod load;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use entreat_core::UnixTime;
use entreat_engine::Store;
use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::{Probe, records};
use tokio::runtime::Runtime;

use bare_log::BareLog;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Calls in flight.
const CALLERS: u64 = 256;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let quick = words.iter().any(|word| word == "quick");
    // In the target folder: the system's temporary folder may be in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let folder = folder.path();
    throughput(folder, if quick { 2 } else { 9 });
    latency(folder, if quick { 2 } else { 10 });
    encoding();
    opening(folder, if quick { 10_000 } else { 100_000 });
}

fn runtime() -> Runtime {
    // One worker and the writer's thread: the two cores of a small server.
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .expect("a runtime")
}

fn throughput(folder: &Path, rounds: u64) {
    println!(
        "durable steps a second, {CALLERS} calls in flight: create, draft, answer, over and over"
    );
    println!("| round | bare log | embedded | ratio |\n|---|---:|---:|---:|");
    let runtime = runtime();
    let store = Arc::new(open(&folder.join("throughput.db")));
    let log = Arc::new(BareLog::create(&folder.join("throughput.log")));
    let (mut ratios, mut figures) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let first = round * 1_000_000;
        let bare = runtime.block_on(load::drive(CALLERS, first, log.clone()));
        let ours = runtime.block_on(load::drive(CALLERS, first, store.clone()));
        // The first round is a warm-up.
        if round > 0 {
            println!("| {round} | {bare:.0} | {ours:.0} | {:.2} |", ours / bare);
            ratios.push(ours / bare);
            figures.push(ours);
        }
    }
    let (ratio, ours) = (median(ratios), median(figures));
    println!("median: {ours:.0} steps/s, {ratio:.2} of the bare log (aim: 130000, or 0.33)\n");
    let bytes = std::fs::metadata(folder.join("throughput.db-wal")).map_or(0, |file| file.len());
    println!("log file after it: {} MiB\n", bytes >> 20);
    runtime.block_on(store.close());
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A thousand separate creations a second.
fn latency(folder: &Path, seconds: u64) {
    let runtime = runtime();
    let store = Arc::new(open(&folder.join("latency.db")));
    let mut probe = Probe::new("commit at 1,000/s");
    let samples = runtime.block_on(async {
        let (sender, mut samples) = tokio::sync::mpsc::channel(1024);
        let start = tokio::time::Instant::now();
        for number in 0..seconds * 1000 {
            tokio::time::sleep_until(start + Duration::from_millis(number)).await;
            let (store, sender) = (store.clone(), sender.clone());
            tokio::spawn(async move {
                let record = records::pending("asker", UnixTime::from_millis(number), number);
                let began = Instant::now();
                store.create(record).await.expect("it is kept");
                let took = began.elapsed();
                sender.send(took).await.expect("somebody takes it");
            });
            while let Ok(sample) = samples.try_recv() {
                probe.record(sample);
            }
        }
        drop(sender);
        let mut rest = Vec::new();
        while let Some(sample) = samples.recv().await {
            rest.push(sample);
        }
        rest
    });
    for sample in samples {
        probe.record(sample);
    }
    println!("{}\n{probe}\n(aim: p99 below 10 ms)\n", Probe::HEADER);
    runtime.block_on(store.close());
}

fn encoding() {
    let record = records::pending("asker", UnixTime::from_millis(0), 1);
    let record = records::drafted(&record, UnixTime::from_millis(1), r#"{"name":"Ada"}"#);
    let probe = Probe::measure("encode a small record's state", 500, 100, || {
        entreat_stores::bench::encode_state(&record)
    });
    println!("{}\n{probe}\n(aim: about 1 µs)\n", Probe::HEADER);
}

fn opening(folder: &Path, pending: u64) {
    let path = folder.join("opening.db");
    let runtime = runtime();
    runtime.block_on(load::fill(Arc::new(open(&path)), pending));
    let began = Instant::now();
    let store = open(&path);
    let took = began.elapsed();
    println!("open with {pending} pending: {took:.2?} (aim: below 2 s)");
    runtime.block_on(store.close());
}

fn open(path: &Path) -> EmbeddedStore {
    EmbeddedStore::open(path, EmbeddedOptions::default()).expect("the store opens")
}
