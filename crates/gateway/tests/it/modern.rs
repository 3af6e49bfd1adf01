//! Clients and servers of 2026-07-28.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Pair, Ways, World, discovered, modern, name_form, text};

async fn first(pair: &mut Pair, capabilities: Value) {
    pair.client
        .request(0, "server/discover", modern(json!({}), capabilities))
        .await;
    pair.discover().await;
    assert_eq!(pair.client.next().await["result"], discovered());
}

fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result
}

fn call(capabilities: Value) -> Value {
    modern(json!({"name": "t", "arguments": {"n": 1}}), capabilities)
}

fn round() -> Value {
    json!({"resultType": "input_required", "requestState": "theirs",
        "inputRequests": {"a": {"method": "elicitation/create", "params": name_form()},
            "b": {"method": "roots/list", "params": {}}}})
}

#[tokio::test]
async fn rounds_that_the_client_can_answer_pass_byte_for_byte() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "roots": {}});
    first(&mut pair, capabilities.clone()).await;
    let asked =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call(capabilities)});
    let line = asked.to_string();
    pair.client.raw(&line).await;
    assert_eq!(pair.server.line().await, line);
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"requestState":"\u0061","inputRequests":{"z":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"x-a":1.0,"properties":{},"type":"object"}}}},"resultType":"input_required"}}"#;
    pair.server.raw(result).await;
    assert_eq!(pair.client.line().await, result);
    world.nothing_opened().await;
}

#[tokio::test]
async fn a_client_that_shows_nothing_gets_state_only_rounds_while_the_page_is_open() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let capabilities = json!({"roots": {}});
    first(&mut pair, capabilities.clone()).await;
    pair.client
        .request(1, "tools/call", call(capabilities.clone()))
        .await;
    let asked = pair.server.next().await;
    let told = &asked["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(
        *told,
        json!({"roots": {}, "elicitation": {"form": {}, "url": {}}})
    );
    pair.server.reply(&asked, round()).await;
    let page = world.opened().await;
    // What the client answers itself comes in its first round.
    world.pass(Duration::from_millis(50)).await;
    let first = pair.client.next().await;
    let requests = first["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1);
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "roots/list");
    let mut params = call(capabilities.clone());
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] = json!({key: {"roots": []}});
    pair.client.request(2, "tools/call", params).await;
    pair.client.nothing().await;
    world.pass(Duration::from_secs(25)).await;
    let waiting = pair.client.next().await;
    assert_eq!(waiting["result"]["resultType"], "input_required");
    assert!(waiting["result"].get("inputRequests").is_none());
    let mut params = call(capabilities);
    params["requestState"] = waiting["result"]["requestState"].clone();
    pair.client.request(3, "tools/call", params).await;
    world.answer(&page, json!({"name": "Ada"})).await;
    let retry = pair.server.next().await;
    assert_eq!(retry["params"]["requestState"], "theirs");
    assert_eq!(
        retry["params"]["inputResponses"],
        json!({"a": {"action": "accept",
        "content": {"name": "Ada"}}, "b": {"roots": []}})
    );
    pair.server.reply(&retry, complete(text("done"))).await;
    let done = pair.client.next().await;
    assert_eq!(
        (&done["id"], &done["result"]),
        (&json!(3), &complete(text("done")))
    );
}

#[tokio::test]
async fn the_state_of_a_gateway_behind_this_one_is_not_taken_for_ours() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "roots": {}});
    first(&mut pair, capabilities.clone()).await;
    let mut state = "entreat1.AgAA".to_owned();
    // The state of a gateway behind the one behind this one is marked already.
    for id in [1, 3] {
        pair.client
            .request(id, "tools/call", call(capabilities.clone()))
            .await;
        let asked = pair.server.next().await;
        let mut theirs = round();
        theirs["requestState"] = json!(state);
        pair.server.reply(&asked, theirs).await;
        let first = pair.client.next().await;
        assert_eq!(first["result"]["inputRequests"], round()["inputRequests"]);
        let mut params = call(capabilities.clone());
        params["requestState"] = first["result"]["requestState"].clone();
        params["inputResponses"] = json!({"b": {"roots": []}});
        pair.client
            .request(id + 1, "tools/call", params.clone())
            .await;
        let retry = pair.server.next().await;
        let expected = std::mem::take(&mut state);
        params["requestState"] = json!(expected);
        assert_eq!(retry["params"], params);
        pair.server.reply(&retry, complete(text("done"))).await;
        assert_eq!(pair.client.next().await["result"], complete(text("done")));
        state = first["result"]["requestState"].as_str().unwrap().to_owned();
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_version_that_it_names_is_asked_once_more() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    let asked = modern(json!({}), json!({}));
    pair.client.request(0, "server/discover", asked).await;
    let asked = pair.server.next().await;
    let error = json!({"code": -32022, "message": "Unsupported protocol version",
        "data": {"supported": ["2026-07-28"], "requested": "2026-07-28"}});
    pair.server.fail(&asked, error).await;
    pair.discover().await;
    assert_eq!(pair.client.next().await["result"], discovered());
}
