//! Messages that are too long, and relays that read too little.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use entreat_gateway::side::lines::{MAX_MESSAGE, QUEUED_MESSAGES};
use entreat_gateway::side::{Failure, UpstreamEvent};
use futures_util::stream;
use serde_json::json;

use crate::http_server::{
    Server, event, events, failed, handshake, json_of, message, notification, open_events, request,
    result, result_of, send, soon, streamed, until, with_status,
};

#[tokio::test]
async fn a_message_that_is_too_long_fails_its_request_and_no_other() {
    let server = Server::legacy(async |seen| {
        let long = "x".repeat(MAX_MESSAGE);
        match seen.id().as_u64() {
            Some(1) => json_of(&result_of(&seen, json!(long))),
            Some(2) => events(event(&result_of(&seen, json!(long)))),
            Some(3) => {
                // TypeScript writes the id last.
                let text = format!(r#"{{"result":"{long}","jsonrpc":"2.0","id":3}}"#);
                events(format!("data: {text}\n\n"))
            }
            Some(4) => {
                let note = json!({"jsonrpc": "2.0", "method": "m", "params": long});
                let ask = json!({"jsonrpc": "2.0", "id": 9, "method": "m", "params": long});
                let ask = ask.to_string();
                let short = result_of(&seen, json!({"a": 1}));
                events(event(&note) + &format!("data: {ask}\n\n") + &event(&short))
            }
            _ => open_events(event(&notification("notifications/progress"))),
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(10, "tools/call")).await;
    message(&mut receiver).await;
    for id in 1..=3 {
        send(&sender, request(id, "tools/call")).await;
        let failure = failed(&mut receiver, id).await;
        let expected = "a message of more than 16 MiB or 500000 values".to_owned();
        assert_eq!(failure, Failure::Unexpected(expected));
    }
    send(&sender, request(4, "tools/call")).await;
    assert_eq!(result(&mut receiver, 4).await, json!({"a": 1}));
    // The server's own request got an error.
    until(|| server.count("response") == 1).await;
    let seen = server.seen();
    let answer = seen.iter().find(|seen| seen.what() == "response").unwrap();
    assert_eq!(answer.id(), 9);
    assert_eq!(answer.message["error"]["code"], -32600);
}

#[tokio::test]
async fn a_message_of_just_the_limit_passes() {
    let server = Server::start(async |seen| {
        let empty = result_of(&seen, json!("")).to_string().len();
        let text = result_of(&seen, json!("x".repeat(MAX_MESSAGE - empty))).to_string();
        assert_eq!(text.len(), MAX_MESSAGE);
        match seen.id().as_u64() {
            Some(1) => with_status(200, "application/json", text),
            _ => events(format!("data: {text}\n\n")),
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    for id in 1..=2 {
        send(&sender, request(id, "tools/call")).await;
        assert!(result(&mut receiver, id).await.is_string());
    }
}

#[tokio::test]
async fn a_relay_that_reads_nothing_stops_the_server_and_loses_nothing() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let count = 20_000;
    let server = Server::legacy(move |seen| {
        let sent = counted.clone();
        async move {
            let log = json!({"jsonrpc": "2.0", "method": "m", "params": "x".repeat(1_000)});
            let log = Bytes::from(event(&log));
            let end = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, seen.id());
            let end = Bytes::from(format!("data: {end}\n\n"));
            streamed(stream::iter((0..=count).map(move |number| {
                sent.fetch_add(1, Ordering::SeqCst);
                if number < count {
                    log.clone()
                } else {
                    end.clone()
                }
            })))
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    send(&sender, request(1, "tools/call")).await;
    // An answer goes out while everything else waits, and so does a call.
    send(&sender, json!({"jsonrpc": "2.0", "id": 7, "result": {}})).await;
    until(|| server.count("response") == 1).await;
    send(&sender, request(2, "tools/call")).await;
    until(|| server.count("tools/call") == 2).await;
    // Until the sockets are full.
    let (mut before, mut unchanged) = (0, 0);
    until(|| {
        let now = sent.load(Ordering::SeqCst);
        let is_same = std::mem::replace(&mut before, now) == now;
        unchanged = if is_same { unchanged + 1 } else { 0 };
        unchanged == 20_000 && now > QUEUED_MESSAGES
    })
    .await;
    assert!(before < 2 * count, "{before} were sent to nobody");
    let (mut logs, mut responses) = (0, 0);
    while responses < 2 {
        match soon(receiver.next()).await {
            UpstreamEvent::Message { text, .. } if text.ends_with(b"{}}") => responses += 1,
            UpstreamEvent::Message { .. } => logs += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(logs, 2 * count);
}

#[tokio::test]
async fn requests_that_no_server_takes_are_refused_at_a_bound() {
    let server = Server::legacy(async |_| std::future::pending().await).await;
    let (sender, mut receiver) = server.connect();
    handshake(&sender, &mut receiver).await;
    let text = "x".repeat(15 << 20);
    for id in 1..=5 {
        let mut message = request(id, "tools/call");
        message["params"] = json!(text);
        send(&sender, message).await;
    }
    let failure = failed(&mut receiver, 5).await;
    assert!(matches!(failure, Failure::Connect(_)), "{failure}");
    assert!(!failure.may_have_run());
}
