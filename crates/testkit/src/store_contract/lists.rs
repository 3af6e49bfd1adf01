//! Pages of records, and counts of live ones.

use std::sync::Arc;

use entreat_core::{Command, ElicitationId, Presented, Status};
use entreat_engine::store::{Query, Respondents, StatusFilter};
use entreat_engine::{Extras, Principal, Record, Store};

use super::{at, kept, loaded, stepped};
use crate::records::{self, assert_same};

fn all(limit: usize) -> Query {
    Query {
        asker: None,
        respondents: None,
        which: StatusFilter::All,
        before: None,
        limit,
    }
}

async fn ids(store: &impl Store, query: Query) -> Vec<ElicitationId> {
    let page = kept(store.list(query)).await;
    page.iter().map(|record| record.id).collect()
}

/// Every second record has settled, at normal or low priority, so that a store with several tables
/// has to merge them.
async fn fill(store: &impl Store, asker: &str, numbers: std::ops::Range<u64>) -> Vec<Record> {
    let mut filled = Vec::new();
    for number in numbers {
        let mut record = records::pending(asker, at(number), number);
        kept(store.create(record.clone())).await;
        if number % 2 == 0 {
            record = records::answered(&record, at(number), "{}");
            stepped(store, record.clone(), number % 4 == 0).await;
        }
        filled.push(record);
    }
    filled.reverse();
    filled
}

/// Paging returns every record once, newest first.
pub async fn lists_are_newest_first_and_come_in_pages(store: Arc<impl Store>) {
    assert_eq!(ids(&*store, all(10)).await, []);
    let filled = fill(&*store, "asker", 0..25).await;
    for limit in [1, 7, 25, 100, usize::MAX] {
        let mut seen: Vec<Record> = Vec::new();
        loop {
            let mut query = all(limit);
            query.before = seen.last().map(|record| record.id);
            let page = kept(store.list(query)).await;
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            seen.extend(page);
        }
        assert_eq!(seen.len(), filled.len(), "pages of {limit}");
        for (seen, filled) in seen.iter().zip(&filled) {
            assert_same(seen, filled);
        }
    }
    assert_eq!(ids(&*store, all(0)).await, []);
}

/// Lists can be filtered by asker and by state.
pub async fn lists_are_those_of_an_asker_and_of_a_state(store: Arc<impl Store>) {
    let mut everything = Vec::new();
    for (asker, base) in [("one", 0), ("other", 100)] {
        let pending = records::pending(asker, at(base), base);
        let make = |number| records::pending(asker, at(base + number), base + number);
        let ended = |number, command| (make(number), Some(command));
        let presented = Presented::Unknown;
        let reason = entreat_core::CancelReason::UserCancelled;
        for (record, command) in [
            (pending, None),
            ended(1, Command::Open),
            ended(2, Command::Complete),
            ended(3, Command::Decline { presented }),
            ended(4, Command::Cancel { reason, presented }),
            ended(5, Command::Expire),
        ] {
            kept(store.create(record.clone())).await;
            let record = match command {
                None => record,
                Some(command) => {
                    let late = record.lifecycle.deadline();
                    let now = match command {
                        Command::Expire => late,
                        _ => at(base + 50),
                    };
                    let next = records::step(&record, command, now);
                    let low_priority = matches!(command, Command::Expire);
                    stepped(&*store, next.clone(), low_priority).await;
                    next
                }
            };
            everything.push(record);
        }
    }
    everything.reverse();
    let states = Status::ALL.map(StatusFilter::Only);
    for which in
        states
            .into_iter()
            .chain([StatusFilter::All, StatusFilter::Live, StatusFilter::Settled])
    {
        for asker in [None, Some("one"), Some("other"), Some("nobody")] {
            let query = Query {
                asker: asker.map(Into::into),
                which,
                ..all(100)
            };
            let expected = everything.iter().filter(|record| query.matches(record));
            let expected: Vec<_> = expected.map(|record| record.id).collect();
            assert_eq!(ids(&*store, query.clone()).await, expected, "{query:?}");
        }
    }
}

/// A person's questions are found by any of the names under which they are asked, live and settled,
/// page by page. A question that became another person's is found by that one alone.
pub async fn lists_are_those_of_a_person_even_after_a_change(store: Arc<impl Store>) {
    let mut everything = Vec::new();
    let respondents = ["ada", "email:Ada@example.com", "group:ops", "bob"];
    for (number, respondent) in (0..48).zip(respondents.into_iter().cycle()) {
        let mut record = records::pending("asker", at(number), number);
        record.to_mut().request.extras = Some(Arc::new(Extras {
            respondent: Some(respondent.into()),
            ..Extras::default()
        }));
        kept(store.create(record.clone())).await;
        if number % 3 == 0 {
            let next = record.to_mut();
            next.version = next.version.next();
            next.request.reassign("group:night");
            stepped(&*store, record.clone(), false).await;
        }
        if number % 2 == 0 {
            record = records::declined(&record, at(100 + number));
            stepped(&*store, record.clone(), number % 4 == 0).await;
        }
        everything.push(record);
    }
    // One that names nobody.
    kept(store.create(records::pending("asker", at(99), 99))).await;
    everything.reverse();
    let people = [
        Respondents::new(["ada", "email:ada@example.com", "group:ops"]),
        Respondents::new(["bob"]),
        Respondents::new(["group:night", "nobody"]),
        Respondents::new(["nobody"]),
    ];
    for respondents in people {
        for which in [StatusFilter::All, StatusFilter::Live, StatusFilter::Settled] {
            let mut query = Query {
                respondents: Some(respondents.clone()),
                which,
                ..all(5)
            };
            let expected = everything.iter().filter(|record| query.matches(record));
            let expected: Vec<_> = expected.map(|record| record.id).collect();
            let mut found = Vec::new();
            loop {
                let page = ids(&*store, query.clone()).await;
                let Some(last) = page.last() else {
                    break;
                };
                query.before = Some(*last);
                found.extend(page);
            }
            assert_eq!(found, expected, "{which:?} of {respondents:?}");
        }
    }
    for record in &everything {
        assert_same(&loaded(&*store, record).await, record);
    }
}

/// Records of the same millisecond are neither lost nor duplicated.
pub async fn records_of_one_moment_are_told_apart(store: Arc<impl Store>) {
    let mut made: Vec<ElicitationId> = Vec::new();
    for number in 0..40 {
        let record = records::pending("asker", at(0), number);
        made.push(record.id);
        kept(store.create(record.clone())).await;
        if number % 3 == 0 {
            stepped(&*store, records::declined(&record, at(0)), number % 2 == 0).await;
        }
    }
    made.sort_unstable_by(|left, right| right.cmp(left));
    let mut seen: Vec<ElicitationId> = Vec::new();
    while seen.len() < made.len() {
        let mut query = all(3);
        query.before = seen.last().copied();
        let page = ids(&*store, query).await;
        assert!(!page.is_empty(), "{} of {}", seen.len(), made.len());
        seen.extend(page);
    }
    assert_eq!(seen, made);
}

/// Live records are counted by asker; askers without any are omitted.
pub async fn the_census_counts_live_records_alone(store: Arc<impl Store>) {
    assert_eq!(kept(store.live_counts()).await, []);
    fill(&*store, "one", 0..5).await;
    fill(&*store, "other", 11..12).await;
    fill(&*store, "done", 20..21).await;
    let mut counts = kept(store.live_counts()).await;
    counts.sort_unstable();
    assert_eq!(counts, [("one".into(), 2), ("other".into(), 1)]);
}

/// Live records are counted by principal; records without a principal are not counted.
pub async fn the_census_of_principals_counts_live_records_alone(store: Arc<impl Store>) {
    fill(&*store, "one", 0..5).await;
    assert_eq!(kept(store.live_counts_by_principal()).await, []);
    let mut number = 100;
    let mut made = Vec::new();
    for (asker, principal) in [
        ("one", "ada"),
        ("one", "ada"),
        ("one", "eve"),
        ("other", "ada"),
    ] {
        number += 1;
        let mut record = records::pending(asker, at(0), number);
        record.to_mut().request.extras = Some(Arc::new(Extras {
            principal: Some(Principal(principal.into())),
            ..Extras::default()
        }));
        kept(store.create(record.clone())).await;
        made.push(record);
    }
    let declined = Command::Decline {
        presented: Presented::Yes,
    };
    kept(store.commit(records::step(&made[2], declined, at(1)))).await;
    let mut counts = kept(store.live_counts_by_principal()).await;
    counts.sort_unstable();
    assert_eq!(
        counts,
        [
            ("one".into(), "ada".into(), 2),
            ("other".into(), "ada".into(), 1)
        ]
    );
}
