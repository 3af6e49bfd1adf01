//! Concurrent callers.

use std::sync::Arc;

use entreat_core::Command;
use entreat_engine::store::{Created, Query, StatusFilter};
use entreat_engine::{Record, Store, StoreError};
use tokio::task::JoinSet;

use super::{at, broken, kept, loaded};
use crate::records::{self, assert_same};

/// Number of concurrent callers.
const CALLERS: u64 = 64;

/// Of concurrent steps from the same version one wins, and the others get a conflict.
pub async fn of_many_steps_for_one_version_one_wins(store: Arc<impl Store>) {
    let mut record = records::pending("asker", at(0), 1);
    kept(store.create(record.clone())).await;
    for round in 0..5 {
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let text = format!("{{\"name\":\"{caller}\"}}");
            // The last round settles.
            let step = if round == 4 {
                records::answered(&record, at(round), &text)
            } else {
                records::drafted(&record, at(round), &text)
            };
            let store = store.clone();
            callers.spawn(async move { (store.commit(step.clone()).await, step) });
        }
        let mut winner: Option<Record> = None;
        while let Some(done) = callers.join_next().await {
            match done {
                Ok((Ok(()), step)) => {
                    assert!(winner.is_none(), "two steps have won round {round}");
                    winner = Some(step);
                }
                Ok((Err(StoreError::Conflict { .. }), _)) => {}
                other => broken(&format!("expected a conflict, got {other:?}")),
            }
        }
        record = winner.unwrap_or_else(|| broken("no step has won"));
        assert_same(&loaded(&*store, &record).await, &record);
    }
}

/// Of concurrent creations with one key one is stored, and all return its id.
pub async fn of_many_creations_with_one_key_exactly_one_is_kept(store: Arc<impl Store>) {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let record = records::with_key(records::pending("asker", at(0), caller), "key");
        let store = store.clone();
        callers.spawn(async move { (record.id, kept(store.create(record)).await) });
    }
    let (mut fresh, mut named) = (Vec::new(), Vec::new());
    while let Some(done) = callers.join_next().await {
        match done {
            Ok((id, Created::New)) => fresh.push(id),
            Ok((_, Created::Existing(id))) => named.push(id),
            Err(error) => broken(&format!("{error}")),
        }
    }
    assert_eq!(fresh.len(), 1);
    assert!(named.iter().all(|id| *id == fresh[0]));
    let query = Query {
        asker: None,
        respondents: None,
        which: StatusFilter::All,
        before: None,
        limit: 100,
    };
    assert_eq!(kept(store.list(query)).await.len(), 1);
}

/// A note is replaced only if it is what the caller expects; of concurrent callers one succeeds.
pub async fn a_note_is_replaced_if_it_is_the_expected_one(store: Arc<impl Store>) {
    let text = |text: &str| Some(text.to_owned());
    assert!(!kept(store.replace_note("note", text("a"), "b".into())).await);
    assert_eq!(kept(store.load_note("note")).await, None);
    for expected in [None, text("0")] {
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let (store, expected) = (store.clone(), expected.clone());
            let next = if expected.is_some() { "1" } else { "0" };
            callers.spawn(async move {
                kept(store.replace_note("note", expected, next.to_owned())).await
            });
        }
        let done = callers.join_all().await;
        assert_eq!(done.iter().filter(|is_mine| **is_mine).count(), 1);
    }
    assert_eq!(kept(store.load_note("note")).await, text("1"));
}

/// Concurrent steps of different records are independent.
pub async fn steps_of_many_records_do_not_disturb_each_other(store: Arc<impl Store>) {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let store = store.clone();
        callers.spawn(async move {
            let mut record = records::pending("asker", at(caller / 2), caller);
            kept(store.create(record.clone())).await;
            for turn in 0..5 {
                record = records::drafted(&record, at(100), &format!("[{caller},{turn}]"));
                kept(store.commit(record.clone())).await;
                // A concurrent failing call has no effect on others.
                let nobody = records::pending("asker", at(200 + turn), caller);
                let stray = records::step(&nobody, Command::Open, at(200));
                assert!(store.commit(stray).await.is_err());
            }
            if caller % 2 == 0 {
                record = records::answered(&record, at(100), &format!("[{caller}]"));
                kept(store.commit(record.clone())).await;
            }
            record
        });
    }
    while let Some(done) = callers.join_next().await {
        let record = done.unwrap_or_else(|error| broken(&format!("{error}")));
        assert_same(&loaded(&*store, &record).await, &record);
    }
    let counts = kept(store.live_counts()).await;
    assert_eq!(counts, [("asker".into(), 32)]);
}
