//! Streams of changes whose filter changes, and which the server drops.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use super::{L11, all};
use crate::world::{Pair, Peer, Ways, World, modern, settle};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A server of 2026-07-28 with resources that change.
#[derive(Default)]
struct Changing {
    /// The streams that are open: the resources that each tells of.
    streams: BTreeMap<String, BTreeSet<String>>,
    /// The ids of all streams that there were.
    ids: BTreeSet<String>,
    next: u64,
    /// Changes that no stream was there for, and that no list has made good since.
    missed: bool,
}

impl Changing {
    /// Takes what the client of this server says until it says nothing more.
    async fn take(&mut self, server: &mut Peer) {
        while let Some(message) = server.next_if_any().await {
            let id = message["id"].to_string();
            match message["method"].as_str() {
                Some("subscriptions/listen") => {
                    assert!(self.ids.insert(id.clone()), "the id {id} is there twice");
                    let filter = &message["params"]["notifications"];
                    let uris = filter["resourceSubscriptions"].as_array();
                    let uris = uris.into_iter().flatten().map(ToString::to_string);
                    self.streams.insert(id, uris.collect());
                    let acknowledged = json!({"notifications": filter,
                        "_meta": {SUBSCRIPTION: message["id"]}});
                    let method = "notifications/subscriptions/acknowledged";
                    server.notify(method, acknowledged).await;
                }
                Some("notifications/cancelled") => {
                    let id = message["params"]["requestId"].to_string();
                    self.streams.remove(&id);
                }
                _ => panic!("unexpected: {message}"),
            }
        }
    }

    /// Changes a resource, and tells every stream that wants to know.
    async fn change(&mut self, server: &mut Peer, uri: &str) {
        self.next += 1;
        let quoted = json!(uri).to_string();
        let mut is_told = false;
        for (id, uris) in &self.streams {
            if uris.contains(&quoted) {
                is_told = true;
                let id: Value = serde_json::from_str(id).unwrap();
                let params = json!({"uri": uri, "_meta": {SUBSCRIPTION: id, "x/n": self.next}});
                server
                    .notify("notifications/resources/updated", params)
                    .await;
            }
        }
        self.missed |= !is_told;
    }

    /// Ends all streams.
    async fn drop_all(&mut self, server: &mut Peer) {
        for id in std::mem::take(&mut self.streams).into_keys() {
            let id: Value = serde_json::from_str(&id).unwrap();
            let result = json!({"resultType": "complete"});
            server.reply(&json!({"id": id}), result).await;
        }
    }
}

/// What the client knows.
#[derive(Default)]
struct Known {
    /// The numbers of the changes that it was told of.
    told: BTreeSet<u64>,
    /// The numbers of those, and of what it has read with a list.
    seen: BTreeSet<u64>,
    lists: usize,
}

impl Known {
    async fn hear(&mut self, client: &mut Peer, changing: &mut Changing) {
        while let Some(message) = client.next_if_any().await {
            match message["method"].as_str() {
                Some("notifications/resources/updated") => {
                    let meta = &message["params"]["_meta"];
                    let number = meta["x/n"].as_u64().unwrap();
                    assert!(meta.get(SUBSCRIPTION).is_none(), "{message}");
                    assert!(self.told.insert(number), "{number} came twice");
                    self.seen.insert(number);
                }
                Some("notifications/resources/list_changed") => {
                    self.lists += 1;
                    changing.missed = false;
                    self.seen.extend(1..=changing.next);
                }
                Some(_) => {}
                None => assert_eq!(message["result"], json!({}), "{message}"),
            }
        }
    }
}

#[tokio::test]
async fn no_change_is_missed_or_told_twice_while_filters_change_and_streams_end() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize_raised_only(L11, json!({})).await;
    let Pair {
        mut client,
        mut server,
    } = pair;
    let mut changing = Changing::default();
    changing.take(&mut server).await;
    let subscribe = |uri: &str| json!({"uri": uri});
    client
        .request("s", "resources/subscribe", subscribe("r:always"))
        .await;
    settle().await;
    changing.take(&mut server).await;
    settle().await;

    let mut knows = Known::default();
    for step in 0..1_000_u64 {
        if step % 10 == 0 {
            let method =
                ["resources/subscribe", "resources/unsubscribe"][usize::from(step / 10 % 2 == 1)];
            client.request(step, method, subscribe("r:sometimes")).await;
        }
        match step % 4 {
            0 => settle().await,
            1 => {}
            2 => changing.take(&mut server).await,
            _ => tokio::task::yield_now().await,
        }
        if step == 333 || step == 666 {
            changing.take(&mut server).await;
            changing.drop_all(&mut server).await;
            changing.change(&mut server, "r:always").await;
            settle().await;
            world.pass(Duration::from_millis(400)).await;
            changing.change(&mut server, "r:always").await;
            // The pause before the next stream is over, which is not open yet.
            world.pass(Duration::from_millis(150)).await;
            knows.hear(&mut client, &mut changing).await;
            changing.change(&mut server, "r:always").await;
            assert!(changing.missed);
            changing.take(&mut server).await;
        }
        changing.change(&mut server, "r:always").await;
        settle().await;
        knows.hear(&mut client, &mut changing).await;
        let told = u64::try_from(knows.seen.len()).unwrap();
        assert!(
            changing.missed || told == changing.next,
            "{told} of {} at step {step}",
            changing.next
        );
    }
    assert!(!changing.missed);
    assert_eq!(knows.lists, 2);
    assert_eq!(changing.streams.len(), 1);
}

#[tokio::test]
async fn a_client_that_replaces_its_stream_misses_nothing_of_a_server_of_2025() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    let listen = |uris: &[&str]| {
        let filter = json!({"toolsListChanged": true, "resourceSubscriptions": uris});
        modern(json!({"notifications": filter}), all())
    };
    pair.client
        .request("l1", "subscriptions/listen", listen(&["r:a"]))
        .await;
    pair.lower().await;
    let first = pair.client.next().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let subscribed = pair.server.next().await;
    assert_eq!(subscribed["method"], "resources/subscribe");
    pair.server.reply(&subscribed, json!({})).await;
    pair.client
        .request("l2", "subscriptions/listen", listen(&["r:a", "r:b"]))
        .await;
    let second = pair.client.next().await;
    assert_eq!(second["params"]["_meta"][SUBSCRIPTION], "l2");
    let subscribed = pair.server.next().await;
    assert_eq!(subscribed["params"], json!({"uri": "r:b"}));
    pair.server.reply(&subscribed, json!({})).await;
    // Both are open: each tells once, under its own id.
    let updated = "notifications/resources/updated";
    pair.server.notify(updated, json!({"uri": "r:a"})).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let told = pair.client.next().await;
        assert_eq!(told["method"], updated);
        ids.push(told["params"]["_meta"][SUBSCRIPTION].to_string());
    }
    ids.sort_unstable();
    assert_eq!(ids, [r#""l1""#, r#""l2""#]);
    pair.client
        .notify("notifications/cancelled", json!({"requestId": "l1"}))
        .await;
    settle().await;
    // What the other stream wants stays subscribed.
    pair.server.nothing().await;
    pair.server.notify(updated, json!({"uri": "r:a"})).await;
    let told = pair.client.next().await;
    assert_eq!(told["params"]["_meta"][SUBSCRIPTION], "l2");
    pair.client
        .notify("notifications/cancelled", json!({"requestId": "l2"}))
        .await;
    let mut left = Vec::new();
    for _ in 0..2 {
        let asked = pair.server.next().await;
        assert_eq!(asked["method"], "resources/unsubscribe");
        left.push(asked["params"]["uri"].as_str().unwrap().to_owned());
        pair.server.reply(&asked, json!({})).await;
    }
    left.sort_unstable();
    assert_eq!(left, ["r:a", "r:b"]);
    pair.client.nothing().await;
}
