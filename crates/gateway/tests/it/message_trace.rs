//! The trace of messages.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use entreat_engine::Engine;
use entreat_gateway::Trace;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::world::{Pair, Ways, World, name_form, page_and_handle, text};

const L11: &str = "2025-11-25";
const CANARY: &str = "canary-7f3a91";

/// A file in memory.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().clone();
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.lines();
        lines.map(|it| serde_json::from_str(it).unwrap()).collect()
    }
}

async fn traced(ways: Ways, file: impl Write + Send + 'static) -> (World, Pair, Trace) {
    let engine = Engine::builder().start().await.unwrap();
    let trace = Trace::start(engine, file).unwrap();
    let given = trace.clone();
    let world = World::built(ways, |gateway| gateway.trace(given)).await;
    let pair = world.connect();
    (world, pair, trace)
}

#[tokio::test]
async fn every_message_has_a_line_on_both_sides() {
    let paper = Paper::default();
    let (world, mut pair, trace) = traced(Ways::Browser, paper.clone()).await;
    pair.initialize(L11, json!({"elicitation": {}})).await;
    let asked = pair.called(7, "t", json!({"a": 1.5})).await;
    let form = pair.asked(0, name_form()).await;
    world.pass(Duration::from_secs(1)).await;
    let answer = json!({"action": "accept", "content": {"name": CANARY}});
    pair.client.reply(&form, answer).await;
    pair.server.next().await;
    pair.server.reply(&asked, text("done")).await;
    pair.client.next().await;
    trace.close().await;
    let lines = paper.lines();
    let told: Vec<String> = lines
        .iter()
        .map(|line| {
            let member = |name: &str| line[name].as_str().unwrap_or("-").to_owned();
            let [side, direction, kind, method] =
                ["side", "direction", "kind", "method"].map(member);
            format!("{side} {direction} {kind} {method}")
        })
        .collect();
    assert_eq!(
        told,
        [
            "client in request initialize",
            "server out request initialize",
            "server in result initialize",
            "client out result initialize",
            "client in notification notifications/initialized",
            "server out notification notifications/initialized",
            "client in request tools/call",
            "server out request tools/call",
            "server in request elicitation/create",
            "client out request elicitation/create",
            "client in result elicitation/create",
            "server out result elicitation/create",
            "server in result tools/call",
            "client out result tools/call",
        ]
    );
    for line in &lines {
        let is_response = line["kind"] == "result";
        assert_eq!(line["durationMs"].is_number(), is_response, "{line}");
        assert!(line["size"].as_u64().unwrap() > 20, "{line}");
        assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
    }
    assert_eq!(lines[6]["message"]["params"]["arguments"]["a"], 1.5);
    assert_eq!(lines[6]["id"], 7);
    let all = String::from_utf8(paper.0.lock().clone()).unwrap();
    assert!(!all.contains(CANARY), "{all}");
}

#[tokio::test]
async fn what_a_person_types_and_what_opens_a_page_are_left_out() {
    let paper = Paper::default();
    let (world, mut pair, trace) = traced(Ways::Pages, paper.clone()).await;
    pair.initialize(L11, json!({})).await;
    pair.client.request(1, "tools/list", json!({})).await;
    let asked = pair.server.next().await;
    pair.server.reply(&asked, json!({"tools": []})).await;
    pair.client.next().await;
    let secret = json!({"password": CANARY, "nested": {"apiKey": [CANARY]}});
    pair.called(2, "t", secret).await;
    let linked = pair.asked(0, name_form()).await;
    let (page, _) = page_and_handle(&linked);
    world.answer(&page, json!({"name": CANARY})).await;
    assert_eq!(
        pair.server.next().await["result"]["content"]["name"],
        CANARY
    );
    trace.close().await;
    let all = String::from_utf8(paper.0.lock().clone()).unwrap();
    assert!(!all.contains(CANARY), "{all}");
    let (_, token) = page.rsplit_once('/').unwrap();
    assert!(!all.contains(token), "{all}");
    assert!(all.contains("https://ask.example/[left out]"), "{all}");
}

/// A disk that writes when it is told to.
struct SlowDisk {
    may_write: Receiver<()>,
    paper: Paper,
}

impl Write for SlowDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Once the test lets go of the sender, it is fast.
        let _ = self.may_write.recv();
        self.paper.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_slow_disk_holds_nobody_up_and_what_is_missing_is_counted() {
    let paper = Paper::default();
    let (stop, may_write): (Sender<()>, _) = channel();
    let disk = SlowDisk {
        may_write,
        paper: paper.clone(),
    };
    let (_world, mut pair, trace) = traced(Ways::None, disk).await;
    pair.initialize(L11, json!({})).await;
    let calls = 1_000;
    for id in 1..=calls {
        let asked = pair.called(id, "t", json!({})).await;
        pair.server.reply(&asked, text("done")).await;
        pair.client.next().await;
    }
    drop(stop);
    trace.close().await;
    let lines = paper.lines();
    let dropped: u64 = lines.iter().filter_map(|it| it["dropped"].as_u64()).sum();
    let written = lines.iter().filter(|it| it["side"].is_string()).count() as u64;
    assert!(dropped > 1_000, "{dropped}");
    assert_eq!(dropped + written, 6 + 4 * calls, "{dropped} {written}");
}
