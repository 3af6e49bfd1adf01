//! Questions of several servers, which the client answers.

use std::time::Duration;

use serde_json::{Value, json};

use super::several::Several;
use crate::world::{Ways, complete, modern, name_form, settle, text};

/// Lists one tool of each server.
async fn list_tools(several: &mut Several, params: Value) -> Value {
    let tool = || json!([{"name": "t", "inputSchema": {"type": "object"}}]);
    several
        .list("tools/list", params, "tools", [tool(), tool()])
        .await
}

#[tokio::test]
async fn forms_of_two_servers_reach_an_old_client_apart_and_say_who_asks() {
    let declares = json!({"elicitation": {"form": {}, "url": {}}});
    let (mut several, _) = Several::legacy(Ways::Browser, declares).await;
    list_tools(&mut several, json!({})).await;
    several.client.call(1, "old__t", json!({})).await;
    several.client.call(2, "new__t", json!({})).await;
    let old_call = several.old.next().await;
    let new_call = several.new.next().await;
    // Both number their questions from 0; here that is the client's id of a call, too.
    several
        .old
        .request(2, "elicitation/create", name_form())
        .await;
    let from_old = several.client.next().await;
    let round = json!({"resultType": "input_required", "requestState": "s",
        "inputRequests": {"q": {"method": "elicitation/create", "params": name_form()}}});
    several.new.reply(&new_call, round).await;
    let from_new = several.client.next().await;
    assert_ne!(from_old["id"], from_new["id"]);
    for (asked, name) in [(&from_old, "old"), (&from_new, "new")] {
        assert_eq!(asked["method"], "elicitation/create");
        let message = format!("{name}: What is your name?");
        assert_eq!(asked["params"]["message"], message);
    }
    several.world.clock.advance(Duration::from_secs(1));
    let answer = |name: &str| json!({"action": "accept", "content": {"name": name}});
    several.client.reply(&from_new, answer("Nora")).await;
    several.client.reply(&from_old, answer("Olga")).await;
    let answered = several.old.next().await;
    assert_eq!(
        (&answered["id"], &answered["result"]["content"]["name"]),
        (&json!(2), &json!("Olga"))
    );
    several.old.reply(&old_call, text("old done")).await;
    let done = several.client.next().await;
    assert_eq!(
        (&done["id"], &done["result"]),
        (&json!(1), &text("old done"))
    );
    let retry = several.new.next().await;
    let responses = &retry["params"]["inputResponses"];
    assert_eq!(responses["q"]["content"]["name"], "Nora");
    assert_eq!(retry["params"]["name"], "t");
    several.new.reply(&retry, complete(text("new done"))).await;
    let done = several.client.next().await;
    assert_eq!(
        (&done["id"], &done["result"]),
        (&json!(2), &text("new done"))
    );
}

#[tokio::test]
async fn forms_of_two_servers_reach_a_modern_client_in_its_rounds() {
    let declares = json!({"elicitation": {"form": {}, "url": {}}});
    let (mut several, _) = Several::modern(Ways::Browser, declares.clone()).await;
    list_tools(&mut several, modern(json!({}), declares.clone())).await;
    let call = |tool: &str| modern(json!({"name": tool, "arguments": {}}), declares.clone());

    several
        .client
        .request(1, "tools/call", call("old__t"))
        .await;
    let old_call = several.old.next().await;
    several
        .old
        .request(0, "elicitation/create", name_form())
        .await;
    several.world.pass(Duration::from_millis(50)).await;
    let round = several.client.next().await["result"].clone();
    let asked = &round["inputRequests"]["q1"]["params"];
    assert_eq!(asked["message"], "old: What is your name?", "{round}");
    let mut retry = call("old__t");
    retry["requestState"] = round["requestState"].clone();
    retry["inputResponses"] = json!({"q1": {"action": "accept", "content": {"name": "Ada"}}});
    several.world.clock.advance(Duration::from_secs(1));
    // Under another name, the ticket is worth nothing.
    let mut stolen = retry.clone();
    stolen["name"] = json!("new__t");
    several.client.request(2, "tools/call", stolen).await;
    let refused = several.client.next().await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    several.new.nothing().await;
    several.client.request(3, "tools/call", retry).await;
    let answered = several.old.next().await;
    assert_eq!(answered["result"]["content"]["name"], "Ada");
    several.old.reply(&old_call, text("done")).await;
    let done = several.client.next().await;
    assert_eq!(
        (&done["id"], &done["result"]),
        (&json!(3), &complete(text("done")))
    );

    several
        .client
        .request(4, "tools/call", call("new__t"))
        .await;
    let new_call = several.new.next().await;
    let theirs = json!({"resultType": "input_required", "requestState": "s",
        "inputRequests": {"q": {"method": "elicitation/create", "params": name_form()}}});
    several.new.reply(&new_call, theirs.clone()).await;
    let round = several.client.next().await["result"].clone();
    let mut expected = theirs;
    expected["inputRequests"]["q"]["params"]["message"] = json!("new: What is your name?");
    assert_eq!(round, expected);
}

#[tokio::test]
async fn sampling_roots_and_their_progress_come_back_to_who_asked() {
    let declares = json!({"sampling": {}, "roots": {"listChanged": true}});
    let (mut several, _) = Several::legacy(Ways::None, declares).await;
    let sample = json!({"messages": [], "maxTokens": 1, "_meta": {"progressToken": 7}});
    several
        .old
        .request("a", "sampling/createMessage", sample)
        .await;
    let asked = several.client.next().await;
    let token = asked["params"]["_meta"]["progressToken"].clone();
    assert_ne!(token, 7);
    let report = json!({"progressToken": token, "progress": 1});
    several
        .client
        .notify("notifications/progress", report)
        .await;
    let reported = several.old.next().await;
    assert_eq!(
        reported["params"],
        json!({"progressToken": 7, "progress": 1})
    );
    several
        .client
        .reply(&asked, json!({"role": "assistant"}))
        .await;
    let answered = several.old.next().await;
    assert_eq!(answered["id"], "a");
    // A question that its server takes back is taken back at the client.
    several.old.request("b", "roots/list", json!({})).await;
    let asked = several.client.next().await;
    several
        .old
        .notify("notifications/cancelled", json!({"requestId": "b"}))
        .await;
    let cancelled = several.client.next().await;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    several.client.reply(&asked, json!({"roots": []})).await;
    several.old.nothing().await;
    several
        .client
        .notify("notifications/roots/list_changed", json!({}))
        .await;
    let told = several.old.next().await;
    assert_eq!(told["method"], "notifications/roots/list_changed");
}

#[tokio::test]
async fn urls_to_visit_keep_their_servers_apart() {
    let declares = json!({"elicitation": {"form": {}, "url": {}}});
    let (mut several, _) = Several::legacy(Ways::Browser, declares).await;
    list_tools(&mut several, json!({})).await;
    several.client.call(1, "old__t", json!({})).await;
    let called = several.old.next().await;
    let url = json!({"mode": "url", "elicitationId": "1", "url": "https://a.example/",
        "message": "Sign in"});
    let error = json!({"code": -32042, "message": "sign in", "data": {"elicitations": [url]}});
    several.old.fail(&called, error).await;
    let refused = several.client.next().await;
    let url = &refused["error"]["data"]["elicitations"][0];
    assert_eq!(url["message"], "old: Sign in");
    assert_eq!(url["elicitationId"], "old+1");
    several
        .old
        .notify(
            "notifications/elicitation/complete",
            json!({"elicitationId": "1"}),
        )
        .await;
    let told = several.client.next().await;
    assert_eq!(told["params"]["elicitationId"], "old+1");
}

#[tokio::test]
async fn cancels_and_progress_find_their_call() {
    for is_modern in [false, true] {
        let (mut several, _) = if is_modern {
            Several::modern(Ways::None, json!({})).await
        } else {
            Several::legacy(Ways::None, json!({})).await
        };
        let params = |params: Value| {
            if is_modern {
                modern(params, json!({}))
            } else {
                params
            }
        };
        list_tools(&mut several, params(json!({}))).await;
        let call = params(json!({"name": "old__t", "_meta": {"progressToken": "p"}}));
        several.client.request(1, "tools/call", call).await;
        let called = several.old.next().await;
        let token = &called["params"]["_meta"]["progressToken"];
        let report = json!({"progressToken": token, "progress": 0.5});
        several.old.notify("notifications/progress", report).await;
        let told = several.client.next().await;
        assert_eq!(
            told["params"],
            json!({"progressToken": "p", "progress": 0.5})
        );
        several
            .client
            .notify("notifications/cancelled", json!({"requestId": 1}))
            .await;
        let cancelled = several.old.next().await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], called["id"]);
        several.old.reply(&called, text("late")).await;
        several.client.nothing().await;
        several.new.nothing().await;
    }
}

#[tokio::test]
async fn a_call_behind_a_link_is_resumed_by_one_tool_for_all_servers() {
    for is_modern in [false, true] {
        let (mut several, _) = if is_modern {
            Several::modern(Ways::Pages, json!({})).await
        } else {
            Several::legacy(Ways::Pages, json!({})).await
        };
        let params = |params: Value| {
            if is_modern {
                modern(params, json!({}))
            } else {
                params
            }
        };
        // A server's own tool of this name is another.
        let own = json!([{"name": "resume_question", "inputSchema": {"type": "object"}}]);
        let listed = several
            .list(
                "tools/list",
                params(json!({})),
                "tools",
                [
                    own,
                    json!([{"name": "t", "inputSchema": {"type": "object"}}]),
                ],
            )
            .await;
        let names = super::several::each(&listed["tools"], "name");
        let expected = ["new__t", "old__resume_question", "resume_question"];
        assert_eq!(names, expected);
        let call = params(json!({"name": "old__resume_question", "arguments": {"question": "x"}}));
        several.client.request(1, "tools/call", call).await;
        let called = several.old.next().await;
        assert_eq!(called["params"]["name"], "resume_question");
        several
            .old
            .request(0, "elicitation/create", name_form())
            .await;
        settle().await;
        let linked = several.client.next().await["result"].clone();
        let said = linked["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(
            said.contains("call the tool `resume_question` with"),
            "{said}"
        );
        let url = said
            .split_whitespace()
            .find(|word| word.starts_with("https://ask.example/"))
            .unwrap();
        let handle = said.split('"').nth(3).unwrap();
        several.world.answer(url, json!({"name": "Ada"})).await;
        let answered = several.old.next().await;
        assert_eq!(answered["result"]["content"]["name"], "Ada");
        several.old.reply(&called, text("done")).await;
        settle().await;
        let resume = params(json!({"name": "resume_question", "arguments": {"question": handle}}));
        several.client.request(2, "tools/call", resume).await;
        let done = several.client.next().await;
        assert_eq!(
            (&done["id"], &done["result"]["content"]),
            (&json!(2), &text("done")["content"])
        );
        let resume = params(json!({"name": "resume_question", "arguments": {"question": "?"}}));
        several.client.request(3, "tools/call", resume).await;
        let unknown = several.client.next().await;
        assert_eq!(unknown["result"]["isError"], true, "{unknown}");
    }
}

#[tokio::test]
async fn a_token_for_reports_on_a_question_is_short() {
    let declares = json!({"elicitation": {"form": {}, "url": {}}});
    let (mut several, _) = Several::legacy(Ways::None, declares).await;
    for (length, is_kept) in [(1 << 9, true), (1 << 11, false)] {
        let mut question = name_form();
        question["_meta"] = json!({"progressToken": "x".repeat(length), "other": 1});
        several.old.ask(length, question).await;
        let asked = several.client.next().await;
        let meta = &asked["params"]["_meta"];
        assert_eq!(meta["other"], 1, "{asked}");
        assert_eq!(meta["progressToken"].is_string(), is_kept, "{asked}");
    }
}
