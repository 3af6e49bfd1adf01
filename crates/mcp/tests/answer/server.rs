//! A server without a library: tests send and inspect the raw JSON.

use std::sync::Arc;
use std::time::Duration;

use entreat_mcp::answer::{AnswerSettings, Answering, CallError, Pipe};
use entreat_mcp::rmcp::RoleClient;
use entreat_mcp::rmcp::model::ProtocolVersion;
use entreat_mcp::rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, Peer, RunningService,
};
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

use crate::person::Person;

pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const ROUNDS: &str = "2026-07-28";

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Server {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

/// A client with its person, and the server at the other end.
pub(crate) struct Pair {
    pub(crate) server: Server,
    pub(crate) answering: Answering,
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) declared: Value,
    _running: RunningService<RoleClient, Answering>,
}

pub(crate) async fn connect(version: &str, person: &Person) -> Pair {
    connect_with(version, person, AnswerSettings::default()).await
}

pub(crate) async fn connect_with(version: &str, person: &Person, settings: AnswerSettings) -> Pair {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(theirs);
    let mut server = Server {
        lines: BufReader::new(reader).lines(),
        writer,
    };
    let answering = Answering::with(Arc::new(person.clone()), settings, ());
    let (reader, writer) = tokio::io::split(ours);
    let lifecycle = if version == ROUNDS {
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        }
    } else {
        ClientLifecycleMode::Initialize
    };
    let pipe = Pipe::new(reader, writer);
    let starting = answering.clone().serve_with_lifecycle(pipe, lifecycle);
    let (declared, running) = tokio::join!(server.greet(version), starting);
    let running = running.expect("the client connects");
    Pair {
        server,
        answering,
        peer: running.peer().clone(),
        declared,
        _running: running,
    }
}

impl Pair {
    /// Calls the tool `t` in the background.
    pub(crate) fn call(&self) -> JoinHandle<Result<Value, CallError>> {
        let (answering, peer) = (self.answering.clone(), self.peer.clone());
        let mut params = Map::new();
        params.insert("name".into(), "t".into());
        params.insert("arguments".into(), json!({"x": 1}));
        tokio::spawn(async move { answering.call(&peer, "tools/call", params).await })
    }
}

impl Server {
    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        // A client that sends nothing is a bug; without a timeout the test would hang.
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.expect("the client says something");
        let line = line.expect("a readable client");
        let line = line.expect("the client is there");
        serde_json::from_str(&line).expect("JSON")
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, message: &str) {
        let line = format!("{message}\n");
        let written = self.writer.write_all(line.as_bytes()).await;
        written.expect("the client is there");
    }

    /// Sends a request from the server.
    pub(crate) async fn ask(&mut self, id: u32, params: &Value) {
        let method = "elicitation/create";
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    pub(crate) async fn reply(&mut self, to: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": to["id"], "result": result}))
            .await;
    }

    pub(crate) async fn refuse(&mut self, to: &Value, error: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": to["id"], "error": error}))
            .await;
    }

    /// Completes the handshake; returns the client's declared capabilities.
    async fn greet(&mut self, version: &str) -> Value {
        let request = self.next().await;
        let info = json!({"name": "wire", "title": "Wire & Sons", "version": "1"});
        let capabilities = json!({"tools": {}});
        if version == ROUNDS {
            assert_eq!(request["method"], "server/discover");
            let result = json!({
                "resultType": "complete", "supportedVersions": [version],
                "capabilities": capabilities, "serverInfo": info,
                "ttlMs": 0, "cacheScope": "private",
            });
            self.reply(&request, result).await;
            let meta = &request["params"]["_meta"];
            return meta["io.modelcontextprotocol/clientCapabilities"].clone();
        }
        assert_eq!(request["method"], "initialize");
        let result = json!({
            "protocolVersion": version, "capabilities": capabilities, "serverInfo": info,
        });
        self.reply(&request, result).await;
        assert_eq!(self.next().await["method"], "notifications/initialized");
        request["params"]["capabilities"].clone()
    }
}
