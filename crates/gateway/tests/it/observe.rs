//! What monitors and operators get to know of upstreams.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use entreat_gateway::front::{Front, FrontSettings, Route};
use entreat_gateway::side::pipe;
use entreat_gateway::{PinMode, Pins, Policy, Upstream, UpstreamState, UpstreamStatus};
use metrics::{Label, set_default_local_recorder};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::split;
use tower::ServiceExt as _;

use crate::world::{Peer, Ways, World, modern, name_form, page_and_handle, settle, text};

const L6: &str = "2025-06-18";
const L11: &str = "2025-11-25";

/// Counts what is measured on this thread, on which everything in these tests runs.
struct Counted {
    snapshots: Snapshotter,
    /// By name and labels, without that of the upstream. A snapshot has what is new since the last.
    values: Mutex<BTreeMap<(String, String), f64>>,
}

impl Counted {
    /// The values of a metric by its labels.
    fn values(&self, name: &str) -> Vec<(String, f64)> {
        let mut values = self.values.lock();
        for (key, _, _, value) in self.snapshots.snapshot().into_vec() {
            let key = key.key();
            if !key.name().starts_with("gateway_") {
                continue;
            }
            let labels: Vec<&Label> = key.labels().collect();
            assert_eq!(labels[0].key(), "upstream");
            let others: Vec<&str> = labels[1..].iter().map(|label| label.value()).collect();
            let new = match value {
                DebugValue::Counter(count) => {
                    #[expect(clippy::cast_precision_loss, reason = "small")]
                    let count = count as f64;
                    count
                }
                DebugValue::Gauge(change) => change.0,
                DebugValue::Histogram(values) => values.iter().map(|it| it.0).sum(),
            };
            let key = (key.name().to_owned(), others.join(" "));
            *values.entry(key).or_default() += new;
        }
        let found = values.iter().filter(|((it, _), _)| it == name);
        found
            .map(|((_, labels), value)| (labels.clone(), *value))
            .collect()
    }

    #[track_caller]
    fn are(&self, name: &str, expected: &[(&str, f64)]) {
        let values = self.values(name);
        let values: Vec<(&str, f64)> = values.iter().map(|(it, n)| (it.as_str(), *n)).collect();
        assert_eq!(values, expected, "{name}");
    }
}

macro_rules! counted {
    () => {{
        let recorder = Box::leak(Box::new(DebuggingRecorder::new()));
        let counted = Counted {
            snapshots: recorder.snapshotter(),
            values: Mutex::default(),
        };
        (counted, set_default_local_recorder(recorder))
    }};
}

async fn observed(ways: Ways) -> World {
    World::built(ways, entreat_gateway::Builder::observed).await
}

#[tokio::test]
async fn calls_are_counted_by_their_outcome_and_only_the_gateways_time_is_its_own() {
    let (counted, _guard) = counted!();
    let world = observed(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    for (id, result) in [
        (1, text("done")),
        (2, json!({"content": [], "isError": true})),
    ] {
        let asked = pair.called(id, "t", json!({})).await;
        counted.are("gateway_calls_open", &[("", 1.0)]);
        // The server's time.
        world.pass(Duration::from_secs(7)).await;
        pair.server.reply(&asked, result).await;
        pair.client.next().await;
    }
    let asked = pair.called(3, "t", json!({})).await;
    pair.server
        .fail(&asked, json!({"code": -1, "message": "no"}))
        .await;
    pair.client.next().await;
    pair.called(4, "t", json!({})).await;
    let cancel = json!({"requestId": 4});
    pair.client.notify("notifications/cancelled", cancel).await;
    pair.server.next().await;
    pair.client.request(5, "x/unknown", json!({})).await;
    let asked = pair.server.next().await;
    pair.server.reply(&asked, json!({})).await;
    pair.client.next().await;
    settle().await;
    counted.are(
        "gateway_calls_total",
        &[
            ("initialize result", 1.0),
            ("other result", 1.0),
            ("tools/call cancelled", 1.0),
            ("tools/call error", 1.0),
            ("tools/call result", 1.0),
            ("tools/call tool_error", 1.0),
        ],
    );
    counted.are("gateway_calls_open", &[("", 0.0)]);
    // On this clock, nothing takes time but what the test lets pass.
    counted.are("gateway_added_seconds", &[("", 0.0)]);
}

#[tokio::test]
async fn questions_are_counted_by_the_way_they_reached_the_person() {
    let (counted, _guard) = counted!();
    let world = observed(Ways::Browser).await;
    // On a page in the browser, whose person declines.
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    pair.called(1, "t", json!({})).await;
    pair.server.ask(0, name_form()).await;
    let page = world.opened().await;
    counted.are("gateway_questions_open", &[("", 1.0)]);
    world.question(&page).decline().await.unwrap();
    assert_eq!(pair.server.next().await["result"]["action"], "decline");
    // In the client's own form.
    let mut pair = world.connect();
    pair.initialize(L6, json!({"elicitation": {}})).await;
    pair.called(1, "t", json!({})).await;
    let form = pair.asked(0, name_form()).await;
    world.pass(Duration::from_secs(1)).await;
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    pair.client.reply(&form, answer).await;
    assert_eq!(pair.server.next().await["result"]["action"], "accept");
    // By the address of a page.
    let mut pair = world.connect();
    pair.initialize(L11, json!({"elicitation": {"url": {}}}))
        .await;
    pair.called(1, "t", json!({})).await;
    let url = pair.asked(0, name_form()).await;
    world.pass(Duration::from_secs(1)).await;
    pair.client.reply(&url, json!({"action": "accept"})).await;
    let page = url["params"]["url"].as_str().unwrap().to_owned();
    settle().await;
    world.answer(&page, json!({"name": "Ada"})).await;
    assert_eq!(pair.server.next().await["result"]["action"], "accept");
    settle().await;
    counted.are(
        "gateway_questions_total",
        &[
            ("form accept", 1.0),
            ("page decline", 1.0),
            ("url accept", 1.0),
        ],
    );
    counted.are("gateway_questions_open", &[("", 0.0)]);
}

#[tokio::test]
async fn a_question_behind_a_link_is_parked_until_its_result_is_fetched() {
    let (counted, _guard) = counted!();
    let world = observed(Ways::Pages).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    pair.client.request(1, "tools/list", json!({})).await;
    let asked = pair.server.next().await;
    pair.server.reply(&asked, json!({"tools": []})).await;
    pair.client.next().await;
    let asked = pair.called(2, "t", json!({})).await;
    let linked = pair.asked(0, name_form()).await;
    let (page, handle) = page_and_handle(&linked);
    settle().await;
    counted.are("gateway_calls_parked", &[("", 1.0)]);
    world.answer(&page, json!({"name": "Ada"})).await;
    pair.server.next().await;
    pair.server.reply(&asked, text("done")).await;
    let resume = json!({"question": handle});
    pair.client.call(3, "resume_question", resume).await;
    assert_eq!(pair.client.next().await["result"], text("done"));
    settle().await;
    counted.are("gateway_calls_parked", &[("", 0.0)]);
    counted.are("gateway_questions_total", &[("link accept", 1.0)]);
    counted.are(
        "gateway_calls_total",
        &[
            ("initialize result", 1.0),
            ("tools/call link", 1.0),
            ("tools/call result", 1.0),
            ("tools/list result", 1.0),
        ],
    );
}

#[tokio::test]
async fn a_call_between_its_rounds_is_parked() {
    let (counted, _guard) = counted!();
    let world = observed(Ways::Pages).await;
    let mut pair = world.connect();
    let form = json!({"elicitation": {"form": {}}});
    let params = modern(json!({"name": "t", "arguments": {}}), form.clone());
    pair.client.request(1, "tools/call", params.clone()).await;
    pair.lower().await;
    let asked = pair.server.next().await;
    pair.server.ask(0, name_form()).await;
    world.pass(Duration::from_millis(60)).await;
    let round = pair.client.next().await["result"].take();
    assert_eq!(round["resultType"], "input_required", "{round}");
    counted.are("gateway_calls_parked", &[("", 1.0)]);
    world.pass(Duration::from_secs(1)).await;
    let mut retry = params;
    retry["requestState"] = round["requestState"].clone();
    retry["inputResponses"] = json!({"q1": {"action": "accept", "content": {"name": "Ada"}}});
    pair.client.request(2, "tools/call", retry).await;
    assert_eq!(pair.server.next().await["result"]["content"]["name"], "Ada");
    counted.are("gateway_calls_parked", &[("", 0.0)]);
    pair.server.reply(&asked, text("done")).await;
    assert_eq!(
        pair.client.next().await["result"]["content"],
        text("done")["content"]
    );
    settle().await;
    counted.are("gateway_calls_parked", &[("", 0.0)]);
    counted.are("gateway_questions_total", &[("form accept", 1.0)]);
    counted.are(
        "gateway_calls_total",
        &[
            ("tools/call input_required", 1.0),
            ("tools/call result", 1.0),
        ],
    );
}

#[tokio::test]
async fn a_question_that_reaches_nobody_says_so() {
    let (counted, _guard) = counted!();
    let world = observed(Ways::Pages).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    // Outside a call, there is nothing that could have a link.
    pair.server.ask(0, name_form()).await;
    assert!(pair.server.next().await["error"].is_object());
    settle().await;
    counted.are("gateway_questions_total", &[("none error", 1.0)]);
}

// ---- the state of upstreams

struct Web {
    world: World,
    front: Front,
    servers: Arc<Mutex<Vec<Peer>>>,
}

impl Web {
    async fn new(pins: Option<Pins>) -> Self {
        let world = observed(Ways::Pages).await;
        let servers: Arc<Mutex<Vec<Peer>>> = Arc::default();
        let connected = servers.clone();
        let good = Route {
            name: "good".to_owned(),
            connect: Arc::new(move || {
                let (server, theirs) = tokio::io::duplex(1 << 20);
                let (reader, writer) = split(theirs);
                let (sender, receiver) = pipe::connect(reader, writer);
                connected.lock().push(Peer::new(server));
                Ok(Upstream {
                    era: entreat_gateway::UpstreamEra::Auto,
                    is_named: false,
                    sender,
                    receiver,
                    name: "good".to_owned(),
                    url: None,
                    policy: Policy {
                        pins: pins.clone(),
                        ..Policy::default()
                    },
                })
            }),
            per_principal: 4,
        };
        let bad = Route {
            name: "bad".to_owned(),
            connect: Arc::new(|| Err(std::io::Error::other("no such program"))),
            per_principal: 4,
        };
        let front = Front::new(
            world.gateway.clone(),
            vec![good, bad],
            FrontSettings::default(),
        );
        Self {
            world,
            front,
            servers,
        }
    }

    async fn status(&self, name: &str) -> UpstreamStatus {
        settle().await;
        let all = self.front.status();
        assert_eq!(all.len(), 2);
        all.into_iter().find(|it| it.name == name).unwrap()
    }

    fn post(&self, path: &str, session: Option<&str>, message: &Value) -> Waiting {
        let mut request = http::Request::post(path)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        let mut request = request
            .body(axum::body::Body::from(message.to_string()))
            .unwrap();
        request
            .extensions_mut()
            .insert(entreat_gateway::Person::here());
        let router = self.front.router();
        tokio::spawn(async move { router.oneshot(request).await.unwrap() })
    }
}

type Waiting = tokio::task::JoinHandle<http::Response<axum::body::Body>>;

fn hello() -> Value {
    let params = json!({"protocolVersion": L11, "capabilities": {},
        "clientInfo": {"name": "client", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

#[tokio::test]
async fn an_operator_sees_what_runs_and_what_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let pins = Pins::new(folder.path().join("tools.json"), PinMode::Block);
    let web = Web::new(Some(pins)).await;
    let status = web.status("good").await;
    assert_eq!((status.state, status.version), (UpstreamState::Idle, None));
    let waiting = web.post("/mcp/good", None, &hello());
    settle().await;
    let mut server = web.servers.lock().pop().unwrap();
    let told = server.next().await;
    let result = json!({"protocolVersion": L11, "capabilities": {"tools": {}},
        "serverInfo": {"name": "files", "version": "1"}});
    server.reply(&told, result).await;
    let session = waiting.await.unwrap().headers()["mcp-session-id"].clone();
    let session = session.to_str().unwrap();
    for digest in ["one", "two"] {
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let waiting = web.post("/mcp/good", Some(session), &list);
        settle().await;
        let asked = server.next().await;
        let tools = json!({"tools": [{"name": "t", "description": digest}, {"name": "u"}]});
        server.reply(&asked, tools).await;
        waiting.await.unwrap();
    }
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "u"}});
    let _waiting = web.post("/mcp/good", Some(session), &call);
    settle().await;
    server.next().await;
    server.request(0, "elicitation/create", name_form()).await;
    let status = web.status("good").await;
    assert_eq!(
        (status.state, status.version),
        (UpstreamState::Running, Some(L11))
    );
    // The call was answered with a link, and goes on behind it.
    assert_eq!(
        (status.sessions, status.children, status.calls),
        (1, 0, 0),
        "{status:?}"
    );
    assert_eq!((status.parked, status.questions), (1, 1), "{status:?}");
    let tools = status.tools.unwrap();
    assert_eq!((tools.pin, tools.approved), ("block", 2));
    assert_eq!(tools.changed, ["t"]);
    // The server ends by itself.
    drop(server);
    let status = web.status("good").await;
    assert_eq!(
        (status.state, status.version),
        (UpstreamState::Down, Some(L11))
    );
    assert_eq!((status.sessions, status.questions), (0, 0), "{status:?}");
    assert!(status.last_error.unwrap().message.contains("exited"));
}

#[tokio::test]
async fn a_server_that_does_not_start_is_down_and_then_left_alone() {
    let web = Web::new(None).await;
    for attempt in 1..=5 {
        let response = web.post("/mcp/bad", None, &hello()).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        let status = web.status("bad").await;
        let expected = if attempt < 5 {
            UpstreamState::Down
        } else {
            UpstreamState::CircuitOpen
        };
        assert_eq!(status.state, expected, "{attempt}");
    }
    let status = web.status("bad").await;
    let retry_at = status.retry_at.unwrap();
    let left = retry_at.since(web.world.engine.now());
    assert_eq!(left, Duration::from_secs(60));
    let error = status.last_error.unwrap();
    assert_eq!(error.message, "it cannot be started: no such program");
    web.world.clock.advance(Duration::from_secs(61));
    assert_eq!(web.status("bad").await.state, UpstreamState::Down);
    assert_eq!(web.status("good").await.state, UpstreamState::Idle);
}

#[tokio::test]
async fn a_server_that_refuses_the_handshake_is_down_until_it_takes_one() {
    let web = Web::new(None).await;
    let error = json!({"code": -32603, "message": "the disk is full"});
    for is_up in [false, true] {
        let waiting = web.post("/mcp/good", None, &hello());
        settle().await;
        let mut server = web.servers.lock().pop().unwrap();
        let told = server.next().await;
        let result = json!({"protocolVersion": L11, "capabilities": {},
            "serverInfo": {"name": "files", "version": "1"}});
        if is_up {
            server.reply(&told, result).await;
        } else {
            server.fail(&told, error.clone()).await;
            // Perhaps it speaks 2026-07-28.
            let asked = server.next().await;
            server.fail(&asked, error.clone()).await;
        }
        waiting.await.unwrap();
        let status = web.status("good").await;
        let expected = if is_up {
            (UpstreamState::Running, 1)
        } else {
            (UpstreamState::Down, 0)
        };
        assert_eq!((status.state, status.sessions), expected);
        let error = status.last_error.unwrap();
        assert_eq!(error.message, "the disk is full");
    }
}

#[tokio::test]
async fn clients_in_front_of_all_servers_count_at_each_server() {
    let web = Web::new(None).await;
    let waiting = web.post("/mcp", None, &hello());
    settle().await;
    let mut server = web.servers.lock().pop().unwrap();
    let told = server.next().await;
    let result = json!({"protocolVersion": L11, "capabilities": {"tools": {}},
        "serverInfo": {"name": "files", "version": "1"}});
    server.reply(&told, result).await;
    waiting.await.unwrap();
    let status = web.status("good").await;
    assert_eq!(
        (status.state, status.version, status.sessions),
        (UpstreamState::Running, Some(L11), 1)
    );
    let status = web.status("bad").await;
    assert_eq!((status.state, status.sessions), (UpstreamState::Down, 0));
    let error = status.last_error.unwrap();
    assert_eq!(error.message, "it cannot be started: no such program");
    drop(server);
    let status = web.status("good").await;
    assert_eq!((status.state, status.sessions), (UpstreamState::Down, 0));
    assert!(status.last_error.unwrap().message.contains("exited"));
}
