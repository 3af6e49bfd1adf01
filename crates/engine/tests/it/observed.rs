//! Metrics and logs of the engine.

use std::collections::BTreeMap;
use std::time::Duration;

use entreat_core::{CancelReason, Timeout};
use entreat_engine::Ask;
use entreat_testkit::CapturedLog;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};

use crate::world::{World, answer, form};

/// Metrics by name and labels; histograms by how much was recorded.
type Metrics = BTreeMap<String, String>;

fn read(recorder: &DebuggingRecorder) -> Metrics {
    let snapshot = recorder.snapshotter().snapshot().into_vec();
    let mut metrics = Metrics::new();
    for (key, _, _, value) in snapshot {
        let mut labels: Vec<String> = key
            .key()
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        labels.sort();
        let name = format!("{}{{{}}}", key.key().name(), labels.join(","));
        let value = match value {
            DebugValue::Counter(count) => count.to_string(),
            DebugValue::Gauge(value) => value.to_string(),
            DebugValue::Histogram(values) => format!("{values:?}"),
        };
        metrics.insert(name, value);
    }
    metrics
}

#[test]
fn outcomes_are_counted_by_the_names_of_the_reference() {
    let recorder = DebuggingRecorder::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let world = World::new().await;
            let ask = async || world.asker.ask(Ask::form(form())).await.unwrap();
            let host =
                |question: &entreat_engine::Elicitation| world.engine.elicitation(question.id());
            let answered = ask().await;
            world.clock.advance(Duration::from_secs(2));
            host(&answered).open().await.unwrap();
            world.clock.advance(Duration::from_secs(3));
            host(&answered).submit(&answer()).await.unwrap();
            host(&ask().await).decline().await.unwrap();
            host(&ask().await)
                .cancel(CancelReason::UserCancelled)
                .await
                .unwrap();
            let connection = world.asker.connect();
            connection.ask(Ask::inline("Name?").unwrap()).await.unwrap();
            drop(connection);
            world.engine.catch_up().await.unwrap();
            ask().await;
            world.pass(300).await;
            ask().await;
            let bad = Ask::form(form()).timeout(Timeout::of(Duration::from_millis(5)));
            world.asker.ask(bad).await.unwrap_err();
        });
    });
    let metrics = read(&recorder);
    let value = |name: &str| metrics.get(name).map_or("absent", |value| value.as_str());
    let form = "{asker=deployer,channel=api,mode=form}";
    assert_eq!(value(&format!("elicitation_created_total{form}")), "5");
    assert_eq!(
        value("elicitation_created_total{asker=deployer,channel=api,mode=inline}"),
        "1"
    );
    assert_eq!(value(&format!("elicitation_completed_total{form}")), "1");
    assert_eq!(value(&format!("elicitation_declined_total{form}")), "1");
    assert_eq!(value(&format!("elicitation_timeout_total{form}")), "1");
    let cancelled =
        "elicitation_cancelled_total{asker=deployer,channel=api,mode=form,reason=user_cancelled}";
    assert_eq!(value(cancelled), "1");
    let labels = "{asker=deployer,channel=api,mode=inline,reason=client_disconnected}";
    assert_eq!(value(&format!("elicitation_cancelled_total{labels}")), "1");
    assert_eq!(value(&format!("elicitation_abandoned_total{labels}")), "1");
    assert_eq!(
        value("elicitation_timeout_rejected_total{kind=timeout_too_small}"),
        "1"
    );
    assert_eq!(value("elicitation_live{}"), "1");
    assert_eq!(value("elicitation_ask_to_open_seconds{}"), "[2.0]");
    assert_eq!(value("elicitation_ask_to_answer_seconds{}"), "[5.0]");
    assert_eq!(
        value("elicitation_requested_timeout_seconds{}"),
        "[300.0, 300.0, 300.0, 30.0, 300.0, 300.0]"
    );
    assert_eq!(value("elicitation_validation_seconds{}"), "[0.0]");
}

#[tokio::test]
async fn every_transition_has_a_line_without_answers() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::DEBUG);
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    world.clock.advance(Duration::from_secs(2));
    host.open().await.unwrap();
    host.extend(None).await.unwrap();
    let secret = serde_json::json!({"target": "staging", "token": "hunter2"});
    host.submit(&secret).await.unwrap();
    world.asker.ask(Ask::form(form())).await.unwrap();
    world.pass(300).await;
    let cancelled = world
        .asker
        .ask(Ask::inline("Name?").unwrap())
        .await
        .unwrap();
    let reason = CancelReason::UserCancelled;
    world
        .engine
        .elicitation(cancelled.id())
        .cancel(reason)
        .await
        .unwrap();
    let text = log.text();
    let line = |words: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.contains(words));
        line.unwrap_or_else(|| panic!("no `{words}` in {text}"))
    };
    let id = format!("elicitation.id={}", question.id());
    for (words, parts) in [
        ("elicitation created", &["INFO"][..]),
        ("elicitation opened", &["INFO", "after_ms=2000"]),
        ("elicitation extended", &["INFO", "timeout_ms=600000"]),
        (
            "outcome=\"completed\"",
            &["INFO", "elicitation settled", "after_ms=2000"],
        ),
    ] {
        let line = line(words);
        let common = [&*id, "asker=\"deployer\"", "elicitation.mode=\"form\""];
        for part in parts.iter().chain(&common) {
            assert!(line.contains(part), "{part} in {line}");
        }
    }
    assert!(line("outcome=\"timeout\"").contains("after_ms=300000"));
    assert!(line("reason=\"user_cancelled\"").contains("outcome=\"cancelled\""));
    assert!(line("result stored").contains("DEBUG"));
    assert!(line("result stored").contains("size="));
    for answer in ["staging", "hunter2"] {
        assert!(!text.contains(answer), "{text}");
    }
}

#[tokio::test]
async fn a_question_is_opened_once_however_fast_the_answers_come() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::DEBUG);
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let host = world.engine.elicitation(question.id());
    for _ in 0..2 {
        host.submit(&serde_json::json!({})).await.unwrap_err();
    }
    host.open().await.unwrap();
    let text = log.text();
    assert_eq!(text.matches("elicitation opened").count(), 1, "{text}");
}

#[tokio::test]
async fn refusals_have_a_line_each_ten_seconds_with_their_number() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::DEBUG);
    let mut settings = crate::world::unlimited();
    settings.asker.limits.live = 1;
    let world = World::with(entreat_engine::MemoryStore::new(), settings).await;
    world.asker.ask(Ask::form(form())).await.unwrap();
    let flood = async || {
        for _ in 0..500 {
            world.asker.ask(Ask::form(form())).await.unwrap_err();
            let url = "http://10.0.0.5/hunter2?token=hunter2";
            world.asker.ask(Ask::url(url)).await.unwrap_err();
        }
    };
    flood().await;
    world.clock.advance(Duration::from_secs(10));
    flood().await;
    let text = log.text();
    let warnings: Vec<&str> = text.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 4, "{text}");
    for (line, parts) in warnings.iter().zip([
        ["a limit was reached", "limit=\"live\"", "count=1"],
        ["a URL was blocked", "host=\"10.0.0.5\"", "count=1"],
        ["a limit was reached", "limit=\"live\"", "count=500"],
        ["a URL was blocked", "reason=\"", "count=500"],
    ]) {
        for part in parts {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(line.contains("asker=\"deployer\""), "{line}");
    }
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn a_creation_is_traced_by_the_names_of_the_reference() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::DEBUG);
    let world = World::new().await;
    let question = world.asker.ask(Ask::form(form())).await.unwrap();
    let logged = log.text();
    let line = logged
        .lines()
        .find(|line| line.contains("elicitation created"))
        .unwrap();
    for part in [
        "INFO",
        "elicitation.mode=\"form\"",
        "timeout_ms=300000",
        "timeout_validated=true",
        &format!("elicitation.id={}", question.id()),
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
}
