//! Untrusted text in logs and command output: as text, on its own lines.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

use crate::browser::Page;
use crate::program::{Program, entreat, folder};
use crate::server::HttpServer;
use crate::service::{Service, message};
use crate::tally::Tally;
use crate::wire::{connect, encoded, request};

/// Clears the screen, sets the window title, and starts a line that looks like one of ours.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\nforged line\u{9b}31m\u{8}";

/// Whether no part of it would control a terminal or look like a separate line.
fn is_harmless(text: &str) -> bool {
    !text.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{8}'])
        && !text.lines().any(|line| line.starts_with("forged line"))
}

#[test]
fn logs_hold_no_commands_for_terminals_and_no_forged_lines() {
    let folder = folder();
    let words = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory",
        "--log",
        "trace",
    ];
    let mut traced = entreat(folder.path(), &words);
    traced.env("ENTREAT_LIMITS_CREATIONS_PER_MINUTE", "none");
    let service = Service::spawn(traced, folder);
    let escaped = serde_json::Value::from(HOSTILE);
    let mut tally = Tally::new();
    let question = service.ask(&json!([{"id": "doc", "type": "file", "label": "File"}]));
    let page = Page::open(&service, &question.link);
    let before = service.program.stderr().len();
    let quiet = encoded(HOSTILE);
    for (what, send) in [
        (
            "a method",
            request("POST /rpc").json(&message(HOSTILE, &json!({}))),
        ),
        (
            "an id",
            request("POST /rpc").json(&format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{escaped},\"method\":\"x\"}}"
            )),
        ),
        (
            "a callback",
            request("POST /rpc").json(&message(
                "elicitation/create",
                &json!({"prompt": HOSTILE, "callback": HOSTILE}),
            )),
        ),
        (
            "a URL",
            request("POST /rpc").json(&message(
                "elicitation/create",
                &json!({"url": format!("http://127.0.0.1/{HOSTILE}")}),
            )),
        ),
        (
            "a key",
            request("POST /rpc")
                .header("authorization", "Bearer \u{9b}31m")
                .json("{}"),
        ),
        ("a path", request(&format!("GET /{quiet}"))),
        ("a link", request(&format!("GET /e/{quiet}/{quiet}"))),
        (
            "a trace",
            request("GET /events")
                .header("traceparent", "\u{9b}31m")
                .header("last-event-id", "\u{9b}"),
        ),
        (
            "the name of a file",
            page.uploading(0, &quiet.replace('+', "%20"))
                .body("text/plain", "x"),
        ),
        (
            "the type of a file",
            page.uploading(0, "a")
                .header("content-type", &quiet)
                .plain_body("x"),
        ),
    ] {
        let mut stream = connect(&service.address);
        let _ = stream.write_all(&send.bytes(&service.address));
        crate::wire::patient(&stream, Duration::from_millis(300));
        let _ = crate::wire::read_head(&mut std::io::BufReader::new(stream));
        let said = service.program.stderr();
        let said = said.get(before..).unwrap_or_default();
        tally.note(
            what,
            is_harmless(said),
            said.chars().rev().take(300).collect::<String>(),
        );
    }
    tally.finish();
}

#[test]
fn commands_print_what_a_folder_holds_as_text() {
    let folder = folder();
    let path = folder.path();
    let quoted = serde_json::Value::from(HOSTILE).to_string();
    let form = format!(
        "{{\"id\": \"f\", \"title\": {quoted}, \"fields\": [{{\"id\": \"a\", \"type\": \"text\", \"label\": {quoted}}}]}}"
    );
    std::fs::write(path.join("form.json"), form).expect("it can be written");
    let broken = format!("{{\"id\": {quoted}, {quoted}: 1, \"fields\": [{{\"type\": {quoted}}}]}}");
    std::fs::write(path.join("broken.json"), broken).expect("it can be written");
    std::fs::write(
        path.join("hostile.toml"),
        "\"\\u001b[2J\" = 1\nlisten = \"\\u001b[2J\"\nstore = \"\\u001b[2J\"\n",
    )
    .expect("it can be written");
    std::fs::write(path.join("broken.toml"), "\u{1b}[2J = [").expect("it can be written");
    let named = "name\u{1b}[2J.json";
    std::fs::write(path.join(named), "{").expect("it can be written");
    let mut tally = Tally::new();
    for args in [
        &["ask", "--plain", "form.json"][..],
        &["ask", "--plain", "broken.json"],
        &["form", "check", "broken.json"],
        &["form", "check", named],
        &["form", "check", "no\u{1b}[2J.json"],
        &["config", "--config", "hostile.toml"],
        &["config", "--config", "broken.toml"],
        &["doctor", "--config", "hostile.toml"],
        &["serve", "--config", "hostile.toml"],
        &["mcp", "--config", "broken.toml"],
        &["list", "--store", "\u{1b}[2J.db"],
        &["status", "\u{1b}[2J", "--store", "x.db"],
        &["url", "check", "http://\u{1b}[2J/"],
        &["call", "t", "http://\u{1b}[2J/"],
        &["\u{1b}[2J"],
    ] {
        let mut program = Program::spawn(entreat(path, args));
        program.write(b"x\n");
        program.stdin = None;
        let told = program.rest();
        let ended = program.ends_within(Duration::from_secs(20));
        let said = program.stderr();
        let holds = is_harmless(&told) && is_harmless(&said) && ended.is_some();
        tally.note(
            format_args!("{args:?}"),
            holds,
            format_args!("{ended:?} {told} {said}"),
        );
    }
    tally.finish();
}

#[test]
fn commands_print_what_a_service_says_as_text() {
    let mut tally = Tally::new();
    let record = json!({"elicitationId": "elic_01hnmq7zq8e9vv8h2m6x3c5t0d", "mode": HOSTILE, "status": HOSTILE, "asker": HOSTILE,
        "createdAt": 1_706_889_000_000_u64, "timeoutAt": 1_706_889_300_000_u64, "title": HOSTILE, "question": HOSTILE, "reason": HOSTILE,
        "message": HOSTILE, "result": HOSTILE});
    for (what, body, status) in [
        (
            "a record",
            json!({"jsonrpc": "2.0", "id": 1, "result": {"elicitations": [record], "status": HOSTILE}}),
            200,
        ),
        (
            "an error",
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": HOSTILE}}),
            200,
        ),
        ("a refusal", json!(HOSTILE), 500),
    ] {
        let text = body.to_string();
        let hostile = HttpServer::start(move |_, _, stream| {
            let head = format!(
                "HTTP/1.1 {status} \u{1b}[2J\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                text.len()
            );
            let _ = stream.write_all(&[head.as_bytes(), text.as_bytes()].concat());
        });
        let url = format!("http://{}", hostile.address);
        for args in [
            &["list", "--url", &url][..],
            &["status", "elic_01hnmq7zq8e9vv8h2m6x3c5t0d", "--url", &url],
            &["cancel", "elic_01hnmq7zq8e9vv8h2m6x3c5t0d", "--url", &url],
        ] {
            let folder = folder();
            let mut program = Program::spawn(entreat(folder.path(), args));
            program.stdin = None;
            let told = program.rest();
            let ended = program.ends_within(Duration::from_secs(20));
            let said = program.stderr();
            let holds = is_harmless(&told) && is_harmless(&said) && ended.is_some();
            tally.note(
                format_args!("{what}: {}", args[0]),
                holds,
                format_args!("{ended:?} {told} {said}"),
            );
        }
    }
    tally.finish();
}
