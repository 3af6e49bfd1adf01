//! Spans of requests and calls, as a collector would get them.

use opentelemetry::trace::{SpanId, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::wire::{Server, Wire, soon};
use crate::world::{World, request};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

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

fn traceparent() -> String {
    format!("00-{TRACE}-{PARENT}-01")
}

/// The spans with that name, all of which must belong to the trace.
fn spans(exporter: &InMemorySpanExporter, name: &str) -> Vec<SpanData> {
    let mut spans = exporter.get_finished_spans().unwrap();
    spans.retain(|span| span.name == name);
    for span in &spans {
        assert_eq!(span.span_context.trace_id().to_string(), TRACE, "{name}");
    }
    spans
}

#[tokio::test]
async fn calls_on_a_web_socket_are_part_of_the_trace_that_its_opening_names() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let (collected, _guard) = collect();
    let mut opening = format!("ws://{}/ws", server.address)
        .into_client_request()
        .unwrap();
    let value = traceparent().parse().unwrap();
    opening.headers_mut().insert("traceparent", value);
    let stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let opened = soon(tokio_tungstenite::client_async(opening, stream)).await;
    let mut socket = Wire::WebSocket(Box::new(opened.unwrap().0));
    for _ in 0..2 {
        socket.call("forms/list", json!({})).await;
    }

    // The socket is still open, but its request span has ended.
    let [opened] = &spans(&collected, "GET /ws")[..] else {
        panic!("one socket was opened");
    };
    assert_eq!(opened.parent_span_id.to_string(), PARENT);
    let calls = spans(&collected, "forms/list");
    assert_eq!(calls.len(), 2);
    for call in calls {
        assert_eq!(call.parent_span_id, opened.span_context.span_id());
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stream_of_events_is_part_of_the_trace_that_its_request_names() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let (collected, _guard) = collect();
    let mut request = server.get("/events");
    let value = traceparent().parse().unwrap();
    request.headers_mut().insert("traceparent", value);
    let _stream = server.open(request).await;
    let [span] = &spans(&collected, "GET /events")[..] else {
        panic!("one stream was opened");
    };
    assert_eq!(span.parent_span_id.to_string(), PARENT);
    server.stop().await;
}

#[tokio::test]
async fn the_calls_of_a_batch_are_parts_of_one_request() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let (collected, _guard) = collect();
    let call = request("forms/list", json!({}));
    let mut post = server.post(format!("[{call},{call},{call}]"));
    let value = traceparent().parse().unwrap();
    post.headers_mut().insert("traceparent", value);
    server.send(post).await;
    let [batch] = &spans(&collected, "POST /rpc")[..] else {
        panic!("one request was sent");
    };
    assert_eq!(batch.parent_span_id.to_string(), PARENT);
    let parents: Vec<SpanId> = spans(&collected, "forms/list")
        .iter()
        .map(|call| call.parent_span_id)
        .collect();
    assert_eq!(parents, [batch.span_context.span_id(); 3]);
    server.stop().await;
}
