//! `entreat call` with a stdio server that says too much, too late, or nothing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{HOSTILE, Heard, LEGACY, PATIENCE, form, has_escapes};
use crate::program::{Program, entreat, eventually, folder};
use crate::server::{call_piped, ending, greeting, line, question, result};
use crate::tally::Tally;
use crate::times;

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
    let size = times(10, 40) << 20;
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
        "a large result",
        ended.is_calm(Duration::from_secs(20), 400) && ended.stdout.len() == size + 1,
        ended.told(),
    );
    let ended = call_piped(LEGACY, "[]", PATIENCE, |message| {
        if let Some(hello) = greeting(message) {
            return vec![hello];
        }
        if message["method"] == "tools/call" {
            return vec![vec![b'x'; 70 << 20], result(&message["id"], "done")];
        }
        Vec::new()
    });
    tally.note(
        "a line of 70 MiB",
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

/// A hostile server's messages in a call, with about this many parts.
fn flood(which: &str, parts: usize, call: &Value) -> Vec<Vec<u8>> {
    let many = |part: &dyn Fn(usize) -> Value| (0..parts).map(part).collect::<Vec<_>>();
    let fields = |field: &dyn Fn(usize) -> Value| {
        (0..parts)
            .map(|n| (format!("f{n}"), field(n)))
            .collect::<serde_json::Map<_, _>>()
    };
    let asked = |properties: Value| question("q", &form("m", &properties));
    let texts = || many(&|n| json!(format!("option {n}")));
    match which {
        "notifications" => (0..parts)
            .map(|n| line(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": n}})))
            .chain([result(call, "done")])
            .collect(),
        "blocks of a result" => {
            let blocks = many(&|n| json!({"type": "text", "text": n.to_string()}));
            vec![line(&json!({"jsonrpc": "2.0", "id": call, "result": {"content": blocks}}))]
        }
        "members of a result" => {
            let members = fields(&|n| json!(n));
            vec![line(&json!({"jsonrpc": "2.0", "id": call, "result": {"content": [], "structuredContent": members}}))]
        }
        "fields of a form" => vec![asked(json!(fields(&|_| json!({"type": "string"}))))],
        "options" => vec![asked(json!({"a": {"type": "string", "enum": texts()}}))],
        "options of which some are chosen" => vec![asked(
            json!({"a": {"type": "array", "items": {"type": "string", "enum": texts()}, "default": texts()}}),
        )],
        "lines of a message" => vec![question("q", &form(&"line\n".repeat(parts), &json!({"a": {"type": "string"}})))],
        "letters of a URL" => vec![question("q", &json!({"mode": "url", "message": "m",
            "url": format!("https://example.com/?{}", "a=%41&".repeat(parts)), "elicitationId": "1"}))],
        other => unreachable!("{other}"),
    }
}

#[test]
fn four_times_as_much_of_a_server_costs_about_four_times_the_work() {
    let mut tally = Tally::new();
    for which in [
        "notifications",
        "blocks of a result",
        "members of a result",
        "fields of a form",
        "options",
        "options of which some are chosen",
        "lines of a message",
        "letters of a URL",
    ] {
        let cost = |parts: usize| {
            let mut call = Value::Null;
            call_piped(LEGACY, "[]", PATIENCE, move |message| {
                if let Some(hello) = greeting(message) {
                    return vec![hello];
                }
                if message["method"] == "tools/call" {
                    call = message["id"].clone();
                    return flood(which, parts, &call);
                }
                if message["id"] == "q" {
                    return vec![result(&call, "done")];
                }
                Vec::new()
            })
        };
        let small = cost(times(8_000, 20_000));
        let large = cost(times(32_000, 80_000));
        // The resource usage of a very short call cannot be measured.
        let holds = large.code.is_some()
            && large.cpu <= small.cpu * 8 + Duration::from_millis(200)
            && large.peak_mib <= small.peak_mib.max(16) * 8;
        tally.note(
            which,
            holds,
            format_args!("{} {}", small.told(), large.told()),
        );
    }
    tally.finish();
}

#[test]
fn a_server_that_goes_or_never_ends_keeps_nobody() {
    let mut tally = Tally::new();
    for (what, script) in [
        ("it ends at once", "exit 0"),
        ("it ends with an error", "exit 7"),
        ("it says nothing", "sleep 1"),
        ("it closes its output", "exec >&-; sleep 1"),
        (
            "it floods stderr",
            "yes '\u{1b}[2J' | head -c 3000000 >&2; exit 0",
        ),
    ] {
        let folder = folder();
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
            script,
        ];
        let mut program = Program::spawn(entreat(folder.path(), &words));
        assert!(program.write(b"[]"));
        program.stdin = None;
        let meter = program.meter();
        let ended = ending(program, &meter, PATIENCE);
        let holds = ended.code == Some(2) && ended.peak_mib <= 96 && !has_escapes(&ended.stderr);
        tally.note(what, holds, ended.told());
    }
    // A call that never ends can be interrupted, and its server is ended with it.
    let folder = folder();
    let words = [
        "call",
        "--era",
        "legacy",
        "tool",
        "--",
        "sh",
        "-c",
        "trap '' TERM INT; touch up; exec sleep 1000",
    ];
    let mut program = Program::spawn(entreat(folder.path(), &words));
    assert!(eventually(PATIENCE, || folder.path().join("up").exists()));
    program.terminate();
    let ended = program.ends_within(Duration::from_secs(15));
    tally.note("it never ends", ended.is_some(), "it stays");
    tally.finish();
}

#[test]
fn questions_after_the_end_are_not_answered() {
    let heard = Heard::default();
    let told = heard.clone();
    let ended = call_piped(LEGACY, "[]", PATIENCE, move |message| {
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
        !is_accepted && ended.code.is_some(),
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
    let answers = format!("[{}]", [accept; 10].join(","));
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
