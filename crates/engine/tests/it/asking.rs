//! Questions from creation to outcome.

use std::time::Duration;

use entreat_core::{CancelReason, Form, Outcome, Status, Timeout};
use entreat_engine::{ActError, Ask, AskError, Snapshot, StatusFilter};
use serde_json::{Value, json};

use crate::world::{START, World, answer, form};

#[tokio::test]
async fn an_answer_reaches_who_waits_and_who_asks_later() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let waiting = tokio::spawn(question.outcome());
    tokio::task::yield_now().await;
    let host = world.engine.elicitation(question.id());
    host.submit(&answer()).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().result(), Some(answer()));
    assert_eq!(question.outcome().await.unwrap().result(), Some(answer()));
    let status = question.status().await.unwrap();
    assert_eq!(status.status(), Status::Completed);
    assert_eq!(world.engine.live(), 0);
}

#[tokio::test]
async fn two_questions_answered_in_reverse_reach_the_right_askers() {
    let world = World::new().await;
    let other = world.engine.asker("other");
    let first = world.asker.ask(Ask::form(form())).await.unwrap();
    let second = other.ask(Ask::inline("Your name?").unwrap()).await.unwrap();
    let host = |id| world.engine.elicitation(id);
    host(second.id())
        .submit(&json!({"value": "Ada"}))
        .await
        .unwrap();
    host(first.id()).submit(&answer()).await.unwrap();
    assert_eq!(second.outcome().await.unwrap().result(), Some(json!("Ada")));
    assert_eq!(first.outcome().await.unwrap().result(), Some(answer()));
}

#[tokio::test]
async fn an_asker_sees_its_own_and_no_others() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let stranger = world.engine.asker("stranger").elicitation(question.id());
    assert!(matches!(stranger.status().await, Err(ActError::NotFound)));
    assert!(matches!(stranger.outcome().await, Err(ActError::NotFound)));
    assert!(matches!(
        stranger.submit(&answer()).await,
        Err(ActError::NotFound)
    ));
    let cancelled = stranger.cancel(CancelReason::AskerCancelled).await;
    assert!(matches!(cancelled, Err(ActError::NotFound)));
    assert_eq!(question.status().await.unwrap().status(), Status::Pending);
}

#[tokio::test]
async fn an_invalid_answer_is_told_whole_and_kept_as_a_draft() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let wrong = json!({"target": "moon", "replicas": 12, "token": "s3cret", "stray": 1});
    let ActError::Invalid(refusal) = host.submit(&wrong).await.unwrap_err() else {
        panic!("an invalid answer is refused as one");
    };
    let fields: Vec<_> = refusal.errors.iter().map(|error| &*error.field).collect();
    assert_eq!(fields, ["target", "replicas", "stray"]);
    assert!(refusal.retry_allowed);
    assert_eq!((refusal.retry_count, refusal.retry_limit), (1, 3));
    let draft = Value::Object(host.read_draft().await.unwrap());
    assert_eq!(
        draft,
        json!({"target": "moon", "replicas": 12, "token": "s3cret"})
    );
    let status = serde_json::to_value(question.status().await.unwrap()).unwrap();
    assert_eq!(status["status"], "active");
    assert_eq!(status["previousErrors"][1]["constraint"], "maximum");
    assert!(!status.to_string().contains("s3cret"));
}

#[tokio::test]
async fn a_secret_that_is_not_valid_is_in_no_draft() {
    let world = World::new().await;
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "name", "type": "text", "label": "Name", "validation": {"minLength": 8}},
        {"id": "key", "type": "text", "label": "Key", "sensitive": true,
         "validation": {"minLength": 8}},
    ]}));
    let question = world.asker.ask(Ask::form(form.unwrap())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let short = json!({"name": "short", "key": "s3cret"});
    let without = json!({"name": "short", "key": null});

    let drafted = host.draft(&short).await.unwrap();
    let wrong: Vec<_> = drafted.errors.iter().map(|error| &*error.field).collect();
    assert_eq!(wrong, ["name", "key"]);
    assert_eq!(Value::Object(host.read_draft().await.unwrap()), without);

    host.submit(&short).await.unwrap_err();
    assert_eq!(Value::Object(host.read_draft().await.unwrap()), without);

    let valid = json!({"name": "short", "key": "long enough"});
    host.draft(&valid).await.unwrap();
    host.submit(&valid).await.unwrap_err();
    assert_eq!(Value::Object(host.read_draft().await.unwrap()), valid);
}

#[tokio::test]
async fn an_error_of_the_last_attempt_goes_with_the_answer_it_is_about() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let wrong = json!({"target": "moon", "replicas": 12});
    host.submit(&wrong).await.unwrap_err();
    let errors = async || {
        let status = serde_json::to_value(question.status().await.unwrap()).unwrap();
        let errors = status["previousErrors"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        errors
            .iter()
            .map(|error| error["field"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(errors().await, ["target", "replicas"]);
    host.draft(&json!({"target": "moon", "replicas": 3}))
        .await
        .unwrap();
    assert_eq!(errors().await, ["target"]);
    host.draft(&json!({"target": "staging"})).await.unwrap();
    assert!(errors().await.is_empty());
}

#[tokio::test]
async fn the_third_invalid_answer_settles_it() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    for attempt in 1..=3 {
        let ActError::Invalid(refusal) = host.submit(&json!({})).await.unwrap_err() else {
            panic!("an invalid answer is refused as one");
        };
        assert_eq!(refusal.retry_count, attempt);
        assert_eq!(refusal.retry_allowed, attempt < 3);
    }
    let reason = CancelReason::MaxRetriesExceeded;
    let settled = question.outcome().await.unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Cancelled(reason)));
}

#[tokio::test]
async fn parts_of_an_answer_are_merged_checked_and_use_up_nothing() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let drafted = host.draft(&json!({"replicas": 50})).await.unwrap();
    assert_eq!(drafted.status, Status::Active);
    assert_eq!(drafted.missing, ["target"]);
    assert_eq!(drafted.errors[0].constraint, "maximum");
    let drafted = host.draft(&json!({"target": "staging"})).await.unwrap();
    assert!(drafted.missing.is_empty());
    assert!(drafted.errors.is_empty(), "only what was sent is judged");
    let drafted = host
        .draft(&json!({"responses": {"replica": 5}}))
        .await
        .unwrap();
    assert_eq!(
        drafted.errors[0].field, "replica",
        "it is told, and not kept"
    );
    let draft = Value::Object(host.read_draft().await.unwrap());
    assert_eq!(draft, json!({"replicas": 50, "target": "staging"}));
    assert_eq!(question.status().await.unwrap().lifecycle().attempts(), 0);
}

#[tokio::test]
async fn a_form_that_allows_it_is_answered_in_part_and_says_what_is_missing() {
    let world = World::new().await;
    let partial = Form::from_value(
        &json!({"id": "p", "title": "P", "allow_partial": true, "fields": [
            {"id": "a", "type": "text", "label": "A", "required": true},
            {"id": "b", "type": "text", "label": "B"},
        ]}),
    );
    let question = world.asker.ask(Ask::form(partial.unwrap())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    host.submit(&json!({"b": "x"})).await.unwrap();
    let record = serde_json::to_value(question.status().await.unwrap()).unwrap();
    assert_eq!(record["result"], json!({"b": "x"}));
    assert_eq!(record["missing"], json!(["a"]));
}

#[tokio::test]
async fn a_result_that_is_too_large_is_refused_and_the_question_stays_open() {
    let world = World::new().await;
    let ask = Ask::inline("Tell me").unwrap().size_limit(100);
    let question = world.asker.ask(ask).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let large = json!({"value": "x".repeat(200)});
    let error = host.submit(&large).await.unwrap_err();
    assert!(
        matches!(
            error,
            ActError::TooLarge {
                size: 212,
                limit: 100
            }
        ),
        "{error:?}"
    );
    host.submit(&json!({"value": "short"})).await.unwrap();
    for bad in [0, (16 << 20) + 1, u64::MAX] {
        let ask = Ask::inline("Tell me").unwrap().size_limit(bad);
        let refused = world.asker.ask(ask).await;
        assert!(matches!(refused, Err(AskError::SizeLimit { .. })), "{bad}");
    }
}

#[tokio::test]
async fn only_inline_and_url_questions_are_completed_from_elsewhere() {
    let world = World::new().await;
    let url = world
        .asker
        .ask(Ask::url("https://example.com/sign"))
        .await
        .unwrap();
    assert!(matches!(
        url.submit(&json!({})).await,
        Err(ActError::WrongMode(_))
    ));
    url.complete(&json!({"signed": true})).await.unwrap();
    assert_eq!(
        url.outcome().await.unwrap().result(),
        Some(json!({"signed": true}))
    );
    let inline = world
        .asker
        .ask(Ask::inline("Name?").unwrap())
        .await
        .unwrap();
    inline.complete(&json!("Ada")).await.unwrap();
    assert_eq!(inline.outcome().await.unwrap().result(), Some(json!("Ada")));
    let form = world.asker.ask(Ask::form(form())).await.unwrap();
    assert!(matches!(
        form.complete(&answer()).await,
        Err(ActError::WrongMode(_))
    ));
}

#[tokio::test]
async fn the_same_key_asks_once() {
    let world = World::new().await;
    let ask = || Ask::form(form()).idempotency_key("k1");
    let first = world.asker.ask(ask()).await.unwrap();
    let again = world.asker.ask(ask()).await.unwrap();
    assert_eq!(first.id(), again.id());
    let other = world.engine.asker("other").ask(ask()).await.unwrap();
    assert_ne!(first.id(), other.id());
    assert_eq!(world.engine.live(), 2);
}

#[tokio::test]
async fn lists_are_paged_newest_first_without_results() {
    let world = World::new().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(world.asker.ask(Ask::form(form())).await.unwrap().id());
        world.clock.advance(Duration::from_millis(3));
    }
    world
        .engine
        .asker("other")
        .ask(Ask::form(form()))
        .await
        .unwrap();
    world.answer(ids[4]).await;
    ids.reverse();
    let page = world.asker.list(StatusFilter::All, 3, None).await.unwrap();
    assert_eq!(page.next, Some(ids[2]));
    let page = page.elicitations;
    assert_eq!(page.iter().map(Snapshot::id).collect::<Vec<_>>(), ids[..3]);
    assert_eq!(page[0].result(), None);
    let rest = world
        .asker
        .list(StatusFilter::All, 3, Some(page[2].id()))
        .await
        .unwrap();
    assert_eq!(rest.next, None);
    let rest = rest.elicitations;
    assert_eq!(rest.iter().map(Snapshot::id).collect::<Vec<_>>(), ids[3..]);
    let live = world
        .asker
        .list(StatusFilter::Live, 200, None)
        .await
        .unwrap();
    assert_eq!(live.elicitations.len(), 4);
    let done = world
        .asker
        .list(StatusFilter::Only(Status::Completed), 200, None)
        .await
        .unwrap();
    assert_eq!(done.elicitations.len(), 1);
}

#[tokio::test]
async fn what_was_asked_on_a_connection_goes_with_it_unless_durable() {
    let world = World::new().await;
    let connection = world.asker.connect();
    let fleeting = connection.ask(Ask::form(form())).await.unwrap();
    let lasting = connection.ask(Ask::form(form()).durable()).await.unwrap();
    let answered = connection.ask(Ask::form(form())).await.unwrap();
    world.answer(answered.id()).await;
    drop(connection);
    let settled = fleeting.outcome().await.unwrap();
    let reason = CancelReason::ClientDisconnected;
    assert_eq!(settled.outcome(), Some(Outcome::Cancelled(reason)));
    assert_eq!(lasting.status().await.unwrap().status(), Status::Pending);
    assert_eq!(answered.status().await.unwrap().status(), Status::Completed);

    let session = world.asker.connect();
    let question = session.ask(Ask::form(form())).await.unwrap();
    session.expire();
    let reason = CancelReason::SessionExpired;
    let settled = question.outcome().await.unwrap();
    assert_eq!(settled.outcome(), Some(Outcome::Cancelled(reason)));
}

#[tokio::test]
async fn what_went_with_its_connection_is_cancelled_even_if_the_engine_ends_at_once() {
    let world = World::new().await;
    let connection = world.asker.connect();
    let question = connection.ask(Ask::form(form())).await.unwrap();
    drop(connection);
    world.engine.shutdown().await;
    let reason = CancelReason::ClientDisconnected;
    let status = question.status().await.unwrap();
    assert_eq!(status.outcome(), Some(Outcome::Cancelled(reason)));
}

#[tokio::test]
async fn a_connection_that_ends_with_the_engine_is_no_disconnect() {
    let world = World::new().await;
    let connection = world.asker.connect();
    let question = connection.ask(Ask::form(form())).await.unwrap();
    world.engine.stop();
    drop(connection);
    world.engine.shutdown().await;
    assert_eq!(question.status().await.unwrap().status(), Status::Pending);
}

#[tokio::test]
async fn a_withdrawn_form_cancels_the_live_ones_that_use_it() {
    let world = World::new().await;
    let one = world.asker.ask(Ask::form(form())).await.unwrap();
    let two = world
        .engine
        .asker("other")
        .ask(Ask::form(form()))
        .await
        .unwrap();
    let kept = world
        .asker
        .ask(Ask::inline("Name?").unwrap())
        .await
        .unwrap();
    assert_eq!(world.engine.withdraw("deploy").await.unwrap(), 2);
    let reason = CancelReason::FormInvalidated;
    for question in [one, two] {
        let settled = question.outcome().await.unwrap();
        assert_eq!(settled.outcome(), Some(Outcome::Cancelled(reason)));
    }
    assert_eq!(kept.status().await.unwrap().status(), Status::Pending);
}

#[tokio::test]
async fn the_record_is_the_one_of_the_control_api() {
    let world = World::new().await;
    let ask = Ask::form(form())
        .timeout(Timeout::of(Duration::from_secs(120)))
        .metadata(json!({"ticket": 7}));
    let question = world.asker.ask(ask).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let submission = json!({"user_agent": "test"});
    host.submit_with(&answer(), Some(submission.clone()))
        .await
        .unwrap();
    let record = serde_json::to_value(question.status().await.unwrap()).unwrap();
    let start = START.as_millis();
    assert_eq!(
        record,
        json!({
            "elicitationId": question.id().to_string(), "mode": "form", "status": "completed",
            "shown": true, "createdAt": start, "timeoutAt": start + 120_000,
            "timeoutMs": 120_000, "settledAt": start, "attempts": 1, "retryLimit": 3,
            "extensions": 0, "extensionsRemaining": 2, "sizeLimit": 1 << 20,
            "metadata": {"ticket": 7}, "submission": submission, "result": answer(),
        })
    );
}

#[tokio::test]
async fn a_wait_ends_with_the_outcome_or_with_its_own_time() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let limit = Duration::from_secs(10);
    let waiting = tokio::spawn({
        let question = question.clone();
        async move { question.outcome_within(limit).await }
    });
    tokio::task::yield_now().await;
    world.clock.advance(limit);
    let as_it_stands = waiting.await.unwrap().unwrap();
    assert_eq!(as_it_stands.status(), Status::Pending);
    world
        .engine
        .elicitation(question.id())
        .decline()
        .await
        .unwrap();
    let settled = question.outcome_within(limit).await.unwrap();
    assert_eq!(settled.status(), Status::Declined);
}

#[tokio::test]
async fn a_shutdown_tells_who_waits_and_changes_nothing() {
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let waiting = tokio::spawn(question.outcome());
    tokio::task::yield_now().await;
    world.engine.shutdown().await;
    assert!(matches!(
        waiting.await.unwrap(),
        Err(ActError::ShuttingDown)
    ));
    assert!(matches!(
        question.outcome().await,
        Err(ActError::ShuttingDown)
    ));
    assert_eq!(question.status().await.unwrap().status(), Status::Pending);
}

#[tokio::test]
async fn files_do_not_count_but_a_draft_holds_no_more_than_its_field_allows() {
    let world = World::new().await;
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "scan", "type": "file", "label": "Scan", "validation": {"maxSize": 30_000}}]}));
    let ask = Ask::form(form.unwrap()).size_limit(200);
    let question = world.asker.ask(ask).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let scan = |bytes: usize| {
        json!({"scan": {"filename": "a.bin", "content_type": "application/octet-stream",
            "size": bytes, "content": "AAAA".repeat(bytes / 3)}})
    };
    host.draft(&scan(30_000)).await.unwrap();
    let error = host.draft(&scan(90_000)).await.unwrap_err();
    assert!(
        matches!(error, ActError::TooLarge { limit: 200, .. }),
        "{error}"
    );
    host.submit(&scan(30_000)).await.unwrap();
}

#[tokio::test]
async fn typed_answers_are_the_result_and_keep_every_digit() {
    let world = World::new().await;
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "note", "type": "text", "label": "Note", "default": "none"},
        {"id": "count", "type": "number", "label": "Count"},
    ]}));
    let question = world.asker.ask(Ask::form(form.unwrap())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    let large = "123456789012345678901234567890";
    host.submit(&json!({"note": "", "count": large}))
        .await
        .unwrap();
    let settled = question.outcome().await.unwrap();
    let answers = settled.answers().unwrap().unwrap();
    assert!(
        answers.get("note").is_none(),
        "it was cleared, and stays so"
    );
    assert_eq!(answers.iter().count(), 1);
    let record = serde_json::to_string(&settled).unwrap();
    assert!(
        record.contains(&format!(r#""result":{{"count":{large}}}"#)),
        "{record}"
    );
}
