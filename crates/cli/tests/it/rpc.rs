//! `entreat rpc`: the control API over pipes.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use crate::http::request;
use crate::session::Session;
use crate::{command, entreat, entreat_with};

#[test]
fn every_line_is_answered_and_stdout_holds_nothing_else() {
    let mut session = Session::spawn(command(&["rpc", "--log", "trace"]));
    let stdout = session.child.stdout.take().expect("stdout is a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("there is an answer").unwrap();
        serde_json::from_str(&line).expect("answers are JSON")
    };
    session.type_line(&request("elicitation/create", &json!({"prompt": "Name?"})));
    let id = next()["result"]["elicitationId"].clone();
    let answer = json!({"elicitationId": id, "result": "Ada"});
    session.type_line(&request("elicitation/complete", &answer));
    // The answer and the notification come in either order.
    let both = [next(), next()];
    let has = |key: &str, value: Value| both.iter().any(|line| line[key] == value);
    assert!(has("result", json!({"status": "completed"})), "{both:?}");
    assert!(has("method", json!("notifications/elicitation/complete")));
    session.close_stdin();
    assert!(lines.next().is_none());
    let run = session.wait();
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn what_was_asked_is_cancelled_when_stdin_ends_unless_it_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("q.db");
    let store = store.to_str().unwrap();
    let ask = |params| request("elicitation/create", &params) + "\n";
    let typed =
        ask(json!({"prompt": "Fleeting?"})) + &ask(json!({"prompt": "Kept?", "durable": true}));
    let run = entreat_with(&["rpc", "--store", store, "--log", "warn"], typed);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let run = entreat(&["list", "--store", store]);
    let status = |question: &str| {
        let mut lines = run.stdout.lines();
        let line = lines.find(|line| line.ends_with(question)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(status("Fleeting?"), "cancelled");
    assert_eq!(status("Kept?"), "pending");
}

#[test]
fn without_a_store_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(&["rpc"]);
    command.env("HOME", folder.path());
    let run = crate::finish(command, request("forms/list", &json!({})).as_bytes());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json_lines()[0]["result"], json!({"templates": []}));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}
