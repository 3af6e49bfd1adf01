//! Clients and servers of 2026-07-28.

use std::time::Duration;

use entreat_gateway::{GatewaySettings, Root};
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

/// A gateway that offers a folder besides those of the client.
async fn with_root(ways: Ways, fulfils: bool) -> World {
    let root = Root {
        uri: "file:///srv".to_owned(),
        name: None,
    };
    let settings = GatewaySettings {
        roots: vec![root],
        fulfils,
        ..GatewaySettings::default()
    };
    World::with(ways, settings).await
}

#[tokio::test]
async fn folders_of_the_gateway_are_offered_to_servers_of_this_version_too() {
    for (ways, fulfils, roots) in [
        (Ways::Browser, true, json!({})),
        (Ways::Browser, true, json!({"roots": {}})),
        (Ways::None, false, json!({})),
        (Ways::None, false, json!({"roots": {}})),
    ] {
        let world = with_root(ways, fulfils).await;
        let mut pair = world.connect();
        let mut capabilities = roots.clone();
        capabilities["elicitation"] = json!({"form": {}, "url": {}});
        first(&mut pair, capabilities.clone()).await;
        let params = call(capabilities.clone());
        pair.client.request(1, "tools/call", params.clone()).await;
        let asked = pair.server.next().await;
        let told = &asked["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(told["roots"], json!({}), "{told}");
        let round = json!({"resultType": "input_required", "requestState": "theirs",
            "inputRequests": {"r": {"method": "roots/list", "params": {}}}});
        pair.server.reply(&asked, round).await;
        let mut expected = vec![json!({"uri": "file:///srv"})];
        if roots != json!({}) {
            world.pass(Duration::from_millis(50)).await;
            let shown = pair.client.next().await;
            let requests = shown["result"]["inputRequests"].as_object().unwrap();
            let key = requests.keys().next().unwrap();
            let mut params = params;
            params["requestState"] = shown["result"]["requestState"].clone();
            params["inputResponses"] = json!({key: {"roots": [{"uri": "file:///home"}]}});
            pair.client.request(2, "tools/call", params).await;
            expected.insert(0, json!({"uri": "file:///home"}));
        }
        let retry = pair.server.next().await;
        let listed = &retry["params"]["inputResponses"]["r"]["roots"];
        assert_eq!(listed.as_array(), Some(&expected));
        pair.server.reply(&retry, complete(text("done"))).await;
        assert_eq!(pair.client.next().await["result"], complete(text("done")));
    }
}
