//! `entreat mcp`: an agent asks its human.

use std::io::{BufRead as _, BufReader};

use serde_json::{Value, json};

use crate::command;
use crate::session::Session;

#[test]
fn an_agent_asks_on_stdio_and_stdout_holds_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let form = "{id: go, title: Go?, fields: [{id: sure, type: boolean, label: Sure}]}";
    std::fs::write(folder.path().join("go.yaml"), form).unwrap();
    let forms = folder.path().to_str().unwrap();
    let mut session = Session::spawn(command(&["mcp", "--forms", forms, "--log", "trace"]));
    let stdout = session.child.stdout.take().expect("stdout is a pipe");
    let mut lines = BufReader::new(stdout).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("there is an answer").unwrap();
        serde_json::from_str(&line).expect("messages are JSON")
    };
    let request = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "agent", "version": "1"}});
    session.type_line(&request(1, "initialize", hello));
    assert_eq!(next()["result"]["serverInfo"]["name"], "entreat");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    session.type_line(&initialized.to_string());

    session.type_line(&request(2, "prompts/list", json!({})));
    assert_eq!(next()["result"]["prompts"][0]["name"], "go");
    let call = json!({"name": "ask_user", "arguments": {"prompt": "Canary?"}});
    session.type_line(&request(3, "tools/call", call));
    let asked = next();
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["message"], "Canary?");
    let answer = json!({"action": "accept", "content": {"answer": "canary-4412"}});
    let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer});
    session.type_line(&reply.to_string());
    let answers = json!({"status": "answered", "answers": {"answer": "canary-4412"}});
    assert_eq!(next()["result"]["structuredContent"], answers);
    session.close_stdin();
    assert!(lines.next().is_none());
    let run = session.wait();
    assert_eq!(run.code, 0, "{}", run.stderr);
    // The SDK would have logged the whole messages.
    assert!(!run.stderr.contains("canary-4412"), "{}", run.stderr);
}
