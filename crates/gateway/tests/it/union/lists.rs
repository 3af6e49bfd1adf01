//! What a client sees of several servers, and how it gets at each.

use std::time::Duration;

use entreat_gateway::GatewaySettings;
use serde_json::{Value, json};

use super::several::{Several, each};
use crate::world::{Ways, complete, modern, text};

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}, "x-note": 1.5})
}

/// Parameters in the client's version.
fn params(is_modern: bool, params: Value) -> Value {
    if is_modern {
        modern(params, json!({}))
    } else {
        params
    }
}

async fn client_of(is_modern: bool) -> (Several, Value) {
    if is_modern {
        Several::modern(Ways::None, json!({})).await
    } else {
        Several::legacy(Ways::None, json!({})).await
    }
}

#[tokio::test]
async fn the_union_says_what_its_servers_have_together() {
    for is_modern in [false, true] {
        let (_several, told) = client_of(is_modern).await;
        assert_eq!(
            told["capabilities"],
            json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true},
                "resources": {"listChanged": true, "subscribe": true}, "completions": {},
                "logging": {}})
        );
        assert_eq!(told["instructions"], "# old\n\nBe old.\n\n# new\n\nBe new.");
        if is_modern {
            assert_eq!(told["supportedVersions"], json!(["2026-07-28"]));
            let info = &told["_meta"]["io.modelcontextprotocol/serverInfo"];
            assert_eq!(info["name"], "entreat");
        } else {
            assert_eq!(told["protocolVersion"], "2025-11-25");
            assert_eq!(told["serverInfo"]["name"], "entreat");
        }
    }
}

#[tokio::test]
async fn tools_of_one_name_are_told_apart_and_called_by_their_own() {
    for is_modern in [false, true] {
        let (mut several, _) = client_of(is_modern).await;
        let long = "l".repeat(70);
        let asked = params(is_modern, json!({}));
        let listed = several
            .list(
                "tools/list",
                asked,
                "tools",
                [
                    json!([tool("read"), tool(&long), tool("read")]),
                    json!([tool("read"), tool("odd__name")]),
                ],
            )
            .await;
        let names = each(&listed["tools"], "name");
        assert_eq!(names.len(), 4, "{names:?}");
        assert_eq!(names[..2], ["new__odd__name", "new__read"]);
        assert_eq!(names[3], "old__read");
        let cut = names[2].clone();
        assert!(cut.starts_with("old__lllll") && cut.len() == 64, "{cut}");
        assert_eq!(listed["tools"][3]["x-note"], 1.5);
        assert_eq!(listed.get("ttlMs").is_some(), is_modern);

        for (id, (known, own)) in [("old__read", "read"), (&cut, &long)]
            .into_iter()
            .enumerate()
        {
            let asked = params(is_modern, json!({"name": known, "arguments": {"n": 1.50}}));
            several.client.request(id, "tools/call", asked).await;
            let called = several.old.next().await;
            assert_eq!(called["params"]["name"], *own, "{called}");
            assert_eq!(called["params"]["arguments"], json!({"n": 1.5}));
            let link = json!({"content": [{"type": "resource_link", "uri": "file:///a",
                "name": "a"}]});
            several.old.reply(&called, link).await;
            let answer = several.client.next().await;
            assert_eq!(answer["id"], id);
            assert_eq!(answer["result"]["content"][0]["uri"], "old+file:///a");
        }
        for (known, own) in [("new__read", "read"), ("new__odd__name", "odd__name")] {
            let asked = params(is_modern, json!({"name": known}));
            several.client.request("x", "tools/call", asked).await;
            let called = several.new.next().await;
            assert_eq!(called["params"]["name"], own, "{called}");
            several.new.reply(&called, complete(text("done"))).await;
            let answer = several.client.next().await;
            assert_eq!(answer["result"]["content"], text("done")["content"]);
        }
    }
}

#[tokio::test]
async fn a_name_that_was_not_listed_here_is_looked_up() {
    for is_modern in [false, true] {
        let (mut several, _) = client_of(is_modern).await;
        let asked = params(is_modern, json!({"name": "old__read"}));
        several.client.request(1, "tools/call", asked).await;
        let entries = (json!([tool("read")]), json!([]));
        several
            .serve_lists("tools/list", "tools", entries.0, entries.1)
            .await;
        let called = several.old.next().await;
        assert_eq!(called["params"]["name"], "read");
        several.old.reply(&called, text("done")).await;
        assert_eq!(several.client.next().await["id"], 1);
        for unknown in ["old__write", "read", "other__read"] {
            let asked = params(is_modern, json!({"name": unknown}));
            several.client.request(2, "tools/call", asked).await;
            let answer = several.client.next().await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        several.old.nothing().await;
        several.new.nothing().await;
    }
}

#[tokio::test]
async fn lists_are_paged_by_their_last_entry() {
    let settings = GatewaySettings {
        page: 2,
        ..GatewaySettings::default()
    };
    let (mut several, _) = Several::legacy_with(Ways::None, settings, json!({})).await;
    several.client.request(1, "resources/list", json!({})).await;
    let resource = |uri: &str| json!({"uri": uri, "name": uri});
    // The server's own pages.
    let asked = several.old.next().await;
    let page = json!({"resources": [resource("a:3"), resource("a:1")], "nextCursor": "more"});
    several.old.reply(&asked, page).await;
    let asked = several.old.next().await;
    assert_eq!(asked["params"]["cursor"], "more");
    several
        .old
        .reply(&asked, json!({"resources": [resource("a:2")]}))
        .await;
    let asked = several.new.next().await;
    let page = complete(json!({"resources": [resource("ui://app")]}));
    several.new.reply(&asked, page).await;
    let first = several.client.next().await["result"].clone();
    assert_eq!(each(&first["resources"], "uri"), ["old+a:1", "old+a:2"]);
    let cursor = first["nextCursor"].clone();
    several
        .client
        .request(2, "resources/list", json!({"cursor": cursor}))
        .await;
    let second = several.client.next().await["result"].clone();
    assert_eq!(
        each(&second["resources"], "uri"),
        ["old+a:3", "ui://new+app"]
    );
    assert!(second.get("nextCursor").is_none(), "{second}");
    several
        .client
        .request(3, "resources/list", json!({"cursor": "!"}))
        .await;
    assert_eq!(several.client.next().await["error"]["code"], -32602);
}

#[tokio::test]
async fn prompts_and_templates_are_completed_by_their_servers() {
    for is_modern in [false, true] {
        let (mut several, _) = client_of(is_modern).await;
        let prompt = || json!([{"name": "greet"}]);
        let asked = params(is_modern, json!({}));
        let listed = several
            .list(
                "prompts/list",
                asked.clone(),
                "prompts",
                [prompt(), prompt()],
            )
            .await;
        assert_eq!(
            each(&listed["prompts"], "name"),
            ["new__greet", "old__greet"]
        );
        let templates = several
            .list(
                "resources/templates/list",
                asked,
                "resourceTemplates",
                [
                    json!([{"uriTemplate": "file:///{path}", "name": "f"}]),
                    json!([]),
                ],
            )
            .await;
        let templates = each(&templates["resourceTemplates"], "uriTemplate");
        assert_eq!(templates, ["old+file:///{path}"]);

        let argument = json!({"name": "path", "value": "a"});
        for (reference, own) in [
            (
                json!({"type": "ref/prompt", "name": "old__greet"}),
                json!({"type": "ref/prompt", "name": "greet"}),
            ),
            (
                json!({"type": "ref/resource", "uri": "old+file:///{path}"}),
                json!({"type": "ref/resource", "uri": "file:///{path}"}),
            ),
        ] {
            let asked = params(is_modern, json!({"ref": reference, "argument": argument}));
            several
                .client
                .request(1, "completion/complete", asked)
                .await;
            let called = several.old.next().await;
            assert_eq!(called["method"], "completion/complete");
            assert_eq!(called["params"]["ref"], own);
            assert_eq!(called["params"]["argument"], argument);
            several
                .old
                .reply(&called, json!({"completion": {"values": ["ab"]}}))
                .await;
            let answer = several.client.next().await;
            assert_eq!(answer["result"]["completion"]["values"], json!(["ab"]));
        }

        let asked = params(
            is_modern,
            json!({"name": "new__greet", "arguments": {"a": "b"}}),
        );
        several.client.request(2, "prompts/get", asked).await;
        let called = several.new.next().await;
        assert_eq!(called["params"]["name"], "greet");
        let got = json!({"messages": [{"role": "user", "content": {"type": "resource",
            "resource": {"uri": "note:1", "text": "n"}}}]});
        several.new.reply(&called, complete(got)).await;
        let answer = several.client.next().await;
        let content = &answer["result"]["messages"][0]["content"];
        assert_eq!(content["resource"]["uri"], "new+note:1", "{answer}");
    }
}

#[tokio::test]
async fn resources_are_read_and_watched_under_their_uris() {
    let (mut several, _) = Several::legacy(Ways::None, json!({})).await;
    several
        .client
        .request(1, "resources/read", json!({"uri": "old+file:///a+b"}))
        .await;
    let called = several.old.next().await;
    assert_eq!(called["params"], json!({"uri": "file:///a+b"}));
    let contents = json!({"contents": [{"uri": "file:///a+b", "text": "t"}]});
    several.old.reply(&called, contents).await;
    let answer = several.client.next().await;
    assert_eq!(answer["result"]["contents"][0]["uri"], "old+file:///a+b");
    several
        .client
        .request(2, "resources/read", json!({"uri": "file:///a"}))
        .await;
    assert_eq!(several.client.next().await["error"]["code"], -32002);

    let watched = json!({"uri": "old+file:///a"});
    several
        .client
        .request(3, "resources/subscribe", watched.clone())
        .await;
    let called = several.old.next().await;
    assert_eq!(called["params"], json!({"uri": "file:///a"}));
    several.old.reply(&called, json!({})).await;
    assert_eq!(several.client.next().await["result"], json!({}));
    let updated = json!({"uri": "file:///a"});
    several
        .old
        .notify("notifications/resources/updated", updated)
        .await;
    let told = several.client.next().await;
    assert_eq!(told["params"], watched);

    // A server of 2026-07-28 is subscribed to by the stream of its notifications.
    several
        .client
        .request(4, "resources/subscribe", json!({"uri": "new+note:1"}))
        .await;
    assert_eq!(several.client.next().await["result"], json!({}));
    several.world.pass(Duration::from_secs(5)).await;
    let mut listen = several.new.next().await;
    while listen["method"] != "subscriptions/listen" {
        listen = several.new.next().await;
    }
    let notifications = &listen["params"]["notifications"];
    assert_eq!(notifications["resourceSubscriptions"], json!(["note:1"]));
}

#[tokio::test]
async fn a_modern_client_listens_to_all_servers_on_one_stream() {
    let (mut several, _) = Several::modern(Ways::None, json!({})).await;
    let filter = json!({"toolsListChanged": true,
        "resourceSubscriptions": ["old+file:///a", "new+note:1", "file:///c"]});
    let asked = modern(json!({"notifications": filter}), json!({}));
    several
        .client
        .request("s", "subscriptions/listen", asked)
        .await;
    let subscribed = several.old.next().await;
    assert_eq!(subscribed["method"], "resources/subscribe");
    assert_eq!(subscribed["params"], json!({"uri": "file:///a"}));
    several.old.reply(&subscribed, json!({})).await;
    let listen = several.new.next().await;
    assert_eq!(listen["method"], "subscriptions/listen");
    let own = json!({"toolsListChanged": true, "resourceSubscriptions": ["note:1"]});
    assert_eq!(listen["params"]["notifications"], own);
    let meta = json!({"io.modelcontextprotocol/subscriptionId": listen["id"]});
    let params = json!({"notifications": own, "_meta": meta});
    several
        .new
        .notify("notifications/subscriptions/acknowledged", params)
        .await;
    let told = several.client.next().await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        told["params"],
        json!({"notifications": {"toolsListChanged": true,
            "resourceSubscriptions": ["new+note:1", "old+file:///a"]},
            "_meta": {"io.modelcontextprotocol/subscriptionId": "s"}})
    );
    several
        .old
        .notify(
            "notifications/resources/updated",
            json!({"uri": "file:///a"}),
        )
        .await;
    let updated = several.client.next().await;
    assert_eq!(updated["params"]["uri"], "old+file:///a");
    let params = json!({"uri": "note:1", "_meta": meta});
    several
        .new
        .notify("notifications/resources/updated", params)
        .await;
    let updated = several.client.next().await;
    assert_eq!(
        updated["params"],
        json!({"uri": "new+note:1",
            "_meta": {"io.modelcontextprotocol/subscriptionId": "s"}})
    );
    // Its end ends all parts.
    several
        .client
        .notify("notifications/cancelled", json!({"requestId": "s"}))
        .await;
    let cancelled = several.new.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], listen["id"]);
    assert_eq!(several.old.next().await["method"], "resources/unsubscribe");
}

#[tokio::test]
async fn the_log_level_goes_to_all_servers_and_logs_name_theirs() {
    let (mut several, _) = Several::legacy(Ways::None, json!({})).await;
    several
        .client
        .request(1, "logging/setLevel", json!({"level": "debug"}))
        .await;
    let called = several.old.next().await;
    assert_eq!(called["params"], json!({"level": "debug"}));
    several.old.reply(&called, json!({})).await;
    assert_eq!(several.client.next().await["result"], json!({}));
    several.client.request(2, "tools/list", json!({})).await;
    let asked = several.new.next().await;
    let level = &asked["params"]["_meta"]["io.modelcontextprotocol/logLevel"];
    assert_eq!(*level, "debug", "{asked}");
    let log = json!({"level": "info", "logger": "db", "data": 1});
    several.old.notify("notifications/message", log).await;
    let told = several.client.next().await;
    assert_eq!(told["params"]["logger"], "old/db");
}

#[tokio::test]
async fn nothing_of_a_single_server_is_offered() {
    let (mut several, _) = Several::legacy(Ways::None, json!({})).await;
    for method in [
        "tasks/list",
        "x/y",
        "server/discover",
        "subscriptions/listen",
    ] {
        several.client.request(1, method, json!({})).await;
        let answer = several.client.next().await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    several.client.request(1, "ping", json!({})).await;
    assert_eq!(several.client.next().await["result"], json!({}));
    several.old.nothing().await;
    several.new.nothing().await;
}
