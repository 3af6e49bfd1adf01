//! Log lines about refused requests and failed callbacks.

use std::time::Duration;

use axum::http::{HeaderValue, header};
use entreat_testkit::CapturedLog;
use serde_json::json;

use crate::wire::Server;
use crate::world::{World, request};

#[tokio::test]
async fn refused_keys_get_one_line_in_a_while_with_their_number() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let (log, _guard) = CapturedLog::of_this_thread(tracing::Level::INFO);
    let guess = async |key: &'static str| {
        let mut request = server.post(request("forms/list", json!({})));
        let value = HeaderValue::from_static(key);
        request.headers_mut().insert(header::AUTHORIZATION, value);
        server.send(request).await;
    };
    for _ in 0..30 {
        guess("Bearer guess-of-a-key").await;
    }
    let text = log.take();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("refused"))
        .collect();
    let [line] = lines[..] else {
        panic!("{text}");
    };
    for part in [
        "WARN",
        "address=127.0.0.1",
        "reason=\"unknown_key\"",
        "count=1",
    ] {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(!text.contains("guess-of-a-key"), "{text}");
    world.clock.advance(Duration::from_secs(11));
    guess("Bearer guess-of-a-key").await;
    let text = log.take();
    assert!(text.contains("count=30"), "{text}");
}
