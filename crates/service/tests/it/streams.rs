//! Notifications as server-sent events: in order, once, and resumable.

use std::time::Duration;

use axum::http::HeaderValue;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::wire::{Server, soon};
use crate::world::{World, answer};

/// An open stream of events.
struct Events {
    body: Incoming,
    text: String,
}

/// An event: its id and data.
type Event = (String, Value);

impl Events {
    async fn open(server: &Server, after: Option<&str>) -> Self {
        let mut request = server.get("/events");
        if let Some(after) = after {
            let after = HeaderValue::from_str(after).unwrap();
            request.headers_mut().insert("last-event-id", after);
        }
        let response = server.open(request).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut events = Self {
            body: response.into_body(),
            text: String::new(),
        };
        assert_eq!(events.block().await, "retry: 1000");
        events
    }

    /// The next block of lines.
    async fn block(&mut self) -> String {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let rest = self.text.split_off(end + 2);
                let block = std::mem::replace(&mut self.text, rest);
                return block.trim_end().to_owned();
            }
            let frame = soon(self.body.frame()).await.unwrap().unwrap();
            self.text += str::from_utf8(&frame.into_data().unwrap()).unwrap();
        }
    }

    async fn next(&mut self) -> Event {
        loop {
            let block = self.block().await;
            if block == ":" {
                continue;
            }
            let (id, data) = block.split_once('\n').unwrap();
            let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            return (id.strip_prefix("id: ").unwrap().to_owned(), data);
        }
    }
}

#[tokio::test]
async fn each_outcome_is_told_once_and_a_warning_before() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut events = Events::open(&server, None).await;
    let (answered, declined, late) = (world.ask().await, world.ask().await, world.ask().await);
    world.submit(&answered, answer()).await;
    world
        .result("elicitation/decline", json!({"elicitationId": declined}))
        .await;
    world.pass(Duration::from_secs(240)).await;
    world.pass(Duration::from_secs(60)).await;
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(events.next().await.1);
    }
    let methods: Vec<_> = told.iter().map(|told| &told["method"]).collect();
    assert_eq!(
        methods,
        [
            "notifications/elicitation/complete",
            "notifications/elicitation/declined",
            "notifications/elicitation/timeout_warning",
            "notifications/elicitation/timeout",
        ]
    );
    assert_eq!(told[0]["params"]["elicitationId"], answered);
    assert_eq!(told[0]["params"]["result"], answer());
    assert_eq!(told[2]["params"]["elicitationId"], late);
    assert_eq!(told[2]["params"]["remainingMs"], 60_000);
}

#[tokio::test]
async fn a_stream_goes_on_where_it_broke_off() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut events = Events::open(&server, None).await;
    let mut ids = Vec::new();
    for _ in 0..200 {
        let id = world.ask().await;
        world.submit(&id, answer()).await;
        ids.push(id);
    }
    let mut last = String::new();
    for id in &ids[..30] {
        let (place, told) = events.next().await;
        assert_eq!(told["params"]["elicitationId"], *id);
        last = place;
    }
    drop(events);
    // Texts no longer in the log are rebuilt.
    let mut events = Events::open(&server, Some(&last)).await;
    for id in &ids[30..] {
        let (_, told) = events.next().await;
        assert_eq!(told["params"]["elicitationId"], *id);
        assert_eq!(told["params"]["result"], answer());
    }
    // An invalid position means the present.
    let mut events = Events::open(&server, Some("yesterday")).await;
    let id = world.ask().await;
    world.submit(&id, answer()).await;
    assert_eq!(events.next().await.1["params"]["elicitationId"], id);
}

#[tokio::test]
async fn a_stream_goes_on_after_a_restart() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut events = Events::open(&server, None).await;
    let first = world.ask().await;
    world.submit(&first, answer()).await;
    let (last, _) = events.next().await;
    drop(events);
    world.pass(Duration::from_secs(10)).await;
    let second = world.ask().await;
    world.submit(&second, answer()).await;

    // Another server doesn't know what the first one sent.
    let other = Server::start(&world).await;
    let mut events = Events::open(&other, Some(&last)).await;
    let (place, told) = events.next().await;
    // Outcomes of the same seconds are repeated rather than lost.
    assert_eq!(told["params"]["elicitationId"], first);
    assert_eq!(events.next().await.1["params"]["elicitationId"], second);
    let third = world.ask().await;
    world.submit(&third, answer()).await;
    assert_eq!(events.next().await.1["params"]["elicitationId"], third);
    // A stream that breaks while catching up still misses nothing.
    let mut events = Events::open(&other, Some(&place)).await;
    for id in [first, second, third] {
        assert_eq!(events.next().await.1["params"]["elicitationId"], id);
    }
}

#[tokio::test]
async fn an_asker_hears_of_its_own_and_secrets_stay_sealed() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut events = Events::open(&server, None).await;
    let mut request = server.get("/events");
    let key = HeaderValue::from_static("Bearer open-sesame");
    request.headers_mut().insert("authorization", key);
    let other = server.open(request).await;
    let mut other = Events {
        body: other.into_body(),
        text: String::new(),
    };
    other.block().await;

    let id = world.ask().await;
    let responses = json!({"target": "staging", "token": "hunter2"});
    world.submit(&id, responses).await;
    let (_, told) = events.next().await;
    assert_eq!(told["params"]["result"]["token"], "[sealed]");

    let theirs = world.engine.asker("other");
    let form = entreat_testkit::samples::minimal();
    let question = theirs.ask(entreat_engine::Ask::form(form)).await.unwrap();
    question.decline().await.unwrap();
    let (_, told) = other.next().await;
    assert_eq!(told["params"]["elicitationId"], question.id().to_string());
}

#[tokio::test]
async fn more_than_can_be_heard_at_once_is_made_up_for() {
    let world = World::new().await;
    let server = Server::start(&world).await;
    let mut events = Events::open(&server, None).await;
    let mut ids = Vec::new();
    for _ in 0..3000 {
        ids.push(world.ask().await);
    }
    // In one go, without a turn for the subscriber.
    for id in &ids {
        let id = serde_json::from_value(id.clone()).unwrap();
        world.engine.elicitation(id).decline().await.unwrap();
    }
    let mut told = std::collections::BTreeSet::new();
    for _ in &ids {
        let (_, event) = events.next().await;
        let id = event["params"]["elicitationId"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(told.insert(id), "told twice");
    }
    // Events that were recovered and also received are not sent twice.
    let last = world.ask().await;
    world.submit(&last, answer()).await;
    assert_eq!(events.next().await.1["params"]["elicitationId"], last);
}
