//! Traces over OTLP: a real service, and a collector that decodes them.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::serve::{Service, folder, form, serve};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const CANARY: &str = "canary-7f3a91";

/// Receives traces on its own port.
pub(crate) struct Collector {
    pub(crate) endpoint: String,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("it listens"));
        let bodies = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let taken = bodies.clone();
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.expect("it is accepted"));
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    stream.read_line(&mut head).expect("the head ends");
                }
                let head = head.to_ascii_lowercase();
                assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
                assert!(head.contains("content-type: application/x-protobuf\r\n"));
                let length = head
                    .split("content-length: ")
                    .nth(1)
                    .expect("there is a body");
                let length = length.split("\r\n").next().unwrap_or_default();
                let mut body = vec![0; length.parse().expect("a length is a number")];
                stream.read_exact(&mut body).expect("the body is whole");
                taken.lock().expect("nobody panics").push(body);
                let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\n\
                              content-length: 0\r\n\r\n";
                let written = stream.into_inner().write_all(answer.as_bytes());
                written.expect("the service reads");
            }
        });
        Self { endpoint, bodies }
    }

    /// Everything received, as bytes and as spans.
    pub(crate) fn taken(&self) -> (Vec<u8>, Vec<Span>) {
        let bodies = self.bodies.lock().expect("nobody panics").clone();
        let spans = bodies.iter().flat_map(|body| {
            let request = ExportTraceServiceRequest::decode(&body[..]).expect("it is OTLP");
            let resources = request.resource_spans.into_iter();
            let scopes = resources.flat_map(|resource| {
                let named = resource.resource.expect("there is one").attributes;
                let name = named.into_iter().find(|pair| pair.key == "service.name");
                assert_eq!(text(name.and_then(|pair| pair.value)), "entreat");
                resource.scope_spans
            });
            scopes.flat_map(|scope| scope.spans).collect::<Vec<_>>()
        });
        (bodies.concat(), spans.collect())
    }
}

fn text(value: Option<opentelemetry_proto::tonic::common::v1::AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn attribute(span: &Span, key: &str) -> Option<String> {
    let mut found = span.attributes.iter().filter(|pair| pair.key == key);
    found.next().map(|pair| text(pair.value.clone()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("there is memory");
    }
    text
}

/// A service that sends its traces to an endpoint.
fn start(folder: &tempfile::TempDir, endpoint: &str) -> Service {
    let mut command = serve(folder.path(), &["--store", "memory"]);
    command.env("ENTREAT_TELEMETRY_OTLP_ENDPOINT", endpoint);
    Service::spawn(command)
}

/// Calls a method with a `traceparent`.
fn call(service: &Service, traceparent: &str, method: &str, params: &Value) -> Answer {
    let head = format!("traceparent: {traceparent}\r\ntracestate: vendor=1\r\n");
    let body = http::request(method, params);
    http::read_answer(http::begin_with(
        &service.address,
        "POST /rpc",
        &head,
        &body,
    ))
}

pub(crate) fn named<'s>(spans: &'s [Span], name: &str) -> Vec<&'s Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[test]
fn a_call_is_part_of_the_trace_that_its_request_names() {
    let (folder, collector) = (folder(), Collector::start());
    let service = start(&folder, &collector.endpoint);
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let asked = call(&service, &traceparent, "elicitation/create", &form()).result();
    // Pending spans are sent when the service shuts down, at the latest.
    assert_eq!(service.end().code, 0);

    let (_, spans) = collector.taken();
    let [request, create, engine] = ["POST /rpc", "elicitation/create", "elicitation.create"]
        .map(|name| *named(&spans, name).first().unwrap());
    for span in [request, create, engine] {
        assert_eq!(hex(&span.trace_id), TRACE);
    }
    assert_eq!(hex(&request.parent_span_id), PARENT);
    assert_eq!(request.trace_state, "vendor=1");
    let status = attribute(request, "http.response.status_code");
    assert_eq!(status.as_deref(), Some("200"));
    assert_eq!(create.parent_span_id, request.span_id);
    let method = attribute(create, "rpc.method");
    assert_eq!(method.as_deref(), Some("elicitation/create"));
    assert_eq!(engine.parent_span_id, create.span_id);
    let id = attribute(engine, "elicitation.id");
    assert_eq!(id.as_deref(), asked["elicitationId"].as_str());
    let mode = attribute(engine, "elicitation.mode");
    assert_eq!(mode.as_deref(), Some("form"));
    let timeout = attribute(engine, "timeout_ms");
    assert_eq!(timeout.as_deref(), Some("300000"));
}

#[test]
fn what_is_no_traceparent_is_ignored_and_one_that_is_not_sampled_is_heeded() {
    let (folder, collector) = (folder(), Collector::start());
    let service = start(&folder, &collector.endpoint);
    let zeros = "0".repeat(32);
    let broken = [
        String::new(),
        "no-trace".to_owned(),
        format!("00-{TRACE}-{PARENT}"),
        format!("00-{zeros}-{PARENT}-01"),
        format!("ff-{TRACE}-{PARENT}-01"),
        format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
    ];
    for traceparent in &broken {
        call(&service, traceparent, "forms/list", &json!({})).result();
    }
    let unsampled = format!("00-{TRACE}-{PARENT}-00");
    call(&service, &unsampled, "forms/list", &json!({})).result();
    assert_eq!(service.end().code, 0);

    let (_, spans) = collector.taken();
    let requests = named(&spans, "POST /rpc");
    assert_eq!(requests.len(), broken.len());
    for request in requests {
        assert!(request.parent_span_id.is_empty());
        assert_ne!(hex(&request.trace_id), TRACE);
    }
}

#[test]
fn nothing_that_anybody_wrote_is_in_a_trace() {
    let (folder, collector) = (folder(), Collector::start());
    let service = start(&folder, &collector.endpoint);
    let traceparent = format!("00-{TRACE}-{PARENT}-01");
    let call = |method: &str, params: Value| call(&service, &traceparent, method, &params);
    let secret = json!({"formDefinition": {"id": "a", "title": CANARY, "fields": [
        {"id": "token", "type": "text", "label": CANARY, "sensitive": true, "required": true}]},
        "message": CANARY, "metadata": {CANARY: CANARY}, "idempotencyKey": CANARY});
    let id = call("elicitation/create", secret).result()["elicitationId"].take();
    for responses in [
        json!({"token": 1, CANARY: CANARY}),
        json!({"token": CANARY}),
    ] {
        let params = json!({"elicitationId": id, "responses": responses});
        call("elicitation/submit", params);
    }
    let record = call("elicitation/status", json!({"elicitationId": id})).result();
    assert_eq!(record["result"]["token"], CANARY);
    call("elicitation/status", json!({"elicitationId": CANARY}));
    call("forms/get", json!({"template": CANARY}));
    call(CANARY, json!({CANARY: 1}));
    let path = format!("GET /{CANARY}?key={CANARY}");
    http::send(&service.address, &path, None, "");
    http::send(&service.address, "POST /rpc", Some(CANARY), CANARY);
    assert_eq!(service.end().code, 0);

    let (bytes, spans) = collector.taken();
    assert!(named(&spans, "elicitation/submit").len() == 2);
    let found = bytes
        .windows(CANARY.len())
        .any(|part| part == CANARY.as_bytes());
    assert!(!found, "{spans:?}");
    let refused = named(&spans, "elicitation/submit")[0];
    let code = attribute(refused, "rpc.jsonrpc.error_code");
    assert_eq!(code.as_deref(), Some("-32007"));
}

#[test]
fn a_collector_that_is_down_or_silent_holds_nobody_up() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    // Accepts connections through its backlog, but never responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    for address in [gone.unwrap(), silent.local_addr().unwrap()] {
        let folder = folder();
        let service = start(&folder, &format!("http://{address}"));
        for _ in 0..3 {
            service.call("forms/list", &json!({}));
        }
        #[expect(clippy::disallowed_methods, reason = "how long it takes is asked here")]
        let ending = Instant::now();
        let run = service.end();
        assert!(ending.elapsed() < Duration::from_secs(10), "{address}");
        assert_eq!(run.code, 0);
        let complaints = run.stderr.matches("collector").count();
        assert_eq!(complaints, 1, "{}", run.stderr);
    }
}
