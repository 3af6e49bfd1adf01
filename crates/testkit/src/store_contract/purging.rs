//! Purging settled records.

use std::sync::Arc;

use entreat_engine::Store;
use entreat_engine::store::Created;

use super::{at, kept, stepped};
use crate::records;

/// Records that settled before the given time are purged; later ones and live ones of any age stay.
pub async fn purging_takes_what_settled_before_and_nothing_that_is_live(store: Arc<impl Store>) {
    let live = records::pending("asker", at(0), 0);
    kept(store.create(live.clone())).await;
    let mut settled = Vec::new();
    for number in 1..=6 {
        let record = records::pending("asker", at(number), number);
        kept(store.create(record.clone())).await;
        let declined = records::declined(&record, at(100 * number));
        stepped(&*store, declined, number % 2 == 0).await;
        settled.push(record.id);
    }
    assert_eq!(kept(store.purge(at(100), 100)).await, 0);
    assert_eq!(kept(store.purge(at(300), 100)).await, 2);
    assert_eq!(kept(store.purge(at(300), 100)).await, 0);
    for (number, id) in settled.iter().enumerate() {
        let is_there = kept(store.load(*id)).await.is_some();
        assert_eq!(is_there, number >= 2, "number {number}");
    }
    assert_eq!(kept(store.purge(at(1_000_000), 100)).await, 4);
    assert!(kept(store.load(live.id)).await.is_some());
    // It still accepts steps.
    kept(store.commit(records::declined(&live, at(1)))).await;
}

/// A purge deletes no more than its limit.
pub async fn purging_stops_at_the_limit(store: Arc<impl Store>) {
    for number in 0..600 {
        let record = records::pending("asker", at(number), number);
        kept(store.create(record.clone())).await;
        stepped(
            &*store,
            records::declined(&record, at(number)),
            number % 2 == 0,
        )
        .await;
    }
    assert_eq!(kept(store.purge(at(10_000), 0)).await, 0);
    assert_eq!(kept(store.purge(at(10_000), 7)).await, 7);
    assert_eq!(kept(store.purge(at(10_000), 500)).await, 500);
    assert_eq!(kept(store.purge(at(10_000), 500)).await, 93);
}

/// The idempotency key of a purged record can be used again.
pub async fn purged_keys_can_be_used_again(store: Arc<impl Store>) {
    for low_priority in [false, true] {
        let first = records::with_key(records::pending("asker", at(0), 1), "key");
        kept(store.create(first.clone())).await;
        stepped(&*store, records::declined(&first, at(1)), low_priority).await;
        assert_eq!(kept(store.purge(at(2), 10)).await, 1);
        let again = records::with_key(records::pending("asker", at(3), 2), "key");
        assert_eq!(kept(store.create(again.clone())).await, Created::New);
        assert!(kept(store.load(again.id)).await.is_some());
        stepped(&*store, records::declined(&again, at(4)), low_priority).await;
        assert_eq!(kept(store.purge(at(5), 10)).await, 1);
    }
}
