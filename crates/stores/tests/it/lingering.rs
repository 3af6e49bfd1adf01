//! Outcomes that nobody waits for: written in place, and moved when the writer is idle.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use entreat_core::{Status, UnixTime};
use entreat_engine::store::{Query, StatusFilter};
use entreat_engine::{Record, Store};
use entreat_stores::{EmbeddedOptions, EmbeddedStore};
use entreat_testkit::records::{self, assert_same};

fn open(path: &Path) -> EmbeddedStore {
    EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap()
}

fn at(millis: u64) -> UnixTime {
    UnixTime::from_millis(1_706_889_000_000 + millis)
}

/// Records that were created and declined, as the next version of each.
async fn declined(store: &EmbeddedStore, count: u64) -> Vec<Record> {
    let mut declined = Vec::new();
    for number in 0..count {
        let record = records::pending("asker", at(number), number);
        store.create(record.clone()).await.unwrap();
        declined.push(records::declined(&record, at(1_000)));
    }
    declined
}

async fn settle(store: &EmbeddedStore, records: &[Record]) {
    let steps = records.iter().cloned();
    let steps: Vec<_> = steps
        .map(|record| store.commit_low_priority(record))
        .collect();
    for step in steps {
        step.await.unwrap();
    }
}

/// The number of rows in each table.
fn rows(path: &Path) -> (i64, i64) {
    let outside = rusqlite::Connection::open(path).unwrap();
    let count = |table: &str| {
        let count = format!("SELECT count(*) FROM {table}");
        outside.query_row(&count, [], |row| row.get(0)).unwrap()
    };
    (count("live"), count("settled"))
}

async fn until_all_are_moved(path: &Path, count: i64) {
    let moved = async {
        while rows(path) != (0, count) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let moved = tokio::time::timeout(Duration::from_secs(60), moved).await;
    assert!(moved.is_ok(), "{:?}", rows(path));
}

async fn assert_all_are_over(store: &EmbeddedStore, records: &[Record]) {
    assert_eq!(store.live_counts().await.unwrap(), []);
    assert_eq!(
        store.due(at(u64::from(u32::MAX)), 10).await.unwrap().ids,
        []
    );
    let query = Query {
        asker: Some("asker".into()),
        respondents: None,
        which: StatusFilter::Only(Status::Declined),
        before: None,
        limit: usize::MAX,
    };
    let listed = store.list(query).await.unwrap();
    assert_eq!(listed.len(), records.len());
    for (listed, record) in listed.iter().rev().zip(records) {
        assert_same(listed, record);
        assert_same(&store.load(record.id).await.unwrap().unwrap(), record);
    }
}

#[tokio::test]
async fn what_is_over_is_moved_when_there_is_time_and_is_the_same_all_along() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let records = declined(&store, 300).await;
    settle(&store, &records).await;
    assert_all_are_over(&store, &records).await;
    until_all_are_moved(&path, 300).await;
    assert_all_are_over(&store, &records).await;
}

#[tokio::test]
async fn what_was_not_moved_in_time_is_over_after_a_restart_and_moved_then() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let records = declined(&store, 300).await;
    settle(&store, &records).await;
    store.close().await;
    drop(store);
    let (live, _) = rows(&path);
    assert!(live > 0, "there was no time to move all");

    let store = open(&path);
    assert_all_are_over(&store, &records).await;
    until_all_are_moved(&path, 300).await;
    assert_all_are_over(&store, &records).await;
}

#[tokio::test]
async fn a_copy_has_what_was_not_moved_yet() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("store.db"));
    let records = declined(&store, 300).await;
    settle(&store, &records).await;
    let copy = folder.path().join("copy.db");
    store.backup(&copy).await.unwrap();
    assert_all_are_over(&open(&copy), &records).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_wait_and_those_who_do_not_both_have_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&folder.path().join("store.db")));
    let records = declined(&store, 2_000).await;
    let stop = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..8)
        .map(|caller| {
            let (store, stop) = (store.clone(), stop.clone());
            tokio::spawn(async move {
                let mut calls = 0;
                while !stop.load(Ordering::Relaxed) {
                    let number = 10_000 + calls * 8 + caller;
                    let record = records::pending("caller", at(5_000), number);
                    store.create(record).await.unwrap();
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let settled = tokio::time::timeout(Duration::from_secs(60), settle(&store, &records)).await;
    assert!(settled.is_ok(), "those for whom nobody waits are starved");
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        assert!(caller.await.unwrap() > 0, "a caller is starved");
    }
}
