//! Arbitrary bytes over the wire, for a while: no panic, no status 500, no memory growth, and
//! others are served in the meantime.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::wire::{Pipes, Server, soon};
use crate::world::{World, answer, deploy, request};

/// How long to test each transport.
const WHILE: Duration = Duration::from_secs(20);
/// More would mean that rejected input is retained.
const GROWTH: usize = 64 << 20;

#[expect(clippy::disallowed_methods, reason = "a test that runs for a while")]
fn now() -> Instant {
    Instant::now()
}

/// Generates nearly valid messages.
struct Mutator {
    chance: fastrand::Rng,
    seeds: Vec<Vec<u8>>,
}

impl Mutator {
    async fn new(world: &World, seed: u64) -> Self {
        let id = world.ask().await;
        let on_it = json!({"elicitationId": id});
        let submit = json!({"elicitationId": id, "responses": answer(), "partial": true});
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let seeds = [
            request(
                "elicitation/create",
                json!({"formDefinition": deploy(), "durable": true}),
            ),
            request(
                "elicitation/create",
                json!({"prompt": "Name?", "metadata": {"a": [1, null]}}),
            ),
            request(
                "elicitation/create",
                json!({"url": "https://example.com/", "timeout": 5000}),
            ),
            request("elicitation/status", on_it.clone()),
            request("elicitation/submit", submit),
            request(
                "elicitation/await",
                json!({"elicitationId": id, "timeout": 1}),
            ),
            request("elicitation/list", json!({"limit": 5, "status": "pending"})),
            request("elicitation/extend_timeout", on_it),
            request("forms/validate", json!({"formDefinition": deploy()})),
            format!("[{},{}]", request("forms/list", json!({})), deep),
            r#"{"jsonrpc":"2.0","id":"\ud800","method":"forms/list","method":5}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":1e400,"method":"elicitation/await","params":{}}"#.to_owned(),
        ];
        Self {
            chance: fastrand::Rng::with_seed(seed),
            seeds: seeds.map(String::into_bytes).to_vec(),
        }
    }

    fn next(&mut self) -> Vec<u8> {
        let chance = &mut self.chance;
        let mut message = self.seeds[chance.usize(..self.seeds.len())].clone();
        for _ in 0..chance.usize(..5) {
            let at = chance.usize(..=message.len());
            match chance.u8(..7) {
                0 => message.truncate(at),
                1 => message.insert(at, chance.u8(..)),
                2 if at < message.len() => message[at] ^= 1 << chance.u8(..8),
                3 if at < message.len() => {
                    message.remove(at);
                }
                4 => {
                    let other = &self.seeds[chance.usize(..self.seeds.len())];
                    let from = chance.usize(..other.len());
                    message.splice(at..at, other[from..].iter().copied());
                }
                5 => {
                    let piece = [
                        "{", "]", "\"", ",", "null", "-0", "1e9", "\\u0000", "\u{feff}",
                    ];
                    let piece = piece[chance.usize(..piece.len())];
                    message.splice(at..at, piece.bytes());
                }
                _ => message.extend_from_within(at..),
            }
        }
        message.truncate(1 << 16);
        message
    }
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// A world in which questions don't accumulate: few may be live, and they are purged at once.
async fn world() -> World {
    World::with(|settings| {
        settings.asker.limits.live = 50;
        settings.retention = Duration::ZERO;
    })
    .await
}

/// Lets waits time out, and never ends.
async fn let_time_pass(world: &World) -> Infallible {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        world.pass(Duration::from_secs(400)).await;
    }
}

/// Whether a body is a JSON-RPC response.
fn is_json_rpc(body: &[u8]) -> bool {
    let is_answer = |answer: &Value| answer["jsonrpc"] == "2.0" && answer.get("id").is_some();
    match serde_json::from_slice(body) {
        Ok(Value::Array(answers)) => !answers.is_empty() && answers.iter().all(is_answer),
        Ok(answer) => is_answer(&answer),
        Err(_) => body.is_empty(),
    }
}

#[tokio::test]
async fn anything_posted_is_answered_within_the_rules() {
    let world = world().await;
    let server = Server::start(&world).await;
    let mut mutator = Mutator::new(&world, 1).await;
    let (begun, mut before, mut sent) = (now(), None, 0_u32);
    while begun.elapsed() < WHILE {
        let answer = tokio::select! {
            answer = server.send(server.post(mutator.next())) => answer,
            // A wait without a limit ends with its question.
            never = let_time_pass(&world) => match never {},
        };
        let status = answer.status.as_u16();
        assert!([200, 400].contains(&status), "{status}");
        assert!(is_json_rpc(&answer.body), "{:?}", answer.body);
        sent += 1;
        if sent % 500 == 0 {
            world.pass(Duration::from_secs(400)).await;
            // Once caches are warm.
            let _ = *before.get_or_insert_with(resident);
        }
    }
    assert!(resident() < before.unwrap_or_default() + GROWTH);
    // The same bytes in place of a request.
    for _ in 0..500 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(&mutator.next()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let _ = soon(stream.read_to_end(&mut answer)).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    assert_eq!(server.send(server.get("/readyz")).await.status, 200);
}

#[tokio::test]
async fn anything_on_a_web_socket_is_answered_or_ends_it() {
    let world = world().await;
    let server = Server::start(&world).await;
    let mut mutator = Mutator::new(&world, 2).await;
    let mut socket = server.web_socket().await;
    let (begun, mut before, mut sent) = (now(), None, 0_u32);
    while begun.elapsed() < WHILE {
        let message = mutator.next();
        let text = String::from_utf8_lossy(&message).into_owned();
        // Occasionally, bytes that are not a frame.
        if sent % 97 == 0 {
            let stream = socket.get_mut();
            stream.write_all(&message).await.ok();
        }
        let sending = socket.send(Message::text(text)).await;
        let ping = Message::text(request("forms/list", json!({})));
        let asked = match sending {
            Ok(()) => socket.send(ping).await,
            Err(error) => Err(error),
        };
        let mut is_over = asked.is_err();
        // Until the response to the valid message, which comes whatever happens to the rest.
        while !is_over {
            match soon(socket.next()).await {
                Some(Ok(Message::Text(text))) => {
                    let told: Value = serde_json::from_str(&text).unwrap();
                    if told["result"]["templates"].is_array() {
                        break;
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(_) | Err(Error::Protocol(_) | Error::Io(_))) | None => is_over = true,
                Some(Err(error)) => panic!("{error}"),
            }
        }
        if is_over {
            socket = server.web_socket().await;
        }
        sent += 1;
        if sent % 500 == 0 {
            world.pass(Duration::from_secs(400)).await;
            let _ = *before.get_or_insert_with(resident);
        }
    }
    assert!(resident() < before.unwrap_or_default() + GROWTH);
    assert_eq!(server.send(server.get("/readyz")).await.status, 200);
}

#[tokio::test]
async fn anything_on_a_pipe_is_answered_line_by_line() {
    let world = world().await;
    let mut mutator = Mutator::new(&world, 3).await;
    let mut pipes = Pipes::start(&world);
    let (begun, mut before, mut sent) = (now(), None, 0_u32);
    while begun.elapsed() < WHILE {
        let mut message = mutator.next();
        message.retain(|byte| *byte != b'\n');
        message.push(b'\n');
        let input = pipes.input.as_mut().unwrap();
        soon(input.write_all(&message)).await.unwrap();
        pipes.send(&request("forms/list", json!({}))).await;
        while !pipes.receive().await["result"]["templates"].is_array() {}
        sent += 1;
        if sent % 500 == 0 {
            world.pass(Duration::from_secs(400)).await;
            let _ = *before.get_or_insert_with(resident);
        }
    }
    assert!(resident() < before.unwrap_or_default() + GROWTH);
}
