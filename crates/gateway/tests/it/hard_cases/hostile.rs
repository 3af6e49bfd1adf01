//! Servers that make the gateway work, remember or wait more than it should.

use std::time::Duration;

use entreat_gateway::{ApprovalAction, ApprovalRule, GatewaySettings, PinMode, Pins, Policy};
use entreat_testkit::CapturedLog;
use serde_json::{Value, json};

use super::{L11, all, begin_lowered, call};
use crate::world::{Ways, World, is_busy, name_form, settle, text, with_memory};

/// An array of this many values, of which each takes two bytes.
fn zeros(count: usize) -> String {
    format!("[{}0]", "0,".repeat(count - 1))
}

#[tokio::test]
async fn a_result_of_too_many_values_fails_its_call_and_the_session_goes_on() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    for (member, content) in [
        ("result", format!(r#"{{"content":{}}}"#, zeros(600_000))),
        (
            "error",
            format!(
                r#"{{"code":-32042,"message":"m","data":{{"elicitations":{}}}}}"#,
                zeros(600_000)
            ),
        ),
    ] {
        pair.client.call(7, "t", json!({})).await;
        let asked = pair.server.next().await;
        let id = &asked["id"];
        pair.server
            .raw(&format!(
                r#"{{"jsonrpc":"2.0","{member}":{content},"id":{id}}}"#
            ))
            .await;
        let failed = pair.client.next().await;
        assert_eq!(failed["id"], 7);
        let message = failed["error"]["message"].as_str().unwrap();
        assert!(message.contains("or 500000 values"), "{message}");
    }
    pair.client.call(8, "t", json!({})).await;
    let asked = pair.server.next().await;
    pair.server.reply(&asked, text("short")).await;
    assert_eq!(pair.client.next().await["result"], text("short"));
}

#[tokio::test]
async fn a_call_that_requires_more_than_ten_visits_fails_without_any() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let asked = begin_lowered(&mut pair, 1, call("t", json!({}), json!({}))).await;
    // For each of them, all others would be looked through.
    let url = |id: usize| json!({"url": "https://a.example/", "elicitationId": id.to_string()});
    let urls: Vec<Value> = (0..50_000).map(url).collect();
    let error = json!({"code": -32042, "message": "m", "data": {"elicitations": urls}});
    pair.server.fail(&asked, error).await;
    let failed = pair.client.next().await;
    assert_eq!(
        failed["error"]["data"]["reason"], "url_required",
        "{failed}"
    );
    world.nothing_opened().await;
}

#[tokio::test]
async fn a_handshake_that_is_too_long_to_be_kept_is_refused() {
    let world = World::new(Ways::None).await;
    let long = "x".repeat(256 << 10);
    let mut pair = world.connect();
    let hello = json!({"protocolVersion": L11, "capabilities": {"experimental": {"x": long}},
        "clientInfo": {"name": "client", "version": "1"}});
    pair.client.request(0, "initialize", hello).await;
    assert_eq!(pair.client.next().await["error"]["code"], -32602);
    pair.server.nothing().await;
    // A server of 2025, before a client of 2026-07-28.
    let mut pair = world.connect();
    pair.client
        .request(1, "tools/call", call("t", json!({}), json!({})))
        .await;
    let asked = pair.server.next().await;
    assert_eq!(asked["method"], "server/discover");
    let mut found = crate::world::discovered();
    found["instructions"] = json!(long);
    pair.server.reply(&asked, found).await;
    let asked = pair.server.next().await;
    assert_eq!(asked["method"], "initialize");
    let result = json!({"protocolVersion": L11, "capabilities": {}, "instructions": long,
        "serverInfo": {"name": "files", "version": "1"}});
    pair.server.reply(&asked, result).await;
    let failed = pair.client.next().await;
    assert_eq!(failed["error"]["data"]["reason"], "bad_result", "{failed}");
}

#[tokio::test]
async fn a_server_does_not_fill_the_log() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::WARN);
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    for id in 0..500 {
        pair.server.raw("7").await;
        pair.server.raw("[[7]]").await;
        let question = name_form();
        pair.server
            .request(id, "elicitation/create", question)
            .await;
        settle().await;
    }
    let logged = log.take();
    assert!(
        logged.contains("skipped a message of the server"),
        "{logged}"
    );
    assert!(logged.contains("the server asks too often"), "{logged}");
    assert!(logged.lines().count() <= 30, "{logged}");
}

#[tokio::test]
async fn a_client_does_not_fill_the_log() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::INFO);
    let settings = GatewaySettings {
        approvals: vec![ApprovalRule::new(ApprovalAction::Deny).for_tool("no".parse().unwrap())],
        ..GatewaySettings::default()
    };
    let world = World::with(Ways::None, settings).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    for id in 0..100 {
        pair.client.call(id, "no", json!({})).await;
        assert_eq!(pair.client.next().await["result"]["isError"], true);
    }
    for id in 0..20 {
        pair.client.call(id, "t", json!({})).await;
        let asked = pair.server.next().await;
        let content = format!(r#"{{"content":{}}}"#, zeros(600_000));
        let response = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{content}}}"#,
            asked["id"]
        );
        pair.server.raw(&response).await;
        assert!(pair.client.next().await["error"].is_object());
    }
    let logged = log.take();
    assert!(logged.contains("a call was refused"), "{logged}");
    assert!(logged.contains("a request got no response"), "{logged}");
    assert!(logged.lines().count() <= 10, "{logged}");
}

#[tokio::test]
async fn a_request_of_a_server_has_a_short_id() {
    for ways in [Ways::None, Ways::Browser] {
        let world = World::new(ways).await;
        let mut pair = world.connect();
        pair.initialize(L11, all()).await;
        let long = "x".repeat(1 << 10);
        pair.server.ask(long.clone(), name_form()).await;
        let refused = pair.server.next().await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        assert_eq!(refused["id"], long);
        pair.client.nothing().await;
        let short = "x".repeat((1 << 10) - 2);
        pair.asked(short, name_form()).await;
    }
}

/// A round of a server of 2026-07-28 with this question.
fn round(question: Value) -> Value {
    json!({"resultType": "input_required", "requestState": "s",
        "inputRequests": {"q": {"method": "elicitation/create", "params": question}}})
}

#[tokio::test]
async fn a_question_of_a_round_has_at_most_a_mebibyte() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.client
        .request(1, "tools/call", call("t", json!({}), json!({})))
        .await;
    pair.discover().await;
    let asked = pair.server.next().await;
    let mut large = name_form();
    large["message"] = json!("x".repeat(1 << 20));
    pair.server.reply(&asked, round(large)).await;
    let refused = pair.client.next().await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    world.nothing_opened().await;
}

#[tokio::test]
async fn questions_of_rounds_take_their_principals_share_of_memory() {
    let world = World::with(Ways::Browser, with_memory(1 << 20)).await;
    let mut pair = world.connect();
    let mut large = name_form();
    large["message"] = json!("x".repeat(600 << 10));
    for id in 1..=2 {
        pair.client
            .request(id, "tools/call", call("t", json!({}), json!({})))
            .await;
        if id == 1 {
            pair.discover().await;
        }
        let asked = pair.server.next().await;
        pair.server.reply(&asked, round(large.clone())).await;
        settle().await;
    }
    assert_eq!(world.all_opened().await.len(), 1);
    let refused = pair.client.next().await;
    is_busy(&refused, 2);
}

#[tokio::test]
async fn what_calls_report_between_rounds_takes_their_principals_share_of_memory() {
    let world = World::with(Ways::Browser, with_memory(256 << 10)).await;
    let mut pair = world.connect();
    let mut params = call("t", json!({}), all());
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    pair.client.request(1, "tools/call", params.clone()).await;
    pair.lower().await;
    let asked = pair.set_level().await;
    pair.server
        .request("q", "elicitation/create", name_form())
        .await;
    world.pass(Duration::from_millis(50)).await;
    let round = pair.client.next().await;
    assert_eq!(round["result"]["resultType"], "input_required");
    for n in 0..60 {
        let log = json!({"level": "info", "data": format!("{n}{}", "x".repeat(15 << 10))});
        pair.server.notify("notifications/message", log).await;
    }
    settle().await;
    params["requestState"] = round["result"]["requestState"].clone();
    params["inputResponses"] = json!({"q1": super::accept("Ada")});
    world.clock.advance(Duration::from_secs(1));
    pair.client.request(2, "tools/call", params).await;
    pair.server.next().await;
    pair.server.reply(&asked, text("done")).await;
    let mut logs = 0;
    loop {
        let message = pair.client.next().await;
        if message["id"] == 2 {
            assert_eq!(message["result"]["content"], text("done")["content"]);
            break;
        }
        assert_eq!(message["method"], "notifications/message");
        logs += 1;
    }
    assert!((5..=16).contains(&logs), "{logs} of 60");
}

#[tokio::test]
async fn calls_that_wait_for_approval_take_their_principals_share_of_memory() {
    let settings = GatewaySettings {
        memory: 8 << 20,
        approvals: vec![ApprovalRule::new(ApprovalAction::Ask)],
        ..GatewaySettings::default()
    };
    let world = World::with(Ways::Browser, settings).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    // On a page, each value has a line of its own.
    let many: Value = serde_json::from_str(&zeros(300_000)).unwrap();
    let mut refused = None;
    for id in 1..=10 {
        pair.client.call(id, "t", json!({"list": many})).await;
        settle().await;
        if let Some(answer) = pair.client.next_if_any().await {
            refused = Some((id, answer));
            break;
        }
    }
    let (id, answer) = refused.expect("the share is used up");
    assert!(id > 1, "{answer}");
    let said = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("too many calls wait"), "{said}");
    // Deciding makes room.
    let pages = world.all_opened().await;
    world.answer(&pages[0], json!({"approve": true})).await;
    let asked = pair.server.next().await;
    pair.server.reply(&asked, text("done")).await;
    assert_eq!(pair.client.next().await["result"], text("done"));
    pair.client.call(20, "t", json!({"list": many})).await;
    assert_eq!(world.all_opened().await.len(), 1);
}

#[tokio::test]
async fn a_server_that_lists_no_tools_has_none_called_and_nobody_waits_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(Ways::None).await;
    let mut pair = world.connect_with(Policy {
        pins: Some(Pins::new(folder.path().join("tools.json"), PinMode::Block)),
        ..Policy::default()
    });
    pair.initialize(L11, all()).await;
    pair.client.call(1, "t", json!({})).await;
    assert_eq!(pair.server.next().await["method"], "tools/list");
    world.pass(Duration::from_secs(10)).await;
    let refused = pair.client.next().await;
    assert_eq!(
        refused["error"]["data"]["reason"], "tool_changed",
        "{refused}"
    );
    let cancelled = pair.server.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    // It is not asked for each call.
    pair.client.call(2, "t", json!({})).await;
    assert_eq!(pair.client.next().await["id"], 2);
    pair.server.nothing().await;
    // It is asked again after a while.
    world.pass(Duration::from_secs(30)).await;
    pair.client.call(3, "t", json!({})).await;
    let asked = pair.server.next().await;
    let tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    pair.server.reply(&asked, tools).await;
    let asked = pair.server.next().await;
    assert_eq!(asked["params"]["name"], "t");
}

#[tokio::test]
async fn a_list_of_tools_that_all_have_changed_costs_linear_time() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(Ways::None).await;
    let mut pair = world.connect_with(Policy {
        pins: Some(Pins::new(folder.path().join("tools.json"), PinMode::Block)),
        ..Policy::default()
    });
    pair.initialize(L11, all()).await;
    let many: Vec<Value> = (0..100_000)
        .map(|n| json!({"name": format!("t{n}")}))
        .collect();
    for (tools, offered) in [(vec![json!({"name": "a"})], 1), (many, 0)] {
        pair.client.request(1, "tools/list", json!({})).await;
        let asked = pair.server.next().await;
        pair.server.reply(&asked, json!({"tools": tools})).await;
        let listed = pair.client.next().await;
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), offered);
    }
}
