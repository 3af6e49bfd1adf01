//! Everything else that a server can do wrong.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Redirect, Response};
use entreat_gateway::side::http::{Http, HttpTarget};
use entreat_gateway::side::{Failure, UpstreamEvent};
use futures_util::stream;
use http::HeaderMap;
use serde_json::json;
use tokio::net::TcpListener;

use crate::http_server::{
    Server, accepted, connect, error_of, event, events, failed, in_session, initialized, json_of,
    message, modern, open_events, request, result, result_of, send, soon, streamed, until,
    with_status,
};

type Responder = fn() -> Response;

#[tokio::test]
async fn a_server_that_forgets_every_session_is_not_asked_for_new_ones_without_end() {
    // It has sessions, and knows none of them: neither on requests nor on its stream.
    let server = Server::start(|seen| async move {
        match seen.what().as_str() {
            "initialize" => in_session("s", initialized(&seen)),
            _ => with_status(404, "text/plain", "gone"),
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    send(&sender, request(0, "initialize")).await;
    message(&mut receiver).await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    send(&sender, ready).await;
    for id in 1..=20 {
        send(&sender, request(id, "tools/call")).await;
    }
    let mut failures = 0;
    while failures < 20 {
        match soon(receiver.next()).await {
            UpstreamEvent::Failed { .. } => failures += 1,
            UpstreamEvent::Renewed => {}
            other => panic!("{other:?}"),
        }
    }
    // One was the client's own.
    until(|| server.count("initialize") == 6).await;
    send(&sender, request(21, "tools/call")).await;
    let failure = loop {
        match soon(receiver.next()).await {
            UpstreamEvent::Failed { failure, .. } => break failure,
            UpstreamEvent::Renewed => {}
            other => panic!("{other:?}"),
        }
    };
    let why = "HTTP 404 in one new session after the other";
    assert_eq!(failure, Failure::Unexpected(why.to_owned()));
    assert_eq!(server.count("initialize"), 6);
}

#[tokio::test]
async fn what_is_no_response_fails_its_request_and_says_why() {
    let unexpected = |what: &str| Failure::Unexpected(what.to_owned());
    let cases: Vec<(Responder, Failure)> = vec![
        (
            || with_status(401, "text/plain", "no"),
            Failure::Unauthorized { status: 401 },
        ),
        (
            // Not even an error of the protocol is passed on.
            || with_status(403, "application/json", r#"{"id":1,"error":{"code":1}}"#),
            Failure::Unauthorized { status: 403 },
        ),
        (
            || with_status(429, "text/plain", "later"),
            Failure::Busy { status: 429 },
        ),
        (
            || with_status(503, "text/html", "<p>"),
            Failure::Busy { status: 503 },
        ),
        (
            || with_status(400, "text/plain", "bad\u{7}"),
            unexpected("HTTP 400: bad"),
        ),
        (
            || with_status(404, "text/html", "<p>"),
            unexpected("HTTP 404 (Not Found)"),
        ),
        (
            || with_status(200, "text/html", "<p>"),
            unexpected("the content type text/html"),
        ),
        (accepted, unexpected("HTTP 202 and nothing else")),
        (
            || Redirect::temporary("http://127.0.0.1:1/secret").into_response(),
            unexpected(
                "a redirect (HTTP 307) to http://127.0.0.1:1; use that server's address if you \
                 trust it",
            ),
        ),
        (
            || Redirect::to("/there").into_response(),
            unexpected("a redirect (HTTP 303) that would lose the message"),
        ),
    ];
    for (respond, expected) in cases {
        let server = Server::start(move |_| async move { respond() }).await;
        let (sender, mut receiver) = server.connect();
        send(&sender, request(1, "tools/call")).await;
        assert_eq!(failed(&mut receiver, 1).await, expected);
        assert_eq!(server.seen().len(), 1, "{expected}");
    }
}

#[tokio::test]
async fn bodies_that_are_not_the_response_fail_their_request() {
    let bodies = [
        "",
        "{}",
        "null",
        "[]",
        "hello",
        r#"{"jsonrpc":"2.0","id":1"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        "\u{0}\u{0}",
    ];
    for body in bodies {
        let server =
            Server::start(move |_| async move { with_status(200, "application/json", body) }).await;
        let (sender, mut receiver) = server.connect();
        send(&sender, request(1, "tools/call")).await;
        let failure = failed(&mut receiver, 1).await;
        assert!(
            matches!(failure, Failure::Unexpected(_)),
            "{body}: {failure}"
        );
    }
}

#[tokio::test]
async fn responses_keep_their_bytes_but_have_the_id_of_the_request() {
    let cases = [
        (
            r#"{ "result" : {"n":1.50} , "id":1 }"#,
            r#"{ "result" : {"n":1.50} , "id":1 }"#,
        ),
        (
            "\u{feff}{\"id\":1.0,\"result\":{}}",
            "{\"id\":1,\"result\":{}}",
        ),
        (
            r#"{"id":null,"error":{"code":-32700,"message":"m"}}"#,
            r#"{"id":1,"error":{"code":-32700,"message":"m"}}"#,
        ),
    ];
    for (body, expected) in cases {
        for is_stream in [false, true] {
            let server = Server::start(move |_| async move {
                if is_stream {
                    events(format!("data: {}\n\n", body.trim_start_matches('\u{feff}')))
                } else {
                    // The type may be missing, or have parameters.
                    with_status(200, "Application/JSON; charset=utf-8", body)
                }
            })
            .await;
            let (sender, mut receiver) = server.connect();
            send(&sender, request(1, "tools/call")).await;
            let UpstreamEvent::Message { text, .. } = soon(receiver.next()).await else {
                panic!("{body}");
            };
            let text = std::str::from_utf8(&text).unwrap();
            assert_eq!(text.trim_start_matches('\u{feff}'), expected);
        }
    }
}

#[tokio::test]
async fn a_batch_in_response_is_taken_apart() {
    let server = Server::start(async |seen| {
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message"});
        json_of(&json!([log, result_of(&seen, json!({"a": 1}))]))
    })
    .await;
    let (sender, mut receiver) = server.connect();
    send(&sender, request(1, "tools/call")).await;
    let (log, via) = message(&mut receiver).await;
    assert_eq!(log["method"], "notifications/message");
    assert_eq!(via.as_deref(), Some("1"));
    assert_eq!(result(&mut receiver, 1).await, json!({"a": 1}));
}

#[tokio::test]
async fn a_batch_of_the_client_is_answered_also_if_it_fails() {
    for status in [200, 500] {
        let server = Server::start(move |_| async move {
            let message = json!([{"jsonrpc": "2.0", "id": 1, "result": {}}]);
            with_status(status, "application/json", message.to_string())
        })
        .await;
        let (sender, mut receiver) = server.connect();
        let batch = json!([request(1, "ping"), {"jsonrpc": "2.0", "method": "a"}]);
        send(&sender, batch).await;
        let (responses, _) = message(&mut receiver).await;
        let responses = responses.as_array().unwrap();
        assert_eq!(responses.len(), 1);
        assert_eq!(responses[0]["id"], 1);
        assert_eq!(responses[0]["error"].is_object(), status == 500);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_has_run_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let (sender, mut receiver) = connect(&url);
    send(&sender, request(1, "tools/call")).await;
    let failure = failed(&mut receiver, 1).await;
    assert!(matches!(failure, Failure::Connect(_)), "{failure}");
    assert!(!failure.may_have_run());
    // Who does not speak TLS is not reached either.
    let plain = Server::start(async |_| accepted()).await;
    let (sender, mut receiver) = connect(&plain.url().replace("http:", "https:"));
    send(&sender, request(1, "tools/call")).await;
    let failure = failed(&mut receiver, 1).await;
    assert!(matches!(failure, Failure::Connect(_)), "{failure}");
}

#[tokio::test]
async fn an_answer_waits_for_a_server_that_restarts() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (sender, _receiver) = connect(&format!("http://{address}/mcp"));
    send(&sender, json!({"jsonrpc": "2.0", "id": 7, "result": {}})).await;
    let listener = loop {
        // Nobody else has taken the port meanwhile, in all likelihood.
        if let Ok(listener) = TcpListener::bind(address).await {
            break listener;
        }
    };
    let (stream, _) = soon(listener.accept()).await.unwrap();
    drop(stream);
}

#[tokio::test]
async fn redirects_within_the_origin_bring_the_message_along() {
    let server = Server::start(async |seen| match seen.path.as_str() {
        "/mcp" => Redirect::permanent("/there").into_response(),
        _ => json_of(&result_of(
            &seen,
            json!({"to": seen.header("authorization")}),
        )),
    })
    .await;
    let (sender, mut receiver) = server.connect();
    send(&sender, modern(1, "tools/call", json!({"name": "a"}))).await;
    assert_eq!(
        result(&mut receiver, 1).await,
        json!({"to": "Bearer of-tests"})
    );
    let seen = server.seen();
    assert_eq!(seen[1].message, seen[0].message);
    assert_eq!(seen[1].header("mcp-name"), Some("a"));
}

#[tokio::test]
async fn another_origin_is_never_called() {
    let other = Server::start(async |_| accepted()).await;
    let url = other.url();
    let server = Server::start(move |_| {
        let url = url.clone();
        async move { Redirect::temporary(&url).into_response() }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    send(&sender, request(1, "tools/call")).await;
    failed(&mut receiver, 1).await;
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn the_transport_of_2024_is_refused_in_words() {
    for status in [404, 405] {
        let server = Server::start(move |seen| async move {
            match seen.what().as_str() {
                "GET" => open_events("event: endpoint\ndata: /messages?id=1\n\n"),
                _ => with_status(status, "text/plain", "Not Found"),
            }
        })
        .await;
        let (sender, mut receiver) = server.connect();
        send(&sender, request(1, "initialize")).await;
        let failure = failed(&mut receiver, 1).await.to_string();
        assert!(
            failure.contains("HTTP+SSE") && failure.contains("/mcp"),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn what_is_given_is_in_no_debug_output() {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer hush".parse().unwrap());
    let target = HttpTarget::new("http://hush@127.0.0.1:9/hush?key=hush", headers);
    let before = format!("{target:?}");
    let (sender, mut receiver) = Http::connect(target).unwrap();
    send(&sender, request(1, "tools/call")).await;
    let failure = failed(&mut receiver, 1).await;
    let all = format!("{before}{sender:?}{receiver:?}{failure:?}{failure}");
    assert!(!all.contains("hush"), "{all}");
}

/// Bytes of every kind, as bodies of every kind.
#[tokio::test]
async fn whatever_a_server_sends_each_request_ends_once() {
    let pieces: Arc<[&[u8]]> = Arc::new([
        b"data: ",
        b"data:",
        b"\n",
        b"\r\n\r\n",
        b"\n\n",
        b"id: 1\n",
        b"retry: 1\n",
        b":",
        b"event: x\n",
        br#"{"jsonrpc":"2.0","id":ID,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":ID,"#,
        br#"{"jsonrpc":"2.0","method":"m"}"#,
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
        b"[",
        b"]",
        b",",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\0",
        b"{",
        b"}",
        b"\"",
    ]);
    let server = Server::start(move |seen| {
        let pieces = pieces.clone();
        async move {
            let id = seen.id().as_u64().unwrap();
            let mut random = fastrand::Rng::with_seed(id);
            let count = random.usize(0..12);
            let chosen: Vec<Vec<u8>> = (0..count)
                .map(|_| {
                    let piece = pieces[random.usize(..pieces.len())];
                    let text = String::from_utf8_lossy(piece);
                    if text.contains("ID") {
                        text.replace("ID", &id.to_string()).into_bytes()
                    } else {
                        piece.to_vec()
                    }
                })
                .collect();
            let kinds = [
                "text/event-stream",
                "application/json",
                "text/event-stream;",
                "x/y",
            ];
            let kind = kinds[random.usize(..kinds.len())];
            let status =
                [200, 200, 200, 201, 202, 204, 301, 400, 404, 405, 500][random.usize(..11)];
            let chunks = stream::iter(chosen.into_iter().map(Into::into));
            let mut response = streamed(chunks);
            *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
            response
                .headers_mut()
                .insert("content-type", kind.parse().unwrap());
            response
        }
    })
    .await;
    let (sender, mut receiver) = server.connect();
    let count = 600;
    let sending = async {
        for id in 1..=count {
            send(&sender, modern(id, "tools/call", json!({"name": "a"}))).await;
        }
    };
    let mut ends = vec![0; 1 + usize::try_from(count).unwrap()];
    let receiving = async {
        let mut ended = 0;
        while ended < count {
            let id = match soon(receiver.next()).await {
                UpstreamEvent::Failed { id, .. } => id.to_string(),
                UpstreamEvent::Message { text, via } => {
                    let text: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
                    if text["method"].is_string() || text["id"].is_null() {
                        continue;
                    }
                    via.unwrap().to_string()
                }
                other => panic!("{other:?}"),
            };
            ends[id.parse::<usize>().unwrap()] += 1;
            ended += 1;
        }
    };
    tokio::join!(sending, receiving);
    assert!(ends[1..].iter().all(|ends| *ends == 1), "{ends:?}");
}

#[tokio::test]
async fn a_response_to_another_request_is_passed_on() {
    let server = Server::start(async |seen| {
        if *seen.id() == 1 {
            return std::future::pending().await;
        }
        let other = json!({"jsonrpc": "2.0", "id": 1, "result": {"a": 1}});
        events(event(&other) + &event(&error_of(&seen, 7, "m")))
    })
    .await;
    let (sender, mut receiver) = server.connect();
    send(&sender, request(1, "tools/call")).await;
    until(|| server.seen().len() == 1).await;
    send(&sender, request(2, "tools/call")).await;
    let (other, via) = message(&mut receiver).await;
    assert_eq!(
        (&other["result"], via.as_deref()),
        (&json!({"a": 1}), Some("2"))
    );
    let (own, _) = message(&mut receiver).await;
    assert_eq!(own["error"]["code"], 7);
}
