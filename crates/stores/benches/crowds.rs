//! Latency of other callers under load: many deadlines at once, and one asker that floods.
//!
//! Each figure is printed beside the baseline of the same run. Run it with `cargo xtask bench
//! engine`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, prints its figures, and may fail loudly"
)]

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use entreat_core::{ElicitationId, Form, Mode, Timeout, TimeoutBounds};
use entreat_engine::{
    Ask, AskError, Asker, AskerSettings, Engine, EngineSettings, Limits, MemoryStore, Store,
};
use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::samples;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Deadlines that pass as fast as the questions were asked.
const DEADLINES: usize = 100_000;
/// Tasks that ask these questions.
const ASKING: usize = 256;
/// Concurrent flooding tasks.
const FLOODERS: usize = 32;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    // In the target folder: the system's temporary folder may be in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let embedded = |name: &str| {
        EmbeddedStore::open(folder.path().join(name), EmbeddedOptions::default()).unwrap()
    };
    runtime.block_on(async {
        let seconds = Duration::from_secs;
        deadlines("embedded", embedded("deadlines.db"), 1, seconds(8)).await;
        deadlines("memory", MemoryStore::new(), 10, seconds(1)).await;
        flood("memory", MemoryStore::new()).await;
        flood("embedded", embedded("flood.db")).await;
    });
}

fn unlimited() -> AskerSettings {
    let mut settings = AskerSettings {
        limits: Limits::none(),
        ..AskerSettings::default()
    };
    let second = Duration::from_secs;
    let bounds = TimeoutBounds::new(second(10), second(1), second(300)).unwrap();
    settings.timeouts.set_bounds(Mode::Form, bounds);
    settings
}

async fn start(store: impl Store) -> Engine {
    let settings = EngineSettings {
        live: usize::MAX,
        ..EngineSettings::default()
    };
    Engine::builder()
        .store(store)
        .settings(settings)
        .start()
        .await
        .unwrap()
}

/// Asks and answers for a while, and returns the latency of each pair.
async fn pairs(asker: &Asker, form: &Form, until: impl Fn() -> bool) -> Vec<Duration> {
    let answer = json!({"name": "Ada"});
    let mut times = Vec::new();
    while !until() {
        let began = Instant::now();
        let question = asker.ask(Ask::form(form.clone())).await.unwrap();
        asker
            .engine()
            .elicitation(question.id())
            .submit(&answer)
            .await
            .unwrap();
        times.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    times
}

fn for_a_while() -> impl Fn() -> bool {
    let end = Instant::now() + Duration::from_secs(3);
    move || Instant::now() > end
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times
        .get(times.len() * 99 / 100)
        .copied()
        .unwrap_or_default()
}

/// Asks as fast as possible, with this timeout.
async fn crowd(asker: &Asker, form: &Form, timeout: Duration) -> Vec<ElicitationId> {
    let mut asking = tokio::task::JoinSet::new();
    for part in 0..ASKING {
        let (asker, form) = (asker.clone(), form.clone());
        asking.spawn(async move {
            let mut ids = Vec::new();
            for _ in (part..DEADLINES).step_by(ASKING) {
                let ask = Ask::form(form.clone()).timeout(Timeout::of(timeout));
                ids.push(asker.ask(ask).await.unwrap().id());
            }
            ids
        });
    }
    asking.join_all().await.into_iter().flatten().collect()
}

/// Several crowds, where one is too short for a p99.
async fn deadlines(name: &str, store: impl Store, crowds: usize, timeout: Duration) {
    let engine = start(store).await;
    let form = samples::minimal();
    let asker = engine.asker_with("crowd", unlimited());
    let other = engine.asker_with("other", unlimited());
    let usual = p99(pairs(&other, &form, for_a_while()).await);

    let (mut ids, mut busy, mut within) = (Vec::new(), Vec::new(), Duration::ZERO);
    for _ in 0..crowds {
        let began = Instant::now();
        ids.extend(crowd(&asker, &form, timeout).await);
        within = within.max(began.elapsed());
        while engine.live() == DEADLINES {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        busy.extend(pairs(&other, &form, || engine.live() < 2).await);
    }
    // A store may have deferred some of its work.
    let after = p99(pairs(&other, &form, for_a_while()).await);
    let mut lateness = Vec::with_capacity(ids.len());
    for id in ids {
        let settled = asker.elicitation(id).status().await.unwrap();
        let lifecycle = settled.lifecycle();
        lateness.push(lifecycle.settled_at().unwrap().since(lifecycle.deadline()));
    }
    println!("{DEADLINES} deadlines within {within:.1?}, {name}");
    println!(
        "  lateness, p99                 {:>10.1?}   aim 1 s",
        p99(lateness)
    );
    let (pairs, busy) = (busy.len(), p99(busy));
    let of_usual = |time: Duration| time.as_secs_f64() / usual.as_secs_f64();
    println!(
        "  others' ask and answer, p99   {busy:>10.1?}   {:.2} of the usual {usual:.1?}, {pairs} pairs, aim 2",
        of_usual(busy)
    );
    println!(
        "  the same in the 3 s after     {after:>10.1?}   {:.2} of the usual, aim 2",
        of_usual(after)
    );
    engine.shutdown().await;
}

async fn flood(name: &str, store: impl Store) {
    let engine = start(store).await;
    let form = samples::minimal();
    let other = engine.asker_with("other", unlimited());
    let usual = p99(pairs(&other, &form, for_a_while()).await);

    let mut limited = unlimited();
    limited.limits = Limits::default();
    limited.limits.requests_per_second = NonZeroU32::new(100);
    let stop = Arc::new(AtomicBool::new(false));
    let mut flooding = tokio::task::JoinSet::new();
    for _ in 0..FLOODERS {
        let (asker, form) = (engine.asker_with("flooder", limited.clone()), form.clone());
        let stop = stop.clone();
        flooding.spawn(async move {
            let mut refused = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                let outcome = asker.ask(Ask::form(form.clone())).await;
                if let Err(AskError::RateLimited { .. }) = outcome {
                    refused += 1;
                }
                // A flood arrives over the network, with a delay per message.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            refused
        });
    }
    let before = resident();
    let busy = p99(pairs(&other, &form, for_a_while()).await);
    stop.store(true, Ordering::Relaxed);
    let refused: usize = flooding.join_all().await.into_iter().sum();
    let grown = resident().saturating_sub(before) / 1024;
    let ratio = busy.as_secs_f64() / usual.as_secs_f64();
    println!("a flood from one asker, {name}: {refused} refused, memory grew by {grown} KiB");
    println!(
        "  others' ask and answer, p99   {busy:>10.1?}   {ratio:.2} of the usual {usual:.1?}, aim 2"
    );
    engine.shutdown().await;
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}
