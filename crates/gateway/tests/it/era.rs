//! Servers that are spoken to in 2025 although client and server could do better.

use entreat_gateway::UpstreamEra;
use serde_json::{Value, json};

use crate::world::{Pair, Peer, Ways, World, modern, name_form, text};

/// How the Python SDK's servers refuse to push a question since 2026-07-28.
const NO_BACK_CHANNEL: &str = "Cannot send 'elicitation/create': this transport context has no \
                               back-channel for server-initiated requests.";

async fn call(client: &mut Peer, id: u32) {
    let params = modern(json!({"name": "greet", "arguments": {}}), json!({}));
    client.request(id, "tools/call", params).await;
}

/// Has the server take the handshake of 2025.
async fn take_handshake(pair: &mut Pair) {
    let told = pair.server.next().await;
    assert_eq!(told["method"], "initialize", "{told}");
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "greeter", "version": "1"}});
    pair.server.reply(&told, result).await;
    let initialized = pair.server.next().await;
    assert_eq!(initialized["method"], "notifications/initialized");
}

/// Has a server refuse to ask in 2026-07-28; returns what the client gets.
async fn refused(pair: &mut Pair) -> Value {
    call(&mut pair.client, 1).await;
    pair.discover().await;
    let called = pair.server.next().await;
    let error = json!({"code": -32600, "message": NO_BACK_CHANNEL});
    pair.server.fail(&called, error).await;
    let error = pair.client.next().await["error"].clone();
    assert_eq!(error["code"], -32600);
    error
}

#[tokio::test]
async fn a_server_that_asks_as_in_2025_is_spoken_to_so_if_the_option_says_it() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect_changed(|upstream| upstream.era = UpstreamEra::Legacy);
    call(&mut pair.client, 1).await;
    take_handshake(&mut pair).await;
    let called = pair.server.next().await;
    pair.server.ask(0, name_form()).await;
    let page = world.opened().await;
    world.answer(&page, json!({"name": "Ada"})).await;
    assert_eq!(pair.server.next().await["result"]["action"], "accept");
    pair.server.reply(&called, text("done")).await;
    let result = pair.client.next().await;
    assert_eq!(result["result"]["content"], text("done")["content"]);
}

#[tokio::test]
async fn a_server_that_cannot_ask_in_2026_is_spoken_to_in_2025_from_the_next_call_on() {
    let world = World::new(Ways::Browser).await;
    let url = Some("https://example.com/mcp".to_owned());
    let mut pair = world.connect_changed(|upstream| upstream.url = url);
    let error = refused(&mut pair).await;
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains(NO_BACK_CHANNEL), "{said}");
    assert!(said.contains("from the next call on"), "{said}");
    // The call is not sent again by itself.
    pair.server.nothing().await;
    call(&mut pair.client, 2).await;
    take_handshake(&mut pair).await;
    assert_eq!(pair.server.next().await["method"], "tools/call");
}

#[tokio::test]
async fn a_process_takes_one_handshake_so_the_error_names_the_option() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect_changed(|_| {});
    let error = refused(&mut pair).await;
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains("`entreat wrap --era legacy`"), "{said}");
    assert!(!said.contains("from the next call on"), "{said}");
    call(&mut pair.client, 2).await;
    assert_eq!(pair.server.next().await["method"], "tools/call");

    // A new process is spoken to in 2025, and in 2026-07-28 again if it does not take that.
    let mut pair = world.connect_changed(|_| {});
    call(&mut pair.client, 1).await;
    let told = pair.server.next().await;
    assert_eq!(told["method"], "initialize", "{told}");
    let error = json!({"code": -32601, "message": "Method not found"});
    pair.server.fail(&told, error).await;
    pair.discover().await;
    assert_eq!(pair.server.next().await["method"], "tools/call");
}
