//! Batches.

use serde_json::{Value, json};

use crate::world::{World, answer, parsed, request};

fn call(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn a_batch_is_answered_in_order_without_its_notifications() {
    let world = World::new().await;
    let batch = json!([
        call(1, "elicitation/create", json!({"prompt": "Name?"})),
        {"jsonrpc": "2.0", "method": "elicitation/create", "params": {"prompt": "Age?"}},
        5,
        [],
        {"jsonrpc": "2.0", "id": 9, "method": 5},
        call(2, "nothing", json!({})),
        {"jsonrpc": "2.0", "method": "nothing"},
        call(3, "forms/list", json!({})),
    ]);
    let answered = world.send(batch.to_string()).await;
    assert!(answered.is_well_formed);
    let answers = parsed(&answered);
    let seen: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
        .collect();
    assert_eq!(
        seen,
        [
            (json!(1), json!(null)),
            (json!(null), json!(-32600)),
            (json!(null), json!(-32600)),
            (json!(9), json!(-32600)),
            (json!(2), json!(-32601)),
            (json!(3), json!(null)),
        ]
    );
    assert_eq!(world.engine.live(), 2);
}

#[tokio::test]
async fn a_batch_of_notifications_gets_no_answer_at_all() {
    let world = World::new().await;
    let notification = json!({"jsonrpc": "2.0", "method": "forms/list"});
    let answered = world
        .send(json!([notification, notification]).to_string())
        .await;
    assert!(answered.is_well_formed);
    assert_eq!(answered.body, None);
}

#[tokio::test]
async fn a_wait_and_the_answer_that_ends_it_may_come_together() {
    let world = World::new().await;
    let id = world.ask().await;
    let wait = json!({"elicitationId": id});
    let limited = json!({"elicitationId": id, "timeout": 60_000});
    let batch = json!([
        call(1, "elicitation/await", wait),
        call(2, "elicitation/await", limited),
        call(
            3,
            "elicitation/submit",
            json!({"elicitationId": id, "responses": answer()})
        ),
    ]);
    let answers = parsed(&world.send(batch.to_string()).await);
    assert_eq!(answers[0]["result"]["result"], answer());
    assert_eq!(answers[1]["result"]["status"], "completed");
    assert_eq!(answers[2]["result"], json!({"status": "completed"}));
}

#[tokio::test]
async fn a_batch_of_a_thousand_is_answered_and_one_more_is_refused() {
    let world = World::new().await;
    let one = request("forms/list", json!({}));
    let batch = |count: usize| format!("[{}]", vec![one.as_str(); count].join(","));
    let answered = world.send(batch(1000)).await;
    assert_eq!(parsed(&answered).as_array().unwrap().len(), 1000);

    let answered = world.send(batch(1001)).await;
    assert!(!answered.is_well_formed);
    let answer = parsed(&answered);
    assert_eq!(answer["error"]["code"], -32600);
    assert_eq!(
        answer["error"]["data"]["details"],
        "the batch has 1001 elements; the limit is 1000"
    );
}

#[tokio::test]
async fn a_broken_element_makes_the_whole_batch_unreadable() {
    let world = World::new().await;
    let answered = world.send(r#"[{"jsonrpc":"2.0","method"]"#).await;
    assert!(!answered.is_well_formed);
    assert_eq!(parsed(&answered)["error"]["code"], -32700);
}

#[tokio::test]
async fn the_answers_of_a_batch_are_bounded_together() {
    let world = World::new().await;
    let asked = json!({"url": "https://example.com/", "size_limit": 8 << 20});
    let id = world.create(asked).await;
    let answer = json!({"elicitationId": id, "result": "x".repeat(7 << 20)});
    world.result("elicitation/complete", answer).await;
    let status = request("elicitation/status", json!({"elicitationId": id}));
    let answered = world
        .send(format!("[{}]", vec![status.as_str(); 50].join(",")))
        .await;
    let body = answered.body.as_ref().unwrap();
    assert!(body.len() < 33 << 20, "{} bytes", body.len());
    let answers = parsed(&answered);
    let answers = answers.as_array().unwrap();
    let whole = answers.iter().filter(|answer| answer["result"].is_object());
    assert_eq!((answers.len(), whole.count()), (50, 4));
    let refused = answers.iter().find(|answer| answer["error"].is_object());
    assert_eq!(refused.unwrap()["error"]["code"], -32013);
    assert_eq!(refused.unwrap()["id"], 1);
}
