//! `entreat call` with a server on pipes that wants to harm whoever calls it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{Ended, call_piped, greeting, greeting_as, line, question, result};
use crate::tally::Tally;
use crate::times;

const PATIENCE: Duration = Duration::from_secs(40);
const LEGACY: &[&str] = &["--era", "legacy"];
const HOSTILE: &str =
    "\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]8;;http://evil.example\u{7}\u{9b}31m\r\u{8}\u{202e}";

/// What a client answered, by the id of the question.
type Heard = Arc<Mutex<Vec<Value>>>;

/// A server that asks these questions at once when its tool is called, and ends the call when all
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

fn form(message: &str, properties: &Value) -> Value {
    json!({"message": message, "requestedSchema": {"type": "object", "properties": properties}})
}

fn has_escapes(text: &str) -> bool {
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
        // No answer is there, so that the question is told on stderr.
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
        let is_refused = heard
            .first()
            .is_some_and(|answer| answer.get("error").is_some());
        tally.note(
            format_args!("{method} {params}"),
            is_refused,
            format_args!("{heard:?} {}", ended.told()),
        );
    }
    tally.finish();
}

#[test]
fn noise_and_answers_to_nothing_do_not_end_a_call() {
    let mut tally = Tally::new();
    let deep = ["[".repeat(100_000), "]".repeat(100_000)]
        .concat()
        .into_bytes();
    for (what, noise) in [
        ("words", b"Server started on port 80".to_vec()),
        ("no UTF-8", vec![0xff; 100]),
        ("NULs", vec![0; 100]),
        ("deep lists", deep),
        (
            "a result of nothing",
            line(&json!({"jsonrpc": "2.0", "id": 99_999, "result": {}})),
        ),
        (
            "an error of nothing",
            line(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}})),
        ),
        (
            "a completion of nothing",
            line(
                &json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": "never"}}),
            ),
        ),
        (
            "a completion without an id",
            line(
                &json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {}}),
            ),
        ),
        (
            "progress of nothing",
            line(
                &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "x", "progress": 1}}),
            ),
        ),
        (
            "a log",
            line(
                &json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": HOSTILE}}),
            ),
        ),
        ("a batch", b"[]".to_vec()),
        ("half an object", b"{\"jsonrpc\":\"2.0\",".to_vec()),
    ] {
        let ended = call_piped(LEGACY, "[]", PATIENCE, move |message| {
            if let Some(hello) = greeting(message) {
                return vec![hello];
            }
            if message["method"] == "tools/call" {
                return vec![noise.clone(), noise.clone(), result(&message["id"], "done")];
            }
            Vec::new()
        });
        let holds =
            ended.code == Some(0) && ended.stdout == "done\n" && !has_escapes(&ended.stderr);
        tally.note(what, holds, ended.told());
    }
    tally.finish();
}

#[test]
fn huge_results_and_lines_do_not_fill_memory() {
    let mut tally = Tally::new();
    let size = 40 << 20;
    let ended = call_piped(LEGACY, "[]", PATIENCE, move |message| {
        if let Some(hello) = greeting(message) {
            return vec![hello];
        }
        if message["method"] == "tools/call" {
            return vec![result(&message["id"], &"x".repeat(size))];
        }
        Vec::new()
    });
    // The line, the text in it, and what is printed.
    tally.note(
        "a result of 40 MiB",
        ended.is_calm(Duration::from_secs(20), 400) && ended.stdout.len() == size + 1,
        ended.told(),
    );
    let ended = call_piped(LEGACY, "[]", PATIENCE, |message| {
        if let Some(hello) = greeting(message) {
            return vec![hello];
        }
        if message["method"] == "tools/call" {
            return vec![vec![b'x'; 100 << 20], result(&message["id"], "done")];
        }
        Vec::new()
    });
    tally.note(
        "a line of 100 MiB",
        ended.is_calm(Duration::from_secs(20), 160) && ended.stdout == "done\n",
        ended.told(),
    );
    let ended = call_piped(LEGACY, "[]", PATIENCE, |message| {
        if let Some(hello) = greeting(message) {
            return vec![hello];
        }
        if message["method"] == "tools/call" {
            let blocks = vec![json!({"type": "text", "text": "x"}); 100_000];
            return vec![line(
                &json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": blocks}}),
            )];
        }
        Vec::new()
    });
    tally.note(
        "100,000 texts",
        ended.is_calm(Duration::from_secs(20), 256),
        ended.told(),
    );
    tally.finish();
}

#[test]
fn a_server_that_goes_or_never_ends_keeps_nobody() {
    let mut tally = Tally::new();
    for (what, first, then) in [
        ("it ends at once", "exit 0", ""),
        ("it ends with an error", "exit 7", ""),
        ("it says nothing", "sleep 1", ""),
        ("it closes its output", "exec >&-; sleep 1", ""),
        (
            "it floods stderr",
            "yes '\u{1b}[2J' | head -c 20000000 >&2; exit 0",
            "",
        ),
    ] {
        let folder = crate::program::folder();
        let script = format!("{first}{then}");
        let words = [
            "call",
            "--answers",
            "-",
            "--era",
            "legacy",
            "tool",
            "--",
            "sh",
            "-c",
            &script,
        ];
        let mut program =
            crate::program::Program::spawn(crate::program::entreat(folder.path(), &words));
        assert!(program.write(b"[]"));
        program.stdin = None;
        let meter = program.meter();
        let ended = crate::server::ending(program, &meter, PATIENCE);
        let holds = ended.code == Some(2) && ended.peak_mib <= 96 && !has_escapes(&ended.stderr);
        tally.note(what, holds, ended.told());
    }
    // One that never ends is left when somebody wants to leave it, and it is ended with it.
    let folder = crate::program::folder();
    let words = [
        "call",
        "--era",
        "legacy",
        "tool",
        "--",
        "sh",
        "-c",
        "trap '' TERM INT; sleep 1000",
    ];
    let mut program =
        crate::program::Program::spawn(crate::program::entreat(folder.path(), &words));
    std::thread::sleep(Duration::from_millis(500));
    program.terminate();
    let ended = program.ends_within(Duration::from_secs(15));
    tally.note("it never ends", ended.is_some(), "it stays");
    tally.finish();
}

#[test]
fn questions_after_the_end_are_not_answered() {
    let heard = Heard::default();
    let told = heard.clone();
    let ended = call_piped(LEGACY, r#"[]"#, PATIENCE, move |message| {
        if let Some(hello) = greeting(message) {
            return vec![hello];
        }
        if message["method"] == "tools/call" {
            let late = form("Late?", &json!({"a": {"type": "string"}}));
            let first = result(&message["id"], "done");
            return vec![first.clone(), first, question("late", &late)];
        }
        if message["id"] == "late" {
            told.lock().expect("nobody panics").push(message.clone());
        }
        Vec::new()
    });
    let heard = heard.lock().expect("nobody panics").clone();
    let is_accepted = heard
        .iter()
        .any(|answer| answer["result"]["action"] == "accept");
    let mut tally = Tally::new();
    tally.note(
        "a late question",
        !is_accepted && ended.stdout == "done\n" && ended.code.is_some(),
        format_args!("{heard:?} {}", ended.told()),
    );
    tally.finish();
}

#[test]
fn rounds_without_end_are_given_up() {
    let discovered = |message: &Value| {
        (message["method"] == "server/discover").then(|| {
            line(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "server", "version": "1"}, "ttlMs": 0, "cacheScope": "private"}}))
        })
    };
    let accept = r#"{"action": "accept", "content": {"a": "x"}}"#;
    let answers = format!("[{}]", vec![accept; 10].join(","));
    let mut tally = Tally::new();
    let large = "s".repeat(4 << 20);
    for (what, state) in [
        ("a state that grows", Some(&*large)),
        ("a state", Some("s")),
    ] {
        let rounds = Arc::new(Mutex::new(0));
        let counted = rounds.clone();
        let state = state.map(str::to_owned);
        let ended = call_piped(
            &["--era", "2026-07-28"],
            &answers,
            PATIENCE,
            move |message| {
                if let Some(hello) = discovered(message) {
                    return vec![hello];
                }
                if message["method"] == "tools/call" {
                    let mut rounds = counted.lock().expect("nobody panics");
                    *rounds += 1;
                    let ask = json!({"method": "elicitation/create", "params": form("Again?", &json!({"a": {"type": "string"}}))});
                    let asks = json!({format!("q{rounds}"): ask});
                    return vec![line(
                        &json!({"jsonrpc": "2.0", "id": message["id"], "result": {
                    "resultType": "input_required", "inputRequests": asks, "requestState": state}}),
                    )];
                }
                Vec::new()
            },
        );
        let rounds = *rounds.lock().expect("nobody panics");
        let holds = (1..=11).contains(&rounds)
            && ended.is_calm(Duration::from_secs(20), 256)
            && ended.code != Some(0);
        tally.note(
            what,
            holds,
            format_args!("{rounds} rounds, {}", ended.told()),
        );
    }
    tally.finish();
}
