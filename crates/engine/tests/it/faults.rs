//! A failing store: nothing is lost or duplicated, and the engine recovers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, Outcome, Status};
use entreat_engine::store::{MemoryStore, Query, StatusFilter};
use entreat_engine::{ActError, Ask, Asker, Engine, Store, StoreError, SubscriptionItem};
use entreat_testkit::{Call, Fault, FaultyStore, SeededEntropy, VirtualClock};

use crate::world::{START, answer, form, unlimited};

struct Shaky {
    store: Arc<FaultyStore<MemoryStore>>,
    clock: VirtualClock,
    engine: Engine,
    asker: Asker,
}

impl Shaky {
    async fn new() -> Self {
        let store = Arc::new(FaultyStore::new(MemoryStore::new()));
        let clock = VirtualClock::new(START);
        let engine = Engine::builder()
            .shared_store(store.clone())
            .clock(clock.clone())
            .entropy(SeededEntropy::new(3))
            .settings(unlimited())
            .start()
            .await
            .unwrap();
        Self {
            asker: engine.asker("deployer"),
            store,
            clock,
            engine,
        }
    }
}

#[tokio::test]
async fn a_full_disk_is_told_reads_go_on_and_it_recovers() {
    let shaky = Shaky::new().await;
    let question = shaky.asker.ask(Ask::form(form())).await.unwrap();
    shaky
        .store
        .inject(Fault::of_any(&[Call::Create, Call::Commit]));
    let error = shaky.asker.ask(Ask::form(form())).await.unwrap_err();
    assert_eq!(error.to_string(), "the question could not be stored");
    assert_eq!(shaky.engine.live(), 1);
    let host = shaky.engine.elicitation(question.id());
    let error = host.submit(&answer()).await.unwrap_err();
    assert!(matches!(
        error,
        ActError::Store(StoreError::Unavailable { .. })
    ));
    assert_eq!(question.status().await.unwrap().status(), Status::Pending);
    let listed = shaky.asker.list(StatusFilter::All, 10, None).await.unwrap();
    assert_eq!(listed.elicitations.len(), 1);
    shaky.store.heal();
    host.submit(&answer()).await.unwrap();
    shaky.asker.ask(Ask::form(form())).await.unwrap();
    assert_eq!(shaky.engine.live(), 1);
}

#[tokio::test]
async fn a_deadline_that_could_not_be_kept_is_kept_when_the_store_is_back() {
    let shaky = Shaky::new().await;
    let question = shaky.asker.ask(Ask::form(form())).await.unwrap();
    let waiting = tokio::spawn(question.outcome());
    shaky.store.inject(Fault::of(Call::Commit));
    shaky.clock.advance(Duration::from_secs(300));
    assert!(shaky.engine.catch_up().await.is_err());
    shaky.store.heal();
    shaky.engine.catch_up().await.unwrap();
    let settled = waiting.await.unwrap().unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::TimedOut));
}

#[tokio::test]
async fn an_answer_whose_acknowledgement_was_lost_still_reaches_who_waits() {
    let shaky = Shaky::new().await;
    let question = shaky.asker.ask(Ask::form(form())).await.unwrap();
    let waiting = tokio::spawn(question.outcome());
    tokio::task::yield_now().await;
    let host = shaky.engine.elicitation(question.id());
    shaky
        .store
        .inject(Fault::of(Call::Commit).times(1).after_it_was_done());
    assert!(host.submit(&answer()).await.is_err());
    shaky.engine.catch_up().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().result(), Some(answer()));
    assert_eq!(shaky.engine.live(), 0);
    let again = host.submit(&answer()).await.unwrap_err();
    assert_eq!(again.to_string(), "the elicitation is already_completed");
}

#[tokio::test]
async fn a_question_whose_acknowledgement_was_lost_counts_until_it_ends() {
    let shaky = Shaky::new().await;
    shaky
        .store
        .inject(Fault::of(Call::Create).times(1).after_it_was_done());
    assert!(shaky.asker.ask(Ask::form(form())).await.is_err());
    shaky.engine.catch_up().await.unwrap();
    assert_eq!(shaky.engine.live(), 1);
    shaky.clock.advance(Duration::from_secs(300));
    shaky.engine.catch_up().await.unwrap();
    assert_eq!(shaky.engine.live(), 0);
}

#[tokio::test]
async fn under_any_faults_each_settles_once_and_the_count_is_right() {
    for seed in 0..40 {
        let shaky = Shaky::new().await;
        let mut heard = shaky.engine.subscribe();
        let calls = [Call::Create, Call::Commit, Call::Load, Call::Due];
        shaky
            .store
            .inject(Fault::of_any(&calls).with_chance(0.2, seed));
        let acknowledgements = [Call::Create, Call::Commit];
        shaky.store.inject(
            Fault::of_any(&acknowledgements)
                .with_chance(0.2, seed + 99)
                .after_it_was_done(),
        );
        let mut questions = Vec::new();
        for i in 0..60 {
            if let Ok(question) = shaky.asker.ask(Ask::form(form())).await {
                questions.push(question);
            }
            if let Some(question) = questions.get(i / 2) {
                let host = shaky.engine.elicitation(question.id());
                let _ = match i % 4 {
                    0 => host.submit(&answer()).await.map(drop),
                    1 => host.decline().await.map(drop),
                    2 => host.draft(&answer()).await.map(drop),
                    _ => host.extend(None).await.map(drop),
                };
            }
            shaky.clock.advance(Duration::from_secs(20));
            let _ = shaky.engine.catch_up().await;
        }
        shaky.store.heal();
        shaky.engine.catch_up().await.unwrap();
        let everything = |which| Query {
            asker: None,
            respondents: None,
            which,
            before: None,
            limit: 200,
        };
        let live = shaky
            .store
            .list(everything(StatusFilter::Live))
            .await
            .unwrap();
        assert_eq!(shaky.engine.live(), live.len(), "seed {seed}");
        let mut settled: HashMap<ElicitationId, usize> = HashMap::new();
        while let Ok(Some(SubscriptionItem::Event(event))) =
            tokio::time::timeout(Duration::ZERO, heard.next()).await
        {
            if event.record().lifecycle.outcome().is_some() {
                *settled.entry(event.id()).or_default() += 1;
            }
        }
        let all = shaky
            .store
            .list(everything(StatusFilter::All))
            .await
            .unwrap();
        assert!(all.len() < 200, "the whole of it was looked at");
        for record in all.iter().filter(|record| !record.lifecycle.is_live()) {
            assert_eq!(settled.get(&record.id), Some(&1), "seed {seed}");
        }
    }
}
