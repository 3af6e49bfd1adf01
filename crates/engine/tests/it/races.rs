//! Concurrent operations: exactly one wins, and there is one history.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use entreat_core::{CancelReason, Outcome};
use entreat_engine::{ActError, Ask, Elicitation, Snapshot};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::world::{World, answer, form};

const ELICITATIONS: usize = 10_000;
const SUBMITS: usize = 64;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_submits_at_once_exactly_one_wins() {
    let world = World::new().await;
    let form = form();
    let mut questions = Vec::with_capacity(ELICITATIONS);
    for _ in 0..ELICITATIONS {
        questions.push(world.asker.ask(Ask::form(form.clone())).await.unwrap());
    }
    let questions = Arc::new(questions);
    let wins: Arc<Vec<AtomicUsize>> =
        Arc::new((0..ELICITATIONS).map(|_| AtomicUsize::new(0)).collect());
    let start = Arc::new(Barrier::new(SUBMITS));
    let mut submits = JoinSet::new();
    for submit in 0..SUBMITS {
        let (questions, wins, start) = (questions.clone(), wins.clone(), start.clone());
        let engine = world.engine.clone();
        submits.spawn(async move {
            start.wait().await;
            for (question, wins) in questions.iter().zip(wins.iter()) {
                let mine = json!({"target": "staging", "replicas": submit % 9 + 1});
                match engine.elicitation(question.id()).submit(&mine).await {
                    Ok(_) => {
                        wins.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(ActError::Settled {
                        outcome: Outcome::Completed,
                    }) => {}
                    Err(other) => panic!("a loser is told `already_completed`, not {other}"),
                }
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(done) = submits.join_next().await {
        done.unwrap();
    }
    assert!(wins.iter().all(|wins| wins.load(Ordering::Relaxed) == 1));
    assert_eq!(world.engine.live(), 0);
}

/// Runs two operations concurrently on each of many questions; returns both results and the
/// outcome.
async fn race<A, B>(
    one: impl AsyncFn(Elicitation, &World) -> A,
    other: impl AsyncFn(Elicitation, &World) -> B,
    mut judge: impl FnMut(A, B, Snapshot),
) {
    for round in 0..300 {
        let world = World::new().await;
        let question = world.asker.ask(Ask::form(form())).await.unwrap();
        let host = world.engine.elicitation(question.id());
        // Varies which starts first, and how far it gets before the other starts.
        let delayed = async {
            for _ in 0..round % 7 {
                tokio::task::yield_now().await;
            }
            other(host.clone(), &world).await
        };
        let (first, second) = tokio::join!(one(host.clone(), &world), delayed);
        judge(first, second, question.outcome().await.unwrap());
        assert_eq!(world.engine.live(), 0);
    }
}

async fn submit(host: Elicitation, _: &World) -> Result<Snapshot, ActError> {
    tokio::task::yield_now().await;
    host.submit(&answer()).await
}

async fn expire(_: Elicitation, world: &World) {
    world.clock.advance(Duration::from_secs(300));
    world.engine.catch_up().await.unwrap();
}

#[tokio::test]
async fn an_answer_and_the_deadline_leave_one_outcome() {
    race(submit, expire, |submitted, (), settled| match submitted {
        Ok(_) => assert_eq!(settled.outcome(), Some(Outcome::Completed)),
        Err(ActError::TimedOut { .. }) => {
            assert_eq!(settled.outcome(), Some(Outcome::TimedOut));
        }
        Err(other) => panic!("an answer wins or is late, but {other}"),
    })
    .await;
}

#[tokio::test]
async fn an_answer_and_a_cancellation_leave_one_outcome() {
    let cancel =
        async |host: Elicitation, _: &World| host.cancel(CancelReason::AskerCancelled).await;
    race(submit, cancel, |submitted, cancelled, settled| {
        assert_ne!(submitted.is_ok(), cancelled.is_ok());
        let is_completed = settled.outcome() == Some(Outcome::Completed);
        assert_eq!(submitted.is_ok(), is_completed);
    })
    .await;
}

#[tokio::test]
async fn an_extension_and_the_deadline_leave_one_history() {
    let extend = async |host: Elicitation, _: &World| {
        tokio::task::yield_now().await;
        host.extend(None).await
    };
    let expire_and_end = async |host: Elicitation, world: &World| {
        expire(host.clone(), world).await;
        // An extended question is still open; an answer settles it.
        host.submit(&answer()).await
    };
    race(extend, expire_and_end, |extended, answered, settled| {
        assert_eq!(extended.is_ok(), answered.is_ok());
        let is_completed = settled.outcome() == Some(Outcome::Completed);
        assert_eq!(extended.is_ok(), is_completed);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_waits_for_an_outcome_that_came_first() {
    let world = World::new().await;
    let form = form();
    for _ in 0..5_000 {
        let question = world.asker.ask(Ask::form(form.clone())).await.unwrap();
        let host = world.engine.elicitation(question.id());
        let waiting = tokio::spawn(question.outcome());
        let answering = tokio::spawn(async move { host.submit(&answer()).await });
        answering.await.unwrap().unwrap();
        let settled = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        assert_eq!(settled.unwrap().unwrap().unwrap().result(), Some(answer()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_to_a_draft_at_the_same_time_are_all_kept() {
    const EDITS: usize = 200;
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let mut edits = JoinSet::new();
    for _ in 0..4 {
        let question = world.engine.elicitation(question.id());
        edits.spawn(async move {
            for _ in 0..EDITS {
                let count = |draft: &mut serde_json::Map<String, serde_json::Value>| {
                    let before = draft.get("replicas").and_then(serde_json::Value::as_u64);
                    draft.insert("replicas".to_owned(), (before.unwrap_or(0) + 1).into());
                };
                question.edit_draft(count).await.unwrap();
            }
        });
    }
    while let Some(done) = edits.join_next().await {
        done.unwrap();
    }
    let draft = question.read_draft().await.unwrap();
    assert_eq!(draft["replicas"], 4 * EDITS);
}

#[tokio::test]
async fn answers_of_a_draft_that_has_changed_are_not_taken() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    question.draft(&json!({"replicas": 2})).await.unwrap();
    let draft = question.read_draft().await.unwrap();
    question.draft(&json!({"target": "staging"})).await.unwrap();
    let right = json!({"target": "staging", "replicas": 2});
    let wrong = json!({"replicas": 99});
    for answers in [&right, &wrong] {
        let stale = question.submit_draft(&draft, answers, None).await;
        assert!(matches!(stale, Err(ActError::DraftChanged)));
    }
    // Invalid answers leave the draft unchanged, and count as attempts.
    let draft = question.read_draft().await.unwrap();
    let refused = question.submit_draft(&draft, &wrong, None).await;
    let Err(ActError::Invalid(refusal)) = refused else {
        panic!("it was to be refused");
    };
    assert_eq!(refusal.retry_count, 1);
    assert_eq!(question.read_draft().await.unwrap(), draft);
    let settled = question.submit_draft(&draft, &right, None).await.unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Completed));
}
