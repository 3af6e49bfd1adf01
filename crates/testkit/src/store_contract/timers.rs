//! Due timers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{Command, ElicitationId, Status, Timeout, UnixTime};
use entreat_engine::store::{Query, StatusFilter};
use entreat_engine::{Record, Store};

use super::{at, broken, kept, loaded};
use crate::records::{self, assert_same};
use crate::samples;

/// A record with this timeout. Its timer is earlier, for the warning.
fn waiting(asked: UnixTime, number: u64, millis: u64) -> Record {
    let timeout = Timeout::of(Duration::from_millis(millis));
    records::pending_with("asker", asked, number, timeout, samples::minimal())
}

fn timer(record: &Record) -> UnixTime {
    record.timer().unwrap_or_else(|| broken("it has settled"))
}

/// A record is due from its timer on, never before, until a step moves the timer.
pub async fn timers_are_named_in_time_and_never_early(store: Arc<impl Store>) {
    let nothing = kept(store.due(at(0), 10)).await;
    assert_eq!((nothing.ids.len(), nothing.next), (0, None));

    let record = waiting(at(0), 1, 60_000);
    kept(store.create(record.clone())).await;
    let warning = timer(&record);
    let early = kept(store.due(warning.before(Duration::from_millis(1)), 10)).await;
    assert_eq!(early.ids, []);
    let next = early.next.unwrap_or_else(|| broken("no timer is armed"));
    assert!(next <= warning, "{next:?} is after {warning:?}");

    for _ in 0..2 {
        assert_eq!(kept(store.due(warning, 10)).await.ids, [record.id]);
    }
    let warned = records::step(&record, Command::Warn, warning);
    kept(store.commit(warned.clone())).await;
    assert_eq!(kept(store.due(warning, 10)).await.ids, []);
    let deadline = timer(&warned);
    assert!(deadline > warning);
    let early = kept(store.due(deadline.before(Duration::from_millis(1)), 10)).await;
    assert_eq!(early.ids, []);
    assert_eq!(kept(store.due(deadline, 10)).await.ids, [record.id]);

    // Also long after, as when the process was down overnight.
    let morning = deadline.after(Duration::from_secs(40_000));
    assert_eq!(kept(store.due(morning, 10)).await.ids, [record.id]);
}

/// At most `limit` records are returned; the rest follow once those are processed.
pub async fn due_records_are_named_up_to_the_limit(store: Arc<impl Store>) {
    let mut waits = BTreeMap::new();
    for number in 0..50 {
        let record = waiting(at(number * 100), number, 30_000);
        kept(store.create(record.clone())).await;
        waits.insert(record.id, record);
    }
    let now = at(600_000);
    assert_eq!(kept(store.due(now, 0)).await.ids, []);
    let mut rounds = 0;
    while !waits.is_empty() {
        let due = kept(store.due(now, 7)).await;
        assert_eq!(due.ids.len(), waits.len().min(7), "round {rounds}");
        for id in due.ids {
            let record = waits.remove(&id);
            let record = record.unwrap_or_else(|| broken("it was returned twice"));
            kept(store.commit(records::step(&record, Command::Expire, now))).await;
        }
        rounds += 1;
    }
    let due = kept(store.due(now, 7)).await;
    assert_eq!((due.ids.len(), due.next), (0, None));
}

/// Settled records are never due.
pub async fn settled_records_have_no_timer(store: Arc<impl Store>) {
    let record = waiting(at(0), 1, 30_000);
    kept(store.create(record.clone())).await;
    kept(store.commit(records::declined(&record, at(1)))).await;
    let due = kept(store.due(at(10_000_000), 10)).await;
    assert_eq!((due.ids.len(), due.next), (0, None));
}

/// A pending delivery is due at its next attempt, and its record is not purged before.
pub async fn an_outcome_to_be_delivered_is_due_and_stays(store: Arc<impl Store>) {
    let record = waiting(at(0), 1, 30_000);
    kept(store.create(record.clone())).await;
    let answered = records::answered(&record, at(1), r#"{"name":"Ada"}"#);
    let mut settled = records::with_delivery(&answered, Some(at(5_000)));
    settled.to_mut().version = answered.version;
    kept(store.commit(settled.clone())).await;
    assert_eq!(kept(store.due(at(4_999), 10)).await.ids, []);
    assert_eq!(kept(store.due(at(5_000), 10)).await.ids, [record.id]);
    assert_same(&loaded(&*store, &record).await, &settled);

    let later = records::with_delivery(&settled, Some(at(60_000)));
    kept(store.commit(later.clone())).await;
    assert_eq!(kept(store.due(at(59_999), 10)).await.ids, []);
    assert_eq!(kept(store.due(at(60_000), 10)).await.ids, [record.id]);
    assert_eq!(kept(store.live_counts()).await, []);
    assert_eq!(kept(store.purge(at(10_000_000), 10)).await, 0);
    for which in [
        StatusFilter::All,
        StatusFilter::Only(Status::Completed),
        StatusFilter::Live,
    ] {
        let query = Query {
            asker: Some("asker".into()),
            respondents: None,
            which,
            before: None,
            limit: 10,
        };
        let listed = kept(store.list(query)).await;
        let expected = usize::from(which != StatusFilter::Live);
        assert_eq!(listed.len(), expected, "{which:?}");
    }

    let done = records::with_delivery(&later, None);
    kept(store.commit(done.clone())).await;
    assert_same(&loaded(&*store, &record).await, &done);
    let due = kept(store.due(at(10_000_000), 10)).await;
    assert_eq!((due.ids.len(), due.next), (0, None));
    assert_eq!(kept(store.purge(at(10_000_000), 10)).await, 1);
}

/// Any sequence of creations, extensions, settlements and queries behaves like a sorted list of
/// timers.
pub async fn timers_behave_like_a_sorted_list(store: Arc<impl Store>) {
    let mut chance = fastrand::Rng::with_seed(7);
    let mut model: BTreeMap<ElicitationId, Record> = BTreeMap::new();
    let mut now = at(0);
    for number in 0..600 {
        match chance.u8(..10) {
            0..4 => {
                let record = waiting(now, number, chance.u64(1_000..300_000));
                kept(store.create(record.clone())).await;
                model.insert(record.id, record);
            }
            4..6 => {
                let live = model.values().filter(|r| !r.lifecycle.is_overdue(now));
                let with_time_left = live.filter(|r| r.lifecycle.extensions_left() > 0);
                let picked = pick(&mut chance, with_time_left.cloned().collect());
                if let Some(record) = picked {
                    let extended = records::step(&record, Command::Extend(None), now);
                    kept(store.commit(extended.clone())).await;
                    model.insert(record.id, extended);
                }
            }
            6 => {
                let live = model.values().filter(|r| !r.lifecycle.is_overdue(now));
                if let Some(record) = pick(&mut chance, live.cloned().collect()) {
                    kept(store.commit(records::declined(&record, now))).await;
                    model.remove(&record.id);
                }
            }
            _ => {
                now = now.after(Duration::from_millis(chance.u64(..40_000)));
                check_due(&*store, &mut model, now).await;
            }
        }
    }
    let end = now.after(Duration::from_secs(10_000));
    check_due(&*store, &mut model, end).await;
}

fn pick(chance: &mut fastrand::Rng, records: Vec<Record>) -> Option<Record> {
    chance.choice(records)
}

/// Compares due records with the model, then warns or expires them.
async fn check_due(store: &impl Store, model: &mut BTreeMap<ElicitationId, Record>, now: UnixTime) {
    let mut due = kept(store.due(now, usize::MAX)).await;
    due.ids.sort_unstable();
    let expected = model.values().filter(|record| timer(record) <= now);
    let expected: Vec<_> = expected.map(|record| record.id).collect();
    assert_eq!(due.ids, expected, "at {now:?}");
    for id in due.ids {
        let Some(record) = model.remove(&id) else {
            continue;
        };
        let late = record.lifecycle.is_overdue(now);
        let command = if late { Command::Expire } else { Command::Warn };
        let next = records::step(&record, command, now);
        kept(store.commit(next.clone())).await;
        if !late {
            model.insert(id, next);
        }
    }
    let due = kept(store.due(now, usize::MAX)).await;
    let overdue = model.values().filter(|record| timer(record) <= now).count();
    assert_eq!(due.ids.len(), overdue);
    if overdue == 0 {
        let soonest = model.values().map(timer).min();
        assert_eq!(due.next.is_some(), soonest.is_some());
        assert!(due.next <= soonest, "{:?} is after {soonest:?}", due.next);
    }
}
