//! Several handles on one store: together they keep what one promises.

use std::sync::Arc;
use std::time::Duration;

use entreat_engine::store::{ChangeElsewhere, Created, Query, StatusFilter};
use entreat_engine::{Record, Store, StoreError};
use tokio::task::JoinSet;

use super::claims::claim;
use super::{at, broken, kept, loaded};
use crate::records::{self, assert_same};

/// Number of callers of each handle.
const CALLERS: u64 = 32;

/// What one handle has stored or changed is there for the other as soon as it is acknowledged.
pub async fn what_one_handle_writes_the_other_reads<A: Store, B: Store>(
    one: Arc<A>,
    other: Arc<B>,
) {
    let record = records::with_key(records::pending("asker", at(0), 1), "key");
    kept(one.create(record.clone())).await;
    assert_same(&loaded(&*other, &record).await, &record);
    let drafted = records::drafted(&record, at(1), r#"{"name":"A"}"#);
    kept(other.commit(drafted.clone())).await;
    assert_same(&loaded(&*one, &record).await, &drafted);
    assert_eq!(kept(one.live_counts()).await, [("asker".into(), 1)]);
    let deadline = drafted.lifecycle.deadline();
    assert_eq!(kept(one.due(deadline, 10)).await.ids, [record.id]);
    let settled = records::answered(&drafted, at(2), r#"{"name":"Ada"}"#);
    kept(one.commit_low_priority(settled.clone())).await;
    assert_same(&loaded(&*other, &record).await, &settled);
    assert_eq!(kept(other.live_counts()).await, []);
    let query = Query {
        asker: None,
        respondents: None,
        which: StatusFilter::Settled,
        before: None,
        limit: 10,
    };
    let listed = kept(other.list(query)).await;
    assert_eq!(
        listed.iter().map(|it| it.id).collect::<Vec<_>>(),
        [record.id]
    );
    kept(one.save_note("note", "text".into())).await;
    assert_eq!(kept(other.load_note("note")).await.as_deref(), Some("text"));
}

/// A step through one handle makes the version stale that the other has read.
pub async fn a_step_through_another_handle_is_a_conflict<A: Store, B: Store>(
    one: Arc<A>,
    other: Arc<B>,
) {
    let record = records::pending("asker", at(0), 1);
    kept(one.create(record.clone())).await;
    let read = loaded(&*other, &record).await;
    kept(one.commit(records::drafted(&record, at(1), "{}"))).await;
    let stale = other.commit(records::declined(&read, at(2))).await;
    assert!(
        matches!(stale, Err(StoreError::Conflict { .. })),
        "{stale:?}"
    );
    assert!(loaded(&*one, &record).await.lifecycle.is_live());
}

/// Of concurrent steps through both handles one wins.
pub async fn of_many_steps_through_two_handles_one_wins<A: Store, B: Store>(
    one: Arc<A>,
    other: Arc<B>,
) {
    let record = records::pending("asker", at(0), 1);
    kept(one.create(record.clone())).await;
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let step = |handle| {
            let text = format!("{{\"name\":\"{handle}{caller}\"}}");
            records::answered(&record, at(1), &text)
        };
        let (here, there) = (step("one"), step("other"));
        let (one, other) = (one.clone(), other.clone());
        callers.spawn(async move { (one.commit(here.clone()).await, here) });
        callers.spawn(async move { (other.commit(there.clone()).await, there) });
    }
    let mut winner: Option<Record> = None;
    while let Some(done) = callers.join_next().await {
        match done {
            Ok((Ok(()), step)) => {
                assert!(winner.is_none(), "two steps have won");
                winner = Some(step);
            }
            Ok((Err(StoreError::Conflict { .. }), _)) => {}
            other => broken(&format!("expected a conflict, got {other:?}")),
        }
    }
    let winner = winner.unwrap_or_else(|| broken("no step has won"));
    assert_same(&loaded(&*one, &record).await, &winner);
    assert_same(&loaded(&*other, &record).await, &winner);
}

/// Of concurrent creations with one key through both handles one is stored, and all return its id.
pub async fn an_idempotency_key_is_used_once_by_all_handles<A: Store, B: Store>(
    one: Arc<A>,
    other: Arc<B>,
) {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let new = |number| records::with_key(records::pending("asker", at(0), number), "key");
        let (here, there) = (new(2 * caller), new(2 * caller + 1));
        let (one, other) = (one.clone(), other.clone());
        callers.spawn(async move { (here.id, kept(one.create(here)).await) });
        callers.spawn(async move { (there.id, kept(other.create(there)).await) });
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
}

/// Of concurrent claims through both handles one succeeds, and all others get it.
pub async fn a_value_is_claimed_once_by_all_handles<A: Store, B: Store>(
    one: Arc<A>,
    other: Arc<B>,
) {
    let mut callers = JoinSet::new();
    for caller in 0..32 {
        let (here, there) = (claim(7, 2 * caller, at(9)), claim(7, 2 * caller + 1, at(9)));
        let (one, other) = (one.clone(), other.clone());
        callers.spawn(async move { (here.clone(), kept(one.claim(here)).await) });
        callers.spawn(async move { (there.clone(), kept(other.claim(there)).await) });
    }
    let (mut fresh, mut told) = (Vec::new(), Vec::new());
    while let Some(done) = callers.join_next().await {
        match done {
            Ok((claim, None)) => fresh.push(claim),
            Ok((_, Some(first))) => told.push(first),
            Err(error) => broken(&format!("{error}")),
        }
    }
    assert_eq!(fresh.len(), 1);
    assert!(told.iter().all(|first| *first == fresh[0]), "{told:?}");
    assert_eq!(kept(one.find_claim([7; 24])).await, Some(fresh[0].clone()));
    assert_eq!(kept(one.purge_claims(at(9), 10)).await, 1);
    assert_eq!(kept(other.find_claim([7; 24])).await, None);
}

/// Handles differ from each other, and none that is open is gone for another.
pub async fn no_handle_that_is_open_is_gone<A: Store, B: Store>(one: Arc<A>, other: Arc<B>) {
    assert_ne!(one.holder(), other.holder());
    assert!(!kept(one.is_gone(other.holder())).await);
    assert!(!kept(other.is_gone(one.holder())).await);
}

/// What one handle purges is gone for the other, and its key is free again.
pub async fn what_one_handle_purges_is_gone_for_the_other<A: Store, B: Store>(
    one: Arc<A>,
    other: Arc<B>,
) {
    let record = records::with_key(records::pending("asker", at(0), 1), "key");
    kept(one.create(record.clone())).await;
    kept(other.commit(records::declined(&record, at(1)))).await;
    assert_eq!(kept(one.purge(at(2), 10)).await, 1);
    assert!(kept(other.load(record.id)).await.is_none());
    let again = records::with_key(records::pending("asker", at(3), 2), "key");
    assert_eq!(kept(other.create(again)).await, Created::New);
}

/// Each handle is told of the creations and commits of the other when it can read them, and not of
/// writes that failed.
pub async fn each_handle_is_told_what_the_other_has_changed<A: Store, B: Store>(
    one: Arc<A>,
    other: Arc<B>,
) {
    let feed = other.changes_elsewhere();
    let mut feed = feed.unwrap_or_else(|| broken("there is no feed"));
    let record = records::pending("asker", at(0), 1);
    let drafted = records::drafted(&record, at(1), "{}");
    let declined = records::declined(&drafted, at(2));
    kept(one.create(record.clone())).await;
    kept(one.commit(drafted)).await;
    kept(one.commit_low_priority(declined.clone())).await;
    let stale = records::drafted(&record, at(3), "{}");
    assert!(one.commit(stale).await.is_err());
    loop {
        let next = tokio::time::timeout(Duration::from_secs(20), feed.next()).await;
        match next {
            Ok(Some(ChangeElsewhere::Records(records))) => {
                for (id, version) in &*records {
                    assert_eq!(*id, record.id);
                    assert!(*version <= declined.version);
                    let found = loaded(&*other, &record).await;
                    assert!(
                        found.version >= *version,
                        "it was told before it could be read"
                    );
                }
                if records
                    .iter()
                    .any(|(_, version)| *version == declined.version)
                {
                    return;
                }
            }
            // A feed may always say so.
            Ok(Some(ChangeElsewhere::Missed)) => return,
            silent => broken(&format!("the other handle was told nothing: {silent:?}")),
        }
    }
}
