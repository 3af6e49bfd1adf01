//! Calls that are lost, and answers that are not.

use std::sync::Arc;
use std::time::Duration;

use entreat_core::{CancelReason, Outcome};
use entreat_engine::{Engine, KeyRing, MemoryStore, Store};
use entreat_testkit::SeededEntropy;
use serde_json::{Value, json};

use super::{accept, all, begin_lowered, call, complete, form, next_round, only_question, retry};
use crate::world::{Pair, Ways, World, settle, text};

/// What outlives a gateway.
struct Disk {
    store: Arc<dyn Store>,
    keys: String,
}

/// The keys of a ring, as a file has them.
pub(super) fn text_of(ring: &KeyRing) -> String {
    String::from_utf8(ring.to_text().expose().to_vec()).unwrap()
}

impl Disk {
    fn new() -> Self {
        Self {
            store: Arc::new(MemoryStore::default()),
            keys: text_of(&KeyRing::generate(&SeededEntropy::new(1))),
        }
    }

    /// A gateway of a new process. Those before it are as good as killed: nobody runs them.
    async fn start(&self, ways: Ways) -> World {
        let engine = Engine::builder()
            .shared_store(self.store.clone())
            .keys(KeyRing::from_text(&self.keys).unwrap());
        World::on(ways, engine, |gateway| gateway).await
    }
}

/// The fields that are filled in on a page.
async fn filled_in(world: &World, page: &str) -> Value {
    world.question(page).read_draft().await.unwrap().into()
}

/// Has a client that shows nothing call a tool, whose server asks; returns the page.
async fn ask(world: &World, tool: &str, message: &str) -> (Pair, Value, String) {
    let mut pair = world.connect();
    let asked = begin_lowered(&mut pair, 1, call(tool, json!({}), json!({}))).await;
    pair.server.ask("q", form(message)).await;
    let page = world.opened().await;
    (pair, asked, page)
}

#[tokio::test]
async fn an_answer_to_a_call_of_a_killed_gateway_is_offered_again_and_nothing_runs_twice() {
    let disk = Disk::new();
    let world = disk.start(Ways::None).await;
    let mut pair = world.connect();
    let params = call("charge", json!({"n": 1}), all());
    begin_lowered(&mut pair, 1, params.clone()).await;
    pair.server.ask("q", form("Whose card?")).await;
    let round = next_round(&world, &mut pair).await;
    let (key, _) = only_question(&round);
    let answers = json!({key: accept("Ada")});

    // Twice: the answer is there after another kill, too.
    for _ in 0..2 {
        let world = disk.start(Ways::None).await;
        let mut pair = world.connect();
        pair.client
            .request(2, "tools/call", retry(&params, &round, answers.clone()))
            .await;
        pair.lower().await;
        let lost = pair.client.next().await;
        assert_eq!(lost["error"]["code"], -32603, "{lost}");
        assert_eq!(
            lost["error"]["data"],
            json!({"reason": "call_lost", "mayHaveRun": true})
        );
        pair.server.nothing().await;
    }

    let world = disk.start(Ways::None).await;
    let mut pair = world.connect();
    let asked = begin_lowered(&mut pair, 4, params.clone()).await;
    pair.server.ask("q", form("Whose card?")).await;
    let round = next_round(&world, &mut pair).await;
    let (key, question) = only_question(&round);
    let field = &question["requestedSchema"]["properties"]["name"];
    assert_eq!(field["default"], "Ada", "{question}");
    world.clock.advance(Duration::from_secs(1));
    pair.client
        .request(
            5,
            "tools/call",
            retry(&params, &round, json!({key: accept("Eve")})),
        )
        .await;
    assert_eq!(pair.server.next().await["result"], accept("Eve"));
    pair.server.reply(&asked, text("charged")).await;
    assert_eq!(
        pair.client.next().await["result"],
        complete(text("charged"))
    );
    // It was decided: nothing is offered any more.
    begin_again(&world, &mut pair, &params).await;
}

/// Calls once more; the question is as the server asks it.
async fn begin_again(world: &World, pair: &mut Pair, params: &Value) {
    pair.client.request(6, "tools/call", params.clone()).await;
    pair.server.next().await;
    pair.server.ask("q", form("Whose card?")).await;
    let (_, question) = only_question(&next_round(world, pair).await);
    assert_eq!(question, form("Whose card?"));
}

#[tokio::test]
async fn what_was_sent_on_a_page_is_filled_in_again_until_a_server_has_used_it() {
    let disk = Disk::new();
    let world = disk.start(Ways::Browser).await;
    let (mut pair, _, page) = ask(&world, "charge", "Whose card?").await;
    world.answer(&page, json!({"name": "Ada"})).await;
    // The server got the answer, but nobody knows what became of the call.
    assert_eq!(pair.server.next().await["result"], accept("Ada"));

    let world = disk.start(Ways::Browser).await;
    let (mut pair, asked, page) = ask(&world, "charge", "Whose card?").await;
    assert_eq!(filled_in(&world, &page).await, json!({"name": "Ada"}));
    let status = world.question(&page).status().await.unwrap();
    let extras = status.record().request.extras.clone().unwrap();
    assert!(extras.message().unwrap().contains("did not arrive"));
    pair.server.nothing().await;
    world.answer(&page, json!({"name": "Eve"})).await;
    assert_eq!(pair.server.next().await["result"], accept("Eve"));
    pair.server.reply(&asked, text("charged")).await;
    assert_eq!(
        pair.client.next().await["result"],
        complete(text("charged"))
    );
    settle().await;

    for world in [world, disk.start(Ways::Browser).await] {
        let (_pair, _, page) = ask(&world, "charge", "Whose card?").await;
        assert_eq!(filled_in(&world, &page).await, json!({}));
    }
}

#[tokio::test]
async fn pages_of_a_killed_gateway_say_that_nobody_waits_and_keep_what_was_typed() {
    let disk = Disk::new();
    let before = disk.start(Ways::Browser).await;
    let (_pair, _, page) = ask(&before, "charge", "Whose card?").await;
    let typed = json!({"name": "Ad"});
    before.question(&page).draft(&typed).await.unwrap();

    let world = disk.start(Ways::Browser).await;
    let mut idle = world.connect();
    idle.client.nothing().await;
    let old = world.question(&page);
    let expected = Outcome::Cancelled(CancelReason::SessionExpired);
    assert_eq!(old.status().await.unwrap().outcome(), Some(expected));
    assert!(old.submit(&json!({"name": "Ada"})).await.is_err());
    let (_pair, _, page) = ask(&world, "charge", "Whose card?").await;
    assert_eq!(filled_in(&world, &page).await, typed);
}

#[tokio::test]
async fn what_was_typed_for_a_server_that_exits_is_filled_in_again() {
    let world = World::new(Ways::Browser).await;
    let (mut pair, _, page) = ask(&world, "charge", "Whose card?").await;
    world
        .question(&page)
        .draft(&json!({"name": "Ad"}))
        .await
        .unwrap();
    drop(pair.server);
    let failed = pair.client.next().await;
    assert_eq!(failed["error"]["code"], -32603);
    assert_eq!(
        failed["error"]["data"],
        json!({"reason": "upstream_exited", "mayHaveRun": true})
    );
    settle().await;
    let outcome = world.question(&page).status().await.unwrap().outcome();
    assert_eq!(
        outcome,
        Some(Outcome::Cancelled(CancelReason::SessionExpired))
    );
    let (_pair, _, page) = ask(&world, "charge", "Whose card?").await;
    assert_eq!(filled_in(&world, &page).await, json!({"name": "Ad"}));
}

#[tokio::test]
async fn an_answer_is_offered_for_the_same_question_of_the_same_tool_within_an_hour() {
    let disk = Disk::new();
    let world = disk.start(Ways::Browser).await;
    let (_pair, _, page) = ask(&world, "charge", "Whose card?").await;
    world.answer(&page, json!({"name": "Ada"})).await;
    let world = disk.start(Ways::Browser).await;
    for (tool, message) in [("refund", "Whose card?"), ("charge", "Which card?")] {
        let (_pair, _, page) = ask(&world, tool, message).await;
        assert_eq!(filled_in(&world, &page).await, json!({}), "{tool}");
    }
    world.pass(Duration::from_secs(60 * 60 + 1)).await;
    let (_pair, _, page) = ask(&world, "charge", "Whose card?").await;
    assert_eq!(filled_in(&world, &page).await, json!({}));
}

#[tokio::test]
async fn what_a_person_declined_is_not_offered_again() {
    let disk = Disk::new();
    let world = disk.start(Ways::Browser).await;
    let (_pair, _, page) = ask(&world, "charge", "Whose card?").await;
    let question = world.question(&page);
    question.draft(&json!({"name": "Ad"})).await.unwrap();
    question.decline().await.unwrap();
    settle().await;
    let world = disk.start(Ways::Browser).await;
    let (_pair, _, page) = ask(&world, "charge", "Whose card?").await;
    assert_eq!(filled_in(&world, &page).await, json!({}));
}
