//! `entreat gateway`: what operators and monitors get to know of a running one.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::serve::{Service, folder};
use crate::telemetry::{Collector, attribute, hex, named};
use crate::{Run, command, finish};

const ASKER: &str = "0123456789abcdef-asker";
const OPERATOR: &str = "0123456789abcdef-operator";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn entreat(folder: &Path, args: &[&str]) -> Command {
    let mut command = command(args);
    command.current_dir(folder).env("HOME", folder);
    command
}

/// A gateway in front of `entreat mcp`, and of a program that does not exist.
fn start(folder: &Path, more: &str, endpoint: Option<&str>) -> Service {
    let program = env!("CARGO_BIN_EXE_entreat");
    let config = format!(
        "listen = '127.0.0.1:0'\nstore = 'questions.db'\n{more}\n\
         [[upstream]]\nname = 'people'\ncommand = ['{program}', 'mcp']\npin = 'warn'\n\
         [[upstream]]\nname = 'gone'\ncommand = ['/nonexistent/server']\n"
    );
    std::fs::write(folder.join("entreat.toml"), config).expect("the folder is ours");
    let mut command = entreat(folder, &["gateway"]);
    if let Some(endpoint) = endpoint {
        command.env("ENTREAT_TELEMETRY_OTLP_ENDPOINT", endpoint);
    }
    let mut service = Service::spawn(command);
    service.address = service.address.trim_end_matches("/mcp").to_owned();
    service
}

/// A request of a client of 2026-07-28.
fn request(service: &Service, server: &str, method: &str, params: Value, head: &str) -> Answer {
    let mut params = params;
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "agent", "version": "1"});
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let mut lines = format!(
        "{head}accept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n"
    );
    if let Some(name) = params["name"].as_str() {
        lines.extend(["mcp-name: ", name, "\r\n"]);
    }
    let body = http::request(method, &params);
    let path = format!("POST /mcp/{server}");
    http::read_answer(http::begin_with(&service.address, &path, &lines, &body))
}

fn status(folder: &Path, args: &[&str], key: Option<&str>) -> Run {
    let mut command = entreat(folder, &[&["gateway", "status"], args].concat());
    if let Some(key) = key {
        command.env("ENTREAT_API_KEY", key);
    }
    finish(command, b"")
}

#[test]
fn a_running_gateway_shows_its_servers_and_counts_their_calls() {
    let folder = folder();
    let none = status(folder.path(), &["--listen", "127.0.0.1:1"], None);
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(
        none.stderr.contains("start `entreat gateway`"),
        "{}",
        none.stderr
    );
    let service = start(folder.path(), "", None);
    let found = |run: &Run| -> Value {
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str::<Value>(&run.stdout).expect("JSON")["upstreams"].clone()
    };
    let before = found(&status(folder.path(), &["--json"], None));
    assert_eq!(before[1]["name"], "people");
    assert_eq!(
        (&before[1]["state"], &before[1]["version"]),
        (&json!("idle"), &Value::Null)
    );
    let listed = request(&service, "people", "tools/list", json!({}), "");
    assert_eq!(listed.status, 200, "{}", listed.body);
    let call = json!({"name": "ask_status", "arguments": {"id": "x"}});
    let called = request(&service, "people", "tools/call", call, "");
    assert!(called.body.contains("isError"), "{}", called.body);
    let gone = request(&service, "gone", "tools/list", json!({}), "");
    assert!(gone.body.contains("\"error\""), "{}", gone.body);
    // By the store of the configuration, and by the address.
    let url = format!("http://{}", service.address);
    for args in [&["--json"][..], &["--json", "--url", &url]] {
        let all = found(&status(folder.path(), args, None));
        assert_eq!(
            (&all[0]["name"], &all[0]["state"]),
            (&json!("gone"), &json!("down"))
        );
        assert!(all[0]["lastError"]["message"].is_string(), "{}", all[0]);
        let people = &all[1];
        assert_eq!(people["state"], "running");
        assert_eq!(
            (&people["sessions"], &people["children"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(people["calls"], 0);
        assert_eq!(people["version"], "2026-07-28");
        assert!(people["tools"]["approved"].as_u64() > Some(2), "{people}");
    }
    let table = status(folder.path(), &[], None).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("NAME    VERSION     STATE    SESSIONS"),
        "{table}"
    );
    assert!(
        lines[2].starts_with("people  2026-07-28  running  1"),
        "{table}"
    );
    assert!(lines[3].starts_with("gone: last error at "), "{table}");
    let metrics = http::send(&service.address, "GET /metrics", None, "").body;
    for line in [
        "gateway_calls_total{upstream=\"people\",method=\"tools/list\",outcome=\"result\"} 1",
        "gateway_calls_total{upstream=\"people\",method=\"tools/call\",outcome=\"tool_error\"} 1",
        "gateway_calls_open{upstream=\"people\"} 0",
        "gateway_added_seconds_count{upstream=\"people\"} 2",
        "# HELP gateway_added_seconds Time that a call spends in the gateway, without the server \
         and the person.",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line}\n{metrics}"
        );
    }
    assert_eq!(service.end().code, 0);
}

#[test]
fn the_state_of_a_gateway_is_for_operators() {
    let folder = folder();
    let keys = format!(
        "[[asker]]\nname = 'ada'\nkey = '{ASKER}'\n\
         [[asker]]\nname = 'ops'\nkey = '{OPERATOR}'\nrole = 'operator'\n"
    );
    let service = start(
        folder.path(),
        &format!("local_without_key = false\n{keys}"),
        None,
    );
    for (key, code, says) in [
        (Some(OPERATOR), 0, ""),
        (Some(ASKER), 2, "use an operator's"),
        (Some("0123456789abcdef-nobody"), 2, "missing or unknown"),
        (None, 2, "missing or unknown"),
    ] {
        let run = status(folder.path(), &[], key);
        assert_eq!(run.code, code, "{key:?} {}", run.stderr);
        assert!(run.stderr.contains(says), "{key:?} {}", run.stderr);
        assert_eq!(run.stdout.contains("people"), code == 0, "{}", run.stdout);
    }
    drop(service);
}

#[test]
fn a_service_without_a_gateway_says_so() {
    let folder = folder();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let url = format!("http://{}", service.address);
    let run = status(folder.path(), &["--url", &url], None);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("has no gateway"), "{}", run.stderr);
}

#[test]
fn a_call_over_http_is_part_of_the_trace_that_its_headers_name() {
    let (folder, collector) = (folder(), Collector::start());
    let service = start(folder.path(), "", Some(&collector.endpoint));
    let head = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n");
    let call = json!({"name": "ask_status", "arguments": {"id": "canary-7f3a91"}});
    request(&service, "people", "tools/call", call, &head);
    assert_eq!(service.end().code, 0);
    let (bytes, spans) = collector.taken();
    let found = named(&spans, "tools/call");
    let [span] = found.as_slice() else {
        panic!("{spans:?}");
    };
    assert_eq!(hex(&span.trace_id), TRACE);
    assert_eq!(hex(&span.parent_span_id), PARENT);
    let upstream = attribute(span, "gateway.upstream");
    assert_eq!(upstream.as_deref(), Some("people"));
    let outcome = attribute(span, "gateway.outcome");
    assert_eq!(outcome.as_deref(), Some("tool_error"));
    let canary = b"canary-7f3a91";
    let is_there = bytes.windows(canary.len()).any(|part| part == canary);
    assert!(!is_there, "{spans:?}");
}
