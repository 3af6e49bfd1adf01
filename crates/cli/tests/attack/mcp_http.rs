//! `entreat mcp --port`: sessions, origins, headers and floods.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

use crate::mcp_client::{Caller, LEGACY, Listening, hello, post, rounds_of};
use crate::tally::Tally;
use crate::times;
use crate::wire::{connect, exchange, hangs_up, request};

#[test]
fn forged_sessions_are_not_there() {
    let server = Listening::start(&[]);
    let alice = Caller::of("alice-token");
    let session = server.begin(&alice, &json!({}));
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let mut tally = Tally::new();
    let cut = &session[..session.len() - 1];
    let longer = format!("{session}0");
    let twice = format!("{session}, {session}");
    let huge = "x".repeat(50_000);
    for forged in [
        "",
        "x",
        "0",
        "../x",
        "00000000-0000-0000-0000-000000000000",
        cut,
        &*longer,
        &*twice,
        &*huge,
    ] {
        let reply = alice.within(post(&list), forged).try_send(&server.address);
        let status = reply.as_ref().map(|reply| reply.status);
        let forged: String = forged.chars().take(40).collect();
        tally.note(
            format_args!("session {forged:?}"),
            matches!(status, None | Some(400..=499)),
            format_args!("{status:?}"),
        );
    }
    alice
        .within(request("DELETE /mcp"), &session)
        .send(&server.address);
    let after = alice.within(post(&list), &session).send(&server.address);
    tally.note(
        "a session that was ended",
        (400..500).contains(&after.status),
        after.told(),
    );
    tally.finish();
}

#[test]
fn pages_of_other_origins_and_names_are_refused() {
    let server = Listening::start(&[]);
    let mut tally = Tally::new();
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost.evil.example"),
        ("origin", "file://"),
        ("origin", "http://127.0.0.1.nip.io"),
        ("host", "evil.example"),
        ("host", "evil.example:80"),
        ("host", "127.0.0.1.nip.io"),
        ("host", ""),
    ] {
        let reply = post(&hello(LEGACY, &json!({})))
            .header(name, value)
            .try_send(&server.address);
        let status = reply.as_ref().map(|reply| reply.status);
        tally.note(
            format_args!("{name}: {value}"),
            matches!(status, None | Some(400..=499)),
            format_args!("{status:?}"),
        );
    }
    let reply = request("OPTIONS /mcp")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST")
        .send(&server.address);
    tally.note(
        "a preflight",
        !reply.head.to_lowercase().contains("access-control-allow"),
        &reply.head,
    );
    tally.finish();
}

#[test]
fn a_page_on_another_local_port_is_refused_here_too() {
    let server = Listening::start(&[]);
    let mut tally = Tally::new();
    for origin in ["http://127.0.0.1:1", "http://localhost:3000"] {
        let reply = post(&hello(LEGACY, &json!({})))
            .header("origin", origin)
            .send(&server.address);
        tally.note(
            format_args!("origin: {origin}"),
            reply.status == 403,
            reply.told(),
        );
    }
    tally.finish();
}

#[test]
fn of_two_tokens_none_is_taken() {
    let server = Listening::start(&[]);
    let mut tally = Tally::new();
    for (first, second) in [
        ("Bearer alice-token", "Bearer mallory-token"),
        ("Bearer mallory-token", "Bearer alice-token"),
        ("", "Bearer alice-token"),
    ] {
        let reply = post(&hello(LEGACY, &json!({})))
            .header("authorization", first)
            .header("authorization", second)
            .send(&server.address);
        tally.note(
            format_args!("{first:?} and {second:?}"),
            (400..500).contains(&reply.status),
            reply.told(),
        );
    }
    tally.finish();
}

#[test]
fn requests_that_are_no_mcp_are_refused() {
    let server = Listening::start(&[]);
    let meter = server.program.meter();
    let mut tally = Tally::new();
    let good = hello(LEGACY, &json!({})).to_string();
    for (what, reply) in [
        (
            "no session",
            request("POST /mcp")
                .header("accept", "application/json, text/event-stream")
                .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string()),
        ),
        ("no accept", request("POST /mcp").json(&good)),
        (
            "text",
            request("POST /mcp")
                .header("accept", "application/json, text/event-stream")
                .body("text/plain", good.clone()),
        ),
        (
            "compressed",
            request("POST /mcp")
                .header("accept", "application/json, text/event-stream")
                .header("content-encoding", "gzip")
                .json("\u{1f}"),
        ),
        (
            "no JSON",
            request("POST /mcp")
                .header("accept", "application/json, text/event-stream")
                .json("{"),
        ),
        (
            "deep JSON",
            request("POST /mcp")
                .header("accept", "application/json, text/event-stream")
                .json(&["[".repeat(100_000), "]".repeat(100_000)].concat()),
        ),
        (
            "an unknown version",
            request("POST /mcp")
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", "1999-01-01")
                .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string()),
        ),
        ("another path", request("POST /other").json(&good)),
        ("another method", request("PUT /mcp").json(&good)),
        (
            "an answer to nothing",
            request("POST /mcp")
                .header("accept", "application/json, text/event-stream")
                .json(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string()),
        ),
        (
            "a header that lies about the method",
            rounds_of("ask_user", &json!({"prompt": "A?"}), &json!({}), &json!({}))
                .header("mcp-method", "tools/list"),
        ),
    ] {
        let answer = reply.try_send(&server.address);
        let status = answer.as_ref().map(|reply| reply.status);
        tally.note(
            what,
            matches!(status, None | Some(400..=499)),
            format_args!(
                "{status:?} {}",
                answer.map(|reply| reply.text()).unwrap_or_default()
            ),
        );
    }
    server.serves_others("no MCP");
    meter.at_most("no MCP", Duration::from_secs(5), 48);
    tally.finish();
}

#[test]
fn large_bodies_and_heads_are_cut_off() {
    let server = Listening::start(&[]);
    let mut tally = Tally::new();
    let meter = server.program.meter();
    let large = vec![b' '; 80 << 20];
    let reply = request("POST /mcp")
        .header("accept", "application/json, text/event-stream")
        .body("application/json", large)
        .try_send(&server.address);
    let status = reply.map(|reply| reply.status);
    let peak = meter.peak_mib();
    tally.note(
        "80 MiB of spaces",
        matches!(status, None | Some(400..=499)) && peak <= 128,
        format_args!("{status:?}, {peak} MiB"),
    );
    let meter = server.program.meter();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: {}",
        "x".repeat(8 << 20)
    );
    let reply = exchange(connect(&server.address), head.as_bytes(), true);
    let status = reply.map(|reply| reply.status);
    let peak = meter.peak_mib();
    tally.note(
        "8 MiB of head",
        matches!(status, None | Some(400..=499)) && peak <= 16,
        format_args!("{status:?}, {peak} MiB"),
    );
    server.serves_others("large requests");
    tally.finish();
}

#[test]
fn thousands_of_sessions_of_one_leave_memory_and_room_for_others() {
    let server = Listening::start(&[]);
    let meter = server.program.meter();
    let mallory = Caller::of("mallory-token");
    let count = times(1_000, 3_000);
    let begun = (0..count).filter_map(|_| {
        let sent = mallory.signed(post(&hello(LEGACY, &json!({}))));
        let reply = sent.try_send(&server.address)?;
        (reply.status == 200).then(|| reply.header("mcp-session-id").to_owned())
    });
    let begun: Vec<String> = begun.collect();
    let mut tally = Tally::new();
    // A principal's idle sessions are replaced.
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let goes_on = |session: &&String| {
        let sent = mallory.within(post(&ping), session);
        sent.send(&server.address).status != 404
    };
    let open = begun.iter().filter(goes_on).count();
    tally.note(
        "sessions are counted",
        open <= 250,
        format_args!("{open} of {} go on", begun.len()),
    );
    let held = meter.held_mib();
    tally.note(
        "memory",
        held <= 40,
        format_args!("{held} MiB for {open} sessions"),
    );
    server.serves_others("thousands of sessions");
    tally.finish();
}

#[test]
fn half_heads_are_cut_off() {
    let server = Listening::start(&[("HTTP_HEAD_TIMEOUT", "1s"), ("HTTP_BODY_TIMEOUT", "1s")]);
    let begin = |_| {
        let mut stream = connect(&server.address);
        stream
            .write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: ")
            .expect("it is read");
        stream
    };
    let mut held: Vec<_> = (0..300).map(begin).collect();
    server.serves_others("300 half heads");
    let mut tally = Tally::new();
    // The first few are enough: waiting for all 300 would take an hour.
    let cut = held
        .iter_mut()
        .take(5)
        .filter_map(|stream| hangs_up(stream, Duration::from_secs(4)).then_some(()))
        .count();
    tally.note(
        "300 half heads",
        cut == 5,
        format_args!("{cut} of the first 5 were cut off"),
    );
    let mut slow = connect(&server.address);
    slow.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        .expect("it is read");
    tally.note(
        "half a body",
        hangs_up(&mut slow, Duration::from_secs(8)),
        "it stays open",
    );
    tally.finish();
}
