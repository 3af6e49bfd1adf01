//! The process to kill: writes to a store and prints what was acknowledged.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use entreat_core::UnixTime;
use entreat_engine::store::Created;
use entreat_engine::{Record, Store};
use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::records;

/// Concurrent elicitations.
pub(crate) const CALLERS: u64 = 64;
/// Printed once the store is open.
pub(crate) const READY: &str = "ready";

/// Writes to the store until the process is killed.
pub(crate) fn until_killed(path: &Path, round: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let store = EmbeddedStore::open(path, EmbeddedOptions::default()).expect("it opens");
        let store = Arc::new(store);
        say(READY);
        let callers = (0..CALLERS).map(|caller| tokio::spawn(work(store.clone(), round, caller)));
        for caller in callers.collect::<Vec<_>>() {
            caller.await.expect("no caller fails");
        }
    });
}

async fn work(store: Arc<EmbeddedStore>, round: u64, caller: u64) {
    for turn in 0.. {
        let number = turn * CALLERS + caller;
        let now = moment(round, turn);
        let record = records::pending("asker", now, number);
        let record = records::with_key(record, &key(round, number));
        let created = store.create(record.clone()).await.expect("it is kept");
        assert_eq!(created, Created::New);
        acknowledge(&record);
        let drafted = records::drafted(&record, now, &text(&record, 1));
        store.commit(drafted.clone()).await.expect("it is kept");
        acknowledge(&drafted);
        // Some stay open.
        if !number.is_multiple_of(13) {
            let answered = records::answered(&drafted, now, &text(&record, 2));
            // Some at low priority, which takes another code path.
            let kept = if number.is_multiple_of(3) {
                store.commit_low_priority(answered.clone())
            } else {
                store.commit(answered.clone())
            };
            kept.await.expect("it is kept");
            acknowledge(&answered);
        }
    }
}

/// The time in a round; later rounds have later times.
pub(crate) fn moment(round: u64, turn: u64) -> UnixTime {
    UnixTime::from_millis(1_706_889_000_000 + round * 1_000_000 + turn)
}

pub(crate) fn key(round: u64, number: u64) -> String {
    format!("{round}/{number}")
}

/// The answers of an elicitation at a version, derived so that the verifier can compute them.
pub(crate) fn text(record: &Record, version: u32) -> String {
    format!("{{\"name\":\"{} {version}\"}}", record.id)
}

fn acknowledge(record: &Record) {
    let extras = record.request.extras.as_ref();
    let key = extras.and_then(|extras| extras.idempotency_key.as_deref());
    say(&format!(
        "{} {} {}",
        record.id,
        record.version.0,
        key.unwrap_or_default()
    ));
}

/// Prints one line and flushes it, so that acknowledgements are not lost on a kill.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .expect("somebody listens");
}
