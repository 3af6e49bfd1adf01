//! Full disks, for real.

use entreat_core::UnixTime;
use entreat_engine::store::{Query, StatusFilter};
use entreat_engine::{Record, Store, StoreError};
use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::records::{self, assert_same};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::child;

#[test]
fn a_full_disk_fails_steps_and_harms_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let status = child::command("faults::child_with_a_full_disk", &[path.to_str().unwrap()])
        .status()
        .unwrap();
    assert!(status.success());
}

#[tokio::test]
async fn child_with_a_full_disk() {
    let Some(words) = child::words() else { return };
    let store = EmbeddedStore::open(&words[0], EmbeddedOptions::default()).unwrap();
    let fill = Fill::new(&store).await;

    let room = getrlimit(Resource::Fsize);
    limit(Some(200 << 10), room);
    let failed = fill.until_full().await;
    fill.check_that_all_is_as_before(&failed).await;
    // A check needs some space of its own, of which there may be a little left.
    let mut checks = 0;
    while store.check(at(checks)).await.is_ok() {
        checks += 1;
        assert!(checks < 100, "a full disk passes every check");
    }
    assert!(store.check(at(checks)).await.is_err());
    limit(room.current, room);
    store.check(at(checks)).await.unwrap();

    fill.check_that_work_goes_on(failed).await;
    store.close().await;
    let store = EmbeddedStore::open(&words[0], EmbeddedOptions::default()).unwrap();
    fill.check_after_reopening(&store).await;
}

#[tokio::test]
async fn a_store_at_its_size_limit_takes_steps_again_once_something_was_purged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options = EmbeddedOptions {
        max_size: Some(400 << 10),
        ..EmbeddedOptions::default()
    };
    let store = EmbeddedStore::open(&path, options).unwrap();
    let fill = Fill::new(&store).await;
    let failed = fill.until_full().await;
    fill.check_that_all_is_as_before(&failed).await;

    assert_eq!(store.purge(at(1), 10).await.unwrap(), 0);
    assert_eq!(store.purge(at(1_000_000), 1).await.unwrap(), 1);
    let small = records::pending("asker", at(9), 999);
    store.create(small).await.unwrap();
}

#[tokio::test]
async fn a_transaction_that_fails_half_way_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let outside = rusqlite::Connection::open(&path).unwrap();
    // Unlike a full disk, this doesn't make the database roll back by itself.
    outside
        .execute_batch(
            "CREATE TRIGGER poison BEFORE INSERT ON live WHEN NEW.asker = 'poison'
             BEGIN SELECT RAISE(ABORT, 'poisoned'); END",
        )
        .unwrap();
    let good = |number| records::pending("asker", at(number), number);
    // Queued together, so that some share the transaction with the one that fails.
    let mut calls = Vec::new();
    for number in 0..200 {
        calls.push((number, store.create(good(number))));
        if number == 100 {
            let poison = records::pending("poison", at(number), 1000);
            calls.push((1000, store.create(poison)));
        }
    }
    let mut failed = Vec::new();
    for (number, call) in calls {
        match call.await {
            Ok(_) => {}
            Err(StoreError::Unavailable { .. }) => failed.push(number),
            Err(other) => panic!("expected an outage, got {other}"),
        }
    }
    assert!(failed.contains(&1000) && failed.len() > 1, "{failed:?}");
    for number in 0..200 {
        let is_there = store.load(good(number).id).await.unwrap().is_some();
        assert_eq!(is_there, !failed.contains(&number), "number {number}");
    }
    for number in failed.iter().filter(|number| **number < 200) {
        store.create(good(*number)).await.unwrap();
    }
}

#[tokio::test]
async fn another_program_that_holds_the_file_fails_steps_until_it_lets_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let outside = rusqlite::Connection::open(&path).unwrap();
    outside.execute_batch("BEGIN IMMEDIATE").unwrap();
    let record = records::pending("asker", at(0), 0);
    let refused = store.create(record.clone()).await;
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })));
    outside.execute_batch("ROLLBACK").unwrap();
    store.create(record.clone()).await.unwrap();
    let declined = records::declined(&record, at(1));
    store.commit_low_priority(declined).await.unwrap();
}

/// Sets the maximum file size.
fn limit(bytes: Option<u64>, room: Rlimit) {
    let limit = Rlimit {
        current: bytes,
        maximum: room.maximum,
    };
    setrlimit(Resource::Fsize, limit).unwrap();
}

fn at(millis: u64) -> UnixTime {
    UnixTime::from_millis(1_706_889_000_000 + millis)
}

/// A store with a live and a settled record, to be filled.
struct Fill<'s> {
    store: &'s EmbeddedStore,
    live: Record,
    settled: Record,
}

impl<'s> Fill<'s> {
    async fn new(store: &'s EmbeddedStore) -> Self {
        let live = records::pending("asker", at(0), 0);
        store.create(live.clone()).await.unwrap();
        let settled = records::pending("asker", at(1), 1);
        store.create(settled.clone()).await.unwrap();
        // Large enough that its space matters.
        let text = "x".repeat(64 << 10);
        let settled = records::answered(&settled, at(2), &text);
        store.commit(settled.clone()).await.unwrap();
        Self {
            store,
            live,
            settled,
        }
    }

    /// Creates records until one fails; returns that one.
    async fn until_full(&self) -> Record {
        for number in 2..1000 {
            let mut record = records::pending("asker", at(3), number);
            let text = "{}".repeat(4 << 10);
            let drafted = records::drafted(&record, at(3), &text);
            record
                .to_mut()
                .answer_state
                .clone_from(&drafted.answer_state);
            match self.store.create(record.clone()).await {
                Ok(_) => {}
                Err(StoreError::Unavailable { attempt, source }) => {
                    let why = source.source().map(ToString::to_string);
                    let why = why.unwrap_or_default();
                    assert_eq!(attempt, "write to disk");
                    assert!(why.contains("full") || why.contains("I/O"), "{why}");
                    assert!(!why.contains("{}"), "{why}");
                    return record;
                }
                Err(other) => panic!("expected an outage, got {other}"),
            }
        }
        panic!("the disk never was full")
    }

    /// Writes fail, however often they are retried; reads succeed, and show nothing of what failed.
    async fn check_that_all_is_as_before(&self, failed: &Record) {
        let store = self.store;
        for _ in 0..3 {
            let again = store.create(failed.clone()).await;
            assert!(matches!(again, Err(StoreError::Unavailable { .. })));
            // Larger than what failed, so that it doesn't fit either.
            let large = records::drafted(&self.live, at(3), &"{}".repeat(32 << 10));
            let step = store.commit(large).await;
            assert!(matches!(step, Err(StoreError::Unavailable { .. })));
        }
        assert!(store.load(failed.id).await.unwrap().is_none());
        for record in [&self.live, &self.settled] {
            assert_same(&store.load(record.id).await.unwrap().unwrap(), record);
        }
        let listed = store.list(everything()).await.unwrap();
        assert!(listed.iter().all(|record| record.id != failed.id));
        assert_eq!(store.load_note("note").await.unwrap(), None);
    }

    /// Without a restart.
    async fn check_that_work_goes_on(&self, failed: Record) {
        self.store.create(failed.clone()).await.unwrap();
        let loaded = self.store.load(failed.id).await.unwrap();
        assert_same(&loaded.unwrap(), &failed);
        let declined = records::declined(&self.live, at(5));
        self.store.commit(declined).await.unwrap();
    }

    async fn check_after_reopening(&self, store: &EmbeddedStore) {
        let live = store.load(self.live.id).await.unwrap().unwrap();
        assert_eq!(live.version, self.live.version.next());
        let settled = store.load(self.settled.id).await.unwrap().unwrap();
        assert_same(&settled, &self.settled);
    }
}

fn everything() -> Query {
    Query {
        asker: None,
        respondents: None,
        which: StatusFilter::All,
        before: None,
        limit: usize::MAX,
    }
}
