//! `entreat gateway`: clients over HTTP that want what belongs to others, or more than their share.

use std::io::{BufReader, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use crate::gateway_world::{
    Gateway, alice, body_to, call_echo, echo, mallory, round_message, round_to, to,
};
use crate::mcp_client::{Caller, LEGACY, ROUNDS, hello};
use crate::tally::Tally;
use crate::times;
use crate::wire::{connect, read_head, request};

#[test]
fn a_session_is_of_its_key_and_its_route() {
    let gateway = Gateway::start("", &[]);
    let session = gateway.begin(&alice(), "one");
    let own = alice().within(to("one", &call_echo(&json!({}))), &session);
    assert_eq!(own.send(&gateway.address).status, 200);
    let reached = gateway.reached();
    let mut tally = Tally::new();
    let cut = &session[..session.len() - 1];
    let (longer, twice) = (format!("{session}0"), format!("{session}, {session}"));
    let huge = "x".repeat(50_000);
    for (what, who, route, id) in [
        ("another's key", mallory(), "one", session.as_str()),
        ("no key", Caller::nobody(), "one", &session),
        (
            "an unknown key",
            Caller::of("alice-alice-alice"),
            "one",
            &session,
        ),
        ("another route", alice(), "two", &session),
        ("no such route", alice(), "three", &session),
        ("an id that is cut", alice(), "one", cut),
        ("a longer id", alice(), "one", &longer),
        ("an id twice", alice(), "one", &twice),
        ("an empty id", alice(), "one", ""),
        ("a path", alice(), "one", "../one"),
        ("a huge id", alice(), "one", &huge),
    ] {
        let listening = request(&format!("GET /mcp/{route}")).header("accept", "text/event-stream");
        for (how, request) in [
            ("calls", to(route, &call_echo(&json!({})))),
            ("ends it", request(&format!("DELETE /mcp/{route}"))),
        ] {
            let reply = who.within(request, id).try_send(&gateway.address);
            let status = reply.as_ref().map(|reply| reply.status);
            tally.note(
                format_args!("{what} {how}"),
                matches!(status, None | Some(400..=499)),
                format_args!("{status:?}"),
            );
        }
        let mut stream = connect(&gateway.address);
        let bytes = who.within(listening, id).bytes(&gateway.address);
        let _ = stream.write_all(&bytes);
        let head = read_head(&mut BufReader::new(stream)).unwrap_or_default();
        let status: Option<u16> = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        tally.note(
            format_args!("{what} listens"),
            matches!(status, None | Some(400..=499)),
            format_args!("{status:?}"),
        );
    }
    tally.note(
        "nothing reached the server",
        gateway.reached() == reached,
        gateway.reached(),
    );
    let still = alice().within(to("one", &call_echo(&json!({}))), &session);
    let still = still.send(&gateway.address);
    tally.note("it goes on", still.status == 200, still.told());
    tally.finish();
}

#[test]
fn guessing_keys_is_slowed_and_the_right_key_is_not() {
    let gateway = Gateway::start("", &[]);
    let guess = |number: usize| {
        let who = Caller::of(&format!("guess-guess-guess-{number}"));
        let sent = who.signed(to("one", &hello(LEGACY, &json!({}))));
        sent.send(&gateway.address).status
    };
    let slowed = (0..300).filter(|number| guess(*number) == 429).count();
    let mut tally = Tally::new();
    tally.note(
        "300 guesses",
        slowed > 100,
        format_args!("{slowed} were slowed"),
    );
    let right = gateway.try_begin(&alice(), "one");
    let right = right.map(|reply| reply.status);
    tally.note(
        "the right key",
        right == Some(200),
        format_args!("{right:?}"),
    );
    tally.note("nothing ran", gateway.reached() == 0, gateway.reached());
    tally.finish();
}

#[test]
fn requests_beyond_the_rate_of_an_asker_are_refused_and_leave_room_for_others() {
    let gateway = Gateway::start("", &[("LIMITS_REQUESTS_PER_SECOND", "3")]);
    let session = gateway.begin(&mallory(), "one");
    let mut tally = Tally::new();
    let ping = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let batch = Value::Array((0..100).map(ping).collect());
    for (what, sent, limit) in [
        ("single calls", ping(0), 100),
        ("batches of a hundred", batch, 200),
        ("what is no message", json!(7), 100),
    ] {
        let refused = (0..200).filter(|_| {
            let sent = mallory().within(to("one", &sent), &session);
            let reply = sent.send(&gateway.address);
            reply.status == 429
        });
        let refused = refused.count();
        tally.note(
            what,
            refused >= limit,
            format_args!("{refused} of 200 were refused"),
        );
        gateway.serves_others(what);
    }
    tally.finish();
}

#[test]
fn a_header_that_is_there_twice_is_refused() {
    let gateway = Gateway::start("", &[]);
    let mut tally = Tally::new();
    let session = gateway.begin(&alice(), "one");
    let others = gateway.begin(&mallory(), "one");
    let within = |first: &str, second: &str| {
        to("one", &call_echo(&json!({})))
            .header("mcp-session-id", first)
            .header("mcp-session-id", second)
    };
    let [alices, mallorys] = [
        "Bearer alice-alice-alice-alice",
        "Bearer mallory-mallory-mallory",
    ];
    let round = || round_to("one", &echo(&json!({})));
    for (what, sent) in [
        (
            "two keys",
            to("one", &hello(LEGACY, &json!({})))
                .header("authorization", alices)
                .header("authorization", mallorys),
        ),
        (
            "a key twice",
            to("one", &hello(LEGACY, &json!({})))
                .header("authorization", alices)
                .header("authorization", alices),
        ),
        ("two sessions", alice().signed(within(&session, &others))),
        (
            "a session twice",
            alice().signed(within(&session, &session)),
        ),
        (
            "an empty session first",
            alice().signed(within("", &session)),
        ),
        (
            "two versions",
            alice()
                .within(to("one", &call_echo(&json!({}))), &session)
                .header("mcp-protocol-version", "2025-06-18"),
        ),
        (
            "two types",
            alice()
                .within(to("one", &call_echo(&json!({}))), &session)
                .header("content-type", "text/plain"),
        ),
        (
            "two methods",
            alice().signed(round()).header("mcp-method", "tools/list"),
        ),
        (
            "two names",
            alice().signed(round()).header("mcp-name", "other"),
        ),
        (
            "two newest versions",
            alice()
                .signed(round())
                .header("mcp-protocol-version", ROUNDS),
        ),
        (
            "two lengths",
            alice()
                .within(to("one", &call_echo(&json!({}))), &session)
                .header("content-length", "5")
                .header("content-length", "6"),
        ),
    ] {
        let reply = sent.try_send(&gateway.address);
        let status = reply.as_ref().map(|reply| reply.status);
        tally.note(
            what,
            matches!(status, None | Some(400..=499)),
            format_args!("{status:?}"),
        );
    }
    tally.note("none ran", gateway.reached() == 0, gateway.reached());
    tally.finish();
}

#[test]
fn headers_that_say_another_thing_than_the_body_are_refused() {
    let gateway = Gateway::start("", &[]);
    let mut tally = Tally::new();
    let message = round_message(&echo(&json!({})));
    for (version, method, name) in [
        ("2025-11-25", "tools/call", "echo"),
        ("2026-07-29", "tools/call", "echo"),
        ("", "tools/call", "echo"),
        (ROUNDS, "tools/list", "echo"),
        (ROUNDS, "Tools/Call", "echo"),
        (ROUNDS, "", "echo"),
        (ROUNDS, "tools/call", "other"),
        (ROUNDS, "tools/call", ""),
        (ROUNDS, "tools/call", "echo\u{e9}"),
        (ROUNDS, "tools/call", "=?base64?b3RoZXI=?="),
        (ROUNDS, "tools/call", "=?base64?ZWNobw==?= "),
        (ROUNDS, "tools/call", "=?base64?ZWNobw?="),
        (ROUNDS, "tools/call", "=?base64?!?="),
    ] {
        let sent = alice()
            .signed(to("one", &message))
            .header("mcp-protocol-version", version)
            .header("mcp-method", method)
            .header("mcp-name", name);
        let reply = sent.try_send(&gateway.address);
        let status = reply.as_ref().map(|reply| reply.status);
        // The name in base64, with a space behind it, is right.
        let is_right = name == "=?base64?ZWNobw==?= ";
        tally.note(
            format_args!("{version:?}, {method:?}, {name:?}"),
            matches!(status, None | Some(400..=499)) != is_right,
            format_args!("{status:?}"),
        );
    }
    let reached = gateway.reached();
    tally.note("only the right one ran", reached == 1, reached);
    tally.finish();
}

/// The rule that has each call wait for an approval.
const APPROVE: &str = "[[rule]]\naction = 'ask'\n";

/// Begins a call that waits for its approval; returns its ticket and the key of the question.
fn ticket(gateway: &Gateway, text: &str) -> (String, String) {
    let asked = gateway.round(&alice(), "one", &echo(&json!({"text": text})));
    let result = &asked["result"];
    let key = result["inputRequests"]
        .as_object()
        .and_then(|it| it.keys().next());
    let state = result["requestState"].as_str();
    let both = state.map(str::to_owned).zip(key.cloned());
    both.unwrap_or_else(|| panic!("there is no ticket: {asked}\n{}", gateway.program.stderr()))
}

fn approval(ticket: &str, key: &str, text: &str) -> Value {
    let mut params = echo(&json!({"text": text}));
    params["requestState"] = json!(ticket);
    params["inputResponses"] = json!({key: {"action": "accept", "content": {"approve": true}}});
    params
}

#[test]
fn a_ticket_is_of_its_principal_its_route_its_tool_and_its_arguments() {
    let gateway = Gateway::start(APPROVE, &[]);
    let (good, key) = ticket(&gateway, "Canary");
    // Answers that come sooner were not read.
    std::thread::sleep(Duration::from_millis(500));
    let approved = approval(&good, &key, "Canary");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut params = approved.clone();
        change(&mut params);
        params
    };
    let mut tally = Tally::new();
    let mut attempts = vec![
        ("another's key", mallory(), "one", approved.clone()),
        ("another route", alice(), "two", approved.clone()),
        (
            "another tool",
            alice(),
            "one",
            with(&|params| params["name"] = json!("delete_all")),
        ),
        (
            "other arguments",
            alice(),
            "one",
            with(&|params| params["arguments"]["text"] = json!("Other")),
        ),
        (
            "more arguments",
            alice(),
            "one",
            with(&|params| params["arguments"]["more"] = json!(1)),
        ),
        (
            "a ticket of nothing",
            alice(),
            "one",
            with(&|params| params["requestState"] = json!("entreat1.")),
        ),
        (
            "a state that is no ticket",
            alice(),
            "one",
            with(&|params| params["requestState"] = json!("x")),
        ),
        (
            "a ticket of another type",
            alice(),
            "one",
            with(&|params| params["requestState"] = json!([good.clone()])),
        ),
    ];
    let count = times(20, 200);
    for n in 0..count {
        let at = n * good.len() / count;
        let mut flipped = good.clone().into_bytes();
        flipped[at] = if flipped[at] == b'A' { b'B' } else { b'A' };
        let flipped = String::from_utf8(flipped).expect("it is ASCII");
        if flipped != good {
            let params = with(&|params| params["requestState"] = json!(flipped));
            attempts.push(("another letter", alice(), "one", params));
        }
    }
    for (what, who, route, params) in attempts {
        let answer = gateway.round(&who, route, &params);
        // It is refused, or asked about as a new call.
        let holds = answer.get("error").is_some()
            || answer["result"]["resultType"] == "input_required"
                && answer["result"]["requestState"] != json!(good);
        tally.note(what, holds, &answer);
    }
    tally.note("none ran", gateway.reached() == 0, gateway.reached());
    let ran = gateway.round(&alice(), "one", &approved);
    tally.note(
        "the right one runs",
        ran["result"]["content"][0]["text"] == "Canary",
        &ran,
    );
    for (what, params) in [
        ("again", approved.clone()),
        (
            "with another answer",
            with(&|params| params["inputResponses"] = json!({})),
        ),
    ] {
        let answer = gateway.round(&alice(), "one", &params);
        let holds = answer.get("error").is_some() || answer["result"] == ran["result"];
        tally.note(what, holds, &answer);
    }
    tally.note("it ran once", gateway.reached() == 1, gateway.reached());
    tally.finish();
}

#[test]
fn pages_of_other_origins_and_names_call_no_tools() {
    let gateway = Gateway::start("", &[("LOCAL_WITHOUT_KEY", "true")]);
    let mut tally = Tally::new();
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost.evil.example"),
        ("origin", "http://127.0.0.1:1"),
        ("origin", "http://localhost:3000"),
        ("host", "evil.example"),
        ("host", "127.0.0.1.nip.io"),
        ("host", ""),
        ("x-forwarded-for", "203.0.113.5"),
        ("forwarded", "for=203.0.113.5"),
        ("content-type", "text/plain"),
    ] {
        let mut sent = request("POST /mcp/one").header("accept", "*/*");
        if name != "content-type" {
            sent = sent.header("content-type", "application/json");
        }
        let sent = sent
            .header(name, value)
            .plain_body(hello(LEGACY, &json!({})).to_string());
        let status = sent.try_send(&gateway.address).map(|reply| reply.status);
        tally.note(
            format_args!("{name}: {value}"),
            matches!(status, None | Some(400..=499)),
            format_args!("{status:?}"),
        );
    }
    let reply = request("OPTIONS /mcp/one")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST")
        .send(&gateway.address);
    tally.note(
        "a preflight",
        !reply.head.to_lowercase().contains("access-control-allow"),
        &reply.head,
    );
    let local = to("one", &hello(LEGACY, &json!({}))).send(&gateway.address);
    tally.note(
        "a program of this machine",
        local.status == 200,
        local.told(),
    );
    tally.finish();
}

#[test]
fn tools_that_are_not_offered_are_called_by_no_spelling() {
    let gateway = Gateway::start("tools.allow = ['echo']", &[]);
    let session = gateway.begin(&alice(), "one");
    let mut tally = Tally::new();
    for params in [
        "{\"name\":\"delete_all\"}",
        "{\"name\":\"echo\",\"name\":\"delete_all\"}",
        "{\"name\":\"delete_all\",\"name\":\"echo\"}",
        "{\"name\":\"echo\",\"\\u006eame\":\"delete_all\"}",
        "{\"name\":[\"delete_all\"]}",
        "[\"delete_all\"]",
        "null",
    ] {
        let start = "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":";
        for body in [
            format!("{start}{params},\"id\":2}}"),
            format!("{start}{params}}}"),
            format!("[{start}{params},\"id\":2}},{start}{params}}}]"),
        ] {
            let before = gateway.reached();
            let reply = alice().within(body_to("one", body.clone()), &session);
            reply.try_send(&gateway.address);
            let reached = gateway.reached();
            tally.note(&body, reached == before, reached);
        }
    }
    let listed = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    let listed = alice().within(to("one", &listed), &session);
    let listed = listed.send(&gateway.address).text();
    tally.note("it is not listed", !listed.contains("delete_all"), &listed);
    tally.finish();
}
