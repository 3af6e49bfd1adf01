//! Calls with one state on two nodes that share a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use entreat_engine::{Engine, KeyRing, MemoryStore};
use entreat_mcp::{Ask, McpSettings};
use entreat_testkit::SharedStore;
use entreat_testkit::mcp::{Client, Kind, Reply, accept};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::world::{ROUNDS, World, keys};

const REFUSED: (i64, &str) = (-32602, "requestState is not valid for this request");

/// Two nodes with the same tool. It asks, counts that it got an answer, and then waits.
struct Nodes {
    one: World,
    other: World,
    store: Arc<SharedStore<MemoryStore>>,
    runs: Arc<AtomicUsize>,
    gate: Arc<Semaphore>,
}

impl Nodes {
    async fn new() -> Self {
        let store = Arc::new(SharedStore::new(MemoryStore::new()));
        let another = Arc::new(store.another());
        let text = keys().to_text();
        let text = str::from_utf8(text.expose()).expect("it is text");
        let ring = || KeyRing::from_text(text).expect("it is a ring");
        let engine = || Engine::builder().keys(ring());
        let settings = McpSettings::default;
        let (one, other) = (engine().shared_store(store.clone()), engine());
        Self {
            one: World::on(one, |mcp| mcp, settings()).await,
            other: World::on(other.shared_store(another), |mcp| mcp, settings()).await,
            store,
            runs: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
        }
    }

    async fn client(&self, world: &World) -> Client<DuplexStream> {
        let (runs, gate) = (self.runs.clone(), self.gate.clone());
        let tool = move |ask: Ask, _| {
            let (runs, gate) = (runs.clone(), gate.clone());
            async move {
                let name = ask.text("name", "Who?").await?;
                let run = runs.fetch_add(1, Ordering::SeqCst);
                let _passed = gate.acquire().await;
                Ok(format!("{name} in run {run}"))
            }
        };
        world.client(Kind::form(ROUNDS), tool).await
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Lets time pass on the other node while everybody does what they have to.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.other.clock.advance(Duration::from_secs(1));
            for _ in 0..500 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Begins a call on each node: the first runs, the second comes with the same state.
    async fn begin(&self, text: &str) -> (JoinHandle<Reply>, JoinHandle<Reply>) {
        let (mut here, mut there) = (self.client(&self.one).await, self.client(&self.other).await);
        let first = here.round("t", json!({}), json!({})).await;
        let state = first.state().to_owned();
        let (extra, same) = (answers(&state, "x"), answers(&state, text));
        let first = tokio::spawn(async move { here.round("t", json!({}), extra).await });
        while self.runs() == 0 {
            tokio::task::yield_now().await;
        }
        let second = tokio::spawn(async move { there.round("t", json!({}), same).await });
        self.pass(5).await;
        (first, second)
    }
}

fn answers(state: &str, text: &str) -> Value {
    json!({"requestState": state, "inputResponses": {"name": accept(json!({"text": text}))}})
}

#[tokio::test]
async fn a_call_that_another_node_runs_is_waited_for_and_has_its_outcome() {
    let nodes = Nodes::new().await;
    let (first, second) = nodes.begin("x").await;
    assert_eq!((nodes.runs(), second.is_finished()), (1, false));
    nodes.gate.add_permits(2);
    assert_eq!(first.await.unwrap().text(), "x in run 0");
    nodes.pass(2).await;
    assert_eq!(second.await.unwrap().text(), "x in run 0");
    assert_eq!(nodes.runs(), 1);
}

#[tokio::test]
async fn other_answers_are_refused_while_another_node_runs_the_call() {
    let nodes = Nodes::new().await;
    let (_first, second) = nodes.begin("y").await;
    assert_eq!(second.await.unwrap().error(), REFUSED);
    assert_eq!(nodes.runs(), 1);
}

#[tokio::test]
async fn a_call_of_a_node_that_is_known_to_be_gone_runs_again_and_its_outcome_holds() {
    let nodes = Nodes::new().await;
    let (first, second) = nodes.begin("x").await;
    nodes.store.set_gone();
    nodes.pass(2).await;
    assert_eq!(nodes.runs(), 2);
    nodes.gate.add_permits(2);
    assert_eq!(second.await.unwrap().text(), "x in run 1");
    // It was not gone after all: it answers its own client, and its outcome is not stored.
    assert_eq!(first.await.unwrap().text(), "x in run 0");
    let engine = &nodes.other.engine;
    assert_eq!(engine.live(), 0);
}
