//! `entreat wrap`: a real client side in front of a real server.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::ChildStdout;

use serde_json::{Value, json};

use crate::command;
use crate::http::Page;
use crate::serve::{Service, folder};
use crate::session::Session;

/// The tool that goes on with a call: `entreat mcp` has a `resume_question` of its own.
const RESUME: &str = "entreat_resume_question";

/// A client of 2025 without elicitation, in front of `entreat mcp`.
struct Client {
    session: Session,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn start(options: &[&str]) -> Self {
        let server = ["--", env!("CARGO_BIN_EXE_entreat"), "mcp"];
        let mut session = Session::spawn(command(&[&["wrap"], options, &server].concat()));
        let stdout = session.child.stdout.take().expect("stdout is a pipe");
        let lines = BufReader::new(stdout).lines();
        let mut client = Self { session, lines };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "agent", "version": "1"}});
        client.request("initialize", &hello);
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.session.type_line(&initialized.to_string());
        client.request("tools/list", &json!({}));
        client
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.session.type_line(&request.to_string());
        let line = self.lines.next().expect("there is an answer");
        let answer: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        answer["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// The page of a question, and what resumes its call.
    fn asked(&mut self, tool: &str, arguments: &Value) -> (Page, String) {
        let linked = self.call(tool, arguments);
        let said = text(&linked).to_owned();
        let handle = said.split('"').nth(3).expect("a handle").to_owned();
        let link = said.split_whitespace().find(|it| it.starts_with("http://"));
        (Page::open(link.expect("a link")), handle)
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_call_waits_for_its_approval_on_a_page() {
    let mut client = Client::start(&["--name", "people", "--approve", "ask_status"]);
    let arguments = json!({"id": "<b>\u{202e}x</b>"});
    let (page, handle) = client.asked("ask_status", &arguments);
    let html = page.checked().body;
    assert!(html.contains("Run ask_status on people?"), "{html}");
    // Not by `gateway`, which nobody knows.
    assert!(html.contains("a program that calls itself"), "{html}");
    assert!(
        html.contains("send.yes") && html.contains("send.no"),
        "{html}"
    );
    let shown = "id: &#34;&#60;b&#62;\\u{202e}x&#60;/b&#62;&#34;";
    assert!(html.contains(shown), "{html}");
    page.post("f.reason=Not+today&_f=1", "send.no");
    let refused = client.call(RESUME, &json!({"question": handle}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(
        text(&refused).contains("Their reason: Not today"),
        "{refused}"
    );

    let (page, handle) = client.asked("ask_status", &arguments);
    page.post("f.reason=&_f=1", "send.yes");
    let ran = client.call(RESUME, &json!({"question": handle}));
    // What the server itself says.
    assert!(!text(&ran).contains("was not run"), "{ran}");
}

#[cfg(unix)]
#[test]
fn a_service_with_its_default_settings_asks_for_as_long_as_it_allows() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let url = format!("http://{}", service.address);
    let mut client = Client::start(&["--service", &url, "--approve", "ask_status"]);
    // A rule waits for a day, and the service for five minutes.
    let (page, handle) = client.asked("ask_status", &json!({"id": "x"}));
    assert!(page.checked().body.contains("May it run?"));
    page.post("f.reason=&_f=0&_f=1", "send.no");
    let refused = client.call(RESUME, &json!({"question": handle}));
    assert!(text(&refused).contains("said no"), "{refused}");
}

#[test]
fn a_trace_has_the_messages_and_nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.jsonl");
    std::fs::write(&file, "{\"from\": \"before\"}\n").unwrap();
    let mut client = Client::start(&["--trace", file.to_str().unwrap()]);
    let secret = json!({"id": "x", "token": "canary-7f3a91"});
    client.call("ask_status", &secret);
    client.session.close_stdin();
    assert_eq!(client.session.wait().code, 0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("canary"), "{text}");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["from"], "before");
    let calls: Vec<&Value> = lines
        .iter()
        .filter(|line| line["method"] == "tools/call")
        .collect();
    assert_eq!(calls.len(), 4, "{text}");
    assert_eq!(calls[0]["message"]["params"]["arguments"]["id"], "x");
    assert!(calls[3]["durationMs"].as_f64().unwrap() > 0.0, "{text}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [&link, folder.path()] {
        let path = path.to_str().unwrap();
        crate::is_refused(
            &["wrap", "--trace", path, "--", "true"],
            "cannot be written",
        );
    }
}
