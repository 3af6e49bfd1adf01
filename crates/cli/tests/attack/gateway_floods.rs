//! `entreat gateway`: clients over HTTP that take more than their share.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::gateway_world::{Gateway, alice, body_to, call_echo, echo, mallory, round_to, soon, to};
use crate::tally::Tally;
use crate::times;
use crate::wire::{connect, hangs_up};

#[test]
fn thousands_of_sessions_of_one_leave_memory_and_room_for_others() {
    let gateway = Gateway::start("", &[]);
    let meter = gateway.program.meter();
    let begun = (0..times(500, 3_000)).filter_map(|_| {
        let reply = gateway.try_begin(&mallory(), "one")?;
        (reply.status == 200).then(|| reply.header("mcp-session-id").to_owned())
    });
    let begun: Vec<String> = begun.collect();
    let mut tally = Tally::new();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let goes_on = |session: &&String| {
        let sent = mallory().within(to("one", &ping), session);
        sent.send(&gateway.address).status == 200
    };
    let open = begun.iter().filter(goes_on).count();
    tally.note(
        "sessions are counted",
        (1..=64).contains(&open),
        format_args!("{open} of {} go on", begun.len()),
    );
    let held = meter.held_mib();
    tally.note("memory", held <= 48, format_args!("{held} MiB"));
    gateway.serves_others("thousands of sessions");
    tally.finish();
}

#[test]
fn half_heads_and_half_bodies_are_cut_off() {
    let settings = [("HTTP_HEAD_TIMEOUT", "1s"), ("HTTP_BODY_TIMEOUT", "1s")];
    let gateway = Gateway::start("", &settings);
    let begin = |_| {
        let mut stream = connect(&gateway.address);
        let head = b"POST /mcp/one HTTP/1.1\r\nhost: localhost\r\nx: ";
        stream.write_all(head).expect("it is read");
        stream
    };
    let mut heads: Vec<_> = (0..300).map(begin).collect();
    gateway.serves_others("300 half heads");
    let mut tally = Tally::new();
    let mut cut = 0;
    for head in heads.iter_mut().take(5) {
        cut += usize::from(hangs_up(head, Duration::from_secs(4)));
    }
    tally.note("half heads", cut == 5, format_args!("{cut} of 5"));
    let half = half_bodies(10);
    let mut bodies: Vec<_> = half.iter().map(|bytes| sent(&gateway, bytes)).collect();
    // A body of another is read meanwhile.
    let large = call_echo(&json!({"text": "x".repeat(200 << 10)}));
    let session = gateway.begin(&alice(), "one");
    let reply = alice().within(to("one", &large), &session);
    let reply = reply.send(&gateway.address);
    tally.note("another's body", reply.status == 200, reply.status);
    let mut cut = 0;
    for body in bodies.iter_mut().take(2) {
        cut += usize::from(hangs_up(body, Duration::from_secs(8)));
    }
    tally.note("half bodies", cut == 2, format_args!("{cut} of 2"));
    tally.finish();
}

/// Requests whose bodies are large and do not end.
fn half_bodies(count: usize) -> Vec<Vec<u8>> {
    let head = "POST /mcp/one HTTP/1.1\r\nhost: localhost\r\n\
        authorization: Bearer mallory-mallory-mallory\r\naccept: */*\r\n\
        content-type: application/json\r\ncontent-length: 10000000\r\n\r\n";
    let bytes = [head.as_bytes(), &vec![b' '; 100 << 10]].concat();
    vec![bytes; count]
}

fn sent(gateway: &Gateway, bytes: &[u8]) -> std::net::TcpStream {
    let mut stream = connect(&gateway.address);
    let _ = stream.write_all(bytes);
    stream
}

#[test]
fn large_bodies_of_one_leave_room_for_those_of_others() {
    let gateway = Gateway::start("", &[]);
    let half = half_bodies(12);
    let held: Vec<_> = half.iter().map(|bytes| sent(&gateway, bytes)).collect();
    let mut tally = Tally::new();
    let session = gateway.begin(&alice(), "one");
    let large = call_echo(&json!({"text": "x".repeat(200 << 10)}));
    for n in 0..3 {
        let begun = crate::program::now();
        let reply = alice().within(to("one", &large), &session);
        let status = reply.try_send(&gateway.address).map(|reply| reply.status);
        let took = begun.elapsed();
        tally.note(
            format_args!("body {n} of another"),
            status == Some(200) && took < crate::service::SOON,
            format_args!("{status:?} after {took:?}"),
        );
    }
    drop(held);
    tally.finish();
}

#[test]
fn what_a_client_does_not_read_does_not_fill_memory() {
    let gateway = Gateway::start("", &[("GATEWAY_MEMORY", "67108864")]);
    let session = gateway.begin(&mallory(), "one");
    let meter = gateway.program.meter();
    let mut tally = Tally::new();
    let count = times(100, 400);
    let large = call_echo(&json!({"size": 1 << 20}));
    for n in 0..count {
        // It goes away before the response comes.
        let bytes = mallory().within(to("one", &large), &session);
        let stream = sent(&gateway, &bytes.bytes(&gateway.address));
        let is_made = soon(|| gateway.reached() > n);
        drop(stream);
        if !is_made {
            // Its share is full.
            assert!(n >= 8, "call {n} was not made");
            break;
        }
    }
    let peak = meter.peak_mib();
    tally.note(
        format_args!("{count} responses of a mebibyte"),
        peak <= 96,
        format_args!("{peak} MiB"),
    );
    let meter = gateway.program.meter();
    for _ in 0..count {
        let params = echo(&json!({"size": 1 << 20}));
        let reply = alice().signed(round_to("one", &params));
        let reply = reply.send(&gateway.address);
        assert_eq!(reply.status, 200, "{}", reply.status);
    }
    let peak = meter.peak_mib();
    tally.note(
        format_args!("{count} results of a mebibyte, one after the other"),
        peak <= 64,
        format_args!("{peak} MiB"),
    );
    gateway.serves_others("unread responses");
    tally.finish();
}

#[test]
fn bodies_that_are_no_messages_cost_little() {
    let gateway = Gateway::start("", &[]);
    let session = gateway.begin(&alice(), "one");
    let deep = |open: &str, close: &str| [open.repeat(100_000), close.repeat(100_000)].concat();
    let mut tally = Tally::new();
    let in_call = |text: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{text}}}")
    };
    let calls = |count: usize| {
        format!(
            "[{}]",
            vec![call_echo(&json!({})).to_string(); count].join(",")
        )
    };
    for (what, body, mib) in [
        ("17 MiB of spaces", " ".repeat(17 << 20), 8),
        (
            "a call of 17 MiB",
            in_call(&format!("\"{}\"", "x".repeat(17 << 20))),
            8,
        ),
        ("100,000 lists", deep("[", "]"), 16),
        ("100,000 objects", deep("{\"a\":", "}"), 16),
        (
            "a call in 100,000 objects",
            in_call(&deep("{\"a\":", "}")),
            16,
        ),
        (
            "15 MiB of zeros",
            format!("[{}0]", "0,".repeat(15 << 19)),
            64,
        ),
        ("101 calls at once", calls(101), 16),
        ("100,000 calls at once", calls(100_000), 64),
        ("a batch of batches", "[[[]]]".to_owned(), 8),
        ("an empty batch", "[]".to_owned(), 8),
        ("no JSON", "{".to_owned(), 8),
        ("no UTF-8", "\u{0}".repeat(1000), 8),
        (
            "a key twice",
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":8,\"method\":\"ping\"}".to_owned(),
            8,
        ),
    ] {
        let meter = gateway.program.meter();
        let reply = alice().within(body_to("one", body), &session);
        let status = reply.try_send(&gateway.address).map(|reply| reply.status);
        let peak = meter.peak_mib();
        tally.note(
            what,
            matches!(status, None | Some(400..=499)) && peak <= mib,
            format_args!("{status:?}, {peak} MiB"),
        );
    }
    tally.note("none ran", gateway.reached() == 0, gateway.reached());
    gateway.serves_others("bodies that are no messages");
    tally.finish();
}

#[test]
fn four_times_as_long_a_body_costs_about_four_times_the_work() {
    let gateway = Gateway::start("", &[]);
    let session = gateway.begin(&alice(), "one");
    let mut tally = Tally::new();
    let members = |count: usize| {
        let members = (0..count).map(|n| (format!("k{n}"), json!(n)));
        Value::Object(members.collect())
    };
    for what in [
        "members",
        "items",
        "a text",
        "escapes",
        "members beside the arguments",
    ] {
        let cost = |count: usize| {
            let message = match what {
                "members" => call_echo(&members(count)),
                "items" => call_echo(&json!({"list": vec![0; count]})),
                "a text" => call_echo(&json!({"text": "x".repeat(10 * count)})),
                "escapes" => call_echo(&json!({"text": "\u{1}".repeat(count)})),
                _ => {
                    let mut message = call_echo(&json!({}));
                    message["params"]["_meta"] = members(count);
                    message
                }
            };
            let meter = gateway.program.meter();
            for _ in 0..5 {
                let sent = alice().within(to("one", &message), &session);
                assert_eq!(sent.send(&gateway.address).status, 200, "{what}");
            }
            meter.cpu()
        };
        let small = cost(times(20_000, 50_000));
        let large = cost(times(80_000, 200_000));
        tally.note(
            what,
            large <= small * 8 + Duration::from_millis(200),
            format_args!("{small:?}, {large:?}"),
        );
    }
    tally.finish();
}
