//! 2026-07-28: no sessions, but headers that repeat the message.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use entreat_gateway::envelope::RawId;
use entreat_gateway::side::{Failure, UpstreamEvent};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http_server::{
    Server, error_of, event, events, failed, json_of, message, modern, notification, result,
    result_of, send, soon, streamed, until, with_status,
};

fn tools(header: &str) -> Value {
    let region = json!({"type": "string", "x-mcp-header": header});
    json!({"resultType": "complete", "tools": [
        {"name": "sql", "inputSchema": {"type": "object", "properties": {"region": region}}},
        {"name": "broken", "inputSchema": {"type": "object", "properties":
            {"a": {"type": "number", "x-mcp-header": "A"}}}},
        {"name": "plain", "inputSchema": {"type": "object"}}]})
}

fn call(id: u64) -> Value {
    modern(
        id,
        "tools/call",
        json!({"name": "sql", "arguments": {"region": "Zürich"}}),
    )
}

const ENCODED: &str = "=?base64?WsO8cmljaA==?=";

#[tokio::test]
async fn headers_repeat_the_message_and_there_is_no_session() {
    let server = Server::start(async |seen| {
        let result = match seen.what().as_str() {
            "tools/list" => tools("Region"),
            _ => json!({"resultType": "complete"}),
        };
        crate::http_server::in_session("ignored", json_of(&result_of(&seen, result)))
    })
    .await;
    let (sender, mut receiver) = server.connect();
    send(&sender, modern(1, "tools/list", json!({}))).await;
    let listed = result(&mut receiver, 1).await;
    let names: Vec<&Value> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    // Clients have to leave out those whose headers are not valid.
    assert_eq!(names, ["sql", "plain"]);
    send(&sender, call(2)).await;
    result(&mut receiver, 2).await;
    send(
        &sender,
        modern(3, "resources/read", json!({"uri": "file:///ä"})),
    )
    .await;
    result(&mut receiver, 3).await;
    let seen = server.seen();
    assert_eq!(
        server.whats(),
        ["tools/list", "tools/call", "resources/read"]
    );
    for seen in &seen {
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(seen.header("mcp-method"), Some(seen.what().as_str()));
        assert_eq!(seen.header("mcp-session-id"), None);
    }
    assert_eq!(seen[0].header("mcp-name"), None);
    assert_eq!(seen[1].header("mcp-name"), Some("sql"));
    assert_eq!(seen[1].header("mcp-param-region"), Some(ENCODED));
    assert_eq!(
        seen[2].header("mcp-name"),
        Some("=?base64?ZmlsZTovLy/DpA==?=")
    );
}

#[tokio::test]
async fn a_call_with_the_wrong_headers_is_sent_once_more_with_those_of_the_current_list() {
    // The list has two pages, and its headers change once.
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let server = Server::start(move |seen| {
        let runs = counted.clone();
        async move {
            if seen.what() == "tools/list" {
                let mut page = tools("Place");
                if seen.message["params"]["cursor"].is_null() {
                    page = json!({"tools": [], "nextCursor": "2"});
                }
                return json_of(&result_of(&seen, page));
            }
            if seen.header("mcp-param-place") == Some(ENCODED) {
                runs.fetch_add(1, Ordering::SeqCst);
                return json_of(&result_of(&seen, json!({"ran": true})));
            }
            let error = error_of(&seen, -32020, "Header mismatch");
            with_status(400, "application/json", error.to_string())
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    send(&sender, call(1)).await;
    assert_eq!(result(&mut receiver, 1).await, json!({"ran": true}));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let whats = ["tools/call", "tools/list", "tools/list", "tools/call"];
    assert_eq!(server.whats(), whats);
}

#[tokio::test]
async fn a_mismatch_that_the_list_does_not_cure_reaches_the_client() {
    let changes = Arc::new(Mutex::new(0));
    let server = Server::start(move |seen| {
        let changes = changes.clone();
        async move {
            if seen.what() == "tools/list" {
                *changes.lock() += 1;
                let header = format!("H{}", changes.lock());
                return json_of(&result_of(&seen, tools(&header)));
            }
            let error = error_of(&seen, -32020, "Header mismatch");
            with_status(400, "application/json", error.to_string())
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    send(&sender, call(1)).await;
    let (refused, _) = message(&mut receiver).await;
    assert_eq!(refused["error"]["code"], -32020);
    assert_eq!(server.count("tools/call"), 2);
}

#[tokio::test]
async fn errors_with_a_status_are_responses() {
    let server = Server::start(async |seen| {
        let (status, code) = match seen.id().as_u64() {
            Some(1) => (404, -32601),
            Some(2) => (400, -32021),
            Some(3) => (400, -32022),
            Some(4) => (503, -32000),
            _ => (429, -32000),
        };
        with_status(
            status,
            "application/json",
            error_of(&seen, code, "no").to_string(),
        )
    })
    .await;
    let (sender, mut receiver) = server.connect();
    for (id, code) in [
        (1, -32601),
        (2, -32021),
        (3, -32022),
        (4, -32000),
        (5, -32000),
    ] {
        send(&sender, modern(id, "prompts/get", json!({"name": "p"}))).await;
        let (refused, via) = message(&mut receiver).await;
        assert_eq!((&refused["id"], via), (&json!(id), Some(id.to_string())));
        assert_eq!(refused["error"]["code"], code);
    }
}

/// A server whose calls stay open, and a count of them.
async fn endless() -> (Server, Arc<()>) {
    let open = Arc::new(());
    let held = open.clone();
    let server = Server::start(move |seen| {
        let held = held.clone();
        async move {
            if seen.what() == "tools/list" {
                return json_of(&result_of(&seen, json!({"tools": []})));
            }
            let ack = event(&notification("notifications/subscriptions/acknowledged"));
            let mut ack = Some(ack.into());
            streamed(futures_util::stream::poll_fn(move |_| {
                let _: &Arc<()> = &held;
                match ack.take() {
                    Some(ack) => std::task::Poll::Ready(Some(ack)),
                    None => std::task::Poll::Pending,
                }
            }))
        }
    })
    .await;
    (server, open)
}

#[tokio::test]
async fn to_abandon_a_request_is_to_close_its_stream() {
    let (server, open) = endless().await;
    let idle = Arc::strong_count(&open);
    let (sender, mut receiver) = server.connect();
    let cancels: [&dyn Fn(u64) -> Option<Value>; 2] = [&|_| None, &|id| {
        Some(
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id}}),
        )
    }];
    for (id, cancel) in (1..).zip(cancels) {
        send(&sender, modern(id, "subscriptions/listen", json!({}))).await;
        let (ack, via) = message(&mut receiver).await;
        assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(via, Some(id.to_string()));
        assert_eq!(Arc::strong_count(&open), idle + 1);
        match cancel(id) {
            Some(message) => send(&sender, message).await,
            None => sender.abandon(&RawId::number(id)),
        }
        until(|| Arc::strong_count(&open) == idle).await;
    }
    // Nothing else was sent, and nothing comes of them.
    send(&sender, modern(3, "tools/list", json!({}))).await;
    result(&mut receiver, 3).await;
    assert_eq!(
        server.whats(),
        ["subscriptions/listen", "subscriptions/listen", "tools/list"]
    );
}

#[tokio::test]
async fn a_broken_stream_is_not_taken_up_even_if_its_events_have_ids() {
    let server = Server::start(async |_| events("retry: 50\nid: a1\ndata:\n\n")).await;
    let (sender, mut receiver) = server.connect();
    send(&sender, call(1)).await;
    assert!(matches!(failed(&mut receiver, 1).await, Failure::Broken(_)));
    assert_eq!(server.whats(), ["tools/call"]);
}

#[tokio::test]
async fn what_is_open_ends_with_the_connection() {
    let (server, open) = endless().await;
    let idle = Arc::strong_count(&open);
    let (sender, mut receiver) = server.connect();
    send(&sender, modern(1, "subscriptions/listen", json!({}))).await;
    message(&mut receiver).await;
    soon(sender.close()).await;
    assert!(matches!(
        soon(receiver.next()).await,
        UpstreamEvent::Closed(_)
    ));
    until(|| Arc::strong_count(&open) == idle).await;
    assert_eq!(server.whats(), ["subscriptions/listen"]);

    let (sender, mut receiver) = server.connect();
    send(&sender, modern(1, "subscriptions/listen", json!({}))).await;
    message(&mut receiver).await;
    drop((sender, receiver));
    until(|| Arc::strong_count(&open) == idle).await;
}
