//! Clients of 2026-07-28 in front of servers of 2025.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Pair, Ways, World, all, complete, modern, name_form, settle, text};

fn call(arguments: Value, capabilities: Value) -> Value {
    modern(json!({"name": "t", "arguments": arguments}), capabilities)
}

/// A call whose request has reached the server; returns that.
async fn begin(pair: &mut Pair, capabilities: Value) -> Value {
    pair.client
        .request(1, "tools/call", call(json!({"n": 1}), capabilities))
        .await;
    pair.lower().await;
    let asked = pair.server.next().await;
    assert_eq!(asked["method"], "tools/call");
    assert_eq!(asked["params"], json!({"name": "t", "arguments": {"n": 1}}));
    asked
}

/// A retry with these answers to the questions of a round.
fn retry(round: &Value, capabilities: Value, answers: Value) -> Value {
    let mut params = call(json!({"n": 1}), capabilities);
    params["requestState"] = round["result"]["requestState"].clone();
    params["inputResponses"] = answers;
    params
}

/// The key of the question with a method.
fn key(round: &Value, method: &str) -> String {
    let requests = round["result"]["inputRequests"]
        .as_object()
        .expect("questions");
    let mut keys = requests.iter().filter(|(_, it)| it["method"] == method);
    keys.next().expect("that question").0.clone()
}

async fn next_round(world: &World, pair: &mut Pair) -> Value {
    world.pass(Duration::from_millis(50)).await;
    let round = pair.client.next().await;
    assert_eq!(round["result"]["resultType"], "input_required", "{round}");
    round
}

#[tokio::test]
async fn questions_asked_together_go_out_together_and_a_missing_answer_is_asked_again_alone() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let call = begin(&mut pair, all()).await;
    pair.server.ask(0, name_form()).await;
    pair.server
        .request(1, "sampling/createMessage", json!({"x": 1}))
        .await;
    pair.server.request(2, "roots/list", json!({})).await;
    let round = next_round(&world, &mut pair).await;
    let keys =
        ["elicitation/create", "sampling/createMessage", "roots/list"].map(|it| key(&round, it));
    let accept = json!({"action": "accept", "content": {"name": "Ada"}});
    let answers = json!({&keys[0]: accept, &keys[2]: {"roots": []}, "extra": 1});
    world.clock.advance(Duration::from_secs(1));
    pair.client
        .request(2, "tools/call", retry(&round, all(), answers))
        .await;
    let mut answered = [pair.server.next().await, pair.server.next().await];
    answered.sort_by_key(|it| it["id"].as_u64());
    assert_eq!(
        (&answered[0]["id"], &answered[0]["result"]),
        (&json!(0), &accept)
    );
    assert_eq!(
        (&answered[1]["id"], &answered[1]["result"]),
        (&json!(2), &json!({"roots": []}))
    );
    let again = next_round(&world, &mut pair).await;
    let requests = again["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.keys().collect::<Vec<_>>(), [&keys[1]]);
    let answers = json!({&keys[1]: {"role": "assistant"}});
    pair.client
        .request(3, "tools/call", retry(&again, all(), answers))
        .await;
    assert_eq!(
        pair.server.next().await["result"],
        json!({"role": "assistant"})
    );
    pair.server.reply(&call, text("done")).await;
    let done = pair.client.next().await;
    assert_eq!(
        (&done["id"], &done["result"]),
        (&json!(3), &complete(text("done")))
    );
}

#[tokio::test]
async fn a_retry_that_comes_twice_at_once_and_again_later_has_one_outcome() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let call = begin(&mut pair, all()).await;
    pair.server.ask(0, name_form()).await;
    let round = next_round(&world, &mut pair).await;
    let key = key(&round, "elicitation/create");
    let params = retry(
        &round,
        all(),
        json!({key: {"action": "accept", "content": {"name": "Ada"}}}),
    );
    world.clock.advance(Duration::from_secs(1));
    pair.client.request(2, "tools/call", params.clone()).await;
    pair.client.request(3, "tools/call", params.clone()).await;
    let answered = pair.server.next().await;
    assert_eq!(answered["id"], 0);
    pair.server.reply(&call, text("done")).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let done = pair.client.next().await;
        assert_eq!(done["result"], complete(text("done")));
        ids.push(done["id"].clone());
    }
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [2, 3]);
    pair.client.request(4, "tools/call", params.clone()).await;
    assert_eq!(pair.client.next().await["result"], complete(text("done")));
    // Other answers with a used state are refused.
    let mut other = params;
    other["inputResponses"] = json!({});
    pair.client.request(5, "tools/call", other).await;
    assert_eq!(pair.client.next().await["error"]["code"], -32602);
    pair.server.nothing().await;
}

#[tokio::test]
async fn a_state_is_good_for_its_own_call_alone() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let _call = begin(&mut pair, all()).await;
    pair.server.ask(0, name_form()).await;
    let round = next_round(&world, &mut pair).await;
    let good = retry(&round, all(), json!({}));
    let state = good["requestState"].as_str().unwrap().to_owned();
    let mut other_tool = good.clone();
    other_tool["name"] = json!("u");
    let mut other_arguments = good.clone();
    other_arguments["arguments"] = json!({"n": 2});
    let mut refused = vec![other_tool, other_arguments];
    for at in 0..state.len() {
        let mut bytes = state.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let mut flipped = good.clone();
        flipped["requestState"] = json!(String::from_utf8(bytes).unwrap());
        refused.push(flipped);
    }
    let mut passed = 0;
    for (id, params) in refused.into_iter().enumerate() {
        pair.client.request(100 + id, "tools/call", params).await;
        settle().await;
        // A state without our mark is the server's business: such a call is a new one there.
        let got = tokio::select! {
            biased;
            line = pair.client.next() => line,
        };
        if got["error"]["code"] == -32602 {
            continue;
        }
        passed += 1;
    }
    assert_eq!(passed, 0);
}

#[tokio::test]
async fn two_calls_that_both_ask_go_to_a_page_unless_it_is_clear_which_asks() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let first = begin(&mut pair, all()).await;
    pair.client
        .request(2, "tools/call", call(json!({"n": 2}), all()))
        .await;
    let second = pair.server.next().await;
    pair.server.ask(0, name_form()).await;
    let page = world.opened().await;
    world.answer(&page, json!({"name": "Ada"})).await;
    let answered = pair.server.next().await;
    assert_eq!(
        (&answered["id"], &answered["result"]["content"]),
        (&json!(0), &json!({"name": "Ada"}))
    );
    pair.server.reply(&second, text("b")).await;
    pair.server.reply(&first, text("a")).await;
    for _ in 0..2 {
        let done = pair.client.next().await;
        let expected = if done["id"] == 1 { "a" } else { "b" };
        assert_eq!(done["result"], complete(text(expected)));
    }
}

#[tokio::test]
async fn outside_a_call_roots_are_known_ones_and_lists_never_ask() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    pair.client
        .request(1, "tools/list", modern(json!({}), all()))
        .await;
    let told = pair.lower().await;
    assert_eq!(told["protocolVersion"], "2025-11-25");
    assert_eq!(told["capabilities"]["roots"], json!({"listChanged": false}));
    pair.server.request("r", "roots/list", json!({})).await;
    let mut said = [pair.server.next().await, pair.server.next().await];
    said.sort_by_key(|it| it["method"].to_string());
    assert_eq!(said[1]["result"], json!({"roots": []}), "{said:?}");
    pair.server
        .request("s", "sampling/createMessage", json!({}))
        .await;
    assert_eq!(pair.server.next().await["error"]["code"], -32601);
    pair.server
        .reply(
            &said[0],
            json!({"tools": [{"name": "t", "inputSchema": {}}]}),
        )
        .await;
    let list = pair.client.next().await;
    assert_eq!(list["result"]["resultType"], "complete");
    assert_eq!(
        (&list["result"]["ttlMs"], &list["result"]["cacheScope"]),
        (&json!(0), &json!("private"))
    );
    // It shows every question itself, so no tool has to resume one.
    assert_eq!(
        list["result"]["tools"],
        json!([{"name": "t", "inputSchema": {}}])
    );
}

#[tokio::test]
async fn an_invalid_answer_is_asked_again_with_its_errors() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let _call = begin(&mut pair, all()).await;
    pair.server.ask(0, name_form()).await;
    let round = next_round(&world, &mut pair).await;
    let wrong =
        json!({key(&round, "elicitation/create"): {"action": "accept", "content": {"name": "A"}}});
    world.clock.advance(Duration::from_secs(1));
    pair.client
        .request(2, "tools/call", retry(&round, all(), wrong))
        .await;
    let again = next_round(&world, &mut pair).await;
    let key = key(&again, "elicitation/create");
    let message = &again["result"]["inputRequests"][&key]["params"]["message"];
    assert!(
        message.as_str().unwrap().contains("at least 2"),
        "{message}"
    );
    pair.server.nothing().await;
}

#[tokio::test]
async fn a_call_that_nobody_continues_is_cancelled_at_the_server() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let call = begin(&mut pair, all()).await;
    pair.server.ask(0, name_form()).await;
    let round = next_round(&world, &mut pair).await;
    world.pass(Duration::from_secs(3_600)).await;
    let mut said = vec![pair.server.next().await, pair.server.next().await];
    said.sort_by_key(|it| it["method"].to_string());
    assert_eq!(said[0]["params"]["requestId"], call["id"], "{said:?}");
    assert_eq!(said[1]["result"], json!({"action": "cancel"}));
    pair.client
        .request(2, "tools/call", retry(&round, all(), json!({})))
        .await;
    let late = pair.client.next().await;
    assert!(late["error"]["code"] == -32602 || late["error"]["data"]["reason"] == "call_lost");
}

#[tokio::test]
async fn what_a_call_reports_between_its_rounds_comes_with_the_next() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let mut params = call(json!({"n": 1}), all());
    params["_meta"]["progressToken"] = json!("one");
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    pair.client.request(1, "tools/call", params.clone()).await;
    pair.lower().await;
    let asked = pair.set_level().await;
    let token = asked["params"]["_meta"]["progressToken"].clone();
    assert_ne!(token, "one");
    pair.server
        .notify(
            "notifications/progress",
            json!({"progressToken": token, "progress": 1}),
        )
        .await;
    let report = pair.client.next().await;
    assert_eq!(
        report["params"],
        json!({"progressToken": "one", "progress": 1})
    );
    pair.server.ask(0, name_form()).await;
    let round = next_round(&world, &mut pair).await;
    for progress in 2..5 {
        pair.server
            .notify(
                "notifications/progress",
                json!({"progressToken": token, "progress": progress}),
            )
            .await;
    }
    pair.server
        .notify(
            "notifications/message",
            json!({"level": "info", "data": "x"}),
        )
        .await;
    pair.client.nothing().await;
    let mut params = retry(&round, all(), json!({}));
    params["_meta"]["progressToken"] = json!("two");
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    pair.client.request(2, "tools/call", params).await;
    let mut said = [pair.client.next().await, pair.client.next().await];
    said.sort_by_key(|it| it["method"].to_string());
    assert_eq!(said[0]["params"], json!({"level": "info", "data": "x"}));
    assert_eq!(
        said[1]["params"],
        json!({"progressToken": "two", "progress": 4})
    );
}

#[tokio::test]
async fn a_call_that_has_not_asked_gets_its_logs_at_once_and_is_cancelled_at_the_server() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let mut params = call(json!({"n": 1}), all());
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    pair.client.request(1, "tools/call", params).await;
    pair.lower().await;
    let asked = pair.set_level().await;
    let log = json!({"level": "info", "data": "x"});
    pair.server
        .notify("notifications/message", log.clone())
        .await;
    let told = pair.client.next().await;
    assert_eq!(
        (&told["method"], &told["params"]),
        (&json!("notifications/message"), &log)
    );
    pair.client
        .notify("notifications/cancelled", json!({"requestId": 1}))
        .await;
    let cancelled = pair.server.next().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &asked["id"])
    );
    // Its late response is nobody's.
    pair.server.reply(&asked, text("late")).await;
    pair.client.nothing().await;
}

#[tokio::test]
async fn a_client_that_escapes_slashes_is_understood() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let params = call(json!({"n": 1}), all()).to_string();
    // As PHP writes JSON.
    let params = params.replace('/', r"\/");
    pair.client
        .raw(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{params}}}"#
        ))
        .await;
    pair.lower().await;
    let asked = pair.server.next().await;
    assert_eq!(asked["params"], json!({"name": "t", "arguments": {"n": 1}}));
    pair.server.reply(&asked, text("done")).await;
    assert_eq!(pair.client.next().await["result"], complete(text("done")));
}

fn level(params: Value, level: &str) -> Value {
    let mut params = params;
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
    params
}

#[tokio::test]
async fn the_server_logs_for_the_most_verbose_call_and_each_gets_what_it_asked_for() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    let params = |n: u64, name: &str| level(call(json!({"n": n}), all()), name);
    pair.client
        .request(1, "tools/call", params(1, "warning"))
        .await;
    pair.lower().await;
    let told = pair.server.next().await;
    assert_eq!(told["method"], "logging/setLevel");
    assert_eq!(told["params"], json!({"level": "warning"}));
    // Nothing has run until the server knows.
    pair.server.nothing().await;
    pair.server.reply(&told, json!({})).await;
    let first = pair.server.next().await;
    assert_eq!(first["method"], "tools/call");
    let log = |level: &str| json!({"level": level, "data": "x"});
    pair.server
        .notify("notifications/message", log("info"))
        .await;
    pair.server
        .notify("notifications/message", log("error"))
        .await;
    assert_eq!(pair.client.next().await["params"], log("error"));
    // As verbose as before: nothing to tell.
    pair.server.reply(&first, text("1")).await;
    assert_eq!(pair.client.next().await["result"], complete(text("1")));
    pair.client
        .request(2, "tools/call", params(2, "warning"))
        .await;
    let second = pair.server.next().await;
    assert_eq!(second["method"], "tools/call");
    pair.client
        .request(3, "tools/call", params(3, "debug"))
        .await;
    let told = pair.server.next().await;
    assert_eq!(told["params"], json!({"level": "debug"}));
    pair.server.reply(&told, json!({})).await;
    pair.server.next().await;
    pair.client.nothing().await;
}

/// The error of a call that requires a URL.
fn required() -> Value {
    json!({"code": -32042, "message": "Sign in first", "data": {"elicitations": [
        {"mode": "url", "message": "Sign in", "elicitationId": "a",
            "url": "https://example.com/a"}]}})
}

#[tokio::test]
async fn a_required_url_is_a_question_and_the_call_goes_on_when_it_was_visited() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    let asked = begin(&mut pair, all()).await;
    pair.server.fail(&asked, required()).await;
    let round = next_round(&world, &mut pair).await;
    let key = key(&round, "elicitation/create");
    let shown = &round["result"]["inputRequests"][&key]["params"];
    assert_eq!(
        (&shown["url"], &shown["elicitationId"]),
        (&json!("https://example.com/a"), &Value::Null)
    );
    let answers = json!({&key: {"action": "accept"}});
    pair.client
        .request(2, "tools/call", retry(&round, all(), answers))
        .await;
    // Without a report, it is tried again after a while; the person is not asked again.
    world.pass(Duration::from_secs(25)).await;
    let again = pair.server.next().await;
    assert_eq!(again["params"], asked["params"]);
    pair.server.fail(&again, required()).await;
    let waiting = pair.client.next().await;
    assert_eq!(waiting["result"]["resultType"], "input_required");
    assert_eq!(waiting["result"].get("inputRequests"), None, "{waiting}");
    pair.client
        .request(3, "tools/call", retry(&waiting, all(), json!({})))
        .await;
    pair.server.nothing().await;
    pair.server
        .notify(
            "notifications/elicitation/complete",
            json!({"elicitationId": "a"}),
        )
        .await;
    let again = pair.server.next().await;
    pair.server.reply(&again, text("done")).await;
    let done = pair.client.next().await;
    assert_eq!(
        (&done["id"], &done["result"]),
        (&json!(3), &complete(text("done")))
    );
}

#[tokio::test]
async fn a_required_url_that_is_declined_ends_the_call_with_the_servers_words() {
    let world = World::new(Ways::None).await;
    let mut pair = world.connect();
    let asked = begin(&mut pair, all()).await;
    pair.server.fail(&asked, required()).await;
    let round = next_round(&world, &mut pair).await;
    let answers = json!({key(&round, "elicitation/create"): {"action": "decline"}});
    world.clock.advance(Duration::from_secs(1));
    pair.client
        .request(2, "tools/call", retry(&round, all(), answers))
        .await;
    let ended = pair.client.next().await;
    assert_eq!(ended["error"]["code"], -32603);
    let words = ended["error"]["message"].as_str().unwrap();
    assert!(words.starts_with("Sign in first"), "{words}");
    pair.server.nothing().await;
}

#[tokio::test]
async fn a_call_that_its_client_has_left_does_not_take_the_questions_of_others_to_pages() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let _left = begin(&mut pair, all()).await;
    pair.server
        .request(0, "elicitation/create", name_form())
        .await;
    next_round(&world, &mut pair).await;
    // A page opens for a client that is silent; nobody answers that either.
    world.pass(Duration::from_secs(61)).await;
    world.all_opened().await;
    pair.client
        .request(2, "tools/call", call(json!({"n": 2}), all()))
        .await;
    pair.server.next().await;
    pair.server
        .request(1, "sampling/createMessage", json!({"x": 1}))
        .await;
    let round = next_round(&world, &mut pair).await;
    assert_eq!(round["id"], 2);
    key(&round, "sampling/createMessage");
}

#[tokio::test]
async fn progress_of_a_round_rises_above_what_came_between_the_rounds() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let mut params = level(call(json!({"n": 1}), json!({})), "info");
    params["_meta"]["progressToken"] = json!("one");
    pair.client.request(1, "tools/call", params.clone()).await;
    pair.lower().await;
    let told = pair.server.next().await;
    pair.server.reply(&told, json!({})).await;
    let asked = pair.server.next().await;
    let token = asked["params"]["_meta"]["progressToken"].clone();
    pair.server
        .request(0, "elicitation/create", name_form())
        .await;
    world.opened().await;
    // While the page is open, rounds have nothing but their state.
    let mut last = Value::Null;
    for _ in 0..3 {
        world.pass(Duration::from_secs(10)).await;
        last = pair.client.next().await;
    }
    assert_eq!(last["result"]["resultType"], "input_required", "{last}");
    let report = json!({"progressToken": token, "progress": 5});
    pair.server.notify("notifications/progress", report).await;
    settle().await;
    params["requestState"] = last["result"]["requestState"].clone();
    params["_meta"]["progressToken"] = json!("two");
    pair.client.request(2, "tools/call", params).await;
    let report = pair.client.next().await;
    assert_eq!(
        report["params"],
        json!({"progressToken": "two", "progress": 5})
    );
    world.pass(Duration::from_secs(10)).await;
    let alive = pair.client.next().await;
    assert_eq!(alive["params"]["progressToken"], "two");
    assert!(alive["params"]["progress"].as_f64() > Some(5.0), "{alive}");
}

#[tokio::test]
async fn a_server_that_is_slow_to_start_is_known_by_what_it_answers_first() {
    let world = World::new(Ways::None).await;
    for is_modern in [true, false] {
        let mut pair = world.connect();
        pair.client
            .request(1, "tools/list", modern(json!({}), all()))
            .await;
        let discover = pair.server.next().await;
        assert_eq!(discover["method"], "server/discover");
        world.pass(Duration::from_secs(5)).await;
        let initialize = pair.server.next().await;
        assert_eq!(initialize["method"], "initialize");
        world.pass(Duration::from_secs(10)).await;
        let unknown = json!({"code": -32601, "message": "Method not found"});
        if is_modern {
            pair.server
                .reply(&discover, crate::world::discovered())
                .await;
            pair.server.fail(&initialize, unknown).await;
        } else {
            pair.server.fail(&discover, unknown).await;
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "serverInfo": {"name": "files", "version": "1"}});
            pair.server.reply(&initialize, result).await;
        }
        let mut said = pair.server.next().await;
        while said["method"] != "tools/list" {
            said = pair.server.next().await;
        }
        let mut list = json!({"tools": []});
        if is_modern {
            list = complete(list);
        }
        pair.server.reply(&said, list).await;
        let listed = pair.client.next().await;
        assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    }
}

/// Has one of several clients call a tool that asks a form; returns the call at the server, and the
/// round that the client gets.
async fn asked_on(world: &World, pair: &mut Pair, params: &Value, id: u64) -> (Value, Value) {
    pair.client.request(id, "tools/call", params.clone()).await;
    if id == 1 {
        pair.lower().await;
    }
    let asked = pair.server.next().await;
    pair.server.ask(id, name_form()).await;
    let round = next_round(world, pair).await;
    key(&round, "elicitation/create");
    (asked, round)
}

#[tokio::test]
async fn what_one_client_does_says_nothing_of_another_that_declares_the_same() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    let of = |client: &str| {
        let mut params = call(json!({"of": client}), all());
        params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = json!(client);
        params
    };
    let accept = json!({"action": "accept", "content": {"name": "Ada"}});
    let (asked, round) = asked_on(&world, &mut pair, &of("shows"), 1).await;
    let mut params = of("shows");
    params["requestState"] = round["result"]["requestState"].clone();
    params["inputResponses"] = json!({key(&round, "elicitation/create"): accept});
    world.clock.advance(Duration::from_secs(1));
    pair.client.request(2, "tools/call", params).await;
    assert_eq!(pair.server.next().await["result"], accept);
    pair.server.reply(&asked, text("done")).await;
    assert_eq!(pair.client.next().await["result"], complete(text("done")));
    // One that never answers gets a page.
    let (asked, _) = asked_on(&world, &mut pair, &of("shows nothing"), 3).await;
    world.pass(Duration::from_secs(30)).await;
    let page = world.opened().await;
    world.answer(&page, json!({"name": "Bob"})).await;
    assert_eq!(pair.server.next().await["result"]["action"], "accept");
    pair.server.reply(&asked, text("done")).await;
    // The other is asked itself, as before.
    asked_on(&world, &mut pair, &of("shows"), 4).await;
    world.pass(Duration::from_secs(60)).await;
    world.nothing_opened().await;
}

#[tokio::test]
async fn a_hundred_requests_of_a_server_that_wait_keep_no_other_from_being_passed() {
    let world = World::new(Ways::Browser).await;
    let mut pair = world.connect();
    begin(&mut pair, all()).await;
    for id in 0..101 {
        pair.server.request(id, "roots/list", json!({})).await;
    }
    let round = next_round(&world, &mut pair).await;
    let requests = round["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 101);
}
