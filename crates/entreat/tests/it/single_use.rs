//! A state is valid for one set of answers, even across restarts.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use entreat::mcp::rmcp::ErrorData;
use entreat::stores::{EmbeddedOptions, EmbeddedStore};
use entreat::{Entreat, KeyRing};
use entreat_testkit::mcp::{HttpClient, Kind, Reply, accept};
use entreat_testkit::{Call, Fault, FaultyStore};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::asking::Server;
use crate::{copy, keys};

const REFUSED: (i64, &str) = (-32602, "requestState is not valid for this request");
const CANARY: &str = "canary-in-an-outcome";

fn kind() -> Kind {
    Kind::form(entreat::core::schema::Era::V2026_07_28)
}

/// A tool that asks twice, and counts its effects.
fn counting(effects: &Arc<AtomicUsize>) -> Server {
    let effects = effects.clone();
    Server::new(move |ask| {
        let effects = effects.clone();
        async move {
            let first = ask.text("first", "First?").await?;
            let number = ask.once("charge", async || {
                Ok::<_, ErrorData>(effects.fetch_add(1, Ordering::SeqCst))
            });
            let number = number.await?;
            let second = ask.text("second", "Second?").await?;
            Ok(format!("{first} {second} {number} {CANARY}"))
        }
    })
}

fn answers(state: &str, key: &str, text: &str) -> Value {
    json!({"requestState": state, "inputResponses": {key: accept(json!({"text": text}))}})
}

async fn start(path: &Path, keys: &KeyRing) -> Entreat {
    let entreat = Entreat::builder().embedded(path, copy(keys));
    entreat.start().await.expect("it starts")
}

/// One round of the tool, in a separate process as far as the store can tell.
async fn round(path: &Path, keys: &KeyRing, server: &Server, extra: Value) -> Reply {
    let entreat = start(path, keys).await;
    let mut client = server.client(&entreat, kind(), kind().capabilities()).await;
    let reply = client.round("t", json!({}), extra).await;
    entreat.shutdown().await;
    reply
}

/// Waits for something that happens soon.
async fn until(holds: impl Fn() -> bool) {
    let soon = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    let hangs = Duration::from_secs(30);
    tokio::time::timeout(hangs, soon).await.expect("it happens");
}

#[tokio::test]
async fn what_was_used_before_a_restart_gives_the_same_again_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (keys, effects) = (keys(), Arc::default());
    let server = counting(&effects);
    let go = |extra| round(&path, &keys, &server, extra);

    let first = go(json!({})).await.state().to_owned();
    let second = go(answers(&first, "first", "a")).await;
    assert_eq!(effects.load(Ordering::SeqCst), 1);
    // The same answers give the same result, including the next state.
    assert_eq!(go(answers(&first, "first", "a")).await, second);
    assert_eq!(go(answers(&first, "first", "b")).await.error(), REFUSED);
    let second = second.state().to_owned();
    let text = format!("a b 0 {CANARY}");
    for _ in 0..2 {
        let reply = go(answers(&second, "second", "b")).await;
        assert_eq!(reply.text(), text);
    }
    assert_eq!(go(answers(&second, "second", "c")).await.error(), REFUSED);
    assert_eq!(effects.load(Ordering::SeqCst), 1);

    // The stored outcome cannot be read without the keys.
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
        let is_there = bytes
            .windows(CANARY.len())
            .any(|it| it == CANARY.as_bytes());
        assert!(!is_there);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_replays_on_a_store_have_one_effect_before_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let (keys, effects) = (keys(), Arc::default());
    let server = counting(&effects);
    let mut extra = None;
    let mut replies = Vec::new();
    for _ in 0..2 {
        let entreat = start(&path, &keys).await;
        let client = HttpClient::new(kind(), server.listen(&entreat).await);
        if extra.is_none() {
            let first = client.round("t", json!({}), json!({})).await;
            extra = Some(answers(first.state(), "first", "a"));
        }
        let mut callers = JoinSet::new();
        for _ in 0..64 {
            let (client, extra) = (client.clone(), extra.clone().unwrap_or_default());
            callers.spawn(async move { client.round("t", json!({}), extra).await });
        }
        replies.extend(callers.join_all().await);
        entreat.shutdown().await;
    }
    assert_eq!(replies.len(), 128);
    assert!(replies.iter().all(|reply| *reply == replies[0]));
    assert_eq!(replies[0].questions().len(), 1);
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}

/// How often its tool got past its question, and a server; the first run never completes.
fn hanging_at_first() -> (Arc<AtomicUsize>, Server) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let server = Server::new(move |ask| {
        let counted = counted.clone();
        async move {
            let name = ask.text("name", "Who?").await?;
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                std::future::pending::<()>().await;
            }
            Ok(name)
        }
    });
    (runs, server)
}

#[tokio::test]
async fn a_call_that_ended_with_its_process_runs_again_with_the_same_answers_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let keys = keys();
    let (runs, server) = hanging_at_first();
    let state = round(&path, &keys, &server, json!({})).await;
    let state = state.state().to_owned();

    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let store = Arc::new(FaultyStore::new(store));
    // As if the process were killed: nobody releases the claim.
    store.inject(Fault::of(Call::ReleaseClaim));
    let entreat = Entreat::builder().store(store.clone());
    let entreat = entreat.sealing_keys(copy(&keys)).start().await.unwrap();
    let mut client = server.client(&entreat, kind(), kind().capabilities()).await;
    let Value::Object(extra) = answers(&state, "name", "Ada") else {
        unreachable!()
    };
    let id = client.start_with("t", json!({}), extra).await;
    until(|| runs.load(Ordering::SeqCst) > 0).await;
    let cancelled = json!({"requestId": id});
    client.notify("notifications/cancelled", cancelled).await;
    until(|| store.failures() > 0).await;
    entreat.shutdown().await;
    store.inner().close().await;
    drop(store);

    let go = |text| round(&path, &keys, &server, answers(&state, "name", text));
    assert_eq!(go("Eve").await.error(), REFUSED);
    assert_eq!(go("Ada").await.text(), "Ada");
    assert_eq!(go("Ada").await.text(), "Ada");
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_call_that_was_cancelled_leaves_its_state_unused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let entreat = start(&path, &keys()).await;
    let (runs, server) = hanging_at_first();
    let mut client = server.client(&entreat, kind(), kind().capabilities()).await;
    let state = client.round("t", json!({}), json!({})).await;
    let state = state.state().to_owned();
    let Value::Object(extra) = answers(&state, "name", "Ada") else {
        unreachable!()
    };
    let id = client.start_with("t", json!({}), extra.clone()).await;
    until(|| runs.load(Ordering::SeqCst) > 0).await;
    // A second call with the same answers waits for the first, and runs when it is gone.
    let second = client.start_with("t", json!({}), extra).await;
    let cancelled = json!({"requestId": id});
    client.notify("notifications/cancelled", cancelled).await;
    let reply = client.reply_to(second, |_| unreachable!()).await;
    assert_eq!(reply.text(), "Ada");
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    entreat.shutdown().await;
}

#[tokio::test]
async fn a_store_that_does_not_answer_fails_the_call_and_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = EmbeddedStore::open(&path, EmbeddedOptions::default()).unwrap();
    let store = Arc::new(FaultyStore::new(store));
    let entreat = Entreat::builder().store(store.clone()).start().await;
    let entreat = entreat.unwrap();
    let effects = Arc::default();
    let server = counting(&effects);
    let mut client = server.client(&entreat, kind(), kind().capabilities()).await;
    let state = client.round("t", json!({}), json!({})).await;
    let extra = answers(state.state(), "first", "a");
    store.inject(Fault::of(Call::Claim).times(1));
    let reply = client.round("t", json!({}), extra.clone()).await;
    let failed = (-32603, "the store does not respond; try again later");
    assert_eq!(reply.error(), failed);
    assert_eq!(effects.load(Ordering::SeqCst), 0);
    let reply = client.round("t", json!({}), extra).await;
    assert_eq!(reply.questions().len(), 1);
    entreat.shutdown().await;
}
