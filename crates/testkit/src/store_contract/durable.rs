//! The contract of durable stores.

use entreat_core::Command;
use entreat_engine::Store;
use entreat_engine::store::{Created, Query, StatusFilter};

use super::claims::claim;
use super::{at, kept, loaded, stepped};
use crate::records::{self, assert_same};

/// Every acknowledged write survives reopening the store: records in every state, keys, timers,
/// pending deliveries, notes and claims. Purged records stay deleted.
///
/// Takes functions that open and close the same store.
pub async fn what_was_acknowledged_is_there_after_a_restart<S: Store>(
    open: impl AsyncFn() -> S,
    close: impl AsyncFn(S),
) {
    let store = open().await;
    let pending = records::with_key(records::pending("one", at(0), 0), "key");
    kept(store.create(pending.clone())).await;
    let active = records::pending("other", at(1), 1);
    kept(store.create(active.clone())).await;
    let active = records::drafted(&active, at(2), r#"{"name":"A"}"#);
    kept(store.commit(active.clone())).await;
    let settled = records::with_key(records::pending("one", at(3), 3), "settled");
    kept(store.create(settled.clone())).await;
    let settled = records::answered(&settled, at(4), r#"{"name":"Ada"}"#);
    let settled = {
        let mut undelivered = records::with_delivery(&settled, Some(at(50)));
        undelivered.to_mut().version = settled.version;
        undelivered
    };
    kept(store.commit(settled.clone())).await;
    let declined = records::with_key(records::pending("one", at(4), 5), "declined");
    kept(store.create(declined.clone())).await;
    let declined = records::declined(&declined, at(5));
    let purged = records::with_key(records::pending("one", at(1), 4), "gone");
    kept(store.create(purged.clone())).await;
    kept(store.commit(records::declined(&purged, at(3)))).await;
    assert_eq!(kept(store.purge(at(4), 10)).await, 1);
    kept(store.save_note("note", "text".into())).await;
    let open_claim = claim(1, 1, at(1_000));
    kept(store.claim(open_claim.clone())).await;
    let mut ended_claim = claim(2, 1, at(1_000));
    kept(store.claim(ended_claim.clone())).await;
    kept(store.end_claim(ended_claim.key, ended_claim.holder, b"outcome".to_vec())).await;
    ended_claim.outcome = Some((*b"outcome").into());
    // The last write before closing, at low priority.
    stepped(&store, declined.clone(), true).await;
    close(store).await;

    for restart in 0..2 {
        let store = open().await;
        for record in [&pending, &active, &settled, &declined] {
            assert_same(&loaded(&store, record).await, record);
        }
        assert!(kept(store.load(purged.id)).await.is_none());
        assert_eq!(kept(store.load_note("note")).await.as_deref(), Some("text"));
        for first in [&open_claim, &ended_claim] {
            let again = claim(first.key[0], 9, at(2_000));
            assert_eq!(kept(store.claim(again)).await.as_ref(), Some(first));
        }
        let mut counts = kept(store.live_counts()).await;
        counts.sort_unstable();
        assert_eq!(counts, [("one".into(), 1), ("other".into(), 1)]);
        let query = Query {
            asker: None,
            respondents: None,
            which: StatusFilter::All,
            before: None,
            limit: 10,
        };
        let listed: Vec<_> = kept(store.list(query)).await;
        let listed: Vec<_> = listed.iter().map(|record| record.id).collect();
        let expected = [declined.id, settled.id, active.id, pending.id];
        assert_eq!(listed, expected, "{restart}");
        for (key, record) in [
            ("key", &pending),
            ("settled", &settled),
            ("declined", &declined),
        ] {
            let again = records::with_key(records::pending("one", at(9), 9), key);
            let first = Created::Existing(record.id);
            assert_eq!(kept(store.create(again)).await, first);
        }
        let deadline = pending.lifecycle.deadline();
        let mut due = kept(store.due(deadline, 10)).await.ids;
        due.sort_unstable();
        assert_eq!(due, [pending.id, active.id, settled.id]);
        close(store).await;
    }

    // Live records accept steps, and the purged key can be used again.
    let store = open().await;
    let opened = records::step(&pending, Command::Open, at(10));
    kept(store.commit(opened.clone())).await;
    let again = records::with_key(records::pending("one", at(9), 9), "gone");
    assert_eq!(kept(store.create(again.clone())).await, Created::New);
    close(store).await;
    let store = open().await;
    assert_same(&loaded(&store, &pending).await, &opened);
    assert_same(&loaded(&store, &again).await, &again);
    close(store).await;
}
