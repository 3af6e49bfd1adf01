//! Throughput of asking and answering in memory, compared to a bare map.
//!
//! A pair is a question asked, awaited, answered and delivered, including validation, a deadline,
//! limits and a waiter. Run it with `cargo xtask bench engine`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, prints its figures, and may fail loudly"
)]

use std::collections::HashMap;
use std::future::Future as _;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::pin::pin;
use std::process::Command;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use entreat_core::Form;
use entreat_engine::{Ask, Asker, Engine, EngineSettings, Limits};
use entreat_testkit::samples;
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Pairs per run and core.
const PAIRS: usize = 500_000;
/// The median of this many runs is printed.
const RUNS: usize = 5;
const PENDING: usize = 1_000_000;
/// Argument that restricts the run to the memory of pending questions.
const PENDING_ONLY: &str = "pending";
/// Retention of settled questions. Longer means more memory, and colder caches.
const SHORT: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_millis(200);

fn main() {
    if std::env::args().any(|arg| arg == PENDING_ONLY) {
        return pending();
    }
    // In a separate process: memory freed there would be reused here, with cold caches.
    let program = std::env::current_exe().unwrap();
    let ended = Command::new(program).arg(PENDING_ONLY).status().unwrap();
    assert!(ended.success());
    println!("create + answer pairs in memory, with form, deadline, limits and a waiter");
    let bare = median(bare_map);
    println!("  bare sharded map, 1 core      {bare:>10.0} pairs/s");
    let one = median(|| pairs(&[Asks::Own], SHORT));
    println!(
        "  entreat, 1 core               {one:>10.0} pairs/s   {:.2} of bare, {:.1} of 100,000",
        one / bare,
        one / 100_000.0
    );
    let kept = median(|| pairs(&[Asks::Own], LONG));
    println!("  the same, kept for {LONG:?}      {kept:>10.0} pairs/s");
    for (what, asks) in [
        ("an asker and a form each", Asks::Own),
        ("an asker each, one form", Asks::OneForm),
        ("one asker, one form", Asks::OneAsker),
    ] {
        let two = median(|| pairs(&[asks, asks], LONG));
        println!(
            "  2 cores, {what:<25}{two:>6.0} pairs/s   {:.2} of one core",
            two / kept
        );
    }
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut figures: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    figures.sort_by(f64::total_cmp);
    figures[RUNS / 2]
}

/// The baseline: insert and remove a record in a locked map.
fn bare_map() -> f64 {
    let shards: Vec<Mutex<HashMap<u128, (usize, u64)>>> =
        (0..16).map(|_| Mutex::default()).collect();
    let began = Instant::now();
    let mut id: u128 = 1;
    for i in 0..PAIRS {
        id = id
            .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
            .wrapping_add(1);
        let shard = &shards[(id >> 100) as usize % 16];
        shard.lock().unwrap().insert(black_box(id), (i, 300_000));
        black_box(shard.lock().unwrap().remove(&id));
    }
    rate(PAIRS, began.elapsed())
}

fn rate(count: usize, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    let count = count as f64;
    count / took.as_secs_f64()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

/// Limits that are checked and never reached.
fn settings(retention: Duration) -> EngineSettings {
    let mut settings = EngineSettings {
        live: usize::MAX - 1,
        retention,
        ..EngineSettings::default()
    };
    settings.asker.limits = Limits {
        creations_per_minute: NonZeroU32::new(u32::MAX),
        requests_per_second: NonZeroU32::new(100_000_000),
        live: usize::MAX - 1,
        ..Limits::default()
    };
    settings
}

/// What a thread shares with the others.
#[derive(Clone, Copy)]
enum Asks {
    /// Nothing but the engine.
    Own,
    OneForm,
    OneAsker,
}

/// Asks on a thread for each entry, the first of them this one.
fn pairs(threads: &[Asks], retention: Duration) -> f64 {
    let home = runtime();
    let engine = home
        .block_on(Engine::builder().settings(settings(retention)).start())
        .unwrap();
    let (asker, form) = (engine.asker("asker"), samples::minimal());
    let answer = || serde_json::json!({"name": "Ada"});
    let began = Instant::now();
    std::thread::scope(|scope| {
        for (number, asks) in threads.iter().enumerate().skip(1) {
            let asker = match asks {
                Asks::Own | Asks::OneForm => engine.asker(&format!("asker {number}")),
                Asks::OneAsker => asker.clone(),
            };
            let form = match asks {
                Asks::Own => Form::from_value(form.definition()).unwrap(),
                Asks::OneForm | Asks::OneAsker => form.clone(),
            };
            scope.spawn(move || {
                runtime().block_on(ask_and_answer(&asker, &form, &answer()));
            });
        }
        // This thread also runs the engine's timers.
        home.block_on(ask_and_answer(&asker, &form, &answer()));
    });
    let figure = rate(PAIRS * threads.len(), began.elapsed());
    home.block_on(engine.shutdown());
    figure
}

async fn ask_and_answer(asker: &Asker, form: &Form, answer: &Value) {
    for i in 0..PAIRS {
        let question = asker.ask(Ask::form(form.clone())).await.unwrap();
        let mut outcome = pin!(question.outcome());
        let mut context = Context::from_waker(Waker::noop());
        assert!(outcome.as_mut().poll(&mut context).is_pending());
        asker
            .engine()
            .elicitation(question.id())
            .submit(answer)
            .await
            .unwrap();
        let Poll::Ready(Ok(settled)) = outcome.poll(&mut context) else {
            panic!("an answered question must have settled");
        };
        black_box(settled);
        if i % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// Memory of pending questions, with and without waiters.
fn pending() {
    let home = runtime();
    let engine = home
        .block_on(Engine::builder().settings(settings(LONG)).start())
        .unwrap();
    let asker = engine.asker("asker");
    let form = samples::minimal();
    home.block_on(async {
        let mut ids = Vec::with_capacity(PENDING);
        ids.resize_with(PENDING, || None);
        let before = resident();
        for id in &mut ids {
            *id = Some(asker.ask(Ask::form(form.clone())).await.unwrap().id());
        }
        let with_records = resident();
        let mut waits: Vec<_> = ids
            .iter()
            .flatten()
            .map(|id| Box::pin(asker.elicitation(*id).outcome()))
            .collect();
        let mut context = Context::from_waker(Waker::noop());
        for wait in &mut waits {
            assert!(wait.as_mut().poll(&mut context).is_pending());
        }
        let waiting = resident();
        println!("{PENDING} pending with one form");
        println!(
            "  resident memory each          {:>10} bytes",
            (with_records - before) / PENDING
        );
        println!(
            "  the same with a waiter        {:>10} bytes",
            (waiting - before) / PENDING
        );
    });
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}
