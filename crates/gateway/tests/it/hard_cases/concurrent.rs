//! Several calls, and several ends of one question, at once.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    L11, accept, all, begin_lowered, call, complete, form, next_round, only_question, retry,
};
use crate::world::{Pair, Ways, World, name_form, page_and_handle, settle, text};

#[tokio::test]
async fn answers_of_two_calls_that_ask_at_once_reach_their_own_questions() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let first = begin_lowered(&mut pair, 1, call("a", json!({}), all())).await;
    pair.client
        .request(2, "tools/call", call("b", json!({}), all()))
        .await;
    let second = pair.server.next().await;
    for (id, message) in [("a", "Who pays for a?"), ("b", "Who pays for b?")] {
        pair.server.ask(id, form(message)).await;
    }
    let pages = world.all_opened().await;
    assert_eq!(pages.len(), 2);
    let mut by_title = Vec::new();
    for page in pages {
        let status = world.question(&page).status().await.unwrap();
        let request = &status.record().request;
        let title = request.subject.form().unwrap().title().to_owned();
        by_title.push((title, page));
    }
    by_title.sort_unstable();
    // The later one first.
    for (index, name) in [(1, "Bob"), (0, "Ada")] {
        let (_, page) = &by_title[index];
        world.answer(page, json!({"name": name})).await;
        let answered = pair.server.next().await;
        let id = if index == 0 { "a" } else { "b" };
        assert_eq!(answered["id"], id);
        assert_eq!(answered["result"]["content"]["name"], name);
    }
    pair.server.reply(&second, text("b")).await;
    pair.server.reply(&first, text("a")).await;
    for _ in 0..2 {
        let done = pair.client.next().await;
        let expected = if done["id"] == 1 { "a" } else { "b" };
        assert_eq!(done["result"], complete(text(expected)));
    }
}

#[tokio::test]
async fn a_parked_call_gets_its_answer_while_another_asks_on_a_page() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let params = call("a", json!({}), all());
    let first = begin_lowered(&mut pair, 1, params.clone()).await;
    pair.server.ask(10, form("For a")).await;
    let round = next_round(&world, &mut pair).await;
    pair.client
        .request(2, "tools/call", call("b", json!({}), all()))
        .await;
    let second = pair.server.next().await;
    pair.server.ask(11, form("For b")).await;
    let page = world.opened().await;
    let (key, asked) = only_question(&round);
    assert_eq!(asked["message"], "For a");
    world.clock.advance(Duration::from_secs(1));
    pair.client
        .request(
            3,
            "tools/call",
            retry(&params, &round, json!({key: accept("Ada")})),
        )
        .await;
    let answered = pair.server.next().await;
    assert_eq!(
        (&answered["id"], &answered["result"]),
        (&json!(10), &accept("Ada"))
    );
    world.answer(&page, json!({"name": "Bob"})).await;
    let answered = pair.server.next().await;
    assert_eq!(answered["id"], 11);
    assert_eq!(answered["result"]["content"]["name"], "Bob");
    pair.server.reply(&first, text("a")).await;
    pair.server.reply(&second, text("b")).await;
    let mut ended = [pair.client.next().await, pair.client.next().await];
    ended.sort_by_key(|it| it["id"].as_u64());
    assert_eq!(ended[0]["id"], 2);
    assert_eq!(ended[0]["result"], complete(text("b")));
    assert_eq!(
        (&ended[1]["id"], &ended[1]["result"]),
        (&json!(3), &complete(text("a")))
    );
}

#[tokio::test]
async fn a_question_of_one_of_two_calls_has_its_link_in_the_older_one() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect();
    let first = begin_lowered(&mut pair, 1, call("a", json!({}), all())).await;
    pair.client
        .request(2, "tools/call", call("b", json!({}), all()))
        .await;
    let second = pair.server.next().await;
    let linked = pair.asked("b", form("Who pays?")).await;
    assert_eq!(linked["id"], 1);
    let (page, handle) = page_and_handle(&linked);
    world.answer(&page, json!({"name": "Ada"})).await;
    let answered = pair.server.next().await;
    assert_eq!(
        (&answered["id"], &answered["result"]),
        (&json!("b"), &accept("Ada"))
    );
    pair.server.reply(&second, text("b")).await;
    pair.server.reply(&first, text("a")).await;
    let done = pair.client.next().await;
    assert_eq!(
        (&done["id"], &done["result"]),
        (&json!(2), &complete(text("b")))
    );
    let resume = call("resume_question", json!({"question": handle}), all());
    pair.client.request(3, "tools/call", resume).await;
    let done = pair.client.next().await;
    assert_eq!(
        (&done["id"], &done["result"]),
        (&json!(3), &complete(text("a")))
    );
}

/// The pairs in which a server of 2025 asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pairs {
    Legacy,
    Lowered,
}

/// A call whose question is on a page.
async fn on_page(world: &World, pairs: Pairs) -> (Pair, String) {
    let mut pair = world.connect();
    match pairs {
        Pairs::Legacy => {
            pair.initialize(L11, json!({})).await;
            pair.called(1, "t", json!({})).await;
        }
        Pairs::Lowered => drop(begin_lowered(&mut pair, 1, call("t", json!({}), json!({}))).await),
    }
    pair.server.ask("q", name_form()).await;
    (pair, world.opened().await)
}

/// The server hears of the cancel, and gets one answer to its question; returns that.
async fn answer_of(pair: &mut Pair) -> Value {
    let mut answers = Vec::new();
    for _ in 0..2 {
        let said = pair.server.next().await;
        if said["id"] == "q" {
            answers.push(said);
        } else {
            assert_eq!(said["method"], "notifications/cancelled");
        }
    }
    pair.server.nothing().await;
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers[0]["result"]["action"].clone()
}

#[tokio::test]
async fn a_cancel_while_an_answer_is_submitted_loses_no_answer_that_was_accepted() {
    for pairs in [Pairs::Legacy, Pairs::Lowered] {
        let (mut accepted, mut refused) = (0, 0);
        for steps in 0..60 {
            let world = World::new(Ways::Browser).await;
            let (mut pair, page) = on_page(&world, pairs).await;
            let question = world.question(&page);
            let answers = json!({"name": "Ada"});
            let submitting = async {
                for _ in 0..steps {
                    tokio::task::yield_now().await;
                }
                question.submit(&answers).await.is_ok()
            };
            let cancel = pair
                .client
                .notify("notifications/cancelled", json!({"requestId": 1}));
            let (is_accepted, ()) = tokio::join!(submitting, cancel);
            settle().await;
            let action = answer_of(&mut pair).await;
            let expected = if is_accepted { "accept" } else { "cancel" };
            assert_eq!(action, expected, "{pairs:?} after {steps} steps");
            if is_accepted {
                accepted += 1;
            } else {
                refused += 1;
            }
        }
        assert!(
            accepted > 0 && refused > 0,
            "{pairs:?}: {accepted}, {refused}"
        );
    }
}

#[tokio::test]
async fn urls_that_a_call_requires_are_visited_by_a_client_without_sessions() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let params = call("t", json!({"n": 1}), all());
    let first = begin_lowered(&mut pair, 1, params.clone()).await;
    let done = |id: &str| json!({"elicitationId": id});
    pair.server
        .notify("notifications/elicitation/complete", done("b"))
        .await;
    let url = |id: &str| {
        json!({"mode": "url", "message": "Sign in", "elicitationId": id,
            "url": format!("https://example.com/{id}")})
    };
    let error = json!({"code": -32042, "message": "m",
        "data": {"elicitations": [url("a"), url("b")]}});
    pair.server.fail(&first, error).await;
    let round = next_round(&world, &mut pair).await;
    let requests = round["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 2);
    let mut answers = json!({});
    for (key, request) in requests {
        assert_eq!(request["params"]["mode"], "url");
        // Those of 2026-07-28 have no ids.
        assert!(
            request["params"].get("elicitationId").is_none(),
            "{request}"
        );
        answers[key] = json!({"action": "accept"});
    }
    pair.client
        .request(2, "tools/call", retry(&params, &round, answers))
        .await;
    pair.server.nothing().await;
    pair.server
        .notify("notifications/elicitation/complete", done("a"))
        .await;
    let again = pair.server.next().await;
    assert_ne!(again["id"], first["id"]);
    assert_eq!(again["params"], first["params"]);
    pair.server.reply(&again, text("done")).await;
    assert_eq!(pair.client.next().await["result"], complete(text("done")));
    pair.server.nothing().await;
}
