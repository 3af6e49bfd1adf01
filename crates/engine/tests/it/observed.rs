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
    let form = "{channel=api,mode=form}";
    assert_eq!(value(&format!("elicitation_created_total{form}")), "5");
    assert_eq!(
        value("elicitation_created_total{channel=api,mode=inline}"),
        "1"
    );
    assert_eq!(value(&format!("elicitation_completed_total{form}")), "1");
    assert_eq!(value(&format!("elicitation_declined_total{form}")), "1");
    assert_eq!(value(&format!("elicitation_timeout_total{form}")), "1");
    let cancelled = "elicitation_cancelled_total{channel=api,mode=form,reason=user_cancelled}";
    assert_eq!(value(cancelled), "1");
    let labels = "{channel=api,mode=inline,reason=client_disconnected}";
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
async fn a_creation_is_traced_by_the_names_of_the_reference() {
    let log = CapturedLog::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(log.writer())
        .finish();
    // With a single subscriber, the first test that logs a line would decide for all whether it is
    // enabled.
    let silent = tracing_subscriber::fmt().with_writer(std::io::sink);
    let _second = tracing::Dispatch::new(silent.finish());
    let _guard = tracing::subscriber::set_default(subscriber);
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
