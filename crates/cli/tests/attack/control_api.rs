//! The control API, with an asker who tries to access another's questions.

use std::io::{BufReader, Write as _};
use std::time::Duration;

use serde_json::json;

use crate::service::{ALICE, MALLORY, Question, Service, TWO_ASKERS, message, text_field};
use crate::tally::Tally;
use crate::wire::{connect, patient, read_head, request};

const UNKNOWN: &str = "elic_01hnmq7zq8e9vv8h2m6x3c5t0d";

fn ask_as(service: &Service, key: &str) -> Question {
    let form = json!({"id": "f", "title": "canary-title", "fields": text_field()});
    let answer = service.call_as(key, "elicitation/create", &json!({"formDefinition": form}));
    assert!(answer.get("result").is_some(), "{answer}");
    Question::read(&answer["result"])
}

#[test]
fn the_question_of_another_asker_reads_like_one_that_is_not_there() {
    let service = Service::configured(TWO_ASKERS, &[]);
    let question = ask_as(&service, ALICE);
    let mut tally = Tally::new();
    for (method, more) in [
        ("elicitation/status", json!({})),
        ("elicitation/question", json!({})),
        ("elicitation/await", json!({"timeout": 0})),
        ("elicitation/submit", json!({"responses": {"name": "x"}})),
        (
            "elicitation/submit",
            json!({"responses": {"name": "x"}, "partial": true}),
        ),
        (
            "elicitation/submit",
            json!({"responses": {"name": "x"}, "form_id": "f"}),
        ),
        (
            "elicitation/submit",
            json!({"responses": {"name": "x"}, "form_id": "other"}),
        ),
        ("elicitation/complete", json!({"result": "x"})),
        ("elicitation/decline", json!({})),
        ("elicitation/cancel", json!({})),
        ("elicitation/extend_timeout", json!({})),
    ] {
        let with = |id: &str| {
            let mut params = json!({"elicitationId": id});
            let more = more.as_object().cloned().unwrap_or_default();
            params
                .as_object_mut()
                .expect("it is an object")
                .extend(more);
            service.call_as(MALLORY, method, &params)
        };
        let (theirs, unknown) = (with(&question.id), with(UNKNOWN));
        let holds = theirs["error"]["code"] == -32012 && theirs == unknown;
        tally.note(method, holds, format_args!("{theirs} and {unknown}"));
    }
    let listed = service.call_as(MALLORY, "elicitation/list", &json!({}));
    tally.note(
        "elicitation/list",
        !listed.to_string().contains("canary"),
        &listed,
    );
    let status = service.call_as(
        ALICE,
        "elicitation/status",
        &json!({"elicitationId": question.id}),
    );
    assert_eq!(status["result"]["status"], "pending", "{status}");
    tally.finish();
}

#[test]
fn a_key_of_another_asker_used_twice_is_one_asker_each() {
    let service = Service::configured(TWO_ASKERS, &[]);
    let params = json!({"prompt": "Asked?", "idempotencyKey": "same"});
    let first = service.call_as(ALICE, "elicitation/create", &params);
    let second = service.call_as(MALLORY, "elicitation/create", &params);
    let (first, second) = (
        &first["result"]["elicitationId"],
        &second["result"]["elicitationId"],
    );
    let mut tally = Tally::new();
    tally.note(
        "one idempotency key of two askers",
        first.is_string() && second.is_string() && first != second,
        second,
    );
    tally.finish();
}

#[test]
fn keys_are_taken_whole_from_one_header_and_nowhere_else() {
    let service = Service::configured(TWO_ASKERS, &[]);
    let body = message("forms/list", &json!({}));
    let mut tally = Tally::new();
    let bearer = format!("Bearer {ALICE}");
    let cut = format!("Bearer {}", &ALICE[..ALICE.len() - 1]);
    let long = format!("Bearer {ALICE}x");
    let capital = format!("Bearer {}", ALICE.to_uppercase());
    let basic = "Basic YWxpY2U6YWxpY2U=".to_owned();
    let two = format!("Bearer {ALICE}, Bearer {MALLORY}");
    let huge = format!("Bearer {}", "x".repeat(50_000));
    for (what, lines) in [
        ("no key", vec![]),
        ("an empty key", vec![("authorization", "Bearer ")]),
        ("no word before it", vec![("authorization", ALICE)]),
        ("half a key", vec![("authorization", &*cut)]),
        ("a longer key", vec![("authorization", &*long)]),
        ("a key in capitals", vec![("authorization", &*capital)]),
        ("another scheme", vec![("authorization", &*basic)]),
        ("two keys in a line", vec![("authorization", &*two)]),
        ("a huge key", vec![("authorization", &*huge)]),
        (
            "two keys, the first wrong",
            vec![
                ("authorization", "Bearer wrong-wrong-wrong"),
                ("authorization", &*bearer),
            ],
        ),
        (
            "two keys, the second wrong",
            vec![
                ("authorization", &*bearer),
                ("authorization", "Bearer wrong-wrong-wrong"),
            ],
        ),
        (
            "two keys, both right",
            vec![("authorization", &*bearer), ("authorization", &*bearer)],
        ),
        (
            "a key in a cookie",
            vec![("cookie", "key=alice-alice-alice-alice")],
        ),
        ("a key in another header", vec![("x-api-key", ALICE)]),
        ("a proxy's key", vec![("proxy-authorization", &*bearer)]),
    ] {
        let mut post = request("POST /rpc");
        for (name, value) in lines {
            post = post.header(name, value);
        }
        let status = post
            .json(&body)
            .try_send(&service.address)
            .map(|reply| reply.status);
        tally.note(
            what,
            matches!(status, None | Some(400 | 401 | 431)),
            format_args!("{status:?}"),
        );
    }
    for path in [
        format!("/rpc?key={ALICE}"),
        format!("/rpc?access_token={ALICE}"),
        format!("/rpc?authorization=Bearer%20{ALICE}"),
    ] {
        let reply = request(&format!("POST {path}"))
            .json(&body)
            .send(&service.address);
        tally.note(&path, reply.status == 401, reply.told());
    }
    tally.finish();
}

#[test]
fn guessing_keys_is_slowed_and_the_right_key_is_not() {
    let service = Service::configured(TWO_ASKERS, &[]);
    let body = message("forms/list", &json!({}));
    let guess = |number: usize| {
        let key = format!("Bearer guess-guess-guess-{number}");
        request("POST /rpc")
            .header("authorization", &key)
            .json(&body)
            .send(&service.address)
            .status
    };
    let slowed = (0..300).filter(|number| guess(*number) == 429).count();
    let mut tally = Tally::new();
    tally.note(
        "300 guesses",
        slowed > 100,
        format_args!("{slowed} were slowed"),
    );
    let right = service.call_as(ALICE, "forms/list", &json!({}));
    tally.note("the right key", right.get("result").is_some(), &right);
    let refused = service.program.stderr();
    tally.note(
        "no key is in the log",
        !refused.contains("guess-guess-guess-7"),
        &refused,
    );
    tally.finish();
}

#[test]
fn pages_of_other_sites_get_no_leave_and_no_answer() {
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    for path in [
        "/rpc",
        "/events",
        "/ws",
        "/openrpc.json",
        "/healthz",
        "/metrics",
    ] {
        let reply = request(&format!("OPTIONS {path}"))
            .header("origin", "https://evil.example")
            .header("access-control-request-method", "POST")
            .header(
                "access-control-request-headers",
                "content-type, authorization",
            )
            .header("access-control-request-private-network", "true")
            .send(&service.address);
        let leave = reply.head.to_lowercase().contains("access-control-allow");
        tally.note(format_args!("OPTIONS {path}"), !leave, &reply.head);
    }
    let body = message("elicitation/create", &json!({"prompt": "Asked?"}));
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost.evil.example"),
        ("origin", "http://127.0.0.1.nip.io"),
        ("origin", "file://"),
        ("origin", "chrome-extension://abc"),
        ("origin", ""),
        ("sec-fetch-site", "cross-site"),
        ("host", "evil.example"),
        ("host", "rebound.example:80"),
    ] {
        let reply = request("POST /rpc")
            .header(name, value)
            .json(&body)
            .try_send(&service.address);
        let status = reply.map(|reply| reply.status);
        tally.note(
            format_args!("{name}: {value}"),
            matches!(status, None | Some(400 | 403)),
            format_args!("{status:?}"),
        );
    }
    let listed = service.call("elicitation/list", &json!({}));
    let count = listed["elicitations"].as_array().map_or(0, Vec::len);
    tally.note("nothing was asked", count == 0, &listed);
    tally.finish();
}

/// The events that `/events` sends shortly after this position.
fn events(service: &Service, key: &str, last: &str) -> (String, String) {
    let mut stream = connect(&service.address);
    let get = request("GET /events")
        .header("authorization", &format!("Bearer {key}"))
        .header("last-event-id", last)
        .header("connection", "keep-alive");
    let _ = stream.write_all(&get.bytes(&service.address));
    patient(&stream, Duration::from_millis(300));
    let mut stream = BufReader::new(stream);
    let head = read_head(&mut stream).unwrap_or_default();
    let mut told = Vec::new();
    let mut part = [0; 4096];
    while let Ok(length @ 1..) = std::io::Read::read(&mut stream, &mut part) {
        told.extend_from_slice(&part[..length]);
    }
    (head, String::from_utf8_lossy(&told).into_owned())
}

#[test]
fn a_forged_position_tells_nothing_of_another_asker() {
    let service = Service::configured(TWO_ASKERS, &[]);
    let question = ask_as(&service, ALICE);
    let answer = json!({"elicitationId": question.id, "responses": {"name": "canary-answer"}});
    service.call_as(ALICE, "elicitation/submit", &answer);
    let (_, told) = events(&service, ALICE, "0-0-0");
    let own: String = told
        .lines()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap_or("1-0-0")
        .to_owned();
    let mut tally = Tally::new();
    let long = "9".repeat(10_000);
    for last in [
        "0",
        "-1",
        "0-0-0",
        "0.0.0",
        "1:0:0",
        &own,
        "18446744073709551616",
        "999999999999999999999-0-0",
        "%0a",
        "../../x",
        "\u{e9}",
        &long,
    ] {
        let (head, told) = events(&service, MALLORY, last);
        let holds = !told.contains("canary")
            && !told.contains(&question.id)
            && !head.starts_with("HTTP/1.1 5");
        let last: String = last.chars().take(40).collect();
        tally.note(
            format_args!("last-event-id: {last}"),
            holds,
            format_args!("{head}{told}"),
        );
    }
    service.serves_others("forged positions");
    tally.finish();
}

#[test]
fn ids_that_are_none_are_told_like_unknown_ones() {
    let service = Service::start(&[]);
    let mut tally = Tally::new();
    let unknown = service
        .rpc("elicitation/status", &json!({"elicitationId": UNKNOWN}))
        .json();
    assert_eq!(unknown["error"]["code"], -32012, "{unknown}");
    for id in [
        json!(""),
        json!("x"),
        json!("elic_"),
        json!("elic_00000000000000000000000000"),
        json!("ELIC_01HNMQ7ZQ8E9VV8H2M6X3C5T0D"),
        json!("elic_01hnmq7zq8e9vv8h2m6x3c5t0d\u{0}"),
        json!("elic_01hnmq7zq8e9vv8h2m6x3c5t0d "),
        json!("../elic_01hnmq7zq8e9vv8h2m6x3c5t0d"),
        json!("' OR 1=1 --"),
        json!("*"),
        json!("elic_zzzzzzzzzzzzzzzzzzzzzzzzzz"),
    ] {
        let reply = service.rpc("elicitation/status", &json!({"elicitationId": id}));
        tally.note(
            format_args!("id {id}"),
            reply.json() == unknown,
            reply.told(),
        );
    }
    for id in [
        json!(1),
        json!(null),
        json!([]),
        json!({"a": 1}),
        json!(true),
    ] {
        let reply = service.rpc("elicitation/status", &json!({"elicitationId": id}));
        let code = reply.json()["error"]["code"].as_i64().unwrap_or_default();
        tally.note(format_args!("id {id}"), code == -32602, reply.told());
    }
    tally.finish();
}

#[test]
fn drafts_with_files_do_not_fill_memory() {
    let service = Service::start(&[]);
    let meter = service.program.meter();
    let fields = json!([{"id": "doc", "type": "file", "label": "File", "validation": {"maxSize": 30_000_000}}]);
    // 12 MB as base64, 9 MB of content.
    let data = "QUJD".repeat(3_000_000);
    let file = json!({"filename": "a.bin", "content_type": "application/octet-stream", "size": 9_000_000,
        "content": {"type": "base64", "data": data}});
    let mut codes = Vec::new();
    for _ in 0..30 {
        let question = service.ask(&fields);
        let params =
            json!({"elicitationId": question.id, "responses": {"doc": file}, "partial": true});
        let reply = service.rpc("elicitation/submit", &params);
        codes.push(reply.json()["error"]["code"].clone());
    }
    let held = meter.held_mib();
    let mut tally = Tally::new();
    tally.note(
        "thirty drafts of 12 MB",
        held <= 300,
        format_args!("{held} MiB are held; {codes:?}"),
    );
    service.serves_others("large drafts");
    tally.finish();
}
