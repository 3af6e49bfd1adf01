//! `entreat gateway`: real clients' sides in front of several real processes.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::ChildStdout;

use serde_json::{Value, json};

use crate::session::Session;
use crate::{command, http};

/// A server of 2025-11-25, and one of 2026-07-28 that asks.
const OLD: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([^,]*\),.*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"o","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '"result":{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*) say '"result":{"content":[{"type":"text","text":"old"}]}' ;;
    *'"id":'*) say '"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
done
"#;
const NEW: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([^,]*\),.*/\1/p')
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case "$line" in
    *'"method":"server/discover"'*) say '"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}' ;;
    *'"method":"tools/list"'*) say '"result":{"resultType":"complete","tools":[{"name":"ask","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}' ;;
    *'"name":"Ada"'*) say '"result":{"resultType":"complete","content":[{"type":"text","text":"Hello Ada"}]}' ;;
    *'"method":"tools/call"'*) say '"result":{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}}}' ;;
    *'"id":'*) say '"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
done
"#;

/// A configuration with both servers, and one that cannot be started.
fn configured() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("it is ours");
    };
    write("old.sh", OLD);
    write("new.sh", NEW);
    let shell = |name: &str| {
        let script = folder.path().join(format!("{name}.sh"));
        let script = script.display();
        format!("[[upstream]]\nname = '{name}'\ncommand = ['/bin/sh', '{script}']\n\n")
    };
    let down = "[[upstream]]\nname = 'down'\ncommand = ['/there/is/no/such/program']\n";
    write("entreat.toml", &(shell("old") + &shell("new") + down));
    folder
}

struct Client {
    session: Session,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn start(folder: &Path) -> Self {
        let config = folder.join("entreat.toml");
        let config = config.to_str().expect("text");
        let mut session = Session::spawn(command(&["gateway", "--stdio", "--config", config]));
        let stdout = session.child.stdout.take().expect("stdout is a pipe");
        let lines = BufReader::new(stdout).lines();
        Self { session, lines }
    }

    fn send(&mut self, message: &Value) {
        self.session.type_line(&message.to_string());
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("there is an answer");
        serde_json::from_str(&line.expect("text")).expect("JSON")
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        self.next()
    }
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let names = tools.iter().map(|tool| tool["name"].as_str());
    names.flatten().collect()
}

fn hello() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}, "url": {}}},
        "clientInfo": {"name": "agent", "version": "1"}})
}

#[test]
fn a_check_says_what_each_server_is_and_offers() {
    let folder = configured();
    let file = folder.path().join("entreat.toml");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let text = text.replacen("\n\n", "\ntools.deny = ['as*']\n\n", 1);
    std::fs::write(&file, text).expect("it is ours");
    let config = file.to_str().expect("text");
    let mut check = command(&["gateway", "check", "--config", config]);
    let done = check.output().expect("it runs");
    assert_eq!(done.status.code(), Some(1));
    let said = String::from_utf8(done.stdout).expect("text");
    let mut lines: Vec<&str> = said.lines().collect();
    // They come as they are known.
    lines.sort_unstable();
    let expected = [
        "down: cannot start `/there/is/no/such/program`: there is no such command",
        "new: new 0 (2026-07-28), 1 tool",
        "old: o 1 (2025-11-25), 1 tool (1 not offered)",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_silent_server_keeps_the_others_from_no_line_and_a_failure_has_its_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let shell = |name: &str, script: &str| {
        format!("[[upstream]]\nname = '{name}'\ncommand = ['/bin/sh', '-c', '{script}']\n\n")
    };
    let nameless = OLD.replace("\"version\":\"1\"", "\"version\":\"\"");
    assert_ne!(nameless, OLD);
    std::fs::write(folder.path().join("old.sh"), nameless).expect("it is ours");
    let old = format!(". {}", folder.path().join("old.sh").display());
    let config = shell("silent", "cat > /dev/null")
        + &shell("broken", "echo no module named x >&2; exit 3")
        + &shell("old", &old);
    let file = folder.path().join("entreat.toml");
    std::fs::write(&file, config).expect("it is ours");
    let file = file.to_str().expect("text");
    let mut session = Session::spawn(command(&["gateway", "check", "--config", file]));
    let stdout = session.child.stdout.take().expect("stdout is a pipe");
    let lines = BufReader::new(stdout).lines().take(2);
    let mut lines: Vec<String> = lines.map(|line| line.expect("text")).collect();
    lines.sort_unstable();
    assert!(lines[0].starts_with("broken: "), "{lines:?}");
    assert!(lines[0].ends_with(": no module named x"), "{lines:?}");
    assert_eq!(lines[1], "old: o (2025-11-25), 1 tool");
    // The silent one has half a minute left.
    session.child.kill().expect("it runs");
}

#[test]
fn an_old_client_works_with_servers_of_both_versions_as_one() {
    let folder = configured();
    let mut client = Client::start(folder.path());
    let told = client.request("initialize", &hello());
    assert_eq!(told["result"]["serverInfo"]["name"], "entreat", "{told}");
    let instructions = told["result"]["instructions"].as_str().unwrap_or_default();
    assert!(instructions.contains("# down"), "{told}");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let listed = client.request("tools/list", &json!({}));
    assert_eq!(names(&listed), ["new__ask", "old__ask"]);
    let done = client.request("tools/call", &json!({"name": "old__ask"}));
    assert_eq!(done["result"]["content"][0]["text"], "old", "{done}");
    let asked = client.request("tools/call", &json!({"name": "new__ask", "arguments": {}}));
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    assert_eq!(asked["params"]["message"], "new: Your name?");
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
    let done = client.next();
    assert_eq!(done["result"]["content"][0]["text"], "Hello Ada", "{done}");
    client.session.wait_for("a server is not available");
    client.session.close_stdin();
    assert_eq!(client.session.wait().code, 0);
}

#[test]
fn a_modern_client_works_with_servers_of_both_versions_as_one() {
    let folder = configured();
    let mut client = Client::start(folder.path());
    let params = |params: Value| {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities":
                {"elicitation": {"form": {}, "url": {}}},
        });
        params
    };
    let listed = client.request("tools/list", &params(json!({})));
    assert_eq!(names(&listed), ["new__ask", "old__ask"]);
    assert_eq!(listed["result"]["resultType"], "complete");
    let done = client.request("tools/call", &params(json!({"name": "old__ask"})));
    assert_eq!(done["result"]["content"][0]["text"], "old", "{done}");
    let mut call = params(json!({"name": "new__ask", "arguments": {}}));
    let asked = client.request("tools/call", &call);
    let question = &asked["result"]["inputRequests"]["q"]["params"];
    assert_eq!(question["message"], "new: Your name?", "{asked}");
    call["requestState"] = asked["result"]["requestState"].clone();
    call["inputResponses"] = json!({"q": {"action": "accept", "content": {"name": "Ada"}}});
    let done = client.request("tools/call", &call);
    assert_eq!(done["result"]["content"][0]["text"], "Hello Ada", "{done}");
}

#[test]
fn over_http_all_servers_are_at_one_path() {
    let folder = configured();
    let config = folder.path().join("entreat.toml");
    let config = config.to_str().expect("text");
    let args = [
        "--config",
        config,
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory",
    ];
    let session = Session::start(&[&["gateway"], &args[..]].concat());
    let line = session.line_with("listening on http://");
    let address = line.split("http://").nth(1).expect("an address");
    let address = address.trim_end().trim_end_matches("/mcp");
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello()});
    for (path, name) in [("/mcp", "entreat"), ("/mcp/old", "o")] {
        let head = format!("POST {path}");
        let answer = http::send(address, &head, None, &begin.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        let told: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!(told["result"]["serverInfo"]["name"], name);
    }
}
