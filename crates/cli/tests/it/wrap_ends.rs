//! `entreat wrap` in front of servers that break, or do not want to end.

#![expect(
    clippy::disallowed_methods,
    reason = "looks at how long other processes take"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::serve::folder;
use crate::session::Session;
use crate::{command, finish};

/// How long a process may take to be gone after whoever ends it has said so.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server of 2025-11-25 in the shell: what follows `case` answers `$line`, whose id is `$id`.
const SERVER: &str = r#"
while IFS= read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/call"'*)
        CALL ;;
    *'"method":"ping"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
    esac
done
"#;

fn wrap(folder: &Path, script: &str) -> Command {
    let mut command = command(&["wrap", "--", "sh", "-c", script]);
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

/// Messages of a client: the handshake, and a call with the id 7.
fn call() -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "t", "arguments": {}}});
    format!("{hello}\n{call}\n")
}

/// Waits for the ids that the server's processes write into a file, one per line.
fn processes(file: &Path, count: usize) -> Vec<Pid> {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let ids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if ids.len() == count {
            return ids.into_iter().filter_map(Pid::from_raw).collect();
        }
        assert!(began.elapsed() < PATIENCE, "only {ids:?} have begun");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether all processes are gone within a while.
fn are_gone(processes: &[Pid]) -> bool {
    let began = Instant::now();
    while processes.iter().any(|it| test_kill_process(*it).is_ok()) {
        if began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

#[test]
fn a_server_that_forks_and_ignores_its_end_is_gone_with_its_client() {
    let folder = folder();
    // Neither of both reads, and neither ends when it is asked to.
    let script = "trap '' TERM HUP\n\
        (trap '' TERM HUP; sh -c 'echo $$' >>pids; while :; do sleep 0.2; done) &\n\
        echo $! >>pids; echo $$ >>pids\n\
        while :; do sleep 0.2; done";
    let mut session = Session::spawn(wrap(folder.path(), script));
    let all = processes(&folder.path().join("pids"), 3);
    let began = Instant::now();
    session.close_stdin();
    let run = session.wait();
    assert!(are_gone(&all), "something of the server is left");
    let took = began.elapsed();
    // Two seconds after its stdin was closed it is asked to end, and five later it has to.
    assert!(took > Duration::from_secs(6), "{took:?}");
    assert_eq!(run.code, 128 + 9, "{}", run.stderr);
}

#[test]
fn a_relay_that_is_killed_leaves_no_server_behind() {
    let folder = folder();
    let script = "echo $$ >>pids; while :; do sleep 0.1; done";
    let session = Session::spawn(wrap(folder.path(), script));
    let all = processes(&folder.path().join("pids"), 1);
    session.kill();
    assert!(are_gone(&all), "the server is left");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let run = finish(command(&["wrap", "--", "/nonexistent/server"]), b"");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(run.stderr.contains("/nonexistent/server"), "{}", run.stderr);
}

#[test]
fn a_server_that_exits_during_a_call_fails_it_and_passes_its_code() {
    let folder = folder();
    let script = SERVER.replace("CALL", "echo 'Out of paper' >&2; exit 7");
    let mut session = Session::spawn(wrap(folder.path(), &script));
    session.type_line(call().trim_end());
    let run = session.wait();
    assert_eq!(run.code, 7, "{}", run.stderr);
    assert!(run.stderr.contains("Out of paper"), "{}", run.stderr);
    let said = run.json_lines();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(
        (&said[1]["id"], &said[1]["error"]["code"]),
        (&json!(7), &json!(-32603))
    );
    let data = json!({"reason": "upstream_exited", "mayHaveRun": true});
    assert_eq!(said[1]["error"]["data"], data);
}

#[test]
fn what_a_server_prints_between_its_messages_goes_to_stderr() {
    let folder = folder();
    let script = SERVER.replace(
        "CALL",
        r#"echo 'Listening on stdio'; echo '{ port: 3000 }'; printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id"; exit 0"#,
    );
    let mut session = Session::spawn(wrap(folder.path(), &script));
    session.type_line(call().trim_end());
    let run = session.wait();
    let said = run.json_lines();
    assert_eq!(said[1]["result"], json!({"content": []}));
    for line in ["Listening on stdio", "{ port: 3000 }"] {
        assert!(run.stderr.contains(line), "{}", run.stderr);
    }
}

#[test]
fn a_result_of_20_mib_fails_its_call_and_no_other() {
    let folder = folder();
    let script = SERVER.replace(
        "CALL",
        r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"x":"' "$id"; head -c 20971520 /dev/zero | tr '\0' x; printf '"}}\n'"#,
    );
    let mut session = Session::spawn(wrap(folder.path(), &script));
    let stdout = session.child.stdout.take().expect("stdout is a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let mut next = || {
        let line = lines.next().expect("there is a line").expect("text");
        serde_json::from_str::<Value>(&line).expect("JSON")
    };
    session.type_line(call().trim_end());
    assert_eq!(next()["id"], 0);
    let failed = next();
    assert_eq!(failed["id"], 7);
    assert_eq!(
        failed["error"]["data"]["reason"], "upstream_unexpected",
        "{failed}"
    );
    session.type_line(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#);
    assert_eq!(next(), json!({"jsonrpc": "2.0", "id": 8, "result": {}}));
}
