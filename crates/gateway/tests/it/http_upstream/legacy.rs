//! Sessions, streams, and what becomes of them when they break.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::response::IntoResponse as _;
use entreat_gateway::side::{Closed, Failure, UpstreamEvent};
use http::{Method, StatusCode};
use parking_lot::Mutex;
use serde_json::json;

use crate::http_server::{
    Server, accepted, broken_events, event, events, failed, handshake, in_session, initialized,
    json_of, message, notification, open_events, request, result, result_of, send, soon, until,
};

#[tokio::test]
async fn a_session_is_named_in_everything_that_follows_and_deleted_at_the_end() {
    let server = Server::legacy(async |seen| json_of(&result_of(&seen, json!({"a": 1})))).await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/list")).await;
    assert_eq!(result(&mut receiver, 1).await, json!({"a": 1}));
    let closed = async {
        assert!(matches!(
            receiver.next().await,
            UpstreamEvent::Closed(Closed::Here)
        ));
    };
    soon(async { tokio::join!(sender.close(), closed) }).await;
    let seen = server.seen();
    let whats = [
        "initialize",
        "notifications/initialized",
        "GET",
        "tools/list",
        "DELETE",
    ];
    assert_eq!(server.whats(), whats);
    for seen in &seen {
        let is_first = seen.what() == "initialize";
        let session = (!is_first).then_some("s1");
        let version = (!is_first).then_some("2025-11-25");
        assert_eq!(seen.header("mcp-session-id"), session, "{}", seen.what());
        assert_eq!(seen.header("mcp-protocol-version"), version);
        assert_eq!(seen.header("authorization"), Some("Bearer of-tests"));
        let accept = match seen.method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        assert_eq!(seen.header("accept"), Some(accept));
        let kind = (seen.method == Method::POST).then_some("application/json");
        assert_eq!(seen.header("content-type"), kind);
        assert_eq!(seen.header("mcp-method"), None);
    }
}

#[tokio::test]
async fn messages_on_a_stream_are_those_of_its_request_and_answers_go_in_posts() {
    let server = Server::legacy(async |seen| {
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
        let ask = json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": {}});
        let text = event(&progress)
            + ": a comment\n\nevent: ping\ndata: {}\n\ndata: no message\n\n"
            + &event(&ask).replace('\n', "\r\n")
            + &event(&result_of(&seen, json!({})))
            + &event(&result_of(&seen, json!({"again": true})));
        events(text)
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/call")).await;
    let (progress, via) = message(&mut receiver).await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(via.as_deref(), Some("1"));
    let (ask, via) = message(&mut receiver).await;
    assert_eq!((&ask["id"], via.as_deref()), (&json!(7), Some("1")));
    send(
        &sender,
        json!({"jsonrpc": "2.0", "id": 7, "result": {"action": "decline"}}),
    )
    .await;
    assert_eq!(result(&mut receiver, 1).await, json!({}));
    until(|| server.count("response") == 1).await;
    // The second response is dropped: the next event is another request's.
    send(&sender, request(2, "tools/call")).await;
    let (progress, via) = message(&mut receiver).await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(via.as_deref(), Some("2"));
}

#[tokio::test]
async fn notifications_keep_their_order_and_requests_stay_behind_them() {
    let server = Server::start(async |seen| match seen.what().as_str() {
        "initialize" => initialized(&seen),
        "GET" => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        "tools/list" => json_of(&result_of(&seen, json!({}))),
        "a0" | "a2" => {
            // Those behind it would overtake it.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            accepted()
        }
        _ => accepted(),
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    let names: Vec<String> = (0..5).map(|number| format!("a{number}")).collect();
    for name in &names {
        send(&sender, notification(name)).await;
    }
    send(&sender, request(1, "tools/list")).await;
    result(&mut receiver, 1).await;
    let whats = server.whats();
    assert_eq!(whats[3..8], *names);
    assert_eq!(whats[8], "tools/list");
}

#[tokio::test]
async fn the_stream_of_the_session_opens_before_the_first_call_and_goes_on_after_a_break() {
    let gets = Arc::new(AtomicUsize::new(0));
    let counted = gets.clone();
    let server = Server::start(move |seen| {
        let gets = counted.clone();
        async move {
            let change = |id: &str| {
                let message = notification("notifications/tools/list_changed");
                format!("retry: 60\nid: {id}\n{}", event(&message))
            };
            match seen.what().as_str() {
                "initialize" => in_session("s", initialized(&seen)),
                "GET" => match gets.fetch_add(1, Ordering::SeqCst) {
                    0 => events(change("e1")),
                    1 => StatusCode::SERVICE_UNAVAILABLE.into_response(),
                    2 => broken_events(change("e2")),
                    _ => open_events(change("e3")),
                },
                "tools/list" => json_of(&result_of(&seen, json!({}))),
                _ => accepted(),
            }
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/list")).await;
    let mut changes = 0;
    let mut responses = 0;
    while changes < 3 || responses < 1 {
        let (message, via) = message(&mut receiver).await;
        if message["method"] == "notifications/tools/list_changed" {
            assert_eq!(via, None);
            changes += 1;
        } else {
            responses += 1;
        }
    }
    let whats = server.whats();
    let place = |what: &str| whats.iter().position(|it| it == what).unwrap();
    assert!(place("GET") < place("tools/list"), "{whats:?}");
    let seen = server.seen();
    let gets: Vec<_> = seen.iter().filter(|it| it.method == Method::GET).collect();
    let ids: Vec<_> = gets.iter().map(|it| it.header("last-event-id")).collect();
    assert_eq!(ids, [None, Some("e1"), Some("e1"), Some("e2")]);
}

#[tokio::test]
async fn calls_go_ahead_without_a_stream_that_does_not_open() {
    let server = Server::start(async |seen| match seen.what().as_str() {
        "initialize" => initialized(&seen),
        "GET" => std::future::pending().await,
        "tools/list" => json_of(&result_of(&seen, json!({}))),
        _ => accepted(),
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/list")).await;
    result(&mut receiver, 1).await;
}

#[tokio::test]
async fn a_lost_session_begins_anew_and_the_refused_request_is_sent_once_more() {
    let dead = Arc::new(Mutex::new(None));
    let killed = dead.clone();
    let server = Server::legacy(move |seen| {
        let is_dead = seen.header("mcp-session-id") == killed.lock().as_deref();
        async move {
            if is_dead {
                return StatusCode::NOT_FOUND.into_response();
            }
            json_of(&result_of(
                &seen,
                json!({"in": seen.header("mcp-session-id")}),
            ))
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    let subscribe = |id: u64, method: &str, uri: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": uri}});
    let level = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel",
        "params": {"level": "debug"}});
    send(&sender, level).await;
    result(&mut receiver, 1).await;
    for (id, method, uri) in [
        (2, "resources/subscribe", "a:1"),
        (3, "resources/subscribe", "a:2"),
        (4, "resources/unsubscribe", "a:1"),
    ] {
        send(&sender, subscribe(id, method, uri)).await;
        result(&mut receiver, id).await;
    }
    *dead.lock() = Some("s1".to_owned());
    let before = server.seen().len();
    send(&sender, request(5, "tools/call")).await;
    assert!(matches!(
        soon(receiver.next()).await,
        UpstreamEvent::Renewed
    ));
    assert_eq!(result(&mut receiver, 5).await, json!({"in": "s2"}));
    let seen = server.seen();
    let after: Vec<String> = server.whats()[before..].to_vec();
    let expected = [
        "tools/call",
        "initialize",
        "notifications/initialized",
        "GET",
        "logging/setLevel",
        "resources/subscribe",
        "tools/call",
    ];
    assert_eq!(after, expected);
    assert_eq!(
        seen[before + 1].message["params"],
        seen[0].message["params"]
    );
    assert_eq!(seen[before + 1].header("mcp-session-id"), None);
    assert_eq!(
        seen[before + 4].message["params"],
        json!({"level": "debug"})
    );
    assert_eq!(seen[before + 5].message["params"], json!({"uri": "a:2"}));
}

#[tokio::test]
async fn many_requests_of_a_lost_session_begin_one_new_session() {
    let server = Server::legacy(async |seen| match seen.header("mcp-session-id") {
        Some("s1") => StatusCode::NOT_FOUND.into_response(),
        _ => json_of(&result_of(&seen, json!({}))),
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    for id in 1..=20 {
        send(&sender, request(id, "tools/call")).await;
    }
    let (mut renewed, mut responses) = (0, 0);
    while responses < 20 {
        match soon(receiver.next()).await {
            UpstreamEvent::Renewed => renewed += 1,
            UpstreamEvent::Message { .. } => responses += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((renewed, server.count("initialize")), (1, 2));
}

#[tokio::test]
async fn a_server_that_loses_every_session_is_not_asked_forever() {
    let server = Server::legacy(async |_| StatusCode::NOT_FOUND.into_response()).await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/call")).await;
    assert!(matches!(
        soon(receiver.next()).await,
        UpstreamEvent::Renewed
    ));
    assert!(matches!(
        failed(&mut receiver, 1).await,
        Failure::Unexpected(_)
    ));
    assert_eq!(server.count("tools/call"), 2);
    assert_eq!(server.count("initialize"), 2);
}

#[tokio::test]
async fn a_session_that_http_400_does_not_know_is_renewed_for_those_that_follow() {
    let server = Server::legacy(async |seen| {
        if seen.header("mcp-session-id") == Some("s1") {
            let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000,
                "message": "Bad Request: No valid session ID provided"}});
            return crate::http_server::with_status(400, "application/json", error.to_string());
        }
        json_of(&result_of(&seen, json!({})))
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/call")).await;
    let (mut is_renewed, mut is_refused) = (false, false);
    while !is_renewed || !is_refused {
        match soon(receiver.next()).await {
            UpstreamEvent::Renewed => is_renewed = true,
            UpstreamEvent::Message { text, .. } => {
                let text = String::from_utf8(text.to_vec()).unwrap();
                assert!(
                    text.contains("\"id\":1") && text.contains("No valid session"),
                    "{text}"
                );
                is_refused = true;
            }
            other => panic!("{other:?}"),
        }
    }
    // Whether it ran is not certain.
    assert_eq!(server.count("tools/call"), 1);
    send(&sender, request(2, "tools/call")).await;
    result(&mut receiver, 2).await;
}

#[tokio::test]
async fn a_session_whose_stream_is_unknown_is_renewed_before_the_next_call() {
    let server = Server::start(async |seen| {
        let is_first = seen.header("mcp-session-id") == Some("s1");
        match (seen.what().as_str(), is_first) {
            ("initialize", _) if *seen.id() == 0 => in_session("s1", initialized(&seen)),
            ("initialize", _) => in_session("s2", initialized(&seen)),
            ("GET", true) if seen.header("last-event-id").is_none() => {
                events("retry: 50\nid: e\ndata:\n\n")
            }
            ("GET", true) => {
                let error = json!({"jsonrpc": "2.0", "error": {"code": -32000,
                    "message": "Bad Request: No valid session ID provided"}});
                crate::http_server::with_status(400, "application/json", error.to_string())
            }
            ("GET", false) => open_events(""),
            ("tools/call", _) => json_of(&result_of(&seen, json!({"first": is_first}))),
            _ => accepted(),
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    assert!(matches!(
        soon(receiver.next()).await,
        UpstreamEvent::Renewed
    ));
    send(&sender, request(1, "tools/call")).await;
    assert_eq!(result(&mut receiver, 1).await, json!({"first": false}));
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_after_its_last_event() {
    let server = Server::start(async |seen| {
        let change = event(&notification("notifications/progress"));
        match (seen.what().as_str(), seen.header("last-event-id")) {
            ("initialize", _) => in_session("s", initialized(&seen)),
            ("tools/call", _) => events("retry: 50\nid: a1\ndata:\n\n"),
            // It goes on, but has nothing yet.
            ("GET", Some("a1")) => broken_events(format!("id: a2\n{change}")),
            ("GET", Some("a2")) => {
                let message = json!({"jsonrpc": "2.0", "id": 1, "result": {"late": true}});
                events(event(&message))
            }
            ("GET", _) => StatusCode::METHOD_NOT_ALLOWED.into_response(),
            _ => accepted(),
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/call")).await;
    let (progress, via) = message(&mut receiver).await;
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(via.as_deref(), Some("1"));
    assert_eq!(result(&mut receiver, 1).await, json!({"late": true}));
    assert_eq!(server.count("tools/call"), 1);
}

#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_fails_its_request_and_nothing_runs_twice() {
    let server = Server::start(async |seen| match seen.what().as_str() {
        "initialize" => in_session("s", initialized(&seen)),
        "GET" => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        "tools/call" => match seen.id().as_u64() {
            Some(1) => events(": nothing\n\n"),
            Some(2) => broken_events(": nothing\n\n"),
            Some(3) => events("retry: 50\nid: a1\ndata:\n\n"),
            _ => events(format!("data: {}", result_of(&seen, json!({})))),
        },
        _ => accepted(),
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    for id in 1..=4 {
        send(&sender, request(id, "tools/call")).await;
        let failure = failed(&mut receiver, id).await;
        assert!(matches!(failure, Failure::Broken(_)), "{failure}");
        assert!(failure.may_have_run());
    }
    assert_eq!(server.count("tools/call"), 4);
}

#[tokio::test]
async fn the_stream_of_a_cancelled_call_is_closed_after_the_server_was_told() {
    let open = Arc::new(());
    let held = open.clone();
    let server = Server::legacy(move |_| {
        let held = held.clone();
        async move {
            let chunks = futures_util::stream::poll_fn(move |_| {
                let _: &Arc<()> = &held;
                std::task::Poll::Pending
            });
            crate::http_server::streamed(chunks)
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/call")).await;
    until(|| Arc::strong_count(&open) == 3).await;
    let params = json!({"requestId": 1});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    send(&sender, cancel).await;
    until(|| Arc::strong_count(&open) == 2).await;
    assert_eq!(server.count("notifications/cancelled"), 1);
}
