//! `entreat gateway` with two askers in front of a scripted server over HTTP, and `entreat wrap` in
//! front of a scripted command.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_client::{Caller, LEGACY, ROUNDS, hello};
use crate::program::{Program, entreat, folder, now};
use crate::server::{HttpServer, greets, line, pipes, release, reply, result};
use crate::service::{ALICE, MALLORY, SOON, TWO_ASKERS};
use crate::wire::{Reply, Request, request};

/// Calls of tools that reached the server: their parameters.
pub(crate) type Calls = Arc<Mutex<Vec<Value>>>;

/// A gateway with the routes `one` and `two`.
pub(crate) struct Gateway {
    pub(crate) program: Program,
    pub(crate) address: String,
    pub(crate) calls: Calls,
    _upstream: HttpServer,
    _folder: TempDir,
}

impl Gateway {
    /// Starts it with more configuration, and settings named by their variables without `ENTREAT_`.
    pub(crate) fn start(more: &str, settings: &[(&str, &str)]) -> Self {
        let calls: Calls = Arc::default();
        let seen = calls.clone();
        let upstream = HttpServer::start(move |head, message, stream| {
            serve(head, message, stream, &seen);
        });
        let url = upstream.url();
        let config = format!(
            "{TWO_ASKERS}[[upstream]]\nname = 'one'\nurl = '{url}'\n{more}\n\
             [[upstream]]\nname = 'two'\nurl = '{url}'\n"
        );
        Self::configured(&config, settings, upstream, calls)
    }

    /// Starts it with this configuration.
    pub(crate) fn configured(
        config: &str,
        settings: &[(&str, &str)],
        upstream: HttpServer,
        calls: Calls,
    ) -> Self {
        let folder = folder();
        std::fs::write(folder.path().join("entreat.toml"), config).expect("it can be written");
        let words = ["gateway", "--listen", "127.0.0.1:0", "--store", "memory"];
        let mut command = entreat(folder.path(), &words);
        command
            .env("ENTREAT_LOG", "warn,entreat::upstream=info")
            .env("ENTREAT_LIMITS_CREATIONS_PER_MINUTE", "none")
            .env("ENTREAT_LIMITS_REQUESTS_PER_SECOND", "none");
        for (name, value) in settings {
            command.env(format!("ENTREAT_{name}"), value);
        }
        let program = Program::spawn(command);
        let said = program.says("listening on http");
        let (_, rest) = said.split_once("://").expect("it is a URL");
        let address = rest.split('/').next().expect("it has an address");
        Self {
            program,
            address: address.to_owned(),
            calls,
            _upstream: upstream,
            _folder: folder,
        }
    }

    /// Begins a session of 2025 on a route; returns the response.
    pub(crate) fn try_begin(&self, who: &Caller, route: &str) -> Option<Reply> {
        let hello = hello(LEGACY, &json!({}));
        who.signed(to(route, &hello)).try_send(&self.address)
    }

    /// Begins a session of 2025 on a route; returns its id.
    pub(crate) fn begin(&self, who: &Caller, route: &str) -> String {
        let reply = self.try_begin(who, route).expect("it responds");
        assert_eq!(reply.status, 200, "{}", reply.told());
        let session = reply.header("mcp-session-id").to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        who.within(to(route, &ready), &session).send(&self.address);
        session
    }

    /// Sends a call of 2026-07-28; returns its response.
    pub(crate) fn round(&self, who: &Caller, route: &str, params: &Value) -> Value {
        let reply = who.signed(round_to(route, params)).send(&self.address);
        crate::mcp_client::message_in(&reply)
    }

    /// Fails unless another caller is served soon.
    pub(crate) fn serves_others(&self, after: &str) {
        let begun = now();
        let reply = self.try_begin(&alice(), "two");
        let took = begun.elapsed();
        let status = reply.map(|reply| reply.status);
        assert!(
            status == Some(200) && took < SOON,
            "{after}: {status:?} after {took:?}\n{}",
            self.program.stderr()
        );
    }

    /// How many calls have reached the server.
    pub(crate) fn reached(&self) -> usize {
        self.calls.lock().expect("nobody panics").len()
    }
}

pub(crate) fn alice() -> Caller {
    Caller::of(ALICE)
}

pub(crate) fn mallory() -> Caller {
    Caller::of(MALLORY)
}

/// A server of 2025 whose tool `echo` returns its argument `text`, or as many letters as its
/// argument `size` says.
fn serve(head: &str, message: &Value, stream: &mut TcpStream, calls: &Calls) {
    if greets(head, message, stream) {
        return;
    }
    let id = &message["id"];
    let answer = match message["method"].as_str() {
        Some("tools/list") => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            let tools = ["echo", "other", "delete_all"].map(tool);
            line(&json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}))
        }
        Some("tools/call") => {
            let params = message["params"].clone();
            let arguments = &params["arguments"];
            let size = arguments["size"].as_u64().unwrap_or_default();
            let text = match arguments["text"].as_str() {
                Some(text) => text.to_owned(),
                None => "x".repeat(usize::try_from(size).expect("it is small")),
            };
            calls.lock().expect("nobody panics").push(params);
            result(id, &text)
        }
        Some("ping") => line(&json!({"jsonrpc": "2.0", "id": id, "result": {}})),
        _ => line(&json!({"jsonrpc": "2.0", "id": id,
            "error": {"code": -32601, "message": "Method not found"}})),
    };
    reply(stream, &answer);
}

/// A message as an HTTP POST to a route.
pub(crate) fn to(route: &str, message: &Value) -> Request {
    body_to(route, message.to_string())
}

/// A body that says it is JSON.
pub(crate) fn body_to(route: &str, body: impl Into<Vec<u8>>) -> Request {
    request(&format!("POST /mcp/{route}"))
        .header("accept", "application/json, text/event-stream")
        .body("application/json", body)
}

/// The parameters of a call of `echo`.
pub(crate) fn echo(arguments: &Value) -> Value {
    json!({"name": "echo", "arguments": arguments})
}

/// A call of `echo` in a session of 2025.
pub(crate) fn call_echo(arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": echo(arguments)})
}

/// A call of 2026-07-28 by a client that shows forms, without its headers.
pub(crate) fn round_message(params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": ROUNDS,
        "io.modelcontextprotocol/clientInfo": {"name": "attack", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// A call of 2026-07-28 by a client that shows forms.
pub(crate) fn round_to(route: &str, params: &Value) -> Request {
    to(route, &round_message(params))
        .header("mcp-protocol-version", ROUNDS)
        .header("mcp-method", "tools/call")
        .header("mcp-name", params["name"].as_str().unwrap_or_default())
}

/// `entreat wrap` in front of a scripted command; the test is both of its sides.
pub(crate) struct Wrapped {
    pub(crate) program: Program,
    folder: TempDir,
}

/// A server's reaction to each message: the lines it sends.
pub(crate) trait Says: FnMut(&Value) -> Vec<Vec<u8>> + Send + 'static {}

impl<F: FnMut(&Value) -> Vec<Vec<u8>> + Send + 'static> Says for F {}

impl Wrapped {
    /// Starts it; the client has made its handshake.
    pub(crate) fn start(flags: &[&str], says: impl Says) -> Self {
        let folder = folder();
        let (to_gateway, from_gateway) = pipes(folder.path());
        // Copies between pipes, so that the test acts as the server.
        let script = "cat < to-client & exec cat > from-client";
        let command = ["--", "sh", "-c", script];
        let words = [&["wrap", "--log", "warn"], flags, &command].concat();
        let program = Program::spawn(entreat(folder.path(), &words));
        let mut says = says;
        std::thread::spawn(move || {
            let reader = std::fs::File::open(from_gateway).expect("it is a pipe");
            let writer = std::fs::OpenOptions::new().write(true).open(to_gateway);
            let mut writer = writer.expect("it is a pipe");
            for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
                let message: Value = serde_json::from_slice(&line).unwrap_or_default();
                for line in says(&message) {
                    // The gateway may have exited.
                    let written = writer.write_all(&line);
                    if written.and_then(|()| writer.write_all(b"\n")).is_err() {
                        return;
                    }
                }
            }
        });
        let mut wrapped = Self { program, folder };
        let answer = wrapped.ask(&hello(LEGACY, &json!({})));
        assert!(answer.get("result").is_some(), "{answer}");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        wrapped.send(&ready);
        wrapped
    }

    pub(crate) fn send(&mut self, message: &Value) -> bool {
        self.program.write(format!("{message}\n").as_bytes())
    }

    /// Sends a request and waits for its response; skips other messages.
    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.answer_to(&message["id"])
    }

    pub(crate) fn answer_to(&self, id: &Value) -> Value {
        let begun = now();
        while begun.elapsed() < crate::program::PATIENCE {
            let line = self.program.line(crate::program::PATIENCE);
            let answer: Value = serde_json::from_str(&line.unwrap_or_default()).unwrap_or_default();
            if answer["id"] == *id && answer.get("method").is_none() {
                return answer;
            }
        }
        Value::Null
    }

    /// Fails unless a harmless request gets a response soon.
    pub(crate) fn serves_on(&mut self, after: &str) {
        let begun = now();
        let ping = json!({"jsonrpc": "2.0", "id": "still there?", "method": "ping"});
        let answer = self.ask(&ping);
        let took = begun.elapsed();
        assert!(
            answer.get("result").is_some() && took < SOON,
            "{after}: {answer} after {took:?}\n{}",
            self.program.stderr()
        );
    }
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        release(&self.folder);
    }
}

/// A server of 2025 over pipes that answers pings, and calls of tools with `done`.
pub(crate) fn plain(message: &Value) -> Vec<Vec<u8>> {
    if let Some(hello) = crate::server::greeting(message) {
        return vec![hello];
    }
    let id = &message["id"];
    match message["method"].as_str() {
        Some("tools/call") => vec![result(id, "done")],
        Some("ping") => vec![line(&json!({"jsonrpc": "2.0", "id": id, "result": {}}))],
        _ => Vec::new(),
    }
}

/// Waits until a condition holds, as long as others may have to wait.
pub(crate) fn soon(holds: impl FnMut() -> bool) -> bool {
    crate::program::eventually(SOON.max(Duration::from_secs(10)), holds)
}
