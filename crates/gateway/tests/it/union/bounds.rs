//! What one client and one server can take from a union, and from the others.

use entreat_gateway::GatewaySettings;
use entreat_gateway::front::Route;
use entreat_testkit::CapturedLog;
use serde_json::{Value, json};
use tokio::io::split;

use super::several::{Connections, Several, greet_old, hello};
use crate::world::{Peer, Ways, World, complete, is_busy, modern, settle, text, with_memory};

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

/// The ids in a response to a batch, sorted.
fn ids(response: &Value) -> Vec<Option<u64>> {
    let responses = response.as_array().expect("a batch");
    let mut ids: Vec<_> = responses.iter().map(|it| it["id"].as_u64()).collect();
    ids.sort_unstable();
    ids
}

/// A client of 2025 in front of both servers, to whom the tool `old__t` is known.
async fn client() -> Several {
    let (mut several, _) = Several::legacy(Ways::None, json!({})).await;
    let tools = [json!([tool("t")]), json!([])];
    several.list("tools/list", json!({}), "tools", tools).await;
    several
}

#[tokio::test]
async fn a_batch_is_answered_as_one() {
    let mut several = client().await;
    let batch = json!([
        request(1, "ping", json!({})),
        request(2, "tools/list", json!({})),
        request(3, "tools/call", json!({"name": "old__t"})),
        {"jsonrpc": "2.0", "method": "notifications/x"},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        request(5, "no/such", json!({})),
        7,
        [request(6, "ping", json!({}))],
    ]);
    several.client.send(batch).await;
    let listing = several.new.next().await;
    assert_eq!(listing["method"], "tools/list");
    several
        .new
        .reply(&listing, complete(json!({"tools": []})))
        .await;
    // One message of the batch may overtake another that is worked on here.
    let mut asked = [several.old.next().await, several.old.next().await];
    asked.sort_by_key(|it| it["method"] == "tools/list");
    several
        .old
        .reply(&asked[1], json!({"tools": [tool("t")]}))
        .await;
    several.client.nothing().await;
    several.old.reply(&asked[0], text("done")).await;
    let together = several.client.next().await;
    let expected = [None, None, Some(1), Some(2), Some(3), Some(5)];
    assert_eq!(ids(&together), expected, "{together}");
}

#[tokio::test]
async fn a_batch_is_complete_without_what_was_cancelled() {
    let mut several = client().await;
    let batch = json!([
        request(1, "tools/call", json!({"name": "old__t"})),
        request(2, "tools/list", json!({})),
        request(3, "ping", json!({})),
    ]);
    several.client.send(batch).await;
    several.old.next().await;
    for id in [1, 2] {
        several.client.nothing().await;
        let cancelled = json!({"requestId": id});
        several
            .client
            .notify("notifications/cancelled", cancelled)
            .await;
    }
    let together = several.client.next().await;
    assert_eq!(ids(&together), [Some(3)], "{together}");
}

#[tokio::test]
async fn a_batch_has_between_one_and_a_hundred_messages() {
    let mut several = client().await;
    let call = request(1, "tools/call", json!({"name": "old__t"}));
    for count in [0, 101] {
        several.client.send(vec![call.clone(); count].into()).await;
        let refused = several.client.next().await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
    }
    several.old.nothing().await;
    several.client.send(vec![call; 100].into()).await;
    for _ in 0..100 {
        let called = several.old.next().await;
        several.old.reply(&called, text("done")).await;
    }
    let together = several.client.next().await;
    assert_eq!(ids(&together).len(), 100);
}

#[tokio::test]
async fn calls_that_wait_here_take_the_clients_share_of_memory() {
    let (mut several, _) = Several::legacy_with(Ways::None, with_memory(1 << 20), json!({})).await;
    // The name is looked up, and no server says what it has.
    let arguments = json!({"text": "x".repeat(600 << 10)});
    for id in 1..=2 {
        several.client.call(id, "old__x", arguments.clone()).await;
    }
    let refused = several.client.next().await;
    is_busy(&refused, 2);
}

#[tokio::test]
async fn what_a_session_keeps_of_a_client_is_short() {
    let mut several = Several::silent(Ways::None, GatewaySettings::default()).await;
    let large = json!({"experimental": {"x": "x".repeat(256 << 10)}});
    several.client.request(0, "initialize", hello(large)).await;
    let refused = several.client.next().await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let mut several = client().await;
    let uri = format!("old+{}", "x".repeat((2 << 10) + 1));
    for (method, is_refused) in [("resources/subscribe", true), ("resources/read", false)] {
        several.client.request(1, method, json!({"uri": uri})).await;
        if is_refused {
            let refused = several.client.next().await;
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        } else {
            assert_eq!(several.old.next().await["method"], method);
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_read_holds_up_no_other() {
    let mut several = client().await;
    // Its pipe takes a mebibyte, its queue 256 messages.
    let large = json!({"name": "old__t", "arguments": {"text": "x".repeat(8 << 10)}});
    for id in 100..700 {
        several
            .client
            .request(id, "tools/call", large.clone())
            .await;
    }
    several.client.request(5, "ping", json!({})).await;
    assert_eq!(several.client.next().await["id"], 5);
    several
        .client
        .request(6, "resources/read", json!({"uri": "new+note:1"}))
        .await;
    let asked = several.new.next().await;
    assert_eq!(asked["method"], "resources/read");
    // When it reads again, it gets everything.
    for _ in 100..700 {
        let called: Value = serde_json::from_str(&several.old.whole_line().await).unwrap();
        assert_eq!(called["method"], "tools/call");
    }
}

#[tokio::test]
async fn requests_of_many_servers_all_get_their_answers() {
    const SERVERS: usize = 11;
    let world = World::new(Ways::None).await;
    let connections: Vec<Connections> = (0..SERVERS).map(|_| Connections::default()).collect();
    let routes: Vec<Route> = (0..SERVERS)
        .map(|n| connections[n].route(&format!("s{n}")))
        .collect();
    let (client, ours) = tokio::io::duplex(1 << 20);
    let gateway = world.gateway.clone();
    tokio::spawn(async move {
        let (reader, writer) = split(ours);
        gateway.unite(reader, writer, routes).await;
    });
    let mut client = Peer::new(client);
    let declares = json!({"sampling": {}});
    client.request(0, "initialize", hello(declares)).await;
    let mut servers = Vec::new();
    for connection in &connections {
        let mut server = connection.newest().await;
        greet_old(&mut server, false).await;
        servers.push(server);
    }
    client.next().await;
    let mut last = Value::Null;
    for server in &mut servers {
        for id in 0..1_001 {
            let sample = json!({"messages": [], "maxTokens": 1});
            server.request(id, "sampling/createMessage", sample).await;
        }
        for _ in 0..1_000 {
            last = client.next().await;
        }
        // One beyond the share of a server.
        let refused = server.next().await;
        assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    }
    client.reply(&last, json!({"role": "assistant"})).await;
    let answered = servers[SERVERS - 1].next().await;
    assert_eq!(answered["result"]["role"], "assistant", "{answered}");
}

#[tokio::test]
async fn a_list_that_is_not_read_to_its_end_takes_the_clients_share_of_memory() {
    let settings = GatewaySettings {
        memory: 1 << 20,
        page: 1,
        ..GatewaySettings::default()
    };
    let (mut several, _) = Several::legacy_with(Ways::None, settings, json!({})).await;
    let large = |name: &str, size: usize| {
        let mut tool = tool(name);
        tool["description"] = json!("x".repeat(size));
        tool
    };
    // One that has no room is left out.
    let tools = [
        json!([large("a", 200 << 10), large("b", 200 << 10)]),
        json!([large("c", 900 << 10), large("d", 900 << 10)]),
    ];
    let listed = several.list("tools/list", json!({}), "tools", tools).await;
    assert_eq!(listed["tools"][0]["name"], "old__a");
    let call = json!({"name": "old__a", "arguments": {"text": "x".repeat(700 << 10)}});
    several.client.request(1, "tools/call", call.clone()).await;
    let refused = several.client.next().await;
    assert_eq!(refused["error"]["data"]["reason"], "busy", "{refused}");
    let cursor = json!({"cursor": listed["nextCursor"]});
    several.client.request(2, "tools/list", cursor).await;
    let rest = several.client.next().await;
    assert_eq!(rest["result"]["tools"][0]["name"], "old__b");
    assert!(rest["result"].get("nextCursor").is_none());
    several.client.request(3, "tools/call", call).await;
    let called = several.old.next().await;
    assert_eq!(called["params"]["name"], "a");
}

#[tokio::test]
async fn what_a_stream_hears_before_it_is_acknowledged_is_bounded() {
    let (mut several, _) = Several::modern(Ways::None, json!({})).await;
    let filter = json!({"resourceSubscriptions": ["new+note:1"]});
    let asked = modern(json!({"notifications": filter}), json!({}));
    several
        .client
        .request("s", "subscriptions/listen", asked)
        .await;
    let listen = several.new.next().await;
    assert_eq!(listen["method"], "subscriptions/listen", "{listen}");
    let meta = json!({"io.modelcontextprotocol/subscriptionId": listen["id"],
        "padding": "x".repeat(64 << 10)});
    for _ in 0..100 {
        let params = json!({"uri": "note:1", "_meta": meta});
        several
            .new
            .notify("notifications/resources/updated", params)
            .await;
        settle().await;
    }
    let settings = GatewaySettings::default();
    several.world.pass(settings.stragglers).await;
    let told = several.client.next().await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    let mut heard = 0;
    while several.client.next_if_any().await.is_some() {
        heard += 1;
    }
    assert_eq!(heard, 3, "of 256 KiB");
}

#[tokio::test]
async fn servers_of_a_union_do_not_fill_the_log() {
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::WARN);
    let (mut several, _) = Several::legacy(Ways::None, json!({})).await;
    let message = "x".repeat(64 << 10);
    for _ in 0..50 {
        several.client.request(1, "prompts/list", json!({})).await;
        let asked = several.old.next().await;
        let error = json!({"code": -32603, "message": message});
        several.old.fail(&asked, error).await;
        let asked = several.new.next().await;
        let listed = complete(json!({"prompts": []}));
        several.new.reply(&asked, listed).await;
        assert!(several.client.next().await["result"].is_object());
    }
    let logged = log.take();
    assert!(
        logged.contains("a server is left out of a list"),
        "{logged}"
    );
    assert!(logged.len() <= 4 << 10, "{} bytes", logged.len());
}

#[tokio::test]
async fn a_client_has_at_most_ten_thousand_requests_open() {
    let mut several = Several::silent(Ways::None, GatewaySettings::default()).await;
    several
        .client
        .request(0, "initialize", hello(json!({})))
        .await;
    // No server is there yet, so all wait.
    for id in 1..=10_000 {
        let read = json!({"uri": "old+a:b"});
        several.client.request(id, "resources/read", read).await;
    }
    let refused = several.client.next().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["data"]["reason"]),
        (&json!(10_000), &json!("busy")),
        "{refused}"
    );
    several.client.nothing().await;
}
