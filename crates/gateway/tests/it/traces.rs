//! Spans of calls, as a collector would get them.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::{Value, json};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::world::{Pair, Ways, World, modern, settle, text};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const L11: &str = "2025-11-25";

/// Collects the spans of this thread, on which everything in these tests runs.
fn collect() -> (InMemorySpanExporter, DefaultGuard) {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(exporter.clone())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("tests"));
    let subscriber = tracing_subscriber::registry().with(layer);
    (exporter, tracing::subscriber::set_default(subscriber))
}

fn named(collected: &InMemorySpanExporter, name: &str) -> Vec<SpanData> {
    let mut spans = collected.get_finished_spans().unwrap();
    spans.retain(|span| span.name == name);
    spans
}

fn arguments(meta: &Value) -> Value {
    json!({"name": "t", "arguments": {"n": 1}, "_meta": meta})
}

async fn answer(pair: &mut Pair, asked: &Value) {
    pair.server.reply(asked, text("done")).await;
    pair.client.next().await;
    settle().await;
}

#[tokio::test]
async fn a_call_is_part_of_the_clients_trace_and_the_server_goes_on_with_it() {
    let (collected, _guard) = collect();
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    let meta = json!({"traceparent": format!("00-{TRACE}-{PARENT}-01"), "tracestate": "v=1",
        "x/y": 1.0});
    pair.client.request(1, "tools/call", arguments(&meta)).await;
    let asked = pair.server.next().await;
    answer(&mut pair, &asked).await;
    let spans = named(&collected, "tools/call");
    let [span] = spans.as_slice() else {
        panic!("{spans:?}");
    };
    assert_eq!(span.span_context.trace_id().to_string(), TRACE);
    assert_eq!(span.parent_span_id.to_string(), PARENT);
    let own = span.span_context.span_id();
    assert_eq!(
        asked["params"]["_meta"],
        json!({"traceparent": format!("00-{TRACE}-{own}-01"), "tracestate": "v=1", "x/y": 1.0})
    );
    let attribute = |name: &str| {
        let found = span.attributes.iter().find(|it| it.key.as_str() == name);
        found.map(|it| it.value.to_string())
    };
    assert_eq!(attribute("gateway.upstream").as_deref(), Some("server"));
    assert_eq!(attribute("gateway.outcome").as_deref(), Some("result"));
    // A call that names no trace begins one.
    let asked = pair.called(2, "t", json!({})).await;
    answer(&mut pair, &asked).await;
    let spans = named(&collected, "tools/call");
    let begun = &spans[1].span_context;
    let (trace, span) = (begun.trace_id(), begun.span_id());
    assert_ne!(trace.to_string(), TRACE);
    let passed = &asked["params"]["_meta"]["traceparent"];
    assert_eq!(*passed, json!(format!("00-{trace}-{span}-01")));
}

#[tokio::test]
async fn a_server_of_another_version_gets_the_trace_too() {
    let (collected, _guard) = collect();
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    let meta = json!({"traceparent": format!("00-{TRACE}-{PARENT}-00")});
    let params = modern(arguments(&meta), json!({}));
    pair.client.request(1, "tools/call", params).await;
    pair.lower().await;
    let asked = pair.server.next().await;
    let passed = asked["params"]["_meta"]["traceparent"].as_str().unwrap();
    assert!(passed.starts_with(&format!("00-{TRACE}-")), "{passed}");
    // The client does not sample it, so nobody does.
    assert!(
        passed.ends_with("-00") && !passed.contains(PARENT),
        "{passed}"
    );
    answer(&mut pair, &asked).await;
    assert!(named(&collected, "tools/call").is_empty());
}

#[tokio::test]
async fn without_a_collector_messages_pass_as_they_came() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    let line = format!(
        r#"{{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":{{"name":"t","_meta":{{ "traceparent":"00-{TRACE}-{PARENT}-01"}}}}}}"#
    );
    pair.client.raw(&line).await;
    assert_eq!(pair.server.line().await, line);
    // What is no trace is nobody's business either.
    let (_collected, _guard) = collect();
    let asked = pair.called(2, "t", json!({"traceparent": "x"})).await;
    assert_eq!(asked["params"]["arguments"]["traceparent"], "x");
}
