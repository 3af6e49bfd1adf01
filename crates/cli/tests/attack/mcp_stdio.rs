//! `entreat mcp` over stdio, with an arbitrary client.

use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_client::{LEGACY, Piped, call, hello, told};
use crate::program::PATIENCE;
use crate::service::SOON;
use crate::tally::Tally;
use crate::times;

#[test]
fn lines_that_are_no_messages_are_passed_over() {
    let mut server = Piped::initialized();
    let meter = server.program.meter();
    let deep = |open: &str, close: &str| [open.repeat(100_000), close.repeat(100_000)].concat();
    let mut tally = Tally::new();
    for (what, line) in [
        ("nothing", Vec::new()),
        ("spaces", vec![b' '; 100_000]),
        ("words", b"hello there".to_vec()),
        ("a NUL", vec![0; 1000]),
        ("no UTF-8", vec![0xff; 1000]),
        ("a mark at the beginning", b"\xef\xbb\xbf{}".to_vec()),
        ("half an object", b"{\"jsonrpc\":\"2.0\",\"id\":1".to_vec()),
        ("100,000 lists", deep("[", "]").into_bytes()),
        ("100,000 objects", deep("{\"a\":", "}").into_bytes()),
        (
            "a call in 100,000 objects",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{}}}",
                deep("{\"a\":", "}")
            )
            .into_bytes(),
        ),
        (
            "a key twice",
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":8,\"method\":\"ping\"}".to_vec(),
        ),
        (
            "a lone surrogate",
            b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\\ud800\"}".to_vec(),
        ),
        (
            "a huge number",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}}",
                "9".repeat(100_000)
            )
            .into_bytes(),
        ),
        ("an empty batch", b"[]".to_vec()),
        ("a batch of batches", b"[[[]]]".to_vec()),
        ("a bare carriage return", b"\r\r\r".to_vec()),
        ("a number", b"0".to_vec()),
        (
            "a result for nobody",
            b"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}".to_vec(),
        ),
        (
            "an error for nobody",
            b"{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"x\"}}".to_vec(),
        ),
        (
            "an error without an id",
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\"}}".to_vec(),
        ),
    ] {
        let is_read = server.program.write(&[&line[..], b"\n"].concat());
        server.serves_on(what);
        tally.note(what, is_read, "it does not read any more");
    }
    meter.at_most("lines that are no messages", Duration::from_secs(5), 64);
    tally.finish();
}

#[test]
fn a_line_without_end_is_left_out_and_does_not_fill_memory() {
    let mut server = Piped::initialized();
    let meter = server.program.meter();
    let mut tally = Tally::new();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..times(100, 300) {
        assert!(server.program.write(&piece));
    }
    assert!(server.program.write(b"\n"));
    server.serves_on("a line of 100 MiB");
    let (peak, cpu) = (meter.peak_mib(), meter.cpu());
    tally.note("words", peak <= 160, format_args!("{peak} MiB"));
    tally.note(
        "words cost time once",
        cpu < Duration::from_secs(10),
        format_args!("{cpu:?}"),
    );
    let meter = server.program.meter();
    let begin = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"ask_user\",\"arguments\":{\"prompt\":\"";
    assert!(server.program.write(begin.as_bytes()));
    for _ in 0..60 {
        assert!(server.program.write(&piece));
    }
    assert!(server.program.write(b"\"}}}\n"));
    server.serves_on("a call of 60 MiB");
    let peak = meter.peak_mib();
    // The line, the text in it, and the response: either an error or the question.
    tally.note("a call of 60 MiB", peak <= 400, format_args!("{peak} MiB"));
    tally.finish();
}

#[test]
fn nothing_is_answered_before_the_first_words_are() {
    let mut tally = Tally::new();
    for (what, first) in [
        ("a call", call(1, "ask_user", &json!({"prompt": "Asked?"}))),
        (
            "a list",
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        ),
        (
            "a notification",
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ),
        (
            "an answer",
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        ),
        ("words", json!("words")),
    ] {
        let mut server = Piped::start();
        server.send(&first);
        // It may reject the line and continue, or exit; it must not ask anyone, or hang.
        let answer = server.next(Duration::from_secs(3));
        let is_calm = answer.get("result").is_none() && answer["method"] != "elicitation/create";
        server.send(&hello(LEGACY, &json!({})));
        let next = server.next(Duration::from_secs(5));
        let goes_on = next.get("result").is_some() || next.get("error").is_some();
        let ended = server.program.ends_within(Duration::from_millis(100));
        tally.note(
            what,
            is_calm && (goes_on || ended.is_some()),
            format_args!("{answer} {next}"),
        );
    }
    tally.finish();
}

#[test]
fn versions_and_capabilities_that_nobody_knows_are_settled_calmly() {
    let mut tally = Tally::new();
    for (what, version, capabilities) in [
        ("a version of the past", json!("1999-01-01"), json!({})),
        ("a version of the future", json!("9999-12-31"), json!({})),
        ("an empty version", json!(""), json!({})),
        ("a version with escapes", json!("\u{1b}[2J"), json!({})),
        (
            "a version of a megabyte",
            json!("9".repeat(1 << 20)),
            json!({}),
        ),
        ("a version that is a number", json!(1), json!({})),
        ("no capabilities", json!(LEGACY), json!(null)),
        ("capabilities that are a list", json!(LEGACY), json!([])),
        (
            "deep capabilities",
            json!(LEGACY),
            json!({"experimental": {"a": {"b": {"c": {}}}}}),
        ),
    ] {
        let mut server = Piped::start();
        let mut first = hello(LEGACY, &capabilities);
        first["params"]["protocolVersion"] = version;
        server.send(&first);
        let answer = server.next(PATIENCE);
        let chosen = answer["result"]["protocolVersion"]
            .as_str()
            .unwrap_or_default();
        let is_known = chosen.starts_with("20") && chosen.len() == 10;
        let ended = server
            .program
            .ends_within(Duration::from_millis(200))
            .is_some();
        tally.note(
            what,
            is_known || answer.get("error").is_some() || ended,
            &answer,
        );
    }
    tally.finish();
}

#[test]
fn ids_tokens_and_cancellations_of_all_kinds_confuse_nobody() {
    let mut server = Piped::initialized();
    let mut tally = Tally::new();
    for id in [
        json!(0),
        json!(-1),
        json!(""),
        json!("a\u{0}b"),
        json!(9_007_199_254_740_993_i64),
        json!("\u{202e}"),
    ] {
        let answer = server.ask(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
        tally.note(
            format_args!("id {id}"),
            answer.get("result").is_some(),
            &answer,
        );
    }
    for id in [json!(null), json!(true), json!(1.5), json!([]), json!({})] {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
        server.serves_on("an id that is none");
        tally.note(format_args!("id {id}"), true, "");
    }
    for id in [
        json!(12345),
        json!("never"),
        json!(null),
        json!({}),
        json!("hello"),
    ] {
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "\u{1b}[2J"}}));
        server.serves_on("a cancellation of nothing");
        tally.note(format_args!("cancelled {id}"), true, "");
    }
    for token in [
        json!(0),
        json!("x".repeat(100_000)),
        json!(null),
        json!({}),
        json!([1]),
        json!(-1.5),
    ] {
        let mut list =
            json!({"jsonrpc": "2.0", "id": "with token", "method": "tools/list", "params": {}});
        list["params"]["_meta"] = json!({"progressToken": token});
        server.send(&list);
        server.serves_on("a progress token");
        let token: String = token.to_string().chars().take(20).collect();
        tally.note(format_args!("token {token}"), true, "");
    }
    tally.finish();
}

#[test]
fn two_calls_of_one_id_end_without_mixing_their_answers() {
    let mut server = Piped::initialized();
    server.send(&call(5, "ask_user", &json!({"prompt": "First?"})));
    let first = server.next(PATIENCE);
    assert_eq!(first["method"], "elicitation/create", "{first}");
    server.send(&call(5, "ask_user", &json!({"prompt": "Second?"})));
    // One response to a question that was never asked, and one to each that was.
    server.send(&json!({"jsonrpc": "2.0", "id": 987_654, "result": {"action": "accept", "content": {"answer": "forged"}}}));
    let accept = |id: &Value, text: &str| json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"answer": text}}});
    server.send(&accept(&first["id"], "to the first"));
    let mut tally = Tally::new();
    let mut answers = Vec::new();
    while let message @ Value::Object(_) = server.next(Duration::from_secs(2)) {
        if message["method"] == "elicitation/create" {
            server.send(&accept(&message["id"], "to the second"));
            continue;
        }
        answers.push(message);
    }
    let text = json!(answers).to_string();
    tally.note("a forged answer", !text.contains("forged"), &text);
    // Which of the two gets the response is undefined; one of them must.
    tally.note("an answer", text.contains("to the"), &text);
    server.serves_on("two calls of one id");
    tally.finish();
}

#[test]
fn answers_that_do_not_fit_the_question_are_not_taken() {
    let mut tally = Tally::new();
    for (what, result) in [
        ("no action", json!({"content": {"answer": "x"}})),
        (
            "an unknown action",
            json!({"action": "approve", "content": {"answer": "x"}}),
        ),
        ("no content", json!({"action": "accept"})),
        ("a list", json!({"action": "accept", "content": ["x"]})),
        (
            "another field",
            json!({"action": "accept", "content": {"other": "x"}}),
        ),
        (
            "a number",
            json!({"action": "accept", "content": {"answer": 5}}),
        ),
        (
            "an object",
            json!({"action": "accept", "content": {"answer": {"a": 1}}}),
        ),
        (
            "a megabyte and more",
            json!({"action": "accept", "content": {"answer": "x".repeat(2 << 20)}}),
        ),
        ("nothing", json!({})),
    ] {
        let mut server = Piped::initialized();
        server.send(&call(5, "ask_user", &json!({"prompt": "Asked?"})));
        let mut rounds = 0;
        let end = loop {
            let message = server.next(SOON);
            if message["method"] == "elicitation/create" && rounds < 10 {
                rounds += 1;
                server.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            } else if message["method"].is_null() {
                break message;
            }
        };
        let is_answered = end["result"]["structuredContent"]["status"] == "completed";
        tally.note(
            what,
            !is_answered && rounds <= 4,
            format_args!("{rounds} rounds: {end}"),
        );
        server.serves_on(what);
    }
    tally.finish();
}

#[test]
fn escapes_in_what_an_agent_asks_come_as_text() {
    let mut server = Piped::initialized();
    let hostile = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\r\nNext: \u{202e}";
    server.send(&call(
        5,
        "ask_user",
        &json!({"prompt": hostile, "message": hostile}),
    ));
    let line = server.program.line(PATIENCE).unwrap_or_default();
    let mut tally = Tally::new();
    // Over stdio they are JSON; as raw bytes they would reach a terminal that shows the log.
    tally.note(
        "stdout",
        !line.contains('\u{1b}') && !line.contains('\u{7}'),
        &line,
    );
    server.serves_on("escapes");
    let stderr = server.program.stderr();
    tally.note("stderr", !stderr.contains('\u{1b}'), &stderr);
    tally.finish();
}

#[test]
fn tools_that_are_not_there_and_arguments_that_do_not_fit_are_refused() {
    let mut server = Piped::initialized();
    let mut tally = Tally::new();
    let long = "x".repeat(100_000);
    for (tool, arguments) in [
        ("no_such_tool", json!({})),
        ("", json!({})),
        ("__proto__", json!({})),
        ("../ask_user", json!({})),
        (&*long, json!({})),
        ("ask_user", json!({})),
        ("ask_user", json!({"prompt": ""})),
        ("ask_user", json!({"prompt": 5})),
        ("ask_user", json!({"prompt": "a", "form": {}})),
        ("ask_user", json!({"form": {"id": "f"}})),
        (
            "ask_user",
            json!({"form": {"id": "f", "title": "T", "fields": []}, "timeout_seconds": -1}),
        ),
        ("ask_user", json!({"prompt": "a", "timeout_seconds": 1e300})),
        (
            "ask_user",
            json!({"prompt": "a", "timeout_seconds": 18_446_744_073_709_551_615_u64}),
        ),
        ("ask_user", json!({"template": "../../etc/passwd"})),
        ("ask_status", json!({})),
        (
            "ask_status",
            json!({"question": "elic_01hnmq7zq8e9vv8h2m6x3c5t0d"}),
        ),
        (
            "ask_cancel",
            json!({"question": "elic_01hnmq7zq8e9vv8h2m6x3c5t0d"}),
        ),
        ("ask_cancel", json!({"question": {"a": 1}})),
        (
            "resume_question",
            json!({"question": "00000000000000000000"}),
        ),
        ("resume_question", json!({})),
    ] {
        let answer = server.ask(&call("x", tool, &arguments));
        let is_refused = answer.get("error").is_some() || answer["result"]["isError"] == true;
        let tool: String = tool.chars().take(20).collect();
        tally.note(
            format_args!("{tool} {arguments}"),
            is_refused && !told(&answer).contains("root:"),
            &answer,
        );
    }
    server.serves_on("wrong calls");
    tally.finish();
}
