//! Servers that fail, or come back.

use std::time::Duration;

use entreat_gateway::GatewaySettings;
use serde_json::{Value, json};

use super::several::{Several, each, greet_new, greet_old, hello};
use crate::world::{Peer, Ways, modern, settle, text};

fn tools(name: &str) -> Value {
    json!([{"name": name, "inputSchema": {"type": "object"}}])
}

async fn serve_tools(server: &mut Peer, name: &str) {
    let asked = server.next().await;
    assert_eq!(asked["method"], "tools/list", "{asked}");
    let listed = json!({"tools": tools(name), "resultType": "complete"});
    server.reply(&asked, listed).await;
}

#[tokio::test]
async fn a_server_that_is_down_leaves_the_others_alone_and_is_announced_when_it_is_back() {
    for is_modern in [false, true] {
        let mut several = Several::silent(Ways::None, GatewaySettings::default()).await;
        several.connections["new"].refuse(true);
        let params = |params: Value| {
            if is_modern {
                modern(params, json!({}))
            } else {
                params
            }
        };
        let begin = if is_modern {
            ("server/discover", params(json!({})))
        } else {
            ("initialize", hello(json!({})))
        };
        several.client.request(0, begin.0, begin.1).await;
        let mut old = several.connections["old"].newest().await;
        greet_old(&mut old, is_modern).await;
        let told = several.client.next().await;
        let instructions = &told["result"]["instructions"];
        assert_eq!(
            *instructions,
            "# old\n\nBe old.\n\n# new\n\nThis server is not available now."
        );
        if is_modern {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            several
                .client
                .request("s", "subscriptions/listen", params(filter))
                .await;
            let acknowledged = several.client.next().await;
            let filter = &acknowledged["params"]["notifications"];
            assert_eq!(*filter, json!({"toolsListChanged": true}));
        } else {
            several
                .client
                .notify("notifications/initialized", json!({}))
                .await;
            old.next().await;
        }
        several
            .client
            .request(1, "tools/list", params(json!({})))
            .await;
        serve_tools(&mut old, "t").await;
        let listed = several.client.next().await["result"].clone();
        assert_eq!(each(&listed["tools"], "name"), ["old__t"]);
        let call = params(json!({"name": "new__t"}));
        several.client.request(2, "tools/call", call).await;
        serve_tools(&mut old, "t").await;
        let answer = several.client.next().await;
        let message = answer["error"]["message"].as_str().unwrap();
        assert_eq!(
            message,
            "Unknown tool: new__t (servers that are not available now: new)"
        );

        several.connections["new"].refuse(false);
        several.world.pass(Duration::from_secs(1)).await;
        let mut new = several.connections["new"].newest().await;
        greet_new(&mut new, is_modern).await;
        let changed = several.client.next().await;
        assert_eq!(changed["method"], "notifications/tools/list_changed");
        several
            .client
            .request(3, "tools/list", params(json!({})))
            .await;
        serve_tools(&mut old, "t").await;
        let asked = loop {
            let asked = new.next().await;
            if asked["method"] == "tools/list" {
                break asked;
            }
        };
        let page = json!({"tools": tools("t"), "resultType": "complete"});
        new.reply(&asked, page).await;
        let listed = loop {
            let message = several.client.next().await;
            if message["id"] == 3 {
                break message;
            }
        };
        let names = each(&listed["result"]["tools"], "name");
        assert_eq!(names, ["new__t", "old__t"]);
    }
}

#[tokio::test]
async fn a_server_that_dies_is_started_again_with_what_the_client_had_set() {
    let (mut several, _) = Several::legacy(Ways::None, json!({"roots": {}})).await;
    let listed = several
        .list("tools/list", json!({}), "tools", [tools("t"), tools("t")])
        .await;
    assert_eq!(each(&listed["tools"], "name"), ["new__t", "old__t"]);
    let level = json!({"level": "error"});
    several
        .client
        .request(1, "logging/setLevel", level.clone())
        .await;
    let asked = several.old.next().await;
    several.old.reply(&asked, json!({})).await;
    several.client.next().await;
    let watched = json!({"uri": "old+file:///a"});
    several
        .client
        .request(2, "resources/subscribe", watched)
        .await;
    let asked = several.old.next().await;
    several.old.reply(&asked, json!({})).await;
    several.client.next().await;

    several.client.call(3, "old__t", json!({})).await;
    several.old.next().await;
    several.old.request(0, "roots/list", json!({})).await;
    let question = several.client.next().await;
    // Its end ends its call and its question, and nothing of the other server.
    several.client.call(4, "new__t", json!({})).await;
    let new_call = several.new.next().await;
    several.old = Peer::new(tokio::io::duplex(1).0);
    settle().await;
    let failed = several.client.next().await;
    assert_eq!(failed["id"], 3);
    assert_eq!(failed["error"]["data"]["mayHaveRun"], true, "{failed}");
    let cancelled = several.client.next().await;
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
    // A call meanwhile waits until it is back.
    several.client.call(5, "old__t", json!({})).await;
    several.client.nothing().await;

    several.world.pass(Duration::from_millis(100)).await;
    several.old = several.connections["old"].newest().await;
    greet_old(&mut several.old, false).await;
    let mut restored = Vec::new();
    let call = loop {
        let asked = several.old.next().await;
        let method = asked["method"].as_str().unwrap().to_owned();
        match method.as_str() {
            "tools/call" => break asked,
            "notifications/initialized" => {}
            _ => several.old.reply(&asked, json!({})).await,
        }
        restored.push((method, asked["params"].clone()));
    };
    several.old.reply(&call, text("again")).await;
    settle().await;
    while restored.len() < 3 {
        let asked = several.old.next().await;
        several.old.reply(&asked, json!({})).await;
        let method = asked["method"].as_str().unwrap().to_owned();
        restored.push((method, asked["params"].clone()));
    }
    assert_eq!(
        restored,
        [
            ("notifications/initialized".to_owned(), json!({})),
            ("logging/setLevel".to_owned(), level),
            (
                "resources/subscribe".to_owned(),
                json!({"uri": "file:///a"})
            ),
        ]
    );
    let mut told = Vec::new();
    for _ in 0..4 {
        let message = several.client.next().await;
        told.push(message["method"].as_str().unwrap_or("response").to_owned());
    }
    told.sort();
    assert_eq!(
        told,
        [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/tools/list_changed",
            "response",
        ]
    );
    several
        .new
        .reply(&new_call, json!({"content": [], "resultType": "complete"}))
        .await;
    assert_eq!(several.client.next().await["id"], 4);
}

#[tokio::test]
async fn a_server_that_hangs_holds_a_list_up_for_a_while_only() {
    let (mut several, _) = Several::legacy(Ways::None, json!({})).await;
    several.client.request(1, "tools/list", json!({})).await;
    several.old.next().await;
    serve_tools(&mut several.new, "t").await;
    several.client.nothing().await;
    several.world.pass(Duration::from_secs(10)).await;
    let listed = several.client.next().await["result"].clone();
    assert_eq!(each(&listed["tools"], "name"), ["new__t"]);
    let cancelled = several.old.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
}

#[tokio::test]
async fn a_server_that_hangs_at_its_start_is_waited_for_once() {
    let mut several = Several::silent(Ways::None, GatewaySettings::default()).await;
    several
        .client
        .request(0, "initialize", hello(json!({})))
        .await;
    let mut old = several.connections["old"].newest().await;
    greet_old(&mut old, false).await;
    let mut new = several.connections["new"].newest().await;
    several.client.nothing().await;
    several.world.pass(Duration::from_secs(10)).await;
    assert!(several.client.next().await.get("result").is_some());
    several.client.request(1, "tools/list", json!({})).await;
    serve_tools(&mut old, "t").await;
    let listed = several.client.next().await["result"].clone();
    assert_eq!(each(&listed["tools"], "name"), ["old__t"]);
    // When it responds after all, it is there.
    several.client.nothing().await;
    greet_new(&mut new, false).await;
    let changed = several.client.next().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn without_any_server_the_client_is_told_why() {
    let mut several = Several::silent(Ways::None, GatewaySettings::default()).await;
    for connections in several.connections.values() {
        connections.refuse(true);
    }
    several
        .client
        .request(1, "initialize", hello(json!({})))
        .await;
    let answer = several.client.next().await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains(r#""old": it is down; "new": it is down"#),
        "{message}"
    );
}
