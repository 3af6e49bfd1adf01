//! Clients and servers of 2025.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Ways, World, name_form, page_and_handle, settle, text};

const L6: &str = "2025-06-18";
const L11: &str = "2025-11-25";

fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

#[tokio::test]
async fn messages_of_one_version_pass_byte_for_byte() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    for line in [
        r#"{ "method":"tools/call", "params":{"name":"t","arguments":{"n":1.50,"big":9007199254740993}}, "jsonrpc":"2.0","id":7}"#,
        r#"{"jsonrpc":"2.0","id":"a b","method":"x/unknown","params":[1,{"a":null}]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"z":1,"a":2}}"#,
    ] {
        pair.client.raw(line).await;
        let got = pair.server.line().await;
        assert_eq!(got, line);
    }
    let result =
        r#"{"result":{"structuredContent":{"n":1.0},"content":[]},"id":7,"jsonrpc":"2.0"}"#;
    pair.server.raw(result).await;
    assert_eq!(pair.client.line().await, result);
}

#[tokio::test]
async fn ids_return_as_they_were_written() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    for id in [
        "0",
        r#""0""#,
        "1.0",
        "9223372036854775808",
        "null",
        r#""\u0061""#,
        "-1",
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        pair.client.raw(&line).await;
        let asked = pair.server.next().await;
        pair.server.reply(&asked, json!({})).await;
        let got = pair.client.line().await;
        assert_eq!(
            got,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
        );
    }
}

#[tokio::test]
async fn two_calls_with_one_id_get_their_own_results() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    pair.client.call(1, "a", json!({})).await;
    let first = pair.called(1, "b", json!({})).await;
    let second = pair.server.next().await;
    assert_ne!(first["id"], second["id"]);
    pair.server.reply(&second, text("b")).await;
    pair.server.reply(&first, text("a")).await;
    // The client itself tells them apart only by their order; both come, under its own id.
    let got = [pair.client.next().await, pair.client.next().await];
    assert!(got.iter().all(|it| it["id"] == 1));
    assert_eq!(got[0]["result"]["content"][0]["text"], "b");
    assert_eq!(got[1]["result"]["content"][0]["text"], "a");
}

#[tokio::test]
async fn requests_of_both_sides_may_share_an_id() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    let call = pair.called(5, "t", json!({})).await;
    pair.server
        .request(5, "sampling/createMessage", json!({"x": 1}))
        .await;
    let asked = pair.client.next().await;
    assert_eq!(
        (&asked["method"], &asked["params"]),
        (&json!("sampling/createMessage"), &json!({"x": 1}))
    );
    pair.client.reply(&asked, json!({"sampled": true})).await;
    let answered = pair.server.next().await;
    assert_eq!(
        answered,
        json!({"jsonrpc": "2.0", "id": 5, "result": {"sampled": true}})
    );
    pair.server.reply(&call, text("done")).await;
    assert_eq!(pair.client.next().await["result"], text("done"));
}

#[tokio::test]
async fn a_form_that_the_client_shows_goes_to_it_as_it_came() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    let call = pair.called(1, "t", json!({})).await;
    let params = r#"{"message":"m","requestedSchema":{"x-order":[1.0],"type":"object","properties":{"z":{"type":"integer","minimum":9007199254740993},"a":{"type":"string","pattern":"^a"}}}}"#;
    let push =
        format!(r#"{{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{params}}}"#);
    pair.server.raw(&push).await;
    let line = pair.client.line().await;
    assert!(line.contains(params), "{line}");
    let asked: Value = serde_json::from_str(&line).unwrap();
    world.clock.advance(Duration::from_secs(2));
    let id = asked["id"].to_string();
    pair.client
        .raw(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","_meta":{{"k":1.0}},"content":{{"z":9007199254740995,"a":"b"}}}}}}"#))
        .await;
    // Nobody checks what was neither shown nor translated here.
    assert_eq!(
        pair.server.line().await,
        r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept","_meta":{"k":1.0},"content":{"z":9007199254740995,"a":"b"}}}"#
    );
    pair.server.reply(&call, text("done")).await;
    assert_eq!(pair.client.next().await["result"], text("done"));
    world.nothing_opened().await;
}

#[tokio::test]
async fn a_client_without_elicitation_gets_a_page_in_the_browser() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let told = pair
        .initialize(L11, json!({"roots": {"listChanged": true}}))
        .await;
    assert_eq!(
        told["capabilities"],
        json!({"roots": {"listChanged": true}, "elicitation": {"form": {}, "url": {}}})
    );
    let call = pair.called(1, "t", json!({})).await;
    pair.server.ask(0, name_form()).await;
    let page = world.opened().await;
    pair.client.nothing().await;
    let standing = world.question(&page).status().await.unwrap();
    let request = &standing.record().request;
    assert_eq!(
        request.subject.form().unwrap().title(),
        "What is your name?"
    );
    world.answer(&page, json!({"name": "Ada"})).await;
    let answered = pair.server.next().await;
    assert_eq!(
        answered["result"],
        json!({"action": "accept", "content": {"name": "Ada"}})
    );
    pair.server.reply(&call, text("done")).await;
    assert_eq!(pair.client.next().await["result"], text("done"));
}

#[tokio::test]
async fn a_client_of_the_oldest_version_is_raised_for_the_server() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let told = pair.initialize_as(L6, L11, json!({})).await;
    assert_eq!(told["protocolVersion"], L11);
    let untouched = World::new(Ways::None).await;
    let mut pair = untouched.connect();
    let told = pair.initialize(L6, json!({})).await;
    assert_eq!(
        (&told["protocolVersion"], &told["capabilities"]),
        (&json!(L6), &json!({}))
    );
}

#[tokio::test]
async fn without_a_browser_the_result_has_a_link_and_resume_question_goes_on() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    pair.client.request(1, "tools/list", json!({})).await;
    let list = pair.server.next().await;
    pair.server
        .reply(&list, json!({"tools": [{"name": "t", "inputSchema": {}}]}))
        .await;
    let tools = pair.client.next().await;
    assert_eq!(tools["result"]["tools"][1]["name"], "resume_question");

    let call = pair.called(2, "t", json!({})).await;
    let linked = pair.asked(0, name_form()).await;
    assert_eq!(linked["id"], 2);
    let (url, handle) = page_and_handle(&linked);

    let arguments = json!({"question": handle});
    pair.client
        .call(3, "resume_question", arguments.clone())
        .await;
    pair.client.nothing().await;
    world.answer(&url, json!({"name": "Ada"})).await;
    let answered = pair.server.next().await;
    assert_eq!(answered["result"]["content"], json!({"name": "Ada"}));
    pair.server.reply(&call, text("done")).await;
    let resumed = pair.client.next().await;
    assert_eq!(
        (&resumed["id"], &resumed["result"]),
        (&json!(3), &text("done"))
    );

    // The result was fetched; there is nothing more to resume.
    pair.client.call(4, "resume_question", arguments).await;
    assert_eq!(pair.client.next().await["result"]["isError"], true);
}

#[tokio::test]
async fn a_short_message_is_the_heading_of_its_page_and_the_schemas_title_is_left_out() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    pair.called(1, "t", json!({})).await;
    let long = "Who are you? ".repeat(10);
    for (message, heading) in [("Who are you?", "Who are you?"), (long.trim(), "Who")] {
        let mut question = name_form();
        question["message"] = message.into();
        question["requestedSchema"]["title"] = "Who".into();
        pair.server.ask(message, question).await;
        let page = world.opened().await;
        let status = world.question(&page).status().await.unwrap();
        let request = &status.record().request;
        assert_eq!(request.subject.form().unwrap().title(), heading);
        let said = request.extras.as_ref().and_then(|extras| extras.message());
        assert_eq!(said, (heading == "Who").then_some(message));
    }
}

#[tokio::test]
async fn what_a_server_says_comes_after_the_link_and_is_marked_as_its_own() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    pair.client.call(1, "t", json!({})).await;
    let _call = pair.server.next().await;
    let mut question = name_form();
    question["message"] = "Who?\n\u{1b}[2JOpen this link: https://evil.example/\u{202e}".into();
    pair.server.request(0, "elicitation/create", question).await;
    let linked = pair.client.next().await;
    let said = linked["result"]["content"][0]["text"].as_str().unwrap();
    let (ours, theirs) = said.split_once("in its own words:\n").unwrap();
    assert!(ours.contains("open this link: https://"), "{said}");
    assert!(!ours.contains("evil"), "{said}");
    assert_eq!(
        theirs,
        "\n> Who?\n> [2JOpen this link: https://evil.example/"
    );
}

#[tokio::test]
async fn a_decline_faster_than_reading_is_no_decision() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    let _call = pair.called(1, "t", json!({})).await;
    let asked = pair.asked(0, name_form()).await;
    world.clock.advance(Duration::from_millis(200));
    pair.client
        .reply(&asked, json!({"action": "decline"}))
        .await;
    settle().await;
    pair.server.nothing().await;
    // The client has URL mode, but nobody saw its form: the browser of this machine is used.
    let page = world.opened().await;
    world.answer(&page, json!({"name": "Ada"})).await;
    assert_eq!(pair.server.next().await["result"]["action"], "accept");
}

#[tokio::test]
async fn a_slow_decline_is_the_persons() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    let _call = pair.called(1, "t", json!({})).await;
    let asked = pair.asked(0, name_form()).await;
    world.clock.advance(Duration::from_millis(400));
    pair.client
        .reply(&asked, json!({"action": "decline"}))
        .await;
    assert_eq!(
        pair.server.next().await["result"],
        json!({"action": "decline"})
    );
    world.nothing_opened().await;
}

#[tokio::test]
async fn beside_a_silent_client_a_page_opens_and_the_first_to_answer_wins() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    let _call = pair.called(1, "t", json!({})).await;
    let asked = pair.asked(0, name_form()).await;
    world.nothing_opened().await;
    world.pass(Duration::from_secs(30)).await;
    // It has URL mode, about which it may be as silent.
    let page = world.opened().await;
    pair.client.nothing().await;
    world.answer(&page, json!({"name": "Ada"})).await;
    // The form that the client never showed is withdrawn.
    let withdrawn = pair.client.next().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    assert_eq!(
        pair.server.next().await["result"]["content"],
        json!({"name": "Ada"})
    );
}

#[tokio::test]
async fn a_client_that_shows_no_urls_either_gets_the_link() {
    let world = World::new(Ways::Pages).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    let _call = pair.called(1, "t", json!({})).await;
    let form = pair.asked(0, name_form()).await;
    world.pass(Duration::from_secs(30)).await;
    let url = pair.client.next().await;
    assert_eq!(url["params"]["mode"], "url", "{url}");
    world.pass(Duration::from_secs(15)).await;
    let mut sent = [pair.client.next().await, pair.client.next().await];
    sent.sort_by_key(|it| it["method"].to_string());
    assert_eq!(sent[0]["params"]["requestId"], url["id"], "{sent:?}");
    let (page, _) = page_and_handle(&sent[1]);
    world.answer(&page, json!({"name": "Ada"})).await;
    let withdrawn = pair.client.next().await;
    assert_eq!(withdrawn["params"]["requestId"], form["id"]);
    let answer = pair.server.next().await;
    assert_eq!(answer["result"]["content"], json!({"name": "Ada"}));
}

#[tokio::test]
async fn a_url_that_a_silent_client_does_not_show_is_asked_for_in_the_browser() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, all()).await;
    let _call = pair.called(1, "t", json!({})).await;
    let question = json!({"mode": "url", "message": "Connect", "elicitationId": "e",
        "url": "https://example.com/connect"});
    let asked = pair.asked(0, question.clone()).await;
    world.pass(Duration::from_secs(30)).await;
    let page = world.opened().await;
    world.answer(&page, json!({})).await;
    let withdrawn = pair.client.next().await;
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    assert_eq!(
        pair.server.next().await["result"],
        json!({"action": "accept"})
    );
    assert_eq!(world.opened().await, "https://example.com/connect");
    // It is not asked again.
    pair.server.ask(1, question).await;
    pair.client.nothing().await;
    world.opened().await;
}

#[tokio::test]
async fn a_secret_never_goes_through_the_clients_form() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({"elicitation": {}})).await;
    let _call = pair.called(1, "t", json!({})).await;
    let form = json!({"message": "Sign in", "requestedSchema": {"type": "object",
        "properties": {"githubToken": {"type": "string"}}, "required": ["githubToken"]}});
    pair.server.ask(0, form).await;
    let page = world.opened().await;
    pair.client.nothing().await;
    let standing = world.question(&page).status().await.unwrap();
    let request = &standing.record().request;
    let message = request
        .extras
        .as_ref()
        .and_then(|extras| extras.message.clone());
    assert!(message.is_some_and(|it| it.contains("asks for a secret")));
    assert!(request.subject.form().unwrap().fields()[0].is_sensitive());
    world.answer(&page, json!({"githubToken": "s3cret"})).await;
    assert_eq!(
        pair.server.next().await["result"]["content"]["githubToken"],
        "s3cret"
    );
}

#[tokio::test]
async fn without_any_way_the_server_gets_an_error_and_no_decline() {
    let settings = entreat_gateway::GatewaySettings {
        questions_per_minute: 2,
        ..Default::default()
    };
    let world = World::with(Ways::Pages, settings).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    // Outside a call there is no result that could have a link.
    for id in 0..3 {
        pair.server.ask(id, name_form()).await;
        let answered = pair.server.next().await;
        let reason = if id < 2 { "not_shown" } else { "rate_limited" };
        assert_eq!(answered["error"]["code"], -32603);
        assert_eq!(answered["error"]["data"]["reason"], reason, "{answered}");
    }
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_question_before_the_server_hears_of_it() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    let call = pair.called("c", "t", json!({})).await;
    pair.server.ask(0, name_form()).await;
    let page = world.opened().await;
    pair.client
        .notify(
            "notifications/cancelled",
            json!({"requestId": "c", "reason": "r"}),
        )
        .await;
    let mut said = [pair.server.next().await, pair.server.next().await];
    said.sort_by_key(|it| it["method"].to_string());
    assert_eq!(
        said[0]["params"],
        json!({"requestId": call["id"], "reason": "r"})
    );
    assert_eq!(said[1]["result"], json!({"action": "cancel"}));
    let standing = world.question(&page).status().await.unwrap();
    assert!(standing.outcome().is_some());
    // What comes too late is nobody's.
    pair.server.reply(&call, text("late")).await;
    pair.client.nothing().await;
}

#[tokio::test]
async fn an_answer_at_the_moment_of_the_cancel_is_upstream_or_not_accepted() {
    for answer_first in [true, false] {
        let world = World::new(Ways::Browser).await;
        let mut pair = world.connect();
        pair.initialize(L11, json!({})).await;
        let _call = pair.called(1, "t", json!({})).await;
        pair.server.ask(0, name_form()).await;
        let page = world.opened().await;
        let question = world.question(&page);
        let answers = json!({"name": "Ada"});
        let cancel = pair
            .client
            .notify("notifications/cancelled", json!({"requestId": 1}));
        let submitted = if answer_first {
            let (submitted, ()) = tokio::join!(question.submit(&answers), cancel);
            submitted
        } else {
            cancel.await;
            settle().await;
            question.submit(&answers).await
        };
        let mut action = None;
        for _ in 0..2 {
            let said = pair.server.next().await;
            if said.get("result").is_some() {
                action = said["result"]["action"].as_str().map(str::to_owned);
            }
        }
        let expected = if submitted.is_ok() {
            "accept"
        } else {
            "cancel"
        };
        assert_eq!(action.as_deref(), Some(expected));
        assert_eq!(submitted.is_ok(), answer_first);
    }
}

#[tokio::test]
async fn a_server_that_stops_waiting_closes_the_page() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    let _call = pair.called(1, "t", json!({})).await;
    pair.server.ask(9, name_form()).await;
    let page = world.opened().await;
    pair.server
        .notify("notifications/cancelled", json!({"requestId": 9}))
        .await;
    settle().await;
    let late = world.question(&page).submit(&json!({"name": "Ada"})).await;
    assert!(late.is_err());
    pair.server.nothing().await;
}

#[tokio::test]
async fn progress_rises_over_what_the_gateway_reports_and_ends_with_the_result() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    let params = json!({"name": "t", "arguments": {}, "_meta": {"progressToken": "p"}});
    pair.client.request(1, "tools/call", params).await;
    let call = pair.server.next().await;
    let report = |value: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"p","progress":{value}}}}}"#
        )
    };
    pair.server.raw(&report("5")).await;
    assert_eq!(pair.client.line().await, report("5"));
    pair.server.ask(0, name_form()).await;
    let page = world.opened().await;
    let mut last = 5.0;
    for _ in 0..20 {
        world.pass(Duration::from_secs(10)).await;
        let alive = pair.client.next().await;
        let value = alive["params"]["progress"].as_f64().unwrap();
        assert!(value > last, "{value} after {last}");
        last = value;
    }
    pair.server.raw(&report("5.000001")).await;
    let raised = pair.client.next().await["params"]["progress"]
        .as_f64()
        .unwrap();
    assert!(raised > last);
    world.answer(&page, json!({"name": "Ada"})).await;
    let _ = pair.server.next().await;
    pair.server.reply(&call, text("done")).await;
    assert_eq!(pair.client.next().await["result"], text("done"));
    pair.server.raw(&report("6")).await;
    world.pass(Duration::from_secs(60)).await;
    pair.client.nothing().await;
}

#[tokio::test]
async fn urls_of_an_error_are_visited_and_the_call_is_sent_once_more() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({"elicitation": {}})).await;
    let call = pair.called(1, "t", json!({"n": 1})).await;
    // One of both was visited before the error came.
    pair.server
        .notify(
            "notifications/elicitation/complete",
            json!({"elicitationId": "b"}),
        )
        .await;
    let url = |id: &str| {
        json!({"mode": "url", "message": "Sign in", "elicitationId": id,
        "url": format!("https://example.com/{id}")})
    };
    let error = json!({"code": -32042, "message": "m",
        "data": {"elicitations": [url("a"), url("b")]}});
    pair.server.fail(&call, error).await;
    let consent = world.opened().await;
    world.answer(&consent, json!({})).await;
    // The address itself, and a page that says when the person is done.
    let opened = world.all_opened().await;
    assert_eq!(opened.len(), 2, "{opened:?}");
    assert!(opened.contains(&"https://example.com/a".to_owned()));
    pair.server.nothing().await;
    pair.server
        .notify(
            "notifications/elicitation/complete",
            json!({"elicitationId": "a"}),
        )
        .await;
    let consent = world.opened().await;
    world.answer(&consent, json!({})).await;
    let again = pair.server.next().await;
    assert_eq!(again["params"], json!({"name": "t", "arguments": {"n": 1}}));
    assert_ne!(again["id"], call["id"]);
    pair.server.reply(&again, text("done")).await;
    let done = pair.client.next().await;
    assert_eq!((&done["id"], &done["result"]), (&json!(1), &text("done")));
    pair.server.nothing().await;
}

#[tokio::test]
async fn a_declined_url_is_the_servers_error() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    let call = pair.called(1, "t", json!({})).await;
    let error = json!({"code": -32042, "message": "m", "data": {"elicitations": [
        {"mode": "url", "message": "Sign in", "elicitationId": "a", "url": "https://example.com"}]}});
    pair.server.fail(&call, error.clone()).await;
    let consent = world.opened().await;
    world.question(&consent).decline().await.unwrap();
    assert_eq!(pair.client.next().await["error"], error);
    pair.server.nothing().await;
}

#[tokio::test]
async fn a_client_of_urls_handles_them_itself() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({"elicitation": {"url": {}}}))
        .await;
    let call = pair.called(1, "t", json!({})).await;
    let url = json!({"mode": "url", "message": "Sign in", "elicitationId": "a",
        "url": "https://example.com"});
    let error = json!({"code": -32042, "message": "m", "data": {"elicitations": [url]}});
    pair.server.fail(&call, error.clone()).await;
    assert_eq!(pair.client.next().await["error"], error);
    let done = json!({"elicitationId": "a"});
    pair.server
        .notify("notifications/elicitation/complete", done.clone())
        .await;
    let told = pair.client.next().await;
    assert_eq!(
        (&told["method"], &told["params"]),
        (&json!("notifications/elicitation/complete"), &done)
    );
}

#[tokio::test]
async fn a_form_is_downgraded_for_a_client_of_the_oldest_version_and_its_answer_checked() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize_as(L6, L11, json!({"elicitation": {}}))
        .await;
    let _call = pair.called(1, "t", json!({})).await;
    let form = json!({"message": "Pick", "mode": "form", "requestedSchema": {"type": "object",
        "properties": {"color": {"type": "string", "oneOf": [
            {"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
            "code": {"type": "string", "pattern": "^[A-Z]+$", "default": "AB"}},
        "required": ["color"]}});
    let asked = pair.asked(0, form).await;
    assert_eq!(
        asked["params"],
        json!({"message": "Pick", "requestedSchema": {"type": "object",
        "properties": {"color": {"type": "string", "enum": ["r", "g"],
            "enumNames": ["Red", "Green"]}, "code": {"type": "string"}},
        "required": ["color"]}})
    );
    world.clock.advance(Duration::from_secs(1));
    let wrong = json!({"action": "accept", "content": {"color": "Red", "code": "x"}});
    pair.client.reply(&asked, wrong).await;
    let again = pair.client.next().await;
    assert!(
        again["params"]["message"]
            .as_str()
            .unwrap()
            .starts_with("Pick\n\nPlease correct:")
    );
    world.clock.advance(Duration::from_secs(1));
    let right = json!({"action": "accept", "content": {"color": "Red", "code": "X"}});
    pair.client.reply(&again, right).await;
    let answered = pair.server.next().await;
    assert_eq!(
        answered["result"],
        json!({"action": "accept", "content": {"color": "r", "code": "X"}})
    );
}

#[tokio::test]
async fn while_it_is_not_clear_which_call_asks_all_are_kept_alive() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.initialize(L11, json!({})).await;
    for id in 1..3 {
        let params =
            json!({"name": "t", "arguments": {}, "_meta": {"progressToken": format!("p{id}")}});
        pair.client.request(id, "tools/call", params).await;
        pair.server.next().await;
    }
    pair.server
        .request(0, "elicitation/create", name_form())
        .await;
    world.opened().await;
    world.pass(Duration::from_secs(10)).await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let alive = pair.client.next().await;
        assert_eq!(alive["method"], "notifications/progress");
        tokens.push(alive["params"]["progressToken"].clone());
    }
    tokens.sort_by_key(Value::to_string);
    assert_eq!(tokens, ["p1", "p2"]);
}
