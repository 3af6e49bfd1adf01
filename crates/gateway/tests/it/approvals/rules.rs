//! Which calls wait, pass or are refused.

use entreat_gateway::{ApprovalAction, When};
use serde_json::{Value, json};

use super::caller::{Caller, Eras};
use super::{READ, ask, forms, no, refusal, rule, world};
use crate::world::{Ways, text};

#[tokio::test]
async fn rules_refuse_and_let_pass() {
    for eras in Eras::ALL {
        let rules = vec![
            rule(ApprovalAction::Allow, "read_*"),
            rule(ApprovalAction::Deny, "*_all"),
        ];
        let world = world(Ways::Browser, rules).await;
        let mut caller = Caller::new(&world, eras, forms()).await;
        for passing in ["read_all", "write"] {
            caller.call(passing, json!({"a": 1})).await;
            caller.runs(passing, &json!({"a": 1}), "done").await;
            caller.result().await;
        }
        caller.call("delete_all", json!({})).await;
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("a rule of the person"), "{refused}");
        assert!(refused.contains("Nobody was asked"), "{refused}");
        caller.pair.server.nothing().await;
        world.nothing_opened().await;
    }
}

#[tokio::test]
async fn conditions_and_hints_decide_which_calls_wait() {
    let path = json!({"operator": "regex", "field": "path", "value": "^/etc/"});
    let mut etc = ask("write");
    etc.when = Some(When::from_value(&path).expect("a condition"));
    let mut hinted = ask("*");
    hinted.is_destructive = true;
    let world = world(
        Ways::Browser,
        vec![etc, rule(ApprovalAction::Allow, "*"), hinted],
    )
    .await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    // Nothing is known yet of a tool that is not listed: it may destroy something.
    caller.call("write", json!({"path": "/tmp/x"})).await;
    world.opened().await;
    caller.request("tools/list", json!({})).await;
    let listed = caller.pair.server.next().await;
    let tools = json!({"tools": [
        {"name": "write", "annotations": {"readOnlyHint": true}},
        {"name": "drop", "annotations": {"destructiveHint": true}},
    ]});
    caller.pair.server.reply(&listed, tools).await;
    caller.pair.client.next().await;
    caller.call("write", json!({"path": "/tmp/x"})).await;
    caller
        .runs("write", &json!({"path": "/tmp/x"}), "done")
        .await;
    caller.result().await;
    // Whatever the server says of it.
    caller.call("write", json!({"path": "/etc/x"})).await;
    world.opened().await;
    caller.call("write", json!({"path": ["/etc/x"]})).await;
    world.opened().await;
    // A hint adds an approval to calls that a rule lets pass.
    caller.call("drop", json!({})).await;
    world.opened().await;
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn there_is_no_way_around_a_rule() {
    let world = world(Ways::Browser, vec![rule(ApprovalAction::Deny, "*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    let client = &mut caller.pair.client;
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"t"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["t"]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
    ] {
        client.raw(line).await;
        let refused = client.next().await;
        assert!(refused["error"]["code"].is_i64(), "{line}: {refused}");
    }
    // Without an id, there is nobody to tell.
    client
        .raw(r#"{"jsonrpc":"2.0","method":"tools\/call","params":{"name":"t"}}"#)
        .await;
    client.nothing().await;
    client
        .raw(r#"{"jsonrpc":"2.0","id":null,"method":"tools/c\u0061ll","params":{"n\u0061me":"t"}}"#)
        .await;
    refusal(&client.next().await);
    // Each call of a batch is judged by itself.
    client
        .raw(
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}},{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}]"#,
        )
        .await;
    let refused = client.next().await;
    assert_eq!(refused.as_array().map(Vec::len), Some(2), "{refused}");
    refusal(&refused[0]);
    refusal(&refused[1]);
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_call_of_a_batch_waits_and_the_others_do_not() {
    let world = world(Ways::Browser, vec![ask("delete")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    let client = &mut caller.pair.client;
    client
        .raw(
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete"}}]"#,
        )
        .await;
    let read = caller.pair.server.next().await;
    assert_eq!(read["params"]["name"], "read");
    caller.pair.server.reply(&read, text("read")).await;
    let page = world.opened().await;
    caller.pair.server.nothing().await;
    world.answer(&page, json!({"approve": true})).await;
    let deleted = caller.pair.server.next().await;
    assert_eq!(deleted["params"]["name"], "delete");
    caller.pair.server.reply(&deleted, text("deleted")).await;
    let together = caller.pair.client.next().await;
    let together = together.as_array().expect("a batch");
    let results: Vec<&Value> = together.iter().map(|it| &it["result"]).collect();
    assert_eq!(results, [&text("read"), &text("deleted")]);
}

#[tokio::test]
async fn calls_that_nobody_can_check_are_refused() {
    let world = world(Ways::Browser, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    let large = json!({"x": "a".repeat(1 << 20)});
    caller.call("t", large).await;
    let refused = refusal(&caller.result().await);
    assert!(refused.contains("larger than 1 MiB"), "{refused}");
    for arguments in [
        r#"{"a":{"b":1,"b":2}}"#.to_owned(),
        format!("{}{}", "[".repeat(100), "]".repeat(100)),
        r#"{"a":"\ud800"}"#.to_owned(),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
        );
        caller.pair.client.raw(&line).await;
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("cannot be shown"), "{refused}");
    }
    caller.pair.server.nothing().await;
    world.nothing_opened().await;
}

#[tokio::test]
async fn calls_that_wait_are_bounded() {
    let world = world(Ways::None, vec![ask("*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    let mut waiting = Vec::new();
    for n in 0..100 {
        caller.call("t", json!({"n": n})).await;
        waiting.push(caller.question(&world).await);
    }
    caller.call("t", json!({"n": 100})).await;
    assert!(refusal(&caller.result().await).contains("too many calls"));
    // A decision makes room.
    world.pass(READ).await;
    caller.answer(&waiting[0], "t", json!({}), no("")).await;
    refusal(&caller.result().await);
    caller.call("t", json!({"n": 101})).await;
    caller.question(&world).await;
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_question_of_the_server_does_not_go_to_a_call_that_waits() {
    let world = world(Ways::Pages, vec![ask("held")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    caller.call("held", json!({})).await;
    let held = caller.question(&world).await;
    let id = caller.call("other", json!({})).await;
    let ran = caller.pair.server.next().await;
    // Its question is a secret, which goes to a page, whose link is in the result of its own call.
    let form = json!({"message": "Key?", "requestedSchema": {"type": "object",
        "properties": {"token": {"type": "string"}}, "required": ["token"]}});
    caller.pair.server.ask(1, form).await;
    let linked = caller.pair.client.next().await;
    assert_eq!(linked["id"], id, "{linked}");
    world.pass(READ).await;
    caller.answer(&held, "held", json!({}), no("")).await;
    assert_ne!(caller.result().await["id"], id);
    assert_eq!(ran["params"]["name"], "other");
}
