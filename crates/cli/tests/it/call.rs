//! `entreat call`, against `entreat mcp`: both halves are the real program.

use entreat::core::jiff::{Timestamp, tz};

use crate::http::Page;
use crate::screen::Screen;
use crate::session::Session;
use crate::{Run, entreat, entreat_with, is_refused};

const ENTREAT: &str = env!("CARGO_BIN_EXE_entreat");
const ERAS: [&str; 3] = ["legacy", "2026-07-28", "auto"];
const ASKS: &str = r#"{"prompt": "Your name?"}"#;

fn answered(era: &str, answers: &str) -> Run {
    let args = [
        "call",
        "--era",
        era,
        "--answers",
        "-",
        "--args",
        ASKS,
        "ask_user",
        "--",
        ENTREAT,
        "mcp",
    ];
    entreat_with(&args, answers)
}

#[test]
fn a_tool_is_called_and_its_question_answered_from_a_file() {
    for era in ERAS {
        let run = answered(
            era,
            r#"[{"action": "accept", "content": {"answer": "Ada"}}]"#,
        );
        assert_eq!(run.code, 0, "{era}: {}", run.stderr);
        assert!(run.stdout.contains("Ada"), "{era}: {}", run.stdout);
    }
}

#[test]
fn the_exit_code_tells_a_decline_from_a_cancel() {
    for era in ERAS {
        let run = answered(era, r#"[{"action": "decline"}]"#);
        assert_eq!(run.code, 3, "{era}: {}", run.stderr);
        let run = answered(era, r#"[{"action": "cancel"}]"#);
        assert_eq!(run.code, 4, "{era}: {}", run.stderr);
    }
}

#[test]
fn answers_that_are_missing_left_over_or_unfit_are_told() {
    for era in ERAS {
        let run = answered(era, "[]");
        let wrong = "no answer for question 1: entreat asks: Your name?";
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(wrong), "{era}: {}", run.stderr);
        let run = answered(era, r#"[{"action": "decline"}, {"action": "decline"}]"#);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("unused answers: 1"), "{}", run.stderr);
        let run = answered(era, r#"[{"action": "accept"}]"#);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("answer 1 is invalid"), "{}", run.stderr);
    }
    let run = answered("auto", "{}");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("cannot read answers from stdin"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_server_tells_what_it_offers() {
    let run = entreat(&["call", "--list", "--", ENTREAT, "mcp"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("\ntool  ask_user "), "{}", run.stdout);
    let run = entreat(&["call", "--list", "--json", "--", ENTREAT, "mcp"]);
    let list: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(list["tools"].as_array().map(Vec::len), Some(4));
}

#[test]
fn the_whole_result_is_there_as_json() {
    let args = [
        "call",
        "--json",
        "--answers",
        "-",
        "--args",
        ASKS,
        "ask_user",
        "--",
        ENTREAT,
        "mcp",
    ];
    let run = entreat_with(
        &args,
        r#"[{"action": "accept", "content": {"answer": "Ada"}}]"#,
    );
    let result: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(result["structuredContent"]["answers"]["answer"], "Ada");
}

#[test]
fn a_tool_that_reports_an_error_and_one_that_is_not_there_end_with_1() {
    for (tool, args) in [("ask_user", "{}"), ("no_such_tool", "{}")] {
        let args = [
            "call",
            "--answers",
            "-",
            "--args",
            args,
            tool,
            "--",
            ENTREAT,
            "mcp",
        ];
        let run = entreat_with(&args, "[]");
        assert_eq!(run.code, 1, "{tool}: {} {}", run.stdout, run.stderr);
    }
}

#[test]
fn wrong_usage_says_what_is_missing() {
    for (args, says) in [
        (&["call"][..], "specify the tool to call"),
        (&["call", "t"], "specify the server"),
        (
            &["call", "http://127.0.0.1:1/", "t"],
            "the name comes before the URL: entreat call NAME http://127.0.0.1:1/; --list shows",
        ),
        (
            &["call", "t", "http://127.0.0.1:1/", "--", "x"],
            "either the server's URL or the command",
        ),
        (
            &["call", "--args", "[]", "t", "--", "x"],
            "expected a JSON object",
        ),
        (&["call", "--args", "{", "t", "--", "x"], "not valid JSON"),
        (
            &["call", "--list", "t", "http://127.0.0.1:1/"],
            "--list takes no tool",
        ),
        (
            &["call", "t", "--", "./no-such-program"],
            "cannot start ./no-such-program",
        ),
        (&["call", "t", "ftp://127.0.0.1/"], "must start with http"),
        (&["call", "t", "--", "true"], "is it an MCP server?"),
        (
            &["call", "t", "http://127.0.0.1:9/mcp"],
            "cannot connect to http://127.0.0.1:9/mcp: connection refused",
        ),
        (
            &["call", "--describe", "--", "true"],
            "specify the tool to call",
        ),
    ] {
        is_refused(args, says);
    }
}

fn on_screen(era: &str) -> Screen {
    let args = [
        "call", "--era", era, "--args", ASKS, "ask_user", "--", ENTREAT, "mcp",
    ];
    let screen = Screen::start(&args);
    screen.wait_for("Your name?");
    screen
}

#[test]
fn a_person_answers_in_the_terminal() {
    for era in ["legacy", "2026-07-28"] {
        let mut screen = on_screen(era);
        if era == "legacy" {
            insta::assert_snapshot!("call_screen", screen.frame());
        }
        // A required field cannot be skipped.
        screen.press_for("\r", "required");
        screen.press_for("Ada", "Ada");
        screen.press("\r");
        let (code, stdout) = screen.finish();
        assert_eq!(code, 0, "{era}: {stdout}");
        assert!(stdout.contains("Ada"), "{era}: {stdout}");
    }
}

/// The date where clocks are this many hours ahead of UTC.
fn today_at(hours: i8) -> String {
    let local = Timestamp::now().to_zoned(tz::offset(hours).to_time_zone());
    local.date().to_string()
}

#[test]
fn a_calendar_starts_at_the_day_of_the_person() {
    let asks = r#"{"form": {"id": "f", "title": "T", "fields": [
        {"id": "day", "type": "date", "label": "Day"}]}}"#;
    let args = ["call", "--args", asks, "ask_user", "--", ENTREAT, "mcp"];
    // At any moment the day differs between the two.
    for (zone, hours) in [("EAST-14", 14), ("WEST12", -12)] {
        let before = today_at(hours);
        let mut screen = Screen::with(&args, (80, 24), &[("TZ", zone)]);
        screen.wait_for("? Day");
        screen.press_for("\x1b[B", "Mo Tu We Th Fr Sa Su");
        let frame = screen.frame();
        let is_today = [before, today_at(hours)]
            .iter()
            .any(|day| frame.contains(day));
        assert!(is_today, "{frame}");
        screen.press("\x03");
        screen.finish();
    }
}

#[test]
fn a_person_declines_or_leaves() {
    for (key, code) in [("\x18", 3), ("\x1b", 4), ("\x03", 4)] {
        let mut screen = on_screen("auto");
        screen.press(key);
        let (exit, stdout) = screen.finish();
        assert_eq!(exit, code, "{stdout}");
    }
}

/// A call whose question waits on a page, and the page.
fn on_page(flags: &[&str]) -> (Session, Page) {
    let args = [
        &["call", "--args", ASKS],
        flags,
        &["ask_user", "--", ENTREAT, "mcp"],
    ]
    .concat();
    let mut session = Session::start(&args);
    session.close_stdin();
    let page = Page::open(&session.line_with("http://127.0.0.1:"));
    (session, page)
}

#[test]
fn a_person_answers_on_a_page() {
    // Without a terminal, the page is the default.
    for flags in [&["--ui", "browser"][..], &["--era", "2026-07-28"]] {
        let (session, page) = on_page(flags);
        // A required field cannot be skipped.
        page.post("f.answer=", "send");
        let checked = page.checked().body;
        assert!(checked.contains("Answer is required"), "{checked}");
        assert_eq!(page.post("f.answer=Ada", "send").status, 303);
        // The browser can load it although the call is over.
        let closing = page.closing().body;
        assert!(closing.contains("Answer sent"), "{closing}");
        let run = session.wait();
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.contains("Ada"), "{}", run.stdout);
    }
}

#[test]
fn a_person_declines_or_leaves_on_a_page() {
    for (button, code) in [("decline", 3), ("cancel", 4)] {
        let (session, page) = on_page(&["--ui", "browser"]);
        assert_eq!(page.post("f.answer=", button).status, 303);
        assert_eq!(session.wait().code, code);
    }
}

#[test]
fn a_question_that_nobody_answers_in_time_ends_with_5() {
    let flags = [
        "call",
        "--timeout",
        "1s",
        "--args",
        ASKS,
        "ask_user",
        "--",
        ENTREAT,
        "mcp",
    ];
    let run = entreat(&flags);
    assert_eq!(run.code, 5, "{}", run.stderr);
}

/// Calls `ask_status`, which needs an argument, without giving it one.
fn call_status(flags: &[&str]) -> Vec<String> {
    let args = [&["call"], flags, &["ask_status", "--", ENTREAT, "mcp"]];
    args.concat().into_iter().map(str::to_owned).collect()
}

#[test]
fn a_person_is_asked_for_the_arguments_that_are_missing() {
    let args = call_status(&[]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut screen = Screen::start(&args);
    screen.wait_for("│ Arguments of ask_status");
    screen.wait_for("? question");
    insta::assert_snapshot!("call_arguments", screen.frame());
    screen.press_for("\r", "is required");
    screen.press("elic_01hnmq7zq8e9vv8h2m6x3c5t0d");
    screen.press("\r");
    // The server has the argument, and knows no such question.
    let (code, stdout) = screen.finish();
    assert_eq!(code, 1, "{stdout}");

    for (key, code) in [("\x18", 3), ("\x1b", 4)] {
        let mut screen = Screen::start(&args);
        screen.wait_for("? question");
        screen.press_for(key, "entreat: not called");
        assert_eq!(screen.finish(), (code, String::new()));
    }
}

#[test]
fn nobody_is_asked_where_nobody_can_answer_or_with_no_input() {
    let run = entreat(
        &call_status(&[])
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    );
    assert_eq!(run.code, 1, "{}", run.stderr);
    let args = call_status(&["--no-input"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let screen = Screen::start(&args);
    assert_eq!(screen.finish().0, 1);
    let args = [
        "call",
        "--no-input",
        "--args",
        ASKS,
        "ask_user",
        "--",
        ENTREAT,
        "mcp",
    ];
    let run = entreat(&args);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--no-input forbids"), "{}", run.stderr);
}

#[test]
fn a_tool_is_described() {
    let run = entreat(&["call", "--describe", "ask_status", "--", ENTREAT, "mcp"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("ask_status\n  "), "{}", run.stdout);
    assert!(run.stdout.contains("\nARGUMENT"), "{}", run.stdout);
    let args = [
        "call",
        "--describe",
        "--json",
        "ask_status",
        "--",
        ENTREAT,
        "mcp",
    ];
    let run = entreat(&args);
    let tool: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(tool["name"], "ask_status");
    let run = entreat(&["call", "--describe", "ask_stat", "--", ENTREAT, "mcp"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("the server has no tool ask_stat"),
        "{}",
        run.stderr
    );
}

/// A server that exits at any request that it does not know, as an old one may.
const OLD_SERVER: &str = r#"
while read -r line; do
    case "$line" in
    *'"initialize"'*)
        id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18",' "$id"
        printf '"capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}\n' ;;
    *'"tools/call"'*)
        id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
        printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}\n' "$id" ;;
    *'"notifications/'*) ;;
    *) exit 1 ;;
    esac
done
"#;

#[test]
fn a_server_that_breaks_at_the_newer_version_is_called_by_the_older() {
    let run = entreat(&["call", "t", "--", "sh", "-c", OLD_SERVER]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "done\n"),
        "{}",
        run.stderr
    );
    let run = entreat(&[
        "call",
        "--era",
        "2026-07-28",
        "t",
        "--",
        "sh",
        "-c",
        OLD_SERVER,
    ]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("is it an MCP server?"),
        "{}",
        run.stderr
    );
}

/// A server of 2025 that fills its stderr with errors about what it does not know.
const NOISY: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case $line in
    *server/discover*) echo 'Failed to validate request' >&2
      say '"error":{"code":-32602,"message":"Invalid request parameters"}' ;;
    *initialize\"*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}' ;;
    *tools/call*) echo 'The tool runs' >&2
      say '"result":{"content":[{"type":"text","text":"done"}]}' ;;
    *'"id":'*) say '"result":{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}' ;;
  esac
done
"#;

#[test]
fn errors_of_an_older_server_about_the_first_request_are_not_shown() {
    let run = entreat(&["call", "do", "--", "/bin/sh", "-c", NOISY]);
    assert_eq!((run.code, run.stdout.trim()), (0, "done"), "{}", run.stderr);
    assert_eq!(run.stderr, "The tool runs\n");
    // Of a server that dies, everything is.
    let dies = "read -r line; echo 'No module named x' >&2; exit 1";
    let run = entreat(&["call", "do", "--", "/bin/sh", "-c", dies]);
    assert!(run.stderr.contains("No module named x"), "{}", run.stderr);
}

#[test]
fn a_server_that_cannot_ask_in_2026_gets_the_option_that_helps() {
    let server = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case $line in
    *server/discover*) say '"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}' ;;
    *tools/call*) say '"error":{"code":-32600,"message":"Cannot send '"'elicitation/create'"': this transport context has no back-channel for server-initiated requests."}' ;;
    *'"id":'*) say '"result":{"resultType":"complete","tools":[{"name":"do","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}' ;;
  esac
done
"#;
    let run = entreat(&["call", "do", "--", "/bin/sh", "-c", server]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("add --era legacy"), "{}", run.stderr);
}
