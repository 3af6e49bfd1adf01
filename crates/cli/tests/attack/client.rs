//! `entreat call` with a malicious server over stdio.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{Ended, call_piped, greeting, greeting_as, line, question, result};
use crate::tally::Tally;
use crate::times;

pub(crate) const PATIENCE: Duration = Duration::from_secs(40);
pub(crate) const LEGACY: &[&str] = &["--era", "legacy"];
pub(crate) const HOSTILE: &str =
    "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]8;;http://evil.example\u{7}\u{9b}31m\r\u{8}\u{202e}";

/// The client's responses, by the id of the question.
pub(crate) type Heard = Arc<Mutex<Vec<Value>>>;

/// A server that asks all these questions when its tool is called, and completes the call when all
/// are answered.
fn asking(answers: &str, questions: Vec<Value>) -> (Ended, Vec<Value>) {
    let heard = Heard::default();
    let told = heard.clone();
    let mut call = Value::Null;
    let ended = call_piped(LEGACY, answers, PATIENCE, move |message| {
        if let Some(hello) = greeting(message) {
            return vec![hello];
        }
        if message["method"] == "tools/call" {
            call = message["id"].clone();
            let asked = questions.iter().enumerate();
            return asked
                .map(|(number, params)| question(format!("q{number}"), params))
                .collect();
        }
        if message.get("method").is_none() {
            let mut told = told.lock().expect("nobody panics");
            told.push(message.clone());
            if told.len() == questions.len() {
                return vec![result(&call, "done")];
            }
        }
        Vec::new()
    });
    let heard = heard.lock().expect("nobody panics").clone();
    (ended, heard)
}

pub(crate) fn form(message: &str, properties: &Value) -> Value {
    json!({"message": message, "requestedSchema": {"type": "object", "properties": properties}})
}

pub(crate) fn has_escapes(text: &str) -> bool {
    text.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{8}'])
}

#[test]
fn nothing_that_a_server_says_reaches_the_terminal_as_a_command() {
    let mut tally = Tally::new();
    let text = json!({"a": {"type": "string"}});
    for (what, params) in [
        ("a message", form(HOSTILE, &text)),
        (
            "a title",
            form("m", &json!({"a": {"type": "string", "title": HOSTILE}})),
        ),
        (
            "a description",
            form(
                "m",
                &json!({"a": {"type": "string", "description": HOSTILE}}),
            ),
        ),
        (
            "the name of a field",
            form("m", &json!({HOSTILE: {"type": "string"}})),
        ),
        (
            "an option",
            form("m", &json!({"a": {"type": "string", "enum": [HOSTILE]}})),
        ),
        (
            "a URL",
            json!({"mode": "url", "message": HOSTILE, "url": format!("https://example.com/{HOSTILE}"), "elicitationId": "1"}),
        ),
    ] {
        // There is no scripted answer, so the question is printed to stderr.
        let (ended, _) = asking("[]", vec![params]);
        tally.note(
            what,
            !has_escapes(&ended.stderr) && ended.code == Some(2),
            ended.told(),
        );
    }
    let ended = call_piped(LEGACY, "[]", PATIENCE, |message| {
        if let Some(hello) = greeting_as(message, HOSTILE) {
            return vec![hello];
        }
        if message["method"] == "tools/call" {
            let error = json!({"code": -32000, "message": HOSTILE});
            return vec![line(
                &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
            )];
        }
        Vec::new()
    });
    tally.note(
        "an error and a name",
        !has_escapes(&ended.stderr) && ended.code == Some(1),
        ended.told(),
    );
    let ended = call_piped(LEGACY, "[]", PATIENCE, |message| {
        let error = json!({"code": -32000, "message": HOSTILE});
        vec![line(
            &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
        )]
    });
    tally.note(
        "an error at first",
        !has_escapes(&ended.stderr) && ended.code == Some(2),
        ended.told(),
    );
    tally.finish();
}

#[test]
fn addresses_that_are_not_of_the_web_are_never_accepted() {
    let mut tally = Tally::new();
    for url in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "file:///etc/passwd",
        "ftp://example.com/",
        "vbscript:x",
        "ms-settings:",
        "smb://evil.example/share",
        "mailto:x@example.com",
        "//evil.example/",
        "/relative",
        "",
        "http://",
        "https://user:secret@evil.example/",
        " javascript:alert(1)",
        "http://evil.example/\u{202e}",
    ] {
        let params = json!({"mode": "url", "message": "Open", "url": url, "elicitationId": "1"});
        let (ended, heard) = asking(r#"[{"action": "accept"}]"#, vec![params]);
        let is_accepted = heard
            .iter()
            .any(|answer| answer["result"]["action"] == "accept");
        tally.note(
            format_args!("{url:?}"),
            !is_accepted && ended.code.is_some(),
            format_args!("{heard:?} {}", ended.told()),
        );
    }
    tally.finish();
}

#[test]
fn forms_without_measure_are_answered_or_refused_in_little_time() {
    let mut tally = Tally::new();
    let many = |count: usize| {
        let fields = (0..count).map(|n| (format!("f{n}"), json!({"type": "string"})));
        Value::Object(fields.collect())
    };
    let options: Vec<String> = (0..20_000).map(|n| format!("o{n}")).collect();
    for (what, properties) in [
        ("10,000 fields", many(10_000)),
        (
            "20,000 options",
            json!({"a": {"type": "string", "enum": options}}),
        ),
        (
            "a title of 4 MiB",
            json!({"a": {"type": "string", "title": "x".repeat(4 << 20)}}),
        ),
        (
            "a pattern that explodes",
            json!({"a": {"type": "string", "pattern": "^(a+)+$", "default": "a".repeat(40) + "!"}}),
        ),
        (
            "a pattern in patterns",
            json!({"a": {"type": "string", "pattern": "((a{1000}){1000}){1000}"}}),
        ),
        (
            "lengths beyond all",
            json!({"a": {"type": "string", "minLength": 1e300, "maxLength": -1}}),
        ),
        (
            "a reference to itself",
            json!({"a": {"$ref": "#/properties/a"}}),
        ),
        (
            "types within types",
            json!({"a": {"type": "object", "properties": many(1000)}}),
        ),
    ] {
        let answers =
            r#"[{"action": "accept", "content": {"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}}]"#;
        let (ended, _) = asking(answers, vec![form("m", &properties)]);
        tally.note(
            what,
            ended.is_calm(Duration::from_secs(15), 256),
            ended.told(),
        );
    }
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let (ended, _) = asking("[]", vec![form("m", &json!({"a": deep}))]);
    tally.note(
        "60 levels",
        ended.is_calm(Duration::from_secs(5), 64),
        ended.told(),
    );
    tally.finish();
}

#[test]
fn a_storm_of_questions_is_declined() {
    let count = times(500, 5_000);
    let questions = vec![form("m", &json!({"a": {"type": "string"}})); count];
    let accept = r#"{"action": "accept", "content": {"a": "x"}}"#;
    let answers = format!("[{}]", vec![accept; count].join(","));
    let (ended, heard) = asking(&answers, questions);
    let accepted = heard
        .iter()
        .filter(|answer| answer["result"]["action"] == "accept")
        .count();
    let mut tally = Tally::new();
    tally.note(
        "a storm",
        accepted <= 20 && heard.len() == count,
        format_args!("{accepted} of {} accepted, {}", heard.len(), ended.told()),
    );
    tally.note(
        "it is told",
        ended.stderr.contains("too often") || ended.code == Some(2),
        ended.told(),
    );
    tally.finish();
}

#[test]
fn requests_that_a_client_does_not_offer_are_refused() {
    let mut tally = Tally::new();
    for (method, params) in [
        (
            "sampling/createMessage",
            json!({"messages": [], "maxTokens": 1}),
        ),
        ("roots/list", json!({})),
        ("tools/call", json!({"name": "x"})),
        ("resources/read", json!({"uri": "file:///etc/passwd"})),
        ("completion/complete", json!({})),
        ("no/such/method", json!({})),
        (
            "elicitation/create",
            json!({"mode": "voice", "message": "x"}),
        ),
        ("elicitation/create", json!({})),
        (
            "elicitation/create",
            json!({"message": 5, "requestedSchema": []}),
        ),
    ] {
        let heard = Heard::default();
        let told = heard.clone();
        let mut call = Value::Null;
        let sent = params.clone();
        let ended = call_piped(LEGACY, "[]", PATIENCE, move |message| {
            if let Some(hello) = greeting(message) {
                return vec![hello];
            }
            if message["method"] == "tools/call" {
                call = message["id"].clone();
                return vec![line(
                    &json!({"jsonrpc": "2.0", "id": "ask", "method": method, "params": sent}),
                )];
            }
            if message["id"] == "ask" {
                told.lock().expect("nobody panics").push(message.clone());
                return vec![result(&call, "done")];
            }
            Vec::new()
        });
        let heard = heard.lock().expect("nobody panics").clone();
        // A client without roots may return an error.
        let is_refused = heard.first().is_some_and(|answer| {
            answer.get("error").is_some() || answer["result"] == json!({"roots": []})
        });
        tally.note(
            format_args!("{method} {params}"),
            is_refused,
            format_args!("{heard:?} {}", ended.told()),
        );
    }
    tally.finish();
}
