//! Clients of 2025 in front of servers of 2026-07-28.

use std::time::Duration;

use entreat_gateway::GatewaySettings;
use serde_json::{Value, json};

use crate::world::{Ways, World, name_form, settle, text};

const L6: &str = "2025-06-18";
const L11: &str = "2025-11-25";
const META: &str = "io.modelcontextprotocol/";

fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

fn round(requests: Value, state: Option<Value>) -> Value {
    let mut round = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        round["requestState"] = state;
    }
    round
}

fn entry(params: Value) -> Value {
    json!({"method": "elicitation/create", "params": params})
}

fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result
}

#[tokio::test]
async fn a_round_becomes_pushes_in_the_order_of_keys_and_the_state_returns_as_it_came() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, all()).await;
    let call = pair.called(1, "t", json!({"n": 1.0})).await;
    assert_eq!(
        call["params"]["_meta"][format!("{META}protocolVersion")],
        "2026-07-28"
    );
    assert_eq!(
        call["params"]["_meta"][format!("{META}clientInfo")]["name"],
        "client"
    );
    let state = r#""a\u0062c""#;
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","inputRequests":{{"z":{},"a":{}}},"requestState":{state}}}}}"#,
        call["id"],
        entry(name_form()),
        json!({"method": "sampling/createMessage", "params": {"x": 1}})
    );
    pair.server.raw(&line).await;
    let form = pair.client.next().await;
    assert_eq!(
        (&form["method"], &form["params"]),
        (&json!("elicitation/create"), &name_form())
    );
    pair.client.nothing().await;
    world.clock.advance(Duration::from_secs(1));
    let accept = json!({"action": "accept", "content": {"name": "Ada"}});
    pair.client.reply(&form, accept.clone()).await;
    let sample = pair.client.next().await;
    assert_eq!(
        (&sample["method"], &sample["params"]),
        (&json!("sampling/createMessage"), &json!({"x": 1}))
    );
    pair.client
        .reply(&sample, json!({"role": "assistant"}))
        .await;
    let line = pair.server.line().await;
    assert!(
        line.contains(&format!(r#""requestState":{state}"#)),
        "{line}"
    );
    let retry: Value = serde_json::from_str(&line).unwrap();
    assert_ne!(retry["id"], call["id"]);
    assert_eq!(
        retry["params"]["inputResponses"],
        json!({"z": accept, "a": {"role": "assistant"}})
    );
    assert_eq!(retry["params"]["arguments"], json!({"n": 1.0}));
    pair.server.reply(&retry, complete(text("done"))).await;
    let done = pair.client.next().await;
    assert_eq!(
        done,
        json!({"jsonrpc": "2.0", "id": 1, "result": text("done")})
    );
}

#[tokio::test]
async fn an_absent_state_stays_absent_and_an_empty_one_empty() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, all()).await;
    for state in [None, Some(json!(""))] {
        let call = pair.called(1, "t", json!({})).await;
        pair.server
            .reply(
                &call,
                round(json!({"q": entry(name_form())}), state.clone()),
            )
            .await;
        let form = pair.client.next().await;
        world.clock.advance(Duration::from_secs(1));
        pair.client.reply(&form, json!({"action": "decline"})).await;
        let retry = pair.server.next().await;
        assert_eq!(retry["params"].get("requestState"), state.as_ref());
        assert_eq!(
            retry["params"]["inputResponses"],
            json!({"q": {"action": "decline"}})
        );
        pair.server.reply(&retry, complete(text("no"))).await;
        assert_eq!(pair.client.next().await["result"], text("no"));
    }
}

#[tokio::test]
async fn rounds_without_questions_are_paced() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize_raised(L6, json!({})).await;
    pair.client.call(1, "t", json!({})).await;
    let mut call = pair.server.next().await;
    for pause in [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000] {
        let waiting = json!({"resultType": "input_required", "requestState": "s"});
        pair.server.reply(&call, waiting).await;
        world.pass(Duration::from_millis(pause - 1)).await;
        pair.server.nothing().await;
        world.pass(Duration::from_millis(1)).await;
        call = pair.server.next().await;
        assert_eq!(call["params"]["requestState"], "s");
    }
    pair.server
        .reply(&call, round(json!({"q": entry(name_form())}), None))
        .await;
    let page = world.opened().await;
    world.answer(&page, json!({"name": "Ada"})).await;
    let retry = pair.server.next().await;
    pair.server.reply(&retry, complete(text("done"))).await;
    assert_eq!(pair.client.next().await["result"], text("done"));
}

#[tokio::test]
async fn an_answer_that_breaks_the_servers_rules_is_asked_again_with_its_errors() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, json!({"elicitation": {}}))
        .await;
    let call = pair.called(1, "t", json!({})).await;
    pair.server
        .reply(&call, round(json!({"q": entry(name_form())}), None))
        .await;
    let form = pair.client.next().await;
    world.clock.advance(Duration::from_secs(1));
    pair.client
        .reply(&form, json!({"action": "accept", "content": {"name": "A"}}))
        .await;
    let again = pair.client.next().await;
    assert!(
        again["params"]["message"]
            .as_str()
            .unwrap()
            .contains("at least 2"),
        "{again}"
    );
    world.clock.advance(Duration::from_secs(1));
    pair.client
        .reply(
            &again,
            json!({"action": "accept", "content": {"name": "Ada"}}),
        )
        .await;
    let retry = pair.server.next().await;
    assert_eq!(
        retry["params"]["inputResponses"]["q"]["content"],
        json!({"name": "Ada"})
    );
}

#[tokio::test]
async fn what_cannot_be_shown_fails_the_call_and_the_server_is_not_called_again() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, json!({})).await;
    let call = pair.called(1, "t", json!({})).await;
    pair.server
        .reply(&call, round(json!({"q": entry(name_form())}), None))
        .await;
    let failed = pair.client.next().await;
    assert_eq!(failed["error"]["data"]["reason"], "not_shown", "{failed}");
    pair.server.nothing().await;
}

#[tokio::test]
async fn a_cancelled_call_ends_at_the_server() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, json!({})).await;
    let call = pair.called(1, "t", json!({})).await;
    pair.client
        .notify("notifications/cancelled", json!({"requestId": 1}))
        .await;
    let told = pair.server.next().await;
    assert_eq!(told["method"], "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], call["id"]);
    pair.server.reply(&call, complete(text("late"))).await;
    pair.client.nothing().await;
}

#[tokio::test]
async fn the_gateway_keeps_what_only_a_session_has() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    let listen = pair.initialize_raised(L11, json!({})).await;
    assert_eq!(
        listen["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    let stream = |method: &str, id: &Value, params: Value| {
        let mut params = params;
        params["_meta"] = json!({format!("{META}subscriptionId"): id});
        (method.to_owned(), params)
    };
    let (method, params) = stream(
        "notifications/subscriptions/acknowledged",
        &listen["id"],
        json!({"notifications": {"toolsListChanged": true}}),
    );
    pair.server.notify(&method, params).await;
    settle().await;
    let (method, params) = stream("notifications/tools/list_changed", &listen["id"], json!({}));
    pair.server.notify(&method, params).await;
    let changed = pair.client.next().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    assert_eq!(changed["params"], json!({}));

    pair.client.request(1, "ping", json!({})).await;
    assert_eq!(pair.client.next().await["result"], json!({}));
    pair.client
        .request(2, "logging/setLevel", json!({"level": "debug"}))
        .await;
    assert_eq!(pair.client.next().await["result"], json!({}));
    pair.client
        .request(3, "resources/subscribe", json!({"uri": "file:///a"}))
        .await;
    assert_eq!(pair.client.next().await["result"], json!({}));
    // The new filter opens its stream before the old one is closed.
    let second = pair.server.next().await;
    assert_eq!(
        second["params"]["notifications"],
        json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]})
    );
    assert_eq!(
        second["params"]["_meta"][format!("{META}logLevel")],
        "debug"
    );
    pair.server.nothing().await;
    let (method, params) = stream(
        "notifications/subscriptions/acknowledged",
        &second["id"],
        json!({}),
    );
    pair.server.notify(&method, params).await;
    let closed = pair.server.next().await;
    assert_eq!(closed["method"], "notifications/cancelled");
    assert_eq!(closed["params"]["requestId"], listen["id"]);
    // What the old stream still says is said by the new one, too.
    for (id, passes) in [(&listen["id"], false), (&second["id"], true)] {
        let (method, params) = stream(
            "notifications/resources/updated",
            id,
            json!({"uri": "file:///a"}),
        );
        pair.server.notify(&method, params).await;
        if passes {
            assert_eq!(
                pair.client.next().await["params"],
                json!({"uri": "file:///a"})
            );
        } else {
            pair.client.nothing().await;
        }
    }
}

#[tokio::test]
async fn results_and_errors_are_those_of_the_clients_version() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, json!({})).await;
    pair.client
        .request(1, "tools/list", json!({"cursor": "c"}))
        .await;
    let asked = pair.server.next().await;
    let list = json!({"resultType": "complete", "tools": [], "ttlMs": 5, "cacheScope": "public",
        "_meta": {"x/y": 1, "io.modelcontextprotocol/serverInfo": {}}});
    pair.server.reply(&asked, list).await;
    assert_eq!(
        pair.client.next().await["result"],
        json!({"tools": [], "_meta": {"x/y": 1}})
    );
    pair.client
        .request(2, "resources/read", json!({"uri": "a:b"}))
        .await;
    let asked = pair.server.next().await;
    pair.server
        .fail(
            &asked,
            json!({"code": -32602, "message": "m", "data": {"uri": "a:b"}}),
        )
        .await;
    assert_eq!(
        pair.client.next().await["error"],
        json!({"code": -32002, "message": "m", "data": {"uri": "a:b"}})
    );
}

#[tokio::test]
async fn a_url_that_the_client_opens_is_complete_when_the_server_stops_asking_for_it() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, all()).await;
    pair.client.call(1, "t", json!({})).await;
    let mut call = pair.server.next().await;
    let url = json!({"mode": "url", "message": "Sign in", "url": "https://example.com/a"});
    let mut ids = Vec::new();
    // The server may ask again until the person is done.
    for _ in 0..2 {
        pair.server
            .reply(&call, round(json!({"u": entry(url.clone())}), None))
            .await;
        let shown = pair.client.next().await;
        assert_eq!(shown["params"]["url"], url["url"]);
        ids.push(shown["params"]["elicitationId"].clone());
        pair.client.reply(&shown, json!({"action": "accept"})).await;
        call = pair.server.next().await;
        assert_eq!(
            call["params"]["inputResponses"],
            json!({"u": {"action": "accept"}})
        );
    }
    assert!(ids[0].is_string() && ids[0] == ids[1], "{ids:?}");
    // Nothing but a state: it waits for the person.
    let waiting = json!({"resultType": "input_required", "requestState": "s"});
    pair.server.reply(&call, waiting).await;
    pair.client.nothing().await;
    world.pass(Duration::from_millis(250)).await;
    call = pair.server.next().await;
    pair.server.reply(&call, complete(text("done"))).await;
    let told = pair.client.next().await;
    assert_eq!(told["method"], "notifications/elicitation/complete");
    assert_eq!(told["params"]["elicitationId"], ids[0]);
    assert_eq!(pair.client.next().await["result"], text("done"));
}

#[tokio::test]
async fn a_server_that_neither_asks_nor_ends_is_left_after_the_time_for_parked_calls() {
    let settings = GatewaySettings {
        park: Duration::from_secs(20),
        ..GatewaySettings::default()
    };
    let world = World::with(Ways::None, settings).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, json!({})).await;
    pair.client.call(1, "t", json!({})).await;
    let mut calls = 0;
    loop {
        let call = pair.server.next().await;
        calls += 1;
        let waiting = json!({"resultType": "input_required", "requestState": "s"});
        pair.server.reply(&call, waiting).await;
        if let Some(ended) = pair.client.next_if_any().await {
            assert_eq!(ended["error"]["data"]["reason"], "too_many_rounds");
            assert_eq!(ended["error"]["data"]["mayHaveRun"], true);
            break;
        }
        world.pass(Duration::from_secs(5)).await;
    }
    assert!((5..10).contains(&calls), "{calls}");
}

#[tokio::test]
async fn a_round_may_have_a_hundred_questions_and_no_more() {
    let settings = GatewaySettings {
        questions_per_minute: 1_000,
        ..GatewaySettings::default()
    };
    let world = World::with(Ways::None, settings).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, all()).await;
    let questions = |count: usize| {
        let keys = (0..count).map(|n| (format!("k{n:03}"), entry(name_form())));
        Value::Object(keys.collect())
    };
    pair.client.call(1, "t", json!({})).await;
    let call = pair.server.next().await;
    pair.server.reply(&call, round(questions(100), None)).await;
    for n in 0..100 {
        let asked = pair.client.next().await;
        let answer = json!({"action": "accept", "content": {"name": format!("Ada {n}")}});
        pair.client.reply(&asked, answer).await;
    }
    let retry = pair.server.next().await;
    let responses = retry["params"]["inputResponses"].as_object().unwrap();
    assert_eq!(responses.len(), 100);
    for (n, (_, response)) in responses.iter().enumerate() {
        assert_eq!(response["content"]["name"], format!("Ada {n}"));
    }
    pair.server.reply(&retry, round(questions(101), None)).await;
    let ended = pair.client.next().await;
    assert_eq!(ended["error"]["data"]["reason"], "too_many_questions");
    pair.server.nothing().await;
}

#[tokio::test]
async fn what_the_gateway_keeps_for_a_client_is_bounded() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize_raised(L11, json!({})).await;
    let level = json!({"level": "x".repeat(65)});
    pair.client.request(1, "logging/setLevel", level).await;
    let refused = pair.client.next().await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // 512 URIs of 2 KiB, which the server is told in each new filter.
    for id in 0..513 {
        let uri = json!({"uri": format!("{id:0>2048}")});
        pair.client.request(id, "resources/subscribe", uri).await;
        let answer = pair.client.next().await;
        let is_refused = answer["error"]["data"]["reason"] == "busy";
        assert_eq!(is_refused, id == 512, "{answer}");
    }
}
