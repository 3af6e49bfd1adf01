//! `entreat mcp --port`: one client tries to use what belongs to another.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_client::{Caller, Listening, message_in, post, rounds_of, told};
use crate::tally::Tally;
use crate::wire::{connect, request};

#[test]
fn a_session_is_of_whoever_began_it() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let session = server.begin(&alice, &json!({"elicitation": {}}));
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let own = alice.within(post(&list), &session).send(&server.address);
    assert_eq!(own.status, 200, "{}", own.told());
    let mut tally = Tally::new();
    for (who, caller) in [
        ("another", Caller::of("mallory-token")),
        ("nobody", Caller::nobody()),
        ("a token that is cut", Caller::of("alice-toke")),
    ] {
        let reply = caller.within(post(&list), &session).send(&server.address);
        tally.note(
            format_args!("{who} calls"),
            (400..500).contains(&reply.status),
            reply.told(),
        );
        let get = caller.within(
            request("GET /mcp").header("accept", "text/event-stream"),
            &session,
        );
        let status = first_status(&server, &get.bytes(&server.address));
        tally.note(
            format_args!("{who} listens"),
            status.is_some_and(|status| (400..500).contains(&status)),
            format_args!("{status:?}"),
        );
        let end = caller
            .within(request("DELETE /mcp"), &session)
            .send(&server.address);
        tally.note(
            format_args!("{who} ends it"),
            (400..500).contains(&end.status),
            end.told(),
        );
    }
    let still = alice.within(post(&list), &session).send(&server.address);
    tally.note("it goes on", still.status == 200, still.told());
    tally.finish();
}

fn first_status(server: &Listening, bytes: &[u8]) -> Option<u16> {
    let mut stream = connect(&server.address);
    stream.write_all(bytes).ok()?;
    let head = crate::wire::read_head(&mut std::io::BufReader::new(stream))?;
    head.split(' ').nth(1)?.parse().ok()
}

#[test]
fn one_who_asks_without_end_leaves_questions_for_others() {
    let server = Listening::start(&[("LIMITS_LIVE_IN_ALL", "40")]);
    let mallory = Caller::of("mallory-token");
    let left = json!({"prompt": "Mine?", "wait": false});
    let mut taken = 0;
    for _ in 0..60 {
        let answer = server.round(&mallory, "ask_user", &left, &json!({}));
        taken += usize::from(answer["result"]["structuredContent"]["question"].is_string());
    }
    let alice = Caller::of("alice-token");
    let answer = server.round(&alice, "ask_user", &left, &json!({}));
    let mut tally = Tally::new();
    let is_asked = answer["result"]["structuredContent"]["question"].is_string();
    tally.note(
        "forty live questions",
        is_asked,
        format_args!("{taken} are mallory's; {answer}"),
    );
    tally.finish();
}

/// Asks as a client without elicitation: its call is parked behind a link.
fn park(server: &Listening, who: &Caller, prompt: &str, seconds: u64) -> Value {
    let arguments = json!({"prompt": prompt, "timeout_seconds": seconds});
    let request = rounds_of("ask_user", &arguments, &json!({}), &json!({}));
    message_in(&who.signed(request).send(&server.address))
}

#[test]
fn a_thousand_short_questions_leave_links_for_others() {
    let server = Listening::start(&[("LIMITS_LIVE_IN_ALL", "5000")]);
    let mallory = Caller::of("mallory-token");
    let mut parked = 0;
    for _ in 0..1_000 {
        let answer = park(&server, &mallory, "Mine?", 1);
        if !told(&answer).contains("http://") {
            break;
        }
        parked += 1;
    }
    let alice = Caller::of("alice-token");
    let answer = park(&server, &alice, "Alice's?", 60);
    let mut tally = Tally::new();
    tally.note(
        "another's link",
        told(&answer).contains("http://"),
        format_args!("{parked} are mallory's; {answer}"),
    );
    // Mallory's questions have timed out by now, or do so within a second.
    let again = crate::program::eventually(Duration::from_secs(15), || {
        told(&park(&server, &mallory, "Again?", 1)).contains("http://")
    });
    tally.note(
        "the places of ended questions",
        again,
        format_args!("{parked} were parked, and no place came back"),
    );
    tally.finish();
}

#[test]
fn what_was_parked_is_resumed_by_its_own_client_alone() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let answer = park(&server, &alice, "Canary?", 60);
    let text = told(&answer);
    let handle = crate::browser::between(&text, "{\"question\": \"", "\"");
    assert!(!handle.is_empty(), "{answer}");
    let resume = |who: &Caller, handle: &str| {
        let arguments = json!({"question": handle});
        let request = rounds_of("resume_question", &arguments, &json!({}), &json!({}));
        told(&message_in(&who.signed(request).send(&server.address)))
    };
    let mut tally = Tally::new();
    for (who, caller) in [
        ("another", Caller::of("mallory-token")),
        ("nobody", Caller::nobody()),
    ] {
        let theirs = resume(&caller, &handle);
        let unknown = resume(&caller, "00000000000000000000");
        let is_alike = theirs.replace(&handle, "X") == unknown.replace("00000000000000000000", "X");
        tally.note(
            who,
            is_alike && !theirs.contains("Canary?"),
            format_args!("{theirs} and {unknown}"),
        );
    }
    tally.finish();
}

/// The id of a question that this client asked and does not wait for.
fn left_by(caller: &Caller, server: &Listening) -> String {
    let left = server.round(
        caller,
        "ask_user",
        &json!({"prompt": "Canary?", "wait": false}),
        &json!({}),
    );
    let id = left["result"]["structuredContent"]["question"].as_str();
    id.unwrap_or_else(|| panic!("{left}")).to_owned()
}

#[test]
fn a_question_is_looked_at_and_withdrawn_by_its_own_client_alone() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let id = left_by(&alice, &server);
    let unknown = "elic_01hnmq7zq8e9vv8h2m6x3c5t0d";
    let mut tally = Tally::new();
    for (who, caller) in [
        ("another", Caller::of("mallory-token")),
        ("nobody", Caller::nobody()),
    ] {
        for tool in ["ask_status", "ask_cancel"] {
            let theirs = server.round(&caller, tool, &json!({"question": id}), &json!({}));
            let nobodys = server.round(&caller, tool, &json!({"question": unknown}), &json!({}));
            let plain = |answer: &Value| answer.to_string().replace(&id, "X").replace(unknown, "X");
            let holds = plain(&theirs) == plain(&nobodys);
            tally.note(
                format_args!("{tool} by {who}"),
                holds,
                format_args!("{theirs} and {nobodys}"),
            );
        }
    }
    let own = server.round(&alice, "ask_status", &json!({"question": id}), &json!({}));
    tally.note(
        "its own",
        own["result"]["structuredContent"]["status"] == "pending",
        &own,
    );
    tally.finish();
}

#[test]
fn the_extension_answers_no_question_of_another_client() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let id = left_by(&alice, &server);
    let mallory = Caller::of("mallory-token");
    let session = server.begin(
        &mallory,
        &json!({"elicitation": {}, "extensions": {"dev.entreat/forms": {}}}),
    );
    let mut tally = Tally::new();
    for method in [
        "elicitation/status",
        "elicitation/question",
        "elicitation/submit",
        "elicitation/cancel",
        "elicitation/list",
        "elicitation/await",
    ] {
        let message = json!({"jsonrpc": "2.0", "id": 3, "method": method,
            "params": {"elicitationId": id, "responses": {"answer": "x"}}});
        let reply = mallory
            .within(post(&message), &session)
            .send(&server.address);
        let holds = !reply.text().contains("Canary?") && message_in(&reply).get("result").is_none();
        tally.note(method, holds, reply.told());
    }
    let own = server.round(&alice, "ask_status", &json!({"question": id}), &json!({}));
    tally.note(
        "it is as it was",
        own["result"]["structuredContent"]["status"] == "pending",
        &own,
    );
    tally.finish();
}
