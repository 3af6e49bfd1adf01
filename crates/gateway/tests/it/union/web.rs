//! Several servers at one path over HTTP.

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use entreat_gateway::Person;
use entreat_gateway::front::{Front, FrontSettings};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::several::{Connections, L11, greet_new, greet_old, hello};
use crate::world::{Ways, World, complete, modern, settle, text};

struct Web {
    _world: World,
    front: Front,
    old: Connections,
    new: Connections,
}

impl Web {
    async fn new() -> Self {
        let world = World::new(Ways::None).await;
        let (old, new) = (Connections::default(), Connections::default());
        let routes = vec![old.route("old"), new.route("new")];
        let front = Front::new(world.gateway.clone(), routes, FrontSettings::default());
        Self {
            _world: world,
            front,
            old,
            new,
        }
    }

    fn send(&self, request: Request<Body>) -> tokio::task::JoinHandle<Response<Body>> {
        let router = self.front.router();
        tokio::spawn(async move {
            let mut request = request;
            request.extensions_mut().insert(Person::here());
            router.oneshot(request).await.unwrap()
        })
    }
}

fn post(headers: &[(&str, &str)], message: &Value) -> Request<Body> {
    let mut request = Request::post("/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(message.to_string())).unwrap()
}

fn message(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

async fn read(response: Response<Body>) -> Value {
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn an_old_client_has_a_session_with_all_servers() {
    let web = Web::new().await;
    let waiting = web.send(post(&[], &message(0, "initialize", hello(json!({})))));
    let (mut old, mut new) = (web.old.newest().await, web.new.newest().await);
    greet_old(&mut old, false).await;
    greet_new(&mut new, false).await;
    let response = waiting.await.unwrap();
    let session = response.headers()["mcp-session-id"].clone();
    let headers = [
        ("mcp-session-id", session.to_str().unwrap()),
        ("mcp-protocol-version", L11),
    ];
    let waiting = web.send(post(&headers, &message(1, "tools/list", json!({}))));
    settle().await;
    let tools = json!({"tools": [{"name": "t", "inputSchema": {}}], "resultType": "complete"});
    let asked = old.next().await;
    old.reply(&asked, tools.clone()).await;
    let asked = new.next().await;
    new.reply(&asked, tools).await;
    let listed = read(waiting.await.unwrap()).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "new__t");
    // It is no session of one server.
    let mut elsewhere = post(&headers, &message(2, "tools/list", json!({})));
    *elsewhere.uri_mut() = "/mcp/old".parse().unwrap();
    let response = web.send(elsewhere).await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    let mut end = post(&headers, &json!({}));
    *end.method_mut() = "DELETE".parse().unwrap();
    let response = web.send(end).await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    for server in [&mut old, &mut new] {
        assert_eq!(server.line().await, "", "its connection is closed");
    }
}

#[tokio::test]
async fn a_modern_client_names_tools_in_headers_as_the_union_does() {
    let web = Web::new().await;
    let call = |name: &str| {
        let params = modern(json!({"name": name}), json!({}));
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
        ];
        post(&headers, &message(1, "tools/call", params))
    };
    let waiting = web.send(call("old__t"));
    let (mut old, mut new) = (web.old.newest().await, web.new.newest().await);
    greet_old(&mut old, true).await;
    greet_new(&mut new, true).await;
    // The name was listed before this connection was there.
    let asked = old.next().await;
    assert_eq!(asked["method"], "tools/list");
    old.reply(&asked, json!({"tools": [{"name": "t", "inputSchema": {}}]}))
        .await;
    let asked = new.next().await;
    new.reply(&asked, complete(json!({"tools": []}))).await;
    let called = old.next().await;
    assert_eq!(called["params"]["name"], "t");
    old.reply(&called, text("done")).await;
    let response = waiting.await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(read(response).await["result"], complete(text("done")));
    // Both connections are there for the next one.
    let waiting = web.send(call("old__t"));
    settle().await;
    let called = old.next().await;
    assert!(web.old.is_empty() && web.new.is_empty());
    // Closing the stream cancels.
    waiting.abort();
    settle().await;
    let cancelled = old.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], called["id"]);
}
