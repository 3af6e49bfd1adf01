//! Clients over Streamable HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::http::{Request, Response, StatusCode};
use entreat_gateway::front::{Front, FrontSettings, Route};
use entreat_gateway::side::pipe;
use entreat_gateway::{Person, Policy, Upstream, UpstreamEra};
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::split;
use tower::ServiceExt as _;

use crate::world::{Peer, Ways, World, modern, name_form, settle, text, with_memory};

const L11: &str = "2025-11-25";
const M: &str = "2026-07-28";

/// A gateway with routes to two scripted servers, `one` and `two`.
pub(crate) struct Web {
    pub(crate) world: World,
    router: Router,
    /// The servers that were connected to, in their order.
    pub(crate) servers: Arc<Mutex<Vec<Peer>>>,
}

/// Routes `one` and `two`, whose servers go to a list when they are connected to.
pub(crate) fn scripted_routes(servers: &Arc<Mutex<Vec<Peer>>>, per_principal: usize) -> Vec<Route> {
    let route = |name: &str| {
        let (servers, name) = (servers.clone(), name.to_owned());
        Route {
            name: name.clone(),
            connect: Arc::new(move || {
                let (server, theirs) = tokio::io::duplex(1 << 20);
                let (reader, writer) = split(theirs);
                let (sender, receiver) = pipe::connect(reader, writer);
                servers.lock().push(Peer::new(server));
                Ok(Upstream {
                    era: UpstreamEra::Auto,
                    is_named: true,
                    sender,
                    receiver,
                    name: name.clone(),
                    url: None,
                    policy: Policy::default(),
                })
            }),
            per_principal,
        }
    };
    ["one", "two"].map(route).into()
}

impl Web {
    pub(crate) async fn new(ways: Ways) -> Self {
        Self::with(ways, FrontSettings::default()).await
    }

    pub(crate) async fn with(ways: Ways, settings: FrontSettings) -> Self {
        Self::of(World::new(ways).await, settings)
    }

    pub(crate) async fn with_memory(bytes: usize) -> Self {
        let world = World::with(Ways::None, with_memory(bytes)).await;
        Self::of(world, FrontSettings::default())
    }

    pub(crate) fn of(world: World, settings: FrontSettings) -> Self {
        let servers: Arc<Mutex<Vec<Peer>>> = Arc::default();
        let routes = scripted_routes(&servers, 3);
        let front = Front::new(world.gateway.clone(), routes, settings);
        Self {
            world,
            router: front.router(),
            servers,
        }
    }

    /// The server that was connected to last.
    async fn server(&self) -> Peer {
        settle().await;
        self.servers.lock().pop().expect("a server")
    }

    pub(crate) async fn send(&self, who: &str, request: Request<Body>) -> Response<Body> {
        let mut request = request;
        let person = Person {
            principal: who.to_owned(),
            respondent: None,
            is_here: true,
        };
        request.extensions_mut().insert(person);
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Sends a message of a session without waiting for the response.
    pub(crate) fn post(&self, session: &Session, message: Value) -> tokio::task::JoinHandle<Reply> {
        self.post_request(session, session.request(message))
    }

    pub(crate) fn post_request(
        &self,
        session: &Session,
        request: Request<Body>,
    ) -> tokio::task::JoinHandle<Reply> {
        let (router, who) = (self.router.clone(), session.who.clone());
        tokio::spawn(async move {
            let mut request = request;
            let person = Person {
                principal: who,
                respondent: None,
                is_here: true,
            };
            request.extensions_mut().insert(person);
            Reply::of(router.oneshot(request).await.unwrap())
        })
    }

    /// Begins a session of 2025; returns it with its server.
    pub(crate) async fn begin(&self, who: &str, capabilities: Value) -> (Session, Peer) {
        let mut session = Session {
            who: who.to_owned(),
            path: "/mcp/one",
            id: None,
        };
        let params = json!({"protocolVersion": L11, "capabilities": capabilities,
            "clientInfo": {"name": "client", "version": "1"}});
        let asked = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let waiting = self.post(&session, asked);
        let mut server = self.server().await;
        let told = server.next().await;
        let result = json!({"protocolVersion": L11, "capabilities": {"tools": {}},
            "serverInfo": {"name": "files", "version": "1"}});
        server.reply(&told, result).await;
        let reply = waiting.await.unwrap();
        assert_eq!(reply.status, StatusCode::OK);
        session.id = Some(reply.session.clone().expect("a session"));
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let reply = self.post(&session, initialized).await.unwrap();
        assert_eq!(reply.status, StatusCode::ACCEPTED);
        server.next().await;
        (session, server)
    }
}

#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) who: String,
    pub(crate) path: &'static str,
    pub(crate) id: Option<String>,
}

impl Session {
    pub(crate) fn request(&self, message: Value) -> Request<Body> {
        let mut request = Request::post(self.path)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(id) = &self.id {
            request = request
                .header("mcp-session-id", id)
                .header("mcp-protocol-version", L11);
        }
        request.body(Body::from(message.to_string())).unwrap()
    }
}

/// A response whose body is read as it comes.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) session: Option<String>,
    kind: String,
    body: BodyDataStream,
    read: String,
}

impl Reply {
    pub(crate) fn of(response: Response<Body>) -> Self {
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        Self {
            status: response.status(),
            session: header("mcp-session-id"),
            kind: header("content-type").unwrap_or_default(),
            body: response.into_body().into_data_stream(),
            read: String::new(),
        }
    }

    /// The next message: an event, or the whole body. `None` at the end.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        let is_stream = self.kind == "text/event-stream";
        loop {
            while let Some((event, rest)) = self.read.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let data = data.unwrap_or_default().to_owned();
                self.read = rest.into();
                if !data.is_empty() {
                    return Some(serde_json::from_str(&data).unwrap());
                }
            }
            match self.body.next().await {
                Some(chunk) => {
                    let chunk = chunk.unwrap();
                    self.read.push_str(std::str::from_utf8(&chunk).unwrap());
                }
                None if is_stream || self.read.is_empty() => return None,
                None => return serde_json::from_str(&std::mem::take(&mut self.read)).ok(),
            }
        }
    }

    pub(crate) async fn json(mut self) -> Value {
        assert_eq!(self.kind, "application/json");
        while let Some(chunk) = self.body.next().await {
            self.read
                .push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        }
        serde_json::from_str(&self.read).unwrap()
    }

    /// The next event with data: its id and its message. `None` at the end.
    pub(crate) async fn event(&mut self) -> Option<(String, Value)> {
        assert_eq!(self.kind, "text/event-stream");
        loop {
            while let Some((event, rest)) = self.read.split_once("\n\n") {
                let field = |name: &str| {
                    let mut lines = event.lines();
                    lines
                        .find_map(|line| line.strip_prefix(name))
                        .unwrap_or_default()
                        .to_owned()
                };
                let (id, data) = (field("id: "), field("data: "));
                let rest = rest.to_owned();
                self.read = rest;
                if !data.is_empty() {
                    return Some((id, serde_json::from_str(&data).unwrap()));
                }
            }
            let chunk = self.body.next().await?;
            self.read
                .push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        }
    }
}

pub(crate) fn call(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "t", "arguments": {}}})
}

#[tokio::test]
async fn a_call_of_a_client_that_shows_nothing_is_asked_on_a_page() {
    let web = Web::new(Ways::Browser).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let waiting = web.post(&session, call(1));
    settle().await;
    let asked = server.next().await;
    server.request(0, "elicitation/create", name_form()).await;
    let page = web.world.opened().await;
    web.world.answer(&page, json!({"name": "Ada"})).await;
    assert_eq!(server.next().await["result"]["content"]["name"], "Ada");
    server.reply(&asked, text("done")).await;
    let reply = waiting.await.unwrap();
    assert_eq!(
        reply.json().await,
        json!({"jsonrpc": "2.0", "id": 1, "result": text("done")})
    );
}

#[tokio::test]
async fn calls_with_one_id_get_their_own_results() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let first = web.post(&session, call(1));
    settle().await;
    let second = web.post(&session, call(1));
    settle().await;
    let asked = [server.next().await, server.next().await];
    server.reply(&asked[1], text("second")).await;
    server.reply(&asked[0], text("first")).await;
    for (waiting, expected) in [(first, "first"), (second, "second")] {
        let reply = waiting.await.unwrap().json().await;
        assert_eq!(reply["id"], 1);
        assert_eq!(reply["result"], text(expected));
    }
}

#[tokio::test]
async fn a_form_rides_the_stream_of_its_own_call() {
    let web = Web::new(Ways::Browser).await;
    let (session, mut server) = web.begin("ada", json!({"elicitation": {}})).await;
    let waiting = web.post(&session, call(1));
    settle().await;
    let asked = server.next().await;
    server.request(0, "elicitation/create", name_form()).await;
    let mut stream = waiting.await.unwrap();
    let (_, form) = stream.event().await.unwrap();
    assert_eq!(
        (&form["method"], &form["params"]),
        (&json!("elicitation/create"), &name_form())
    );
    web.world.clock.advance(Duration::from_secs(1));
    let answer = json!({"jsonrpc": "2.0", "id": form["id"],
        "result": {"action": "accept", "content": {"name": "Ada"}}});
    let reply = web.post(&session, answer).await.unwrap();
    assert_eq!(reply.status, StatusCode::ACCEPTED);
    assert_eq!(
        server.next().await["result"]["content"],
        json!({"name": "Ada"})
    );
    server.reply(&asked, text("done")).await;
    assert_eq!(stream.event().await.unwrap().1["result"], text("done"));
    assert!(stream.event().await.is_none());
}

#[tokio::test]
async fn a_session_belongs_to_its_principal_and_its_route() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let stranger = Session {
        who: "bob".to_owned(),
        ..session.clone()
    };
    let elsewhere = Session {
        path: "/mcp/two",
        ..session.clone()
    };
    let unknown = Session {
        id: Some("0".repeat(64)),
        ..session.clone()
    };
    for other in [stranger, elsewhere, unknown] {
        let reply = web.post(&other, call(1)).await.unwrap();
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        for method in ["GET", "DELETE"] {
            let request = Request::builder()
                .method(method)
                .uri(other.path)
                .header("accept", "text/event-stream")
                .header("mcp-session-id", other.id.as_deref().unwrap())
                .body(Body::empty())
                .unwrap();
            let response = web.send(&other.who, request).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{method}");
        }
    }
    let nobody = Session {
        id: None,
        ..session
    };
    let reply = web.post(&nobody, call(1)).await.unwrap();
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    server.nothing().await;
}

#[tokio::test]
async fn a_client_that_loses_its_stream_comes_back_for_the_rest() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({"sampling": {}})).await;
    let waiting = web.post(&session, call(1));
    settle().await;
    let asked = server.next().await;
    server.request(0, "sampling/createMessage", json!({})).await;
    let mut stream = waiting.await.unwrap();
    let (id, _) = stream.event().await.unwrap();
    // In 2025, a disconnect is not a cancel.
    drop(stream);
    server.reply(&asked, text("done")).await;
    settle().await;
    server.nothing().await;
    let resume = |id: String| {
        Request::get("/mcp/one")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", session.id.as_deref().unwrap())
            .header("last-event-id", id)
            .body(Body::empty())
            .unwrap()
    };
    let mut stream = Reply::of(web.send("ada", resume(id)).await);
    assert_eq!(stream.event().await.unwrap().1["result"], text("done"));
    assert!(stream.event().await.is_none());
    let response = web.send("ada", resume("x".to_owned())).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_deleted_session_is_gone_with_its_server() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let request = Request::delete("/mcp/one")
        .header("mcp-session-id", session.id.as_deref().unwrap())
        .body(Body::empty())
        .unwrap();
    assert_eq!(
        web.send("ada", request).await.status(),
        StatusCode::NO_CONTENT
    );
    assert_eq!(server.line().await, "", "its connection is closed");
    let reply = web.post(&session, call(1)).await.unwrap();
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_idle_session_ends_and_a_busy_one_does_not() {
    let web = Web::new(Ways::None).await;
    let (idle, _server) = web.begin("ada", json!({})).await;
    let (busy, mut server) = web.begin("ada", json!({})).await;
    let waiting = web.post(&busy, call(1));
    settle().await;
    let asked = server.next().await;
    web.world.pass(Duration::from_secs(31 * 60)).await;
    let reply = web.post(&idle, call(1)).await.unwrap();
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    server.reply(&asked, text("done")).await;
    assert_eq!(waiting.await.unwrap().json().await["result"], text("done"));
}

#[tokio::test]
async fn beyond_its_share_a_principals_longest_idle_session_gives_way() {
    let web = Web::new(Ways::None).await;
    let (bobs, mut bobs_server) = web.begin("bob", json!({})).await;
    let (first, _a) = web.begin("ada", json!({})).await;
    web.world.clock.advance(Duration::from_secs(1));
    let (second, mut server) = web.begin("ada", json!({})).await;
    let (_third, _c) = web.begin("ada", json!({})).await;
    web.world.clock.advance(Duration::from_secs(1));
    let (_fourth, _d) = web.begin("ada", json!({})).await;
    settle().await;
    let reply = web.post(&first, call(1)).await.unwrap();
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    for (session, server) in [(&second, &mut server), (&bobs, &mut bobs_server)] {
        let waiting = web.post(session, call(1));
        settle().await;
        let asked = server.next().await;
        server.reply(&asked, text("done")).await;
        assert_eq!(waiting.await.unwrap().status, StatusCode::OK);
    }
}

// ---- 2026-07-28

pub(crate) fn modern_request(method: &str, name: Option<&str>, params: Value) -> Request<Body> {
    let mut request = Request::post("/mcp/one")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", M)
        .header("mcp-method", method);
    if let Some(name) = name {
        request = request.header("mcp-name", name);
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    request.body(Body::from(message.to_string())).unwrap()
}

impl Web {
    pub(crate) fn send_modern(&self, request: Request<Body>) -> tokio::task::JoinHandle<Reply> {
        let router = self.router.clone();
        tokio::spawn(async move {
            let mut request = request;
            request.extensions_mut().insert(Person::here());
            Reply::of(router.oneshot(request).await.unwrap())
        })
    }
}

async fn discover(server: &mut Peer) {
    let asked = server.next().await;
    assert_eq!(asked["method"], "server/discover", "{asked}");
    server.reply(&asked, crate::world::discovered()).await;
}

#[tokio::test]
async fn clients_without_sessions_share_a_connection_and_nothing_else() {
    let web = Web::new(Ways::None).await;
    let params = || {
        modern(
            json!({"name": "t", "_meta": {"progressToken": "p"}}),
            json!({}),
        )
    };
    let first = web.send_modern(modern_request("tools/call", Some("t"), params()));
    let mut server = web.server().await;
    discover(&mut server).await;
    let asked = server.next().await;
    let second = web.send_modern(modern_request("tools/call", Some("t"), params()));
    settle().await;
    let other = server.next().await;
    assert!(web.servers.lock().is_empty());
    assert_ne!(asked["id"], other["id"]);
    let token = |asked: &Value| asked["params"]["_meta"]["progressToken"].clone();
    assert_ne!(token(&asked), token(&other));
    let progress = json!({"progressToken": token(&other), "progress": 1});
    server.notify("notifications/progress", progress).await;
    let mut second = second.await.unwrap();
    let (_, report) = second.event().await.unwrap();
    assert_eq!(
        report["params"],
        json!({"progressToken": "p", "progress": 1})
    );
    let mut done = text("done");
    done["resultType"] = json!("complete");
    server.reply(&asked, done.clone()).await;
    let reply = first.await.unwrap().json().await;
    assert_eq!((&reply["id"], &reply["result"]), (&json!(1), &done));
    // Closing its stream cancels a call.
    drop(second);
    settle().await;
    let cancelled = server.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], other["id"]);
}

#[tokio::test]
async fn requests_whose_headers_or_metadata_are_wrong_are_refused() {
    let web = Web::new(Ways::None).await;
    let params = || modern(json!({"name": "t"}), json!({}));
    let other_version = {
        let mut params = params();
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
        let mut request = modern_request("tools/call", Some("t"), params);
        request
            .headers_mut()
            .insert("mcp-protocol-version", "2099-01-01".parse().unwrap());
        request
    };
    let without = |member: &str| {
        let mut params = params();
        let name = format!("io.modelcontextprotocol/{member}");
        params["_meta"].as_object_mut().unwrap().remove(&name);
        modern_request("tools/call", Some("t"), params)
    };
    for (request, code) in [
        (without("protocolVersion"), -32602),
        (without("clientCapabilities"), -32602),
        (modern_request("tools/call", Some("u"), params()), -32020),
        (modern_request("tools/call", None, params()), -32020),
        (other_version, -32022),
    ] {
        let reply = web.send_modern(request).await.unwrap();
        assert_eq!(reply.status, StatusCode::BAD_REQUEST);
        assert_eq!(reply.json().await["error"]["code"], code);
    }
    let initialize = modern_request("initialize", None, modern(json!({}), json!({})));
    let reply = web.send_modern(initialize).await.unwrap();
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    assert_eq!(reply.json().await["error"]["code"], -32601);
    assert!(web.servers.lock().is_empty(), "a server was connected to");
}

#[tokio::test]
async fn a_method_that_does_not_exist_is_not_found() {
    let web = Web::new(Ways::None).await;
    let waiting = web.send_modern(modern_request("x/y", None, modern(json!({}), json!({}))));
    let mut server = web.server().await;
    discover(&mut server).await;
    let asked = server.next().await;
    server
        .fail(
            &asked,
            json!({"code": -32601, "message": "Method not found"}),
        )
        .await;
    let reply = waiting.await.unwrap();
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    for method in ["GET", "DELETE", "PUT"] {
        let request = Request::builder().method(method).uri("/mcp/one");
        let response = web.send("ada", request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let huge = format!(r#"{{"id":1,"method":"{}"}}"#, "x".repeat(17 << 20));
    for (body, status) in [
        ("", 400),
        ("{", 400),
        ("1", 400),
        ("[]", 400),
        (r#"{"id":1}"#, 400),
        (deep.as_str(), 400),
        (huge.as_str(), 413),
    ] {
        let mut request = session.request(json!({}));
        *request.body_mut() = Body::from(body.to_owned());
        let response = web.send("ada", request).await;
        assert_eq!(response.status(), status, "{}", &body[..body.len().min(40)]);
    }
    server.nothing().await;
}

/// A request with headers that repeat arguments.
fn with_params(request: Request<Body>, pairs: &[(&'static str, &str)]) -> Request<Body> {
    let mut request = request;
    for (name, value) in pairs {
        request.headers_mut().append(*name, value.parse().unwrap());
    }
    request
}

#[tokio::test]
async fn headers_that_repeat_arguments_are_compared_with_them() {
    let web = Web::new(Ways::None).await;
    let deploy = |arguments: Value, pairs: &[(&'static str, &str)]| {
        let params = modern(json!({"name": "deploy", "arguments": arguments}), json!({}));
        let request = modern_request("tools/call", Some("deploy"), params);
        web.send_modern(with_params(request, pairs))
    };
    let eu = ("mcp-param-region", "eu");
    // The client knows the tools from before, so the server is asked for them first.
    let waiting = deploy(json!({"region": "us"}), &[eu]);
    let mut server = web.server().await;
    discover(&mut server).await;
    let mut page = server.next().await;
    assert_eq!(page["method"], "tools/list");
    let first = json!({"resultType": "complete", "tools": [{"name": "other"}],
        "nextCursor": "2", "ttlMs": 0, "cacheScope": "private"});
    server.reply(&page, first).await;
    page = server.next().await;
    assert_eq!(page["params"]["cursor"], "2");
    let list = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "tools": [{"name": "deploy", "inputSchema": {"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"}}}}]});
    server.reply(&page, list).await;
    let refused = waiting.await.unwrap();
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(refused.json().await["error"]["code"], -32020);
    for (arguments, pairs) in [
        (json!({"region": "eu"}), &[][..]),
        (json!({}), &[eu]),
        (json!({"region": null}), &[eu]),
        (json!({"region": "eu"}), &[eu, eu]),
        (
            json!({"region": "eu"}),
            &[("mcp-param-region", "=?base64?!?=")],
        ),
    ] {
        let refused = deploy(arguments, pairs).await.unwrap();
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{pairs:?}");
    }
    server.nothing().await;
    for pairs in [[eu], [("mcp-param-region", "=?base64?ZXU=?=")]] {
        let waiting = deploy(json!({"region": "eu"}), &pairs);
        let asked = server.next().await;
        let mut done = text("done");
        done["resultType"] = json!("complete");
        server.reply(&asked, done).await;
        assert_eq!(waiting.await.unwrap().status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_state_of_a_server_is_sealed_for_the_principal_and_the_call() {
    let web = Web::new(Ways::Browser).await;
    let shows = json!({"elicitation": {"form": {}, "url": {}}});
    let params =
        |name: &str, n: u64| modern(json!({"name": name, "arguments": {"n": n}}), shows.clone());
    let waiting = web.send_modern(modern_request("tools/call", Some("t"), params("t", 1)));
    let mut server = web.server().await;
    discover(&mut server).await;
    let asked = server.next().await;
    let round = json!({"resultType": "input_required", "requestState": "theirs",
        "inputRequests": {"a": {"method": "elicitation/create", "params": name_form()}}});
    server.reply(&asked, round.clone()).await;
    let got = waiting.await.unwrap().json().await["result"].clone();
    assert_eq!(got["inputRequests"], round["inputRequests"]);
    let state = got["requestState"].as_str().unwrap().to_owned();
    assert_ne!(state, "theirs");
    let answers = json!({"a": {"action": "accept", "content": {"name": "Ada"}}});
    let retry = |name: &str, n: u64, state: &str| {
        let mut params = params(name, n);
        params["requestState"] = json!(state);
        params["inputResponses"] = answers.clone();
        modern_request("tools/call", Some(name), params)
    };
    let flipped = format!("{}{}", &state[..state.len() - 2], "__");
    for request in [
        retry("t", 2, &state),
        retry("u", 1, &state),
        retry("t", 1, &flipped),
        // What the server gave out itself was for nobody else's call.
        retry("t", 1, "theirs"),
    ] {
        let refused = web.send_modern(request).await.unwrap().json().await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let stranger = {
        let mut request = retry("t", 1, &state);
        request.extensions_mut().insert(Person {
            principal: "eve".to_owned(),
            respondent: None,
            is_here: true,
        });
        let router = web.router.clone();
        tokio::spawn(async move { Reply::of(router.oneshot(request).await.unwrap()) })
    };
    let mut eves = web.server().await;
    discover(&mut eves).await;
    let refused = stranger.await.unwrap().json().await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    eves.nothing().await;
    server.nothing().await;
    // The server judges by itself whether a state may come twice.
    for _ in 0..2 {
        let waiting = web.send_modern(retry("t", 1, &state));
        let asked = server.next().await;
        assert_eq!(asked["params"]["requestState"], "theirs");
        assert_eq!(asked["params"]["inputResponses"], answers);
        let mut done = text("done");
        done["resultType"] = json!("complete");
        server.reply(&asked, done.clone()).await;
        assert_eq!(waiting.await.unwrap().json().await["result"], done);
    }
}

#[tokio::test]
async fn a_question_that_the_client_does_not_read_goes_another_way() {
    let web = Web::new(Ways::Browser).await;
    let (session, mut server) = web.begin("ada", json!({"elicitation": {}})).await;
    // The client has answered before, so that its silence says nothing.
    let waiting = web.post(&session, call(1));
    settle().await;
    let asked = server.next().await;
    server.request(0, "elicitation/create", name_form()).await;
    let mut stream = waiting.await.unwrap();
    let (_, form) = stream.event().await.unwrap();
    web.world.clock.advance(Duration::from_secs(1));
    let answer = json!({"jsonrpc": "2.0", "id": form["id"],
        "result": {"action": "accept", "content": {"name": "Ada"}}});
    web.post(&session, answer).await.unwrap();
    server.next().await;
    server.reply(&asked, text("done")).await;
    assert_eq!(stream.event().await.unwrap().1["result"], text("done"));
    drop(stream);
    // Outside of a call, and the client reads no stream.
    server.request(1, "elicitation/create", name_form()).await;
    settle().await;
    web.world.pass(Duration::from_secs(9)).await;
    web.world.nothing_opened().await;
    web.world.pass(Duration::from_secs(1)).await;
    let page = web.world.opened().await;
    web.world.answer(&page, json!({"name": "Bob"})).await;
    assert_eq!(server.next().await["result"]["content"]["name"], "Bob");
}

#[tokio::test]
async fn a_page_has_the_servers_name_in_the_configuration_before_the_one_it_gives_itself() {
    let web = Web::new(Ways::Browser).await;
    let (session, mut server) = web.begin("ada", json!({})).await;
    let _waiting = web.post(&session, call(1));
    settle().await;
    server.next().await;
    server.request(0, "elicitation/create", name_form()).await;
    let page = web.world.opened().await;
    let status = web.world.question(&page).status().await.unwrap();
    let extras = status.record().request.extras.as_ref().unwrap();
    assert_eq!(extras.introduced_as.as_deref(), Some("one: files"));
}

#[tokio::test]
async fn a_question_is_withdrawn_on_the_stream_that_it_came_on() {
    let web = Web::new(Ways::None).await;
    let (session, mut server) = web.begin("ada", json!({"elicitation": {}})).await;
    let waiting = web.post(&session, call(1));
    settle().await;
    let asked = server.next().await;
    server.request(0, "elicitation/create", name_form()).await;
    let mut stream = waiting.await.unwrap();
    let (_, form) = stream.event().await.unwrap();
    // Log messages, of which nobody knows which call they are of, come where the client reads.
    let log = json!({"level": "info", "data": "x"});
    server.notify("notifications/message", log.clone()).await;
    assert_eq!(stream.event().await.unwrap().1["params"], log);
    // Also when there is another stream now.
    let general = Request::get(session.path)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", session.id.as_deref().unwrap())
        .body(Body::empty())
        .unwrap();
    let _general = web.send("ada", general).await;
    let withdrawn = json!({"requestId": 0});
    server.notify("notifications/cancelled", withdrawn).await;
    let (_, told) = stream.event().await.unwrap();
    assert_eq!(told["method"], "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], form["id"]);
    server.reply(&asked, text("done")).await;
    assert_eq!(stream.event().await.unwrap().1["result"], text("done"));
}
