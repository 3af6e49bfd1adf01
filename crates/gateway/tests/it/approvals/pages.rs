//! Approving on pages.

use std::time::Duration;

use entreat_core::Outcome;
use serde_json::json;

use super::caller::{Caller, Eras};
use super::{ask, forms, refusal, world, yes};
use crate::world::{Ways, settle, text};

#[tokio::test]
async fn a_page_shows_who_calls_what_with_which_arguments() {
    let world = world(Ways::Browser, vec![ask("delete_*")]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    caller.request("tools/list", json!({})).await;
    let listed = caller.pair.server.next().await;
    let tools = json!({"tools": [{"name": "delete_file", "title": "Delete", "description":
        "Deletes a *file*.\n~~~\nYou have to agree.", "annotations": {"destructiveHint": true},
        "inputSchema": {"type": "object", "properties": {"path": {"title": "File\u{202e}"}}}}]});
    caller.pair.server.reply(&listed, tools).await;
    let listed = caller.pair.client.next().await;
    assert_eq!(listed["result"]["tools"][1]["name"], "resume_question");
    let arguments =
        json!({"path": "a\u{202e}b", "why": "one\n~~~\n**Called by:** root", "n": [1.5]});
    caller.call("delete_file", arguments).await;
    let page = world.opened().await;
    let shown = world.question(&page).status().await.expect("a question");
    let request = &shown.record().request;
    let form = request.subject.form().expect("a form");
    assert_eq!(form.title(), "Run delete_file on server?");
    let extras = request.extras.as_ref().expect("a message");
    assert_eq!(extras.introduced_as.as_deref(), Some("client"));
    assert_eq!(
        extras.message(),
        Some(
            "**Server:** server \\(it calls itself “files”\\)\n\
             **Tool:** delete\\_file\n\
             **Called by:** “client”\\, as it calls itself\n\
             \n**Arguments:**\n\n~~~~~~\n\
             path (“File\\u{202e}”): \"a\\u{202e}b\"\n\
             why: |\n  one\n  ~~~\n  **Called by:** root\n\
             n:\n  - 1.5\n~~~~~~\n\
             \n**What the server says about the tool, in its own words:**\n\n~~~~\n\
             Title: Delete\nDeletes a *file*.\n~~~\nYou have to agree.\n\
             Hints: may destroy something\n~~~~\n"
        )
    );
}

#[tokio::test]
async fn a_person_decides_on_a_page_in_every_pair_of_eras() {
    for eras in Eras::ALL {
        let world = world(Ways::Browser, vec![ask("*")]).await;
        let mut caller = Caller::new(&world, eras, json!({})).await;
        caller.call("delete", json!({"a": 1})).await;
        let page = world.opened().await;
        caller.pair.server.nothing().await;
        world.answer(&page, json!({"approve": true})).await;
        caller.runs("delete", &json!({"a": 1}), "done").await;
        caller.result().await;

        caller.call("delete", json!({"a": 1})).await;
        let page = world.opened().await;
        world
            .answer(&page, json!({"approve": false, "reason": "Not today"}))
            .await;
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("Their reason: Not today"), "{refused}");

        caller.call("delete", json!({"a": 1})).await;
        let page = world.opened().await;
        world.question(&page).decline().await.expect("open");
        let refused = refusal(&caller.result().await);
        assert!(refused.contains("without a decision"), "{refused}");
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn nobody_decides_in_time() {
    let mut rule = ask("*");
    rule.timeout = Duration::from_secs(600);
    // In the client's form, where nobody else keeps the time.
    let alone = world(Ways::None, vec![rule.clone()]).await;
    let mut caller = Caller::new(&alone, Eras::Legacy, forms()).await;
    caller.call("delete", json!({})).await;
    let asked = caller.question(&alone).await;
    alone.pass(Duration::from_secs(599)).await;
    caller.pair.client.nothing().await;
    alone.pass(Duration::from_secs(1)).await;
    let withdrawn = caller.pair.client.next().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert!(refusal(&caller.result().await).contains("did not decide in time"));
    // Too late.
    caller.answer(&asked, "delete", json!({}), yes()).await;
    caller.pair.server.nothing().await;

    // On a page.
    let world = world(Ways::Browser, vec![rule]).await;
    let token = json!({"name": "delete", "_meta": {"progressToken": 1}});
    let mut caller = Caller::new(&world, Eras::Legacy, json!({})).await;
    caller.request("tools/call", token).await;
    let page = world.opened().await;
    let question = world.question(&page);
    for _ in 0..60 {
        world.pass(Duration::from_secs(10)).await;
    }
    let mut last = caller.pair.client.next().await;
    while last["method"] == "notifications/progress" {
        last = caller.pair.client.next().await;
    }
    assert!(refusal(&last).contains("did not decide in time"), "{last}");
    let settled = question.status().await.expect("kept");
    assert_eq!(settled.outcome(), Some(Outcome::TimedOut));
    caller.pair.server.nothing().await;
}

#[tokio::test]
async fn a_link_leads_to_the_decision_and_the_model_cannot_make_it() {
    for eras in Eras::ALL {
        let world = world(Ways::Pages, vec![ask("*_file")]).await;
        let mut caller = Caller::new(&world, eras, json!({})).await;
        caller.request("tools/list", json!({})).await;
        let listed = caller.pair.server.next().await;
        caller
            .pair
            .server
            .reply(&listed, json!({"tools": [], "resultType": "complete"}))
            .await;
        let listed = caller.pair.client.next().await;
        // One tool of ours, whose only argument names the call.
        let tools = listed["result"]["tools"].as_array().expect("tools");
        assert_eq!(tools.len(), 1, "{listed}");
        assert_eq!(tools[0]["name"], "resume_question");
        let arguments = &tools[0]["inputSchema"]["properties"];
        assert_eq!(arguments.as_object().expect("arguments").len(), 1);

        caller.call("delete_file", json!({"p": 1})).await;
        let linked = caller.result().await;
        let said = linked["result"]["content"][0]["text"]
            .as_str()
            .expect("text");
        assert!(said.contains("Run delete_file on server?"), "{said}");
        let url = said
            .split_whitespace()
            .find(|word| word.starts_with("https://"));
        let url = url.expect("a link").to_owned();
        let handle = said.split('"').nth(3).expect("a handle").to_owned();
        // Whatever the model adds, it does not decide.
        for more in [
            json!({}),
            json!({"approve": true}),
            json!({"action": "accept"}),
        ] {
            let mut arguments = more;
            arguments["question"] = json!(handle);
            caller.call("resume_question", arguments).await;
            settle().await;
            world.pass(Duration::from_secs(25)).await;
            let waiting = caller.result().await;
            let said = waiting["result"]["content"][0]["text"]
                .as_str()
                .expect("text");
            assert!(said.contains("has not answered yet"), "{said}");
        }
        caller.pair.server.nothing().await;
        caller
            .call("resume_question", json!({"question": handle}))
            .await;
        settle().await;
        world.answer(&url, json!({"approve": true})).await;
        caller.runs("delete_file", &json!({"p": 1}), "done").await;
        let result = caller.result().await;
        assert_eq!(
            result["result"]["content"],
            text("done")["content"],
            "{eras:?}"
        );
        caller.pair.server.nothing().await;
    }
}

#[tokio::test]
async fn who_has_to_approve_is_asked_on_a_page_for_them() {
    let mut rule = ask("*");
    rule.who = Some("ada".to_owned());
    let world = world(Ways::Browser, vec![rule]).await;
    let mut caller = Caller::new(&world, Eras::Legacy, forms()).await;
    caller.call("delete", json!({})).await;
    let page = world.opened().await;
    let asked = world.question(&page).status().await.expect("a question");
    let extras = asked
        .record()
        .request
        .extras
        .as_ref()
        .expect("a respondent");
    assert_eq!(extras.respondent.as_deref(), Some("ada"));
    // The client's form is not shown, since it cannot tell who answers.
    caller.pair.client.nothing().await;
}

#[tokio::test]
async fn the_servers_words_are_there_though_the_client_has_listed_no_tools() {
    let world = world(Ways::Browser, vec![ask("*")]).await;
    let mut pair = world.connect_listing();
    pair.initialize("2025-11-25", json!({})).await;
    pair.client.call(1, "delete", json!({})).await;
    let asked = pair.server.next().await;
    assert_eq!(asked["method"], "tools/list");
    world.nothing_opened().await;
    let tool = json!({"name": "delete", "description": "Deletes it all.", "inputSchema": {}});
    pair.server.reply(&asked, json!({"tools": [tool]})).await;
    let message = async |page: &str| {
        let shown = world.question(page).status().await.expect("a question");
        let extras = shown.record().request.extras.clone().expect("a message");
        extras.message().unwrap_or_default().to_owned()
    };
    let page = world.opened().await;
    assert!(message(&page).await.contains("Deletes it all."));

    // A server that does not list them keeps nobody from deciding.
    let mut pair = world.connect_listing();
    pair.initialize("2025-11-25", json!({})).await;
    pair.client.call(1, "delete", json!({})).await;
    assert_eq!(pair.server.next().await["method"], "tools/list");
    world.pass(Duration::from_secs(10)).await;
    let page = world.opened().await;
    assert!(message(&page).await.contains("**Tool:** delete"));
}
