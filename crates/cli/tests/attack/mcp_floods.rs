//! `entreat mcp` and `entreat rpc` over stdio, with a client that floods them or never reads.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp_client::{LEGACY, Piped, call, hello};
use crate::service::SOON;
use crate::tally::Tally;
use crate::times;

#[test]
fn floods_of_notifications_and_questions_do_not_fill_memory() {
    let mut server = Piped::initialized();
    let meter = server.program.meter();
    let mut tally = Tally::new();
    let count = times(20_000, 200_000);
    for (what, message) in [
        (
            "unknown notifications",
            json!({"jsonrpc": "2.0", "method": "notifications/unknown", "params": {"a": 1}}),
        ),
        (
            "progress of nothing",
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}),
        ),
        (
            "cancellations of nothing",
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}),
        ),
        (
            "changed roots",
            json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
        ),
        (
            "initialized again",
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        ),
    ] {
        let bytes = format!("{message}\n").repeat(count / 10);
        for _ in 0..10 {
            assert!(server.program.write(bytes.as_bytes()), "{what}");
        }
        server.serves_on(what);
        let held = meter.held_mib();
        tally.note(what, held <= 128, format_args!("{held} MiB"));
    }
    meter.at_most("floods", Duration::from_secs(times(60, 300) as u64), 192);
    tally.finish();
}

/// The peak memory in MiB of a program that is sent this repeatedly while nobody reads its output.
fn unread(args: &[&str], first: &Value, again: &Value) -> u64 {
    let folder = crate::program::folder();
    let mut command = crate::program::entreat(folder.path(), args);
    let mut child = command.spawn().expect("the program runs");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let pid = child.id();
    let (first, again) = (format!("{first}\n"), format!("{again}\n").repeat(100));
    let writing = std::thread::spawn(move || {
        let _ = stdin.write_all(first.as_bytes());
        for _ in 0..times(200, 1_000) {
            if stdin.write_all(again.as_bytes()).is_err() {
                break;
            }
        }
        // If it were closed, the program would exit.
        stdin
    });
    // It either reads everything or stops reading; there is nothing else to wait for.
    let peak = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let peak = crate::browser::between(&status, "VmHWM:", "kB");
        peak.trim().parse::<u64>().unwrap_or(u64::MAX) >> 10
    };
    let mut before = 0;
    crate::program::eventually(SOON, || {
        std::thread::sleep(Duration::from_millis(700));
        let now = peak();
        let is_steady = now == before && now > 0;
        before = now;
        is_steady
    });
    let peak = peak();
    child.kill().expect("it ran");
    child.wait().expect("it ends");
    drop(writing.join().expect("writing does not panic"));
    peak
}

#[test]
fn a_client_that_does_not_read_does_not_fill_memory() {
    let mut tally = Tally::new();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let peak = unread(&["mcp", "--log", "warn"], &hello(LEGACY, &json!({})), &list);
    tally.note(
        "entreat mcp, 20,000 lists",
        peak < 128,
        format_args!("{peak} MiB"),
    );
    let wrong = call(1, "no_such_tool", &json!({}));
    let peak = unread(
        &["mcp", "--log", "warn"],
        &hello(LEGACY, &json!({})),
        &wrong,
    );
    tally.note(
        "entreat mcp, 20,000 wrong calls",
        peak < 128,
        format_args!("{peak} MiB"),
    );
    let document = json!({"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"});
    let peak = unread(&["rpc", "--log", "warn"], &document, &document);
    tally.note(
        "entreat rpc, 20,000 documents",
        peak < 128,
        format_args!("{peak} MiB"),
    );
    tally.finish();
}
