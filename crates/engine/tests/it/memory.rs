//! Limits on the memory of answers.

use std::sync::Arc;

use entreat_core::{CancelReason, Form};
use entreat_engine::store::MemoryStore;
use entreat_engine::{ActError, Ask, AskError, Asker, Elicitation, Engine, EngineSettings, Store};
use entreat_testkit::{ScriptedResolver, SeededEntropy, VirtualClock};
use serde_json::{Value, json};

use crate::world::{START, unlimited};

const KIB: usize = 1 << 10;

/// An engine whose limits are 300 KiB per asker and 500 KiB in total.
async fn engine(store: Arc<dyn Store>, clock: &VirtualClock) -> Engine {
    Engine::builder()
        .shared_store(store)
        .clock(clock.clone())
        .entropy(SeededEntropy::new(7))
        .resolver(ScriptedResolver::new())
        .settings(settings())
        .start()
        .await
        .unwrap()
}

fn settings() -> EngineSettings {
    let mut settings = unlimited();
    settings.answer_memory.each = 300 * KIB;
    settings.answer_memory.all = 500 * KIB;
    settings
}

fn form() -> Form {
    Form::from_value(&json!({"id": "send", "title": "Send", "fields": [
        {"id": "why", "type": "text", "label": "Why", "required": true},
        {"id": "file", "type": "file", "label": "File"},
    ]}))
    .unwrap()
}

/// A part of an answer with a file of so many bytes of base64.
fn part(bytes: usize) -> Value {
    let content = "QUFB".repeat(bytes / 4);
    json!({"file": {"filename": "a.txt", "content_type": "text/plain", "size": bytes / 4 * 3,
                    "content": content}})
}

async fn asked(asker: &Asker) -> Elicitation {
    asker.ask(Ask::form(form())).await.unwrap()
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(done: Result<T, ActError>, size: usize, left: usize) {
    let near = |number: usize, about: usize| number.abs_diff(about) < 2 * KIB;
    match done {
        Err(ActError::TooLarge { size: found, limit }) if near(found, size) => {
            assert!(near(limit, left), "{limit}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_drafts_of_one_asker_take_its_share_of_memory_and_no_more() {
    let clock = VirtualClock::new(START);
    let engine = engine(Arc::new(MemoryStore::new()), &clock).await;
    let (greedy, modest) = (engine.asker("greedy"), engine.asker("modest"));
    let mut questions = Vec::new();
    for _ in 0..3 {
        let question = asked(&greedy).await;
        question.draft(&part(100 * KIB - 500)).await.unwrap();
        questions.push(question);
    }
    let fourth = asked(&greedy).await;
    assert_refused(fourth.draft(&part(100 * KIB)).await, 100 * KIB, 0);
    // The question stays open, the draft stays, and small parts still fit.
    assert!(fourth.read_draft().await.unwrap().is_empty());
    fourth.draft(&json!({"why": "because"})).await.unwrap();
    // Drafts and results cannot exceed the limit either.
    let invalid = fourth.submit(&part(100 * KIB)).await;
    assert_refused(invalid, 100 * KIB, 0);
    let mut valid = part(100 * KIB);
    valid["why"] = "because".into();
    assert_refused(fourth.submit(&valid).await, 100 * KIB, 0);
    assert!(fourth.status().await.unwrap().result().is_none());

    // A replacement that is no larger is accepted, however full memory is.
    questions[0].draft(&part(100 * KIB - 600)).await.unwrap();
    questions[0].draft(&json!({"why": "still"})).await.unwrap();
    let other = asked(&modest).await;
    other.draft(&part(150 * KIB)).await.unwrap();
    assert_refused(
        asked(&modest).await.draft(&part(100 * KIB)).await,
        100 * KIB,
        50 * KIB,
    );

    // A result that fits is accepted, and stays in memory until it is purged.
    let mut valid = part(40 * KIB);
    valid["why"] = "because".into();
    asked(&modest).await.submit(&valid).await.unwrap();
    let again = asked(&modest).await.submit(&valid).await;
    assert_refused(again, 40 * KIB, 10 * KIB);

    // Purged questions free their memory.
    questions[0]
        .cancel(CancelReason::AskerCancelled)
        .await
        .unwrap();
    clock.advance(std::time::Duration::from_secs(7200));
    engine.catch_up().await.unwrap();
    asked(&greedy).await.draft(&part(90 * KIB)).await.unwrap();
}

#[tokio::test]
async fn notes_of_an_asker_take_its_share_too() {
    let clock = VirtualClock::new(START);
    let engine = engine(Arc::new(MemoryStore::new()), &clock).await;
    let asker = engine.asker("greedy");
    // A short text that is a large tree.
    let tree = || json!({"list": vec![0; 2 * KIB]});
    let noted = || Ask::form(form()).metadata(tree());
    asker.ask(noted()).await.unwrap();
    asker.ask(noted()).await.unwrap();
    let refused = asker.ask(noted()).await;
    assert!(
        matches!(refused, Err(AskError::TooLarge { .. })),
        "{refused:?}"
    );
    engine.asker("other").ask(noted()).await.unwrap();
    asker.ask(Ask::form(form())).await.unwrap();
}

#[tokio::test]
async fn what_was_held_before_a_restart_is_counted_after_it() {
    let (store, clock) = (Arc::new(MemoryStore::new()), VirtualClock::new(START));
    let first = engine(store.clone(), &clock).await;
    let question = asked(&first.asker("greedy")).await;
    question.draft(&part(200 * KIB)).await.unwrap();
    let id = question.id();
    first.shutdown().await;
    // Like a store loaded from disk: nothing in it was counted.
    let copy = MemoryStore::new();
    let mut record = store.load(id).await.unwrap().unwrap();
    let held = record.answer_state.as_deref().cloned().unwrap();
    record.to_mut().answer_state = Some(Arc::new(entreat_engine::AnswerState {
        memory: entreat_engine::MemoryPermit::default(),
        ..held
    }));
    copy.create(record).await.unwrap();
    drop((first, question, store));
    // Its ids start with the time.
    clock.advance(std::time::Duration::from_secs(1));

    let second = engine(Arc::new(copy), &clock).await;
    let asker = second.asker("greedy");
    let another = asked(&asker).await;
    assert_refused(another.draft(&part(150 * KIB)).await, 150 * KIB, 100 * KIB);
    another.draft(&part(90 * KIB)).await.unwrap();
    let question = asker.elicitation(id);
    question.draft(&json!({"file": null})).await.unwrap();
    another.draft(&part(250 * KIB)).await.unwrap();
}
