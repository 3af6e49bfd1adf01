//! One party tries to use up a shared limit.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::program::{Program, alone, folder};
use crate::service::{ALICE, MALLORY, Service, TWO_ASKERS, message};
use crate::tally::Tally;
use crate::wire::{connect, connect_from, exchange, request};

/// Requests `/healthz` from an address; returns the status.
fn health_from(service: &Service, source: &str) -> Option<u16> {
    let stream = connect_from(source, &service.address).ok()?;
    let get = request("GET /healthz").bytes(&service.address);
    exchange(stream, &get, true).map(|reply| reply.status)
}

#[test]
fn connections_of_one_address_leave_room_for_another() {
    let service = Service::start(&[("HTTP_CONNECTIONS", "64")]);
    let mut tally = Tally::new();
    for (what, begun) in [
        ("silent ones", &b""[..]),
        ("half heads", b"GET /healthz HTTP/1.1\r\nx: "),
    ] {
        let begin = |_| {
            let mut stream = connect_from("127.0.0.1", &service.address).expect("it listens");
            // A connection that was rejected at once counts as an attack too.
            let _ = stream.write_all(begun);
            stream
        };
        let held: Vec<_> = (0..200).map(begin).collect();
        let status = health_from(&service, "127.0.0.2");
        tally.note(
            what,
            status == Some(200),
            format_args!("{status:?} for 127.0.0.2"),
        );
        drop(held);
    }
    let streams = |_| {
        let mut stream = connect_from("127.0.0.1", &service.address).expect("it listens");
        let _ = stream.write_all(&request("GET /events").bytes(&service.address));
        stream
    };
    let held: Vec<_> = (0..200).map(streams).collect();
    let status = health_from(&service, "127.0.0.2");
    tally.note(
        "streams of events",
        status == Some(200),
        format_args!("{status:?} for 127.0.0.2"),
    );
    drop(held);
    tally.finish();
}

/// The service with this limit of open files.
fn with_files(limit: u32, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    let serve = "serve --listen 127.0.0.1:0 --store memory --log warn";
    let script = format!("ulimit -n {limit}; exec \"$0\" {serve}");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_entreat")]);
    alone(&mut command, folder);
    command
}

#[test]
fn few_open_files_are_told_and_still_shared() {
    let mut tally = Tally::new();
    let folder = folder();
    let mut program = Program::spawn(with_files(48, folder.path()));
    let ended = program.ends_within(Duration::from_secs(5));
    let said = program.stderr().to_lowercase();
    // With so few it may not start at all; then it says why.
    let is_told = said.contains("open files") || said.contains("ulimit");
    tally.note("48 are told", is_told, format_args!("{ended:?} {said}"));
    drop(program);
    let command = with_files(300, folder.path());
    let service = Service::spawn(command, folder);
    let said = service.program.stderr().to_lowercase();
    let is_told = said.contains("open files") || said.contains("ulimit");
    tally.note("300 are told", is_told, &said);
    let begin = |_| connect_from("127.0.0.1", &service.address).expect("it listens");
    let held: Vec<_> = (0..400).map(begin).collect();
    let status = health_from(&service, "127.0.0.2");
    tally.note(
        "300 are shared",
        status == Some(200),
        format_args!("{status:?} for 127.0.0.2"),
    );
    drop(held);
    tally.finish();
}

#[test]
fn messages_that_cannot_be_read_count_like_any_other() {
    let service = Service::configured(TWO_ASKERS, &[("LIMITS_REQUESTS_PER_SECOND", "20")]);
    let key = format!("Bearer {MALLORY}");
    let mut tally = Tally::new();
    for (what, body) in [
        ("no JSON", "{".to_owned()),
        ("an empty batch", "[]".to_owned()),
        ("no call", "0".to_owned()),
        ("an unknown method", message("no/such", &json!({}))),
    ] {
        let limited = (0..200).filter(|_| {
            let reply = request("POST /rpc")
                .header("authorization", &key)
                .json(&body)
                .send(&service.address);
            reply.status == 429 || reply.text().contains("-32010")
        });
        let limited = limited.count();
        tally.note(
            what,
            limited > 20,
            format_args!("{limited} of 200 were held up"),
        );
    }
    let other = service.call_as(ALICE, "forms/list", &json!({}));
    tally.note("another asker", other.get("result").is_some(), &other);
    tally.finish();
}

#[test]
fn streams_that_are_opened_again_and_again_count_like_calls() {
    let service = Service::configured(TWO_ASKERS, &[("LIMITS_REQUESTS_PER_SECOND", "20")]);
    let key = format!("Bearer {MALLORY}");
    let mut limited = 0;
    for _ in 0..200 {
        let get = request("GET /events")
            .header("authorization", &key)
            .header("last-event-id", "0-0-0");
        let mut stream = connect(&service.address);
        stream
            .write_all(&get.bytes(&service.address))
            .expect("it is read");
        let head = crate::wire::read_head(&mut std::io::BufReader::new(stream)).unwrap_or_default();
        limited += usize::from(head.contains(" 429 "));
    }
    let mut tally = Tally::new();
    tally.note(
        "200 replays",
        limited > 20,
        format_args!("{limited} of 200 were held up"),
    );
    tally.finish();
}

#[test]
fn one_askers_questions_leave_room_for_anothers() {
    let service = Service::configured(
        TWO_ASKERS,
        &[("LIMITS_LIVE", "60"), ("LIMITS_LIVE_IN_ALL", "100")],
    );
    let mut taken = 0;
    for _ in 0..120 {
        let answer = service.call_as(MALLORY, "elicitation/create", &json!({"prompt": "Mine?"}));
        taken += usize::from(answer.get("result").is_some());
    }
    let other = service.call_as(ALICE, "elicitation/create", &json!({"prompt": "Alice's?"}));
    let mut tally = Tally::new();
    tally.note(
        "sixty of a hundred live questions",
        other.get("result").is_some(),
        format_args!("{taken} are mallory's; {other}"),
    );
    tally.finish();
}

#[test]
fn calls_of_one_asker_without_end_do_not_slow_anothers() {
    let service = Service::configured(
        TWO_ASKERS,
        &[
            ("LIMITS_REQUESTS_PER_SECOND", "50"),
            ("LIMITS_LIVE", "1000"),
        ],
    );
    let meter = service.program.meter();
    let call = message("forms/list", &json!({}));
    let batch = format!("[{}]", vec![&*call; 1000].join(","));
    let key = format!("Bearer {MALLORY}");
    let mut tally = Tally::new();
    let mut answered = 0;
    for _ in 0..5 {
        let reply = request("POST /rpc")
            .header("authorization", &key)
            .json(&batch)
            .send(&service.address);
        answered += reply.text().matches("\"result\"").count();
    }
    tally.note(
        "calls in batches are counted one by one",
        answered < 1_000,
        format_args!("{answered} of 5,000 were answered"),
    );
    let other = service.call_as(ALICE, "forms/list", &json!({}));
    tally.note("another asker", other.get("result").is_some(), &other);
    meter.at_most("batches", Duration::from_secs(10), 64);
    tally.finish();
}
