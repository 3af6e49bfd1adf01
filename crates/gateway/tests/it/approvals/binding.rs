//! What an approval is for: one call, with these arguments.

use std::time::Duration;

use entreat_gateway::Validity;
use serde_json::json;

use super::caller::{Caller, Eras};
use super::{READ, ask, forms, no, refusal, world, yes};
use crate::world::{Ways, settle, text};

/// What a call was approved with, and spellings of the same.
const APPROVED: &str = r#"{"a":1,"b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#;
const SAME: &[&str] = &[
    APPROVED,
    r#"{"b":[1,{"d":null,"c":"é"}],"big":18446744073709551617,"a":1}"#,
    r#" { "a" : 1.0 , "b":[10e-1,{"c":"\u00e9","d":null}], "big":18446744073709551617.0 }"#,
    r#"{"\u0061":1,"b":[1.00,{"c":"é","d":null}],"big":1.8446744073709551617E+19}"#,
];
const OTHER: &[&str] = &[
    "{}",
    r#"{"a":2,"b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#,
    r#"{"a":"1","b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#,
    r#"{"a":true,"b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[{"c":"é","d":null},1],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[1,{"c":"É","d":null}],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[1,{"c":"é"}],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[1,{"c":"é","d":null,"e":0}],"big":18446744073709551617}"#,
    r#"{"a":1,"b":[1,{"c":"é","d":null}],"big":18446744073709551616}"#,
    r#"{"a":1,"b":[1,{"c":"é","d":null}],"big":18446744073709551617,"more":null}"#,
    r#"{"a":1.0000000000000000001,"b":[1,{"c":"é","d":null}],"big":18446744073709551617}"#,
];

#[tokio::test]
async fn other_arguments_ask_again_and_other_spellings_do_not() {
    let mut rule = ask("*");
    rule.valid = Validity::For(Duration::from_secs(3600));
    let world = world(Ways::None, vec![rule]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    let send = |arguments: &str, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments}{more}}}}}"#
        )
    };
    caller.pair.client.raw(&send(APPROVED, "")).await;
    let asked = caller.question(&world).await;
    world.pass(READ).await;
    caller.answer(&asked, "t", json!({}), yes()).await;
    let ran = caller.pair.server.next().await;
    caller.pair.server.reply(&ran, text("done")).await;
    caller.result().await;
    for same in SAME {
        for more in ["", r#","_meta":{"x/y":1}"#] {
            let line = send(same, more);
            caller.pair.client.raw(&line).await;
            // It passes as it is.
            assert_eq!(caller.pair.server.line().await, line);
            let reply = json!({"jsonrpc": "2.0", "id": 7, "result": text("done")});
            caller.pair.server.send(reply).await;
            caller.result().await;
        }
    }
    let task = send(APPROVED, r#","task":{"ttl":1}"#);
    let other_tool = send(APPROVED, "").replace(r#""name":"t""#, r#""name":"u""#);
    let others = OTHER.iter().map(|other| send(other, ""));
    for line in others.chain([task, other_tool]) {
        caller.pair.client.raw(&line).await;
        let asked = caller.question(&world).await;
        world.pass(READ).await;
        caller.answer(&asked, "t", json!({}), no("other")).await;
        refusal(&caller.result().await);
        caller.pair.server.nothing().await;
    }
    // It counts for an hour.
    world.pass(Duration::from_secs(3600)).await;
    caller.pair.client.raw(&send(APPROVED, "")).await;
    caller.question(&world).await;
}

#[tokio::test]
async fn replays_of_an_approval_run_once_and_get_one_outcome() {
    for eras in [Eras::Modern, Eras::Lowered] {
        let world = world(Ways::None, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        caller.call("charge", json!({"cents": 100})).await;
        let asked = caller.question(&world).await;
        world.pass(READ).await;
        for _ in 0..32 {
            caller
                .answer(&asked, "charge", json!({"cents": 100}), yes())
                .await;
        }
        caller
            .runs("charge", &json!({"cents": 100}), "charged")
            .await;
        for _ in 0..32 {
            let result = caller.result().await;
            assert_eq!(result["result"]["content"], text("charged")["content"]);
        }
        // And after it has ended, in other spellings.
        for _ in 0..32 {
            caller
                .answer(&asked, "charge", json!({"cents": 100.0}), yes())
                .await;
            let result = caller.result().await;
            assert_eq!(result["result"]["content"], text("charged")["content"]);
        }
        caller.pair.server.nothing().await;
        // Another answer, or other arguments, to the same state.
        caller
            .answer(&asked, "charge", json!({"cents": 100}), no("oh"))
            .await;
        assert_eq!(caller.pair.client.next().await["error"]["code"], -32602);
        caller
            .answer(&asked, "charge", json!({"cents": 101}), yes())
            .await;
        assert_eq!(caller.pair.client.next().await["error"]["code"], -32602);
        caller
            .answer(&asked, "charge_all", json!({"cents": 100}), yes())
            .await;
        assert_eq!(caller.pair.client.next().await["error"]["code"], -32602);
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn a_state_of_one_call_does_not_approve_another() {
    let world = world(Ways::None, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Modern, forms()).await;
    caller.call("a", json!({"n": 1})).await;
    let first = caller.question(&world).await;
    caller.call("a", json!({"n": 2})).await;
    let second = caller.question(&world).await;
    world.pass(READ).await;
    caller.answer(&first, "a", json!({"n": 2}), yes()).await;
    assert_eq!(caller.pair.client.next().await["error"]["code"], -32602);
    // Answers without a state begin a call of their own.
    let params = json!({"name": "a", "arguments": {"n": 2},
        "inputResponses": {second.key.clone(): yes()}});
    caller.request("tools/call", params).await;
    caller.question(&world).await;
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_call_that_its_client_cancels_never_runs() {
    let world = world(Ways::Browser, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    let id = caller.call("delete", json!({})).await;
    let page = world.opened().await;
    caller
        .pair
        .client
        .notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    settle().await;
    let question = world.question(&page);
    assert!(question.submit(&json!({"approve": true})).await.is_err());
    settle().await;
    caller.pair.server.nothing().await;
    caller.pair.client.nothing().await;
}

#[tokio::test]
async fn progress_of_approved_calls_that_have_one_token_is_told_apart() {
    let world = world(Ways::Browser, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    let pair = &mut caller.pair;
    let mut asked = Vec::new();
    for id in [1, 2] {
        let params = json!({"name": "t", "arguments": {"n": id}, "_meta": {"progressToken": "p"}});
        pair.client.request(id, "tools/call", params).await;
        world
            .answer(&world.opened().await, json!({"approve": true}))
            .await;
        asked.push(pair.server.next().await);
    }
    let token = |asked: &serde_json::Value| asked["params"]["_meta"]["progressToken"].clone();
    assert_ne!(token(&asked[0]), token(&asked[1]));
    pair.server.reply(&asked[0], text("done")).await;
    pair.client.next().await;
    let progress = json!({"progressToken": token(&asked[1]), "progress": 1});
    pair.server.notify("notifications/progress", progress).await;
    let report = pair.client.next().await;
    assert_eq!(
        report["params"],
        json!({"progressToken": "p", "progress": 1})
    );
}
