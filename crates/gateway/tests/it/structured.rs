//! Results of ours in place of those of tools whose results have a schema.

use serde_json::{Value, json};

use crate::world::{Pair, Ways, World, modern, name_form, text};

const L11: &str = "2025-11-25";

/// Two tools, of which one has a schema for its results.
fn tools() -> Value {
    json!({"resultType": "complete", "tools": [
        {"name": "greet", "inputSchema": {}, "outputSchema": {"type": "object"}},
        {"name": "say", "inputSchema": {}}]})
}

/// Has the server list its tools.
async fn list(pair: &mut Pair) {
    let asked = pair.server.next().await;
    assert_eq!(asked["method"], "tools/list", "{asked}");
    pair.server.reply(&asked, tools()).await;
}

/// The address of the page and the handle in a result, which clients take although it has no
/// structured content.
fn link_in_error(linked: &Value) -> (String, String) {
    let result = &linked["result"];
    assert_eq!(result["isError"], true, "{linked}");
    let said = result["content"][0]["text"].as_str().expect("a text");
    assert!(said.starts_with("This is not a failure"), "{said}");
    let url = said
        .split_whitespace()
        .find(|it| it.starts_with("https://"));
    let (_, rest) = said.split_once("\"question\": \"").expect("a handle");
    let handle = rest.split('"').next().expect("its end");
    (url.expect("an address").to_owned(), handle.to_owned())
}

#[tokio::test]
async fn the_link_reaches_clients_that_check_results_against_the_schema() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect_listing();
    pair.initialize(L11, json!({})).await;
    pair.client.request(1, "tools/list", json!({})).await;
    list(&mut pair).await;
    pair.client.next().await;

    let call = pair.called(2, "greet", json!({})).await;
    let linked = pair.asked(0, name_form()).await;
    let (page, handle) = link_in_error(&linked);
    world.answer(&page, json!({"name": "Ada"})).await;
    pair.server.next().await;
    let done = json!({"content": [], "structuredContent": {"result": "Ada"}});
    pair.server.reply(&call, done.clone()).await;
    let arguments = json!({"question": handle});
    pair.client.call(3, "resume_question", arguments).await;
    assert_eq!(pair.client.next().await["result"], done);

    pair.called(4, "say", json!({})).await;
    let linked = pair.asked(1, name_form()).await;
    assert_eq!(linked["result"].get("isError"), None, "{linked}");
}

#[tokio::test]
async fn tools_that_the_client_has_not_listed_are_looked_up_before_the_link() {
    // The Python SDK lists them only when it has the result.
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect_listing();
    pair.initialize(L11, json!({})).await;
    pair.called(1, "greet", json!({})).await;
    pair.server.ask(0, name_form()).await;
    list(&mut pair).await;
    link_in_error(&pair.client.next().await);
}

#[tokio::test]
async fn rounds_of_2026_give_the_link_in_an_error_too_and_resume_question_without_one() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect_listing();
    let listing = modern(json!({}), json!({}));
    pair.client.request(1, "tools/list", listing).await;
    pair.lower().await;
    list(&mut pair).await;
    pair.client.next().await;
    let params = modern(json!({"name": "greet", "arguments": {}}), json!({}));
    pair.client.request(2, "tools/call", params).await;
    let call = pair.server.next().await;
    pair.server.ask(0, name_form()).await;
    let (page, handle) = link_in_error(&pair.client.next().await);
    world.answer(&page, json!({"name": "Ada"})).await;
    pair.server.next().await;
    // The call asks again: the result of `resume_question`, which has no schema, has the link.
    let resume = json!({"name": "resume_question", "arguments": {"question": handle}});
    pair.client
        .request(3, "tools/call", modern(resume, json!({})))
        .await;
    pair.server.ask(1, name_form()).await;
    let linked = pair.client.next().await;
    assert_eq!(linked["result"].get("isError"), None, "{linked}");
    pair.server.reply(&call, text("done")).await;
}

#[tokio::test]
async fn resume_question_without_its_argument_says_what_is_missing() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    pair.client.request(1, "tools/list", json!({})).await;
    list(&mut pair).await;
    pair.client.next().await;
    pair.client.call(2, "resume_question", json!({})).await;
    let refused = pair.client.next().await["result"].clone();
    let said = refused["content"][0]["text"].as_str().expect("a text");
    assert!(said.starts_with("`question` is required"), "{said}");
}
