//! Everything that an asker sends counts against its rate limit, even if it cannot be parsed.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::wire::{Server, Wire};
use crate::world::{World, answer};

/// Askers with this many requests per second.
async fn world(requests: u32) -> World {
    World::with(|settings| {
        settings.asker.limits.requests_per_second = NonZeroU32::new(requests);
    })
    .await
}

#[tokio::test]
async fn messages_that_cannot_be_read_are_counted_on_every_wire() {
    for name in Wire::NAMES {
        for message in [
            "no JSON",
            r#"{"a":1,"a":2}"#,
            "[]",
            "7",
            r#"{"jsonrpc":"1.0","id":1,"method":"forms/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
            r#"[{"a":1,"a":2}]"#,
        ] {
            let world = world(20).await;
            let mut wire = Wire::open(name, &world).await;
            let mut limited = 0;
            for _ in 0..60 {
                let answered = wire.exchange(message).await;
                if answered["error"]["code"] == -32010 {
                    assert!(answered["error"]["data"]["retry_after_ms"].is_u64());
                    limited += 1;
                }
            }
            assert!((35..=60).contains(&limited), "{name}: {message}: {limited}");
            world.clock.advance(Duration::from_secs(10));
            let call = wire.call("forms/list", json!({})).await;
            assert!(call["result"].is_object(), "{name}: {call}");
        }
    }
}

#[tokio::test]
async fn every_element_of_a_batch_is_counted() {
    let world = world(20).await;
    let mut wire = Wire::open("HTTP", &world).await;
    let answered = wire.exchange(&format!("[{}0]", "0,".repeat(999))).await;
    let answers = answered.as_array().unwrap();
    let count = |code: i64| {
        let is_it = |answer: &&serde_json::Value| answer["error"]["code"] == code;
        answers.iter().filter(is_it).count()
    };
    assert_eq!(count(-32600) + count(-32010), 1000);
    assert!(count(-32600) <= 40, "{}", count(-32600));
}

#[tokio::test]
async fn streams_that_are_opened_again_and_again_are_counted() {
    let world = world(20).await;
    let server = Server::start(&world).await;
    for after in [None, Some("0-0-0")] {
        let mut refused = 0;
        for _ in 0..60 {
            let mut request = server.get("/events");
            if let Some(after) = after {
                let after = HeaderValue::from_static(after);
                request.headers_mut().insert("last-event-id", after);
            }
            let response = server.open(request).await;
            if response.status() == StatusCode::TOO_MANY_REQUESTS {
                assert_eq!(response.headers()["retry-after"], "1");
                refused += 1;
            }
        }
        assert!(refused >= 20, "{after:?}: {refused}");
        world.clock.advance(Duration::from_secs(10));
    }
}

#[tokio::test]
async fn a_replay_is_paid_for_by_what_is_read() {
    let world = world(50).await;
    for round in 0..45 {
        for _ in 0..10 {
            let id = world.ask().await;
            world.submit(&id, answer()).await;
        }
        // Time for as many requests again.
        world.clock.advance(Duration::from_secs(1 + round % 2));
    }
    let server = Server::start(&world).await;
    let mut request = server.get("/events");
    let beginning = HeaderValue::from_static("0-0-0");
    request.headers_mut().insert("last-event-id", beginning);
    let mut body = server.open(request).await.into_body();
    let mut text = String::new();
    while text.matches("data: ").count() < 450 {
        use http_body_util::BodyExt as _;
        let frame = crate::wire::soon(body.frame()).await.unwrap().unwrap();
        text += str::from_utf8(&frame.into_data().unwrap()).unwrap();
    }
    // One for the stream, more than two pages of records, and their texts.
    let mut left = 0;
    while world.session.asker().charge().is_ok() {
        left += 1;
    }
    assert!((40..=47).contains(&left), "{left}");
}
