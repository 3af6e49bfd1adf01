//! What peers of the field stumble over.

use serde_json::{Value, json};

use super::web::{Caller, Web};
use super::{L6, L11, all, begin_lowered, call, complete};
use crate::world::{Ways, World, discovered, modern, name_form, settle, text};

#[tokio::test]
async fn an_empty_capability_means_forms_for_clients_of_every_version() {
    let shows = json!({"elicitation": {}});
    for version in [L6, L11] {
        let world = World::new(Ways::Browser).await;
        let mut pair = world.connect();
        pair.initialize(version, shows.clone()).await;
        pair.called(1, "t", json!({})).await;
        pair.server.ask("q", name_form()).await;
        assert_eq!(pair.client.next().await["method"], "elicitation/create");
        world.nothing_opened().await;
    }
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    begin_lowered(&mut pair, 1, call("t", json!({}), shows)).await;
    pair.server.ask("q", name_form()).await;
    super::next_round(&world, &mut pair).await;
    world.nothing_opened().await;
}

#[tokio::test]
async fn a_server_that_answers_discover_and_speaks_2025_gets_the_handshake() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.client
        .request(1, "tools/call", call("t", json!({"n": 1}), all()))
        .await;
    let asked = pair.server.next().await;
    assert_eq!(asked["method"], "server/discover");
    let mut found = discovered();
    found["supportedVersions"] = json!(["2025-11-25", "2025-06-18"]);
    pair.server.reply(&asked, found).await;
    let told = pair.server.next().await;
    assert_eq!(told["method"], "initialize", "{told}");
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "files", "version": "1"}});
    pair.server.reply(&told, result).await;
    assert_eq!(
        pair.server.next().await["method"],
        "notifications/initialized"
    );
    let called = pair.server.next().await;
    assert_eq!(
        called["params"],
        json!({"name": "t", "arguments": {"n": 1}})
    );
    pair.server.reply(&called, text("done")).await;
    assert_eq!(pair.client.next().await["result"], complete(text("done")));
}

#[tokio::test]
async fn a_lenient_server_of_2025_never_runs_a_call_as_a_probe() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    for id in 1..4 {
        pair.client
            .request(id, "tools/call", call("t", json!({"n": id}), all()))
            .await;
    }
    pair.lower().await;
    for id in 1..4 {
        let called = pair.server.next().await;
        assert_eq!(
            called["params"],
            json!({"name": "t", "arguments": {"n": id}})
        );
    }
    pair.server.nothing().await;
}

#[tokio::test]
async fn every_result_that_a_client_of_2026_gets_says_its_type() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect();
    let asks = |params: Value| modern(params, json!({}));
    pair.client
        .request(1, "server/discover", asks(json!({})))
        .await;
    pair.lower().await;
    assert_eq!(pair.client.next().await["result"]["resultType"], "complete");
    for (method, params) in [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "a:b"})),
        ("prompts/get", json!({"name": "p"})),
        ("completion/complete", json!({"ref": {}})),
        ("tools/call", json!({"name": "t"})),
        ("x/unknown", json!({})),
    ] {
        pair.client.request(2, method, asks(params)).await;
        let asked = pair.server.next().await;
        assert_eq!(asked["method"], method);
        pair.server.reply(&asked, json!({"tools": []})).await;
        let told = pair.client.next().await;
        assert_eq!(told["result"]["resultType"], "complete", "{method}: {told}");
    }
    // What the gateway itself says: a link, and that there is nothing to resume.
    pair.client
        .request(3, "tools/call", asks(json!({"name": "t"})))
        .await;
    pair.server.next().await;
    let linked = pair.asked("q", name_form()).await;
    assert_eq!(linked["result"]["resultType"], "complete", "{linked}");
    let resume = json!({"name": "resume_question", "arguments": {"question": "none"}});
    pair.client.request(4, "tools/call", asks(resume)).await;
    let nothing = pair.client.next().await;
    assert_eq!(nothing["result"]["resultType"], "complete", "{nothing}");
    assert_eq!(nothing["result"]["isError"], true);
}

#[tokio::test]
async fn errors_of_the_newest_version_have_its_status() {
    let world = World::new(Ways::None).await;
    let web = Web::new(&world);
    let caller = Caller::new("ada", "/mcp/one");
    let params = call("t", json!({}), all());
    let first = web.request(&caller, "tools/call", &params);
    let mut server = web.server().await;
    let asked = server.next().await;
    server.reply(&asked, discovered()).await;
    let mut waiting = Some(first);
    for (code, status) in [
        (-32021, 400),
        (-32020, 400),
        (-32022, 400),
        (-32601, 404),
        (-32602, 200),
        (-32603, 200),
    ] {
        let request = waiting
            .take()
            .unwrap_or_else(|| web.request(&caller, "tools/call", &params));
        settle().await;
        let asked = server.next().await;
        let error = json!({"code": code, "message": "m", "data": {"x": 1.0}});
        server.fail(&asked, error.clone()).await;
        let mut response = request.await.unwrap();
        assert_eq!(response.status.as_u16(), status, "{code}");
        assert_eq!(response.message().await.unwrap()["error"], error);
    }
}

#[tokio::test]
async fn each_session_shakes_hands_with_a_server_of_its_own() {
    let world = World::new(Ways::None).await;
    let web = Web::new(&world);
    let (_first, mut one) = web.begin("ada", json!({})).await;
    let (_second, mut two) = web.begin("ada", all()).await;
    assert!(!web.has_new_server());
    one.nothing().await;
    two.nothing().await;
}

#[tokio::test]
async fn a_stream_says_that_nobody_may_buffer_it() {
    use axum::http::Request;
    use tower::ServiceExt as _;

    let world = World::new(Ways::None).await;
    let web = Web::new(&world);
    let (caller, _server) = web.begin("ada", json!({})).await;
    let mut request = Request::get("/mcp/one")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", caller.session.unwrap())
        .body(axum::body::Body::empty())
        .unwrap();
    request.extensions_mut().insert(entreat_gateway::Person {
        principal: "ada".to_owned(),
        respondent: None,
        is_here: true,
    });
    let response = web.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
}
