//! `entreat gateway`: what servers over HTTP send, and what goes to several servers as one, costs
//! linear time.

use std::io::Write as _;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::gateway_world::{Gateway, alice, call_echo, to};
use crate::mcp_client::{LEGACY, hello};
use crate::server::{HttpServer, greets, line, reply, result};
use crate::service::TWO_ASKERS;
use crate::tally::Tally;
use crate::times;
use crate::wire::{Request, request};

/// How much more than four times the work four times the input may cost, and what cannot be
/// measured.
fn is_linear(small: Duration, large: Duration) -> bool {
    large <= small * 8 + Duration::from_millis(200)
}

fn members(count: usize) -> Value {
    let members = (0..count).map(|n| (format!("k{n}"), json!(n)));
    Value::Object(members.collect())
}

/// The events of a response to a call, with about this many parts.
fn events(which: &str, parts: usize, id: &Value) -> Vec<u8> {
    let event = |message: &Value| format!("data: {message}\n\n");
    let done = event(&json!({"jsonrpc": "2.0", "id": id, "result": {"content": []}}));
    let many = |part: &dyn Fn(usize) -> String| (0..parts).map(part).collect::<String>();
    let before = match which {
        "members of a result" => {
            let result = json!({"content": [], "structuredContent": members(parts)});
            return event(&json!({"jsonrpc": "2.0", "id": id, "result": result})).into_bytes();
        }
        "lines of a result" => {
            let values = "data: 0,\n".repeat(parts);
            let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":["#);
            return format!("data: {head}\n{values}data: 0]}}}}\n\n").into_bytes();
        }
        "notifications" => many(&|n| {
            event(&json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "info", "data": n}}))
        }),
        "messages in one event" => event(&json!(vec![
            json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"level": "info", "data": 0}});
            parts
        ])),
        "comments" => ": x\n".repeat(parts),
        "ids" => many(&|n| format!("id: {n}\n\n")),
        "lines of no field" => "x\n".repeat(parts),
        "a name without end" => format!("{}\n", "x".repeat(10 * parts)),
        other => unreachable!("{other}"),
    };
    (before + &done).into_bytes()
}

/// Answers a call with the events that its arguments name.
fn stream(message: &Value, stream: &mut TcpStream) {
    let arguments = &message["params"]["arguments"];
    let parts = arguments["parts"].as_u64().unwrap_or_default();
    let parts = usize::try_from(parts).expect("it is small");
    let which = arguments["which"].as_str().unwrap_or_default();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let body = events(which, parts, &message["id"]);
    // The gateway may have had enough.
    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
    let _ = stream.shutdown(Shutdown::Both);
}

#[test]
fn four_times_as_much_of_a_server_over_http_costs_about_four_times_the_work() {
    let upstream = HttpServer::start(|head, message, to| {
        if greets(head, message, to) {
            return;
        }
        if message["method"] == "tools/call" {
            return stream(message, to);
        }
        reply(to, &result(&message["id"], "done"));
    });
    let url = upstream.url();
    let config = format!("{TWO_ASKERS}[[upstream]]\nname = 'one'\nurl = '{url}'\n");
    let gateway = Gateway::configured(&config, &[], upstream, std::sync::Arc::default());
    let session = gateway.begin(&alice(), "one");
    let mut tally = Tally::new();
    for which in [
        "members of a result",
        "lines of a result",
        "notifications",
        "messages in one event",
        "comments",
        "ids",
        "lines of no field",
        "a name without end",
    ] {
        let cost = |parts: usize| {
            let message = call_echo(&json!({"which": which, "parts": parts}));
            let meter = gateway.program.meter();
            let sent = alice().within(to("one", &message), &session);
            let reply = sent.send(&gateway.address);
            assert_eq!(reply.status, 200, "{which}: {}", reply.text());
            (meter.cpu(), meter.peak_mib())
        };
        let (small, _) = cost(times(10_000, 25_000));
        let (large, peak) = cost(times(40_000, 100_000));
        tally.note(
            which,
            is_linear(small, large) && peak <= 96,
            format_args!("{small:?}, {large:?}, {peak} MiB"),
        );
    }
    tally.finish();
}

/// A message for all servers as one.
fn to_all(message: &Value) -> Request {
    request("POST /mcp")
        .header("accept", "application/json, text/event-stream")
        .body("application/json", message.to_string())
}

#[test]
fn four_times_as_much_in_front_of_several_servers_costs_about_four_times_the_work() {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(1));
    let listed = count.clone();
    let upstream = HttpServer::start(move |head, message, to| {
        if greets(head, message, to) {
            return;
        }
        let id = &message["id"];
        let text = match message["method"].as_str() {
            Some("tools/list") => {
                let count = listed.load(std::sync::atomic::Ordering::SeqCst);
                let tool = |n| json!({"name": format!("t{n}"), "inputSchema": {}});
                let tools: Vec<Value> = (0..count).map(tool).collect();
                line(&json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}))
            }
            Some("tools/call") => {
                let link = json!({"type": "resource_link", "uri": "a:b", "name": "n"});
                let links = message["params"]["arguments"]["links"].as_u64();
                let links = usize::try_from(links.unwrap_or_default()).expect("it is small");
                line(&json!({"jsonrpc": "2.0", "id": id,
                    "result": {"content": vec![link; links]}}))
            }
            _ => result(id, "done"),
        };
        reply(to, &text);
    });
    let url = upstream.url();
    let route = |name: &str| format!("[[upstream]]\nname = '{name}'\nurl = '{url}'\n");
    let config = format!("{TWO_ASKERS}{}{}", route("one"), route("two"));
    let gateway = Gateway::configured(&config, &[], upstream, std::sync::Arc::default());
    let begun = alice().signed(to_all(&hello(LEGACY, &json!({}))));
    let begun = begun.send(&gateway.address);
    assert_eq!(begun.status, 200, "{}", begun.text());
    let session = begun.header("mcp-session-id").to_owned();
    let send = |message: &Value| {
        let sent = alice().within(to_all(message), &session);
        sent.send(&gateway.address)
    };
    send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(send(&list).status, 200);
    let call = |arguments: &Value| {
        let params = json!({"name": "one__t0", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    };
    let mut tally = Tally::new();
    for (which, short, long) in [
        ("tools", 2_000, 2_500),
        ("arguments", 10_000, 25_000),
        ("a name", 10_000, 25_000),
        ("a URI", 10_000, 25_000),
        ("links in a result", 2_000, 10_000),
        ("reports of progress", 10_000, 25_000),
    ] {
        let cost = |parts: usize| {
            let message = match which {
                "tools" => list.clone(),
                "arguments" => call(&members(parts)),
                "a name" => {
                    let mut message = call(&json!({}));
                    message["params"]["name"] = json!("x_".repeat(parts));
                    message
                }
                "a URI" => {
                    let uri = "one+".repeat(parts);
                    json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read",
                        "params": {"uri": uri}})
                }
                "links in a result" => call(&json!({"links": parts})),
                _ => json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": 1, "progress": 1, "_meta": members(parts)}}),
            };
            let tools = if which == "tools" { parts } else { 1 };
            count.store(tools, std::sync::atomic::Ordering::SeqCst);
            let meter = gateway.program.meter();
            for _ in 0..5 {
                let status = send(&message).status;
                assert!(matches!(status, 200 | 202), "{which}: {status}");
            }
            meter.cpu()
        };
        let (small, large) = (cost(times(short, long)), cost(4 * times(short, long)));
        tally.note(
            which,
            is_linear(small, large),
            format_args!("{small:?}, {large:?}"),
        );
    }
    tally.finish();
}
