//! Clients of `entreat mcp`, over stdio and HTTP.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{PATIENCE, Program, entreat, folder, now};
use crate::service::SOON;
use crate::wire::{Reply, Request, request};

pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const ROUNDS: &str = "2026-07-28";

/// `entreat mcp` over stdio.
pub(crate) struct Piped {
    pub(crate) program: Program,
    _folder: TempDir,
}

impl Piped {
    /// Starts it without sending anything.
    pub(crate) fn start() -> Self {
        let folder = folder();
        let program = Program::spawn(entreat(folder.path(), &["mcp", "--log", "warn"]));
        Self {
            program,
            _folder: folder,
        }
    }

    /// Starts it with a client that supports forms.
    pub(crate) fn initialized() -> Self {
        let mut server = Self::start();
        let answer = server.ask(&hello(LEGACY, &json!({"elicitation": {}})));
        assert!(answer.get("result").is_some(), "{answer}");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    pub(crate) fn send(&mut self, message: &Value) -> bool {
        self.program.write(format!("{message}\n").as_bytes())
    }

    /// The next message; null if none comes.
    pub(crate) fn next(&self, patience: Duration) -> Value {
        let line = self.program.line(patience).unwrap_or_default();
        serde_json::from_str(&line).unwrap_or_default()
    }

    /// Sends a request and waits for its response; skips other messages.
    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let begun = now();
        while begun.elapsed() < PATIENCE {
            let answer = self.next(PATIENCE);
            if answer["id"] == message["id"] && answer.get("method").is_none() {
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
        let is_well = answer.get("result").is_some() && took < SOON;
        assert!(
            is_well,
            "{after}: {answer} after {took:?}\n{}",
            self.program.stderr()
        );
    }
}

/// The first message of a client of 2025.
pub(crate) fn hello(version: &str, capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": capabilities,
        "clientInfo": {"name": "attack", "version": "1"}}})
}

/// A tool call.
pub(crate) fn call(id: impl Into<Value>, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}})
}

/// `entreat mcp --port`.
pub(crate) struct Listening {
    pub(crate) program: Program,
    pub(crate) address: String,
    _folder: TempDir,
}

impl Listening {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        let folder = folder();
        let mut command = entreat(folder.path(), &["mcp", "--port", "0", "--log", "warn"]);
        for (name, value) in settings {
            command.env(format!("ENTREAT_{name}"), value);
        }
        let program = Program::spawn(command);
        let said = program.says("/mcp");
        let (_, rest) = said.split_once("http://").expect("it is a URL");
        let (address, _) = rest.split_once('/').expect("it has a path");
        Self {
            program,
            address: address.to_owned(),
            _folder: folder,
        }
    }

    /// Starts a session; returns its id.
    pub(crate) fn begin(&self, who: &Caller, capabilities: &Value) -> String {
        let hello_sent = who.signed(post(&hello(LEGACY, capabilities)));
        let reply = hello_sent.send(&self.address);
        assert_eq!(reply.status, 200, "{}", reply.told());
        let session = reply.header("mcp-session-id").to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        who.within(post(&ready), &session).send(&self.address);
        session
    }

    /// A request of 2026-07-28, which needs no session.
    pub(crate) fn round(
        &self,
        who: &Caller,
        tool: &str,
        arguments: &Value,
        extra: &Value,
    ) -> Value {
        let capabilities = json!({"elicitation": {"form": {}}});
        let reply = who
            .signed(rounds_of(tool, arguments, extra, &capabilities))
            .send(&self.address);
        message_in(&reply)
    }

    /// Fails unless a new client is served soon.
    pub(crate) fn serves_others(&self, after: &str) {
        let begun = now();
        let newcomer = Caller::of("newcomer-newcomer");
        let sent = newcomer.signed(post(&hello(LEGACY, &json!({}))));
        let status = sent.try_send(&self.address).map(|reply| reply.status);
        let took = begun.elapsed();
        assert!(
            status == Some(200) && took < SOON,
            "{after}: {status:?} after {took:?}"
        );
    }
}

/// A call of 2026-07-28 by a client with these capabilities.
pub(crate) fn rounds_of(
    tool: &str,
    arguments: &Value,
    extra: &Value,
    capabilities: &Value,
) -> Request {
    let mut params = json!({"name": tool, "arguments": arguments});
    let extra = extra.as_object().cloned().unwrap_or_default();
    params
        .as_object_mut()
        .expect("it is an object")
        .extend(extra);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": ROUNDS,
        "io.modelcontextprotocol/clientInfo": {"name": "attack", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    post(&message)
        .header("mcp-protocol-version", ROUNDS)
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool)
}

/// A message as an HTTP POST.
pub(crate) fn post(message: &Value) -> Request {
    request("POST /mcp")
        .header("accept", "application/json, text/event-stream")
        .json(&message.to_string())
}

/// The caller, identified by its token.
#[derive(Clone)]
pub(crate) struct Caller(Option<String>);

impl Caller {
    pub(crate) fn of(token: &str) -> Self {
        Self(Some(format!("Bearer {token}")))
    }

    pub(crate) fn nobody() -> Self {
        Self(None)
    }

    pub(crate) fn signed(&self, request: Request) -> Request {
        match &self.0 {
            Some(token) => request.header("authorization", token),
            None => request,
        }
    }

    /// Posts a message within a session.
    pub(crate) fn within(&self, request: Request, session: &str) -> Request {
        self.signed(request)
            .header("mcp-session-id", session)
            .header("mcp-protocol-version", LEGACY)
    }
}

/// The last message of a response, whether plain JSON or an event.
pub(crate) fn message_in(reply: &Reply) -> Value {
    let text = reply.text();
    let mut data = text
        .lines()
        .rev()
        .map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
    let found = data.find(|line| line.starts_with('{'));
    found
        .and_then(|line| serde_json::from_str(line).ok())
        .unwrap_or_default()
}

/// The text of a tool's result, or its error.
pub(crate) fn told(message: &Value) -> String {
    let result = &message["result"];
    match result["content"][0]["text"].as_str() {
        Some(text) => text.to_owned(),
        None if result.is_null() => message["error"]["message"].to_string(),
        None => result.to_string(),
    }
}
