//! HTTP specifics: status codes, access, and waiting.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use entreat_service::Askers;
use http_body_util::BodyExt as _;
use serde_json::json;

use crate::wire::{Answer, Server, soon};
use crate::world::{World, answer, deploy, request};

const LIST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"forms/list"}"#;

#[tokio::test]
async fn what_was_understood_is_200_whatever_came_of_it() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    for (body, status) in [
        (LIST, 200),
        (r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, 200),
        (r#"{"jsonrpc":"2.0","method":"forms/list"}"#, 200),
        (
            r#"[{"jsonrpc":"2.0","id":7,"method":"forms/list"}, 5]"#,
            200,
        ),
        ("", 400),
        ("{", 400),
        ("5", 400),
        ("[]", 400),
        (
            r#"{"id":7,"id":8,"jsonrpc":"2.0","method":"forms/list"}"#,
            400,
        ),
    ] {
        let answer = server.send(server.post(body)).await;
        assert_eq!(answer.status, status, "{body}");
        assert_eq!(answer.headers[header::CONTENT_TYPE], "application/json");
        assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
        if body.contains("\"method\":\"forms/list\"}") && !body.contains("id") {
            assert!(answer.body.is_empty());
        } else {
            assert!(answer.json().is_object() || answer.json().is_array());
        }
    }
}

#[tokio::test]
async fn keys_decide_who_asks_and_nobody_sees_anothers_questions() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let id = world.ask().await;
    let status = request("elicitation/status", json!({"elicitationId": id}));
    let with_key = |key: &str| {
        let mut request = server.post(status.clone());
        let value = HeaderValue::from_str(key).unwrap();
        request.headers_mut().insert(header::AUTHORIZATION, value);
        request
    };
    let ours = server.send(server.post(status.clone())).await.json();
    assert_eq!(ours["result"]["status"], "pending");
    for key in ["Bearer open-sesame", "bearer  open-sesame "] {
        let theirs = server.send(with_key(key)).await.json();
        assert_eq!(theirs["error"]["code"], -32012, "{key}");
    }
    // A wrong key is not treated as a missing one.
    for key in ["Bearer open", "Bearer ", "Basic open-sesame", "open-sesame"] {
        let refused = server.send(with_key(key)).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{key}");
        assert_eq!(refused.headers[header::WWW_AUTHENTICATE], "Bearer");
        assert!(refused.json()["error"]["message"].is_string());
    }
}

#[tokio::test]
async fn guessing_keys_is_slowed_down() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut statuses = Vec::new();
    for _ in 0..80 {
        let mut request = server.post(LIST);
        let guess = HeaderValue::from_static("Bearer guess");
        request.headers_mut().insert(header::AUTHORIZATION, guess);
        statuses.push(server.send(request).await.status);
    }
    assert_eq!(statuses[0], StatusCode::UNAUTHORIZED);
    assert_eq!(statuses[79], StatusCode::TOO_MANY_REQUESTS);
    // Clients with a key, or without the need for one, are not delayed.
    assert_eq!(server.send(server.post(LIST)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn without_a_key_a_page_of_another_site_gets_nowhere() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let port = server.address.port();
    for (name, value, status) in [
        ("host", format!("localhost:{port}"), 200),
        ("host", format!("[::1]:{port}"), 200),
        // DNS rebinding.
        ("host", format!("rebind.example.com:{port}"), 403),
        ("host", "127.0.0.1.example.com".to_owned(), 403),
        ("host", "0.0.0.0".to_owned(), 403),
        ("origin", format!("http://127.0.0.1:{port}"), 200),
        // A page on another port of this machine has another origin.
        ("origin", "http://127.0.0.1:3000".to_owned(), 403),
        ("origin", "http://127.0.0.1".to_owned(), 403),
        ("origin", format!("https://127.0.0.1:{port}"), 403),
        ("origin", format!("http://localhost:{port}"), 403),
        ("origin", "https://example.com".to_owned(), 403),
        ("origin", "http://localhost.example.com".to_owned(), 403),
        ("origin", "null".to_owned(), 403),
        ("origin", "file://".to_owned(), 403),
        ("sec-fetch-site", "cross-site".to_owned(), 403),
        ("sec-fetch-site", "same-site".to_owned(), 403),
        ("sec-fetch-site", "same-origin".to_owned(), 200),
        ("sec-fetch-site", "none".to_owned(), 200),
        // A client behind a local proxy.
        ("x-forwarded-for", "203.0.113.9".to_owned(), 401),
        ("forwarded", "for=203.0.113.9".to_owned(), 401),
        ("x-forwarded-proto", "https".to_owned(), 401),
        ("x-forwarded-host", "ask.example.com".to_owned(), 401),
        ("x-original-url", "/rpc".to_owned(), 401),
        ("x-client-ip", "203.0.113.9".to_owned(), 401),
        ("true-client-ip", "203.0.113.9".to_owned(), 401),
        ("fastly-client-ip", "203.0.113.9".to_owned(), 401),
        ("cf-connecting-ip", "203.0.113.9".to_owned(), 401),
        ("fly-client-ip", "203.0.113.9".to_owned(), 401),
        ("x-envoy-external-address", "203.0.113.9".to_owned(), 401),
        ("x-amzn-trace-id", "Root=1-0".to_owned(), 401),
        ("tailscale-user-login", "mallory".to_owned(), 401),
        // What a page can send without a preflight.
        ("content-type", "text/plain".to_owned(), 415),
        (
            "content-type",
            "application/x-www-form-urlencoded".to_owned(),
            415,
        ),
        (
            "content-type",
            "multipart/form-data; boundary=x".to_owned(),
            415,
        ),
        (
            "content-type",
            "application/json; charset=utf-8".to_owned(),
            200,
        ),
        (
            "content-type",
            "application/json; charset=utf-16".to_owned(),
            415,
        ),
        ("content-encoding", "gzip".to_owned(), 415),
    ] {
        for mut request in [server.post(LIST), server.get("/events"), server.get("/ws")] {
            let is_call = request.uri().path() == "/rpc";
            if !is_call && name.starts_with("content-") {
                continue;
            }
            let set = HeaderValue::from_str(&value).unwrap();
            request.headers_mut().insert(name, set);
            let path = request.uri().path().to_owned();
            let answered = server.open(request).await.status().as_u16();
            // Without a handshake.
            let expected = if path == "/ws" && status == 200 {
                426
            } else {
                status
            };
            assert_eq!(answered, expected, "{path} {name}: {value}");
        }
    }
    // A key is sufficient: no page knows one.
    let mut request = server.post(LIST);
    let key = HeaderValue::from_static("Bearer open-sesame");
    request.headers_mut().insert(header::AUTHORIZATION, key);
    let host = HeaderValue::from_static("ask.example.com");
    request.headers_mut().insert(header::HOST, host);
    assert_eq!(server.send(request).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_header_that_says_who_sends_what_may_not_stand_twice() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let key = "Bearer open-sesame";
    for (name, first, second) in [
        ("authorization", key, "Bearer mallory"),
        ("authorization", "Bearer mallory", key),
        ("authorization", key, key),
        ("host", "localhost", "evil.example"),
        ("origin", "http://localhost", "http://localhost"),
        ("content-type", "application/json", "text/plain"),
        ("last-event-id", "1", "2"),
    ] {
        for request in [server.post(LIST), server.get("/events"), server.get("/ws")] {
            let mut request = request;
            let headers = request.headers_mut();
            headers.insert(name, HeaderValue::from_static(first));
            headers.append(name, HeaderValue::from_static(second));
            let path = request.uri().path().to_owned();
            let answer = server.send(request).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path} {name}");
            let words = format!("The header `{name}` must not be sent twice.");
            assert_eq!(answer.json()["error"]["message"], words, "{path}");
        }
    }
    // Two keys joined by a proxy are nobody's key.
    let mut request = server.post(LIST);
    let joined = HeaderValue::from_static("Bearer open-sesame, Bearer open-sesame");
    request.headers_mut().insert("authorization", joined);
    assert_eq!(server.send(request).await.status, StatusCode::UNAUTHORIZED);
    // Other headers may repeat: their values are combined.
    let mut request = server.post(LIST);
    for value in ["a", "b"] {
        let value = HeaderValue::from_static(value);
        request.headers_mut().append("accept", value);
    }
    assert_eq!(server.send(request).await.status, StatusCode::OK);
}

#[tokio::test]
async fn where_keys_are_needed_nobody_comes_without() {
    let world = World::new().await;
    let askers = Askers::none().with_key("open-sesame", world.engine.asker("other"));
    let server = Server::for_askers(&world, askers, |_| {}).await;
    for request in [server.post(LIST), server.get("/events"), server.get("/ws")] {
        assert_eq!(server.send(request).await.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn pages_for_those_who_run_it() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    for (path, status, begins) in [
        ("/healthz", 200, "ok"),
        ("/readyz", 200, "ready"),
        ("/metrics", 200, "live 1"),
        ("/openrpc.json", 200, "{"),
        ("/", 404, "Not found"),
        ("/rpc", 405, ""),
    ] {
        let answer = server.send(server.get(path)).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.body.starts_with(begins.as_bytes()), "{path}");
    }
}

#[tokio::test]
async fn an_await_outlives_the_patience_of_proxies() {
    let world = World::new().await;
    let server = Server::with(&world, |settings| {
        settings.heartbeat = Duration::from_millis(20);
    })
    .await;
    let id = world.ask().await;
    let wait = request("elicitation/await", json!({"elicitationId": id}));
    let mut response = server.open(server.post(wait)).await;
    assert_eq!(response.status(), StatusCode::OK);
    for _ in 0..3 {
        let frame = soon(response.body_mut().frame()).await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), " ");
    }
    world.submit(&id, answer()).await;
    let settled = Answer::of(response).await;
    let settled: serde_json::Value = serde_json::from_slice(&settled.body).unwrap();
    assert_eq!(settled["result"]["status"], "completed");
    assert_eq!(settled["result"]["result"], answer());
}

#[tokio::test]
async fn an_end_finishes_what_is_under_way_and_sends_waiters_home() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let id = world.ask().await;
    let wait = request("elicitation/await", json!({"elicitationId": id}));
    let waiting = server.send(server.post(wait));
    let mut events = server.open(server.get("/events")).await;
    soon(events.body_mut().frame()).await.unwrap().unwrap();
    let stop = async {
        // Until the call waits; otherwise the shutdown would only find it in transit.
        while world.engine.live() == 0 {
            tokio::task::yield_now().await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        server.end.cancel();
    };
    let (answered, ()) = tokio::join!(waiting, stop);
    let answered = answered.json();
    assert_eq!(answered["result"]["status"], "pending");
    // The stream ends, the port is free, and nothing was lost.
    while let Some(frame) = soon(events.body_mut().frame()).await {
        frame.unwrap();
    }
    soon(server.serving).await.unwrap();
    assert!(
        tokio::net::TcpStream::connect(server.address)
            .await
            .is_err()
    );
    let status = world
        .engine
        .elicitation(serde_json::from_value(id).unwrap());
    assert!(status.status().await.unwrap().outcome().is_none());
}

#[tokio::test]
async fn many_calls_share_a_connection() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let stream = tokio::net::TcpStream::connect(server.address)
        .await
        .unwrap();
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..50 {
        let create = request("elicitation/create", json!({"formDefinition": deploy()}));
        let response = soon(sender.send_request(server.post(create)))
            .await
            .unwrap();
        let created = Answer::of(response).await.json();
        assert_eq!(created["result"]["status"], "pending");
    }
    assert_eq!(world.engine.live(), 50);
    drop(sender);
    // HTTP is not a connection for the asker: its questions stay.
    server.stop().await;
    assert_eq!(world.engine.live(), 50);
}
