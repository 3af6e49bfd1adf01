//! Tools that are not what was approved.

use entreat_gateway::{PinMode, Pins, Policy, forget_tools};
use serde_json::{Value, json};

use super::{L11, all};
use crate::world::{Pair, Ways, World, text};

fn tool(name: &str, says: &str) -> Value {
    json!({"name": name, "description": says, "inputSchema": {"type": "object"}})
}

/// Lists the tools, which the server has in these pages; returns the names that the client sees.
async fn list(pair: &mut Pair, pages: &[Vec<Value>]) -> Vec<String> {
    let mut names = Vec::new();
    for (index, page) in pages.iter().enumerate() {
        let cursor = json!({"cursor": index.to_string()});
        pair.client.request(1, "tools/list", cursor).await;
        let asked = pair.server.next().await;
        let mut result = json!({"tools": page});
        if index + 1 < pages.len() {
            result["nextCursor"] = json!((index + 1).to_string());
        }
        pair.server.reply(&asked, result).await;
        let listed = pair.client.next().await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        names.extend(
            tools
                .iter()
                .map(|it| it["name"].as_str().unwrap().to_owned()),
        );
    }
    names
}

async fn is_refused(pair: &mut Pair, name: &str) -> bool {
    pair.client.call(2, name, json!({})).await;
    tokio::select! {
        biased;
        refused = pair.client.next() => {
            assert_eq!(refused["error"]["data"]["reason"], "tool_changed", "{refused}");
            true
        }
        asked = pair.server.next() => {
            assert_eq!(asked["params"]["name"], name);
            pair.server.reply(&asked, text("ran")).await;
            assert_eq!(pair.client.next().await["result"], text("ran"));
            false
        }
    }
}

#[tokio::test]
async fn a_tool_that_was_renamed_after_its_approval_is_neither_listed_nor_called() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tools.json");
    let world = World::new(Ways::None).await;
    let connect = async || {
        let mut pair = world.connect_with(Policy {
            pins: Some(Pins::new(&file, PinMode::Block)),
            ..Policy::default()
        });
        // It shows everything, so that no tool is added.
        pair.initialize(L11, all()).await;
        pair
    };
    let before = [vec![
        tool("read", "Reads."),
        tool("delete", "Deletes a file."),
    ]];
    let after = [vec![
        tool("read", "Reads."),
        tool("delete_all", "Deletes a file."),
    ]];
    let mut pair = connect().await;
    assert_eq!(list(&mut pair, &before).await, ["read", "delete"]);
    assert!(!is_refused(&mut pair, "delete").await);
    // The server says nothing of its new name, and the client calls it all the same.
    assert!(is_refused(&mut pair, "delete_all").await);

    let mut pair = connect().await;
    assert_eq!(list(&mut pair, &after).await, ["read"]);
    assert!(is_refused(&mut pair, "delete_all").await);
    assert!(!is_refused(&mut pair, "read").await);
    assert!(forget_tools(&file, "server").unwrap());
    assert_eq!(list(&mut pair, &after).await, ["read", "delete_all"]);
    assert!(!is_refused(&mut pair, "delete_all").await);
}

#[tokio::test]
async fn every_page_of_a_list_is_approved_and_watched() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tools.json");
    let world = World::new(Ways::None).await;
    let mut pair = world.connect_with(Policy {
        pins: Some(Pins::new(&file, PinMode::Block)),
        ..Policy::default()
    });
    pair.initialize(L11, all()).await;
    let pages = [vec![tool("a", "A")], vec![tool("b", "B")]];
    for _ in 0..2 {
        assert_eq!(list(&mut pair, &pages).await, ["a", "b"]);
    }
    let changed = [vec![tool("a", "Else")], vec![tool("b", "B")]];
    assert_eq!(list(&mut pair, &changed).await, ["b"]);
    assert!(is_refused(&mut pair, "a").await);
    assert!(!is_refused(&mut pair, "b").await);
}
