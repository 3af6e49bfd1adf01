//! `entreat gateway check`: connects to each server as a client would, through the gateway.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use entreat::Entreat;
use entreat::gateway::Upstream;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, split};

use super::{ServerArgs, connect, policy, selected, shown};
use crate::config::UpstreamConfig;
use crate::context::{Context, Exit};
use crate::{output, runtime};

/// How long a server may take for everything.
const TIMEOUT: Duration = Duration::from_secs(45);

pub(super) fn run(
    args: &ServerArgs,
    context: &Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let (_, upstreams) = selected(args, context)?;
    if upstreams.is_empty() {
        anyhow::bail!("there are no servers: name them in [[upstream]] tables");
    }
    runtime::block_on(async {
        let mut exit = Exit::Success;
        for upstream in &upstreams {
            let found = tokio::time::timeout(TIMEOUT, look_at(upstream)).await;
            let found =
                found.unwrap_or_else(|_| Err(anyhow::anyhow!("it did not respond in time")));
            match found {
                Ok(found) => writeln!(out, "{}: {found}", upstream.name)?,
                Err(error) => {
                    exit = Exit::Findings;
                    let error = format!("{error:#}");
                    writeln!(out, "{}: {}", upstream.name, output::sanitize(&error))?;
                }
            }
        }
        Ok(exit)
    })
}

/// What a server says of itself and offers.
async fn look_at(upstream: &UpstreamConfig) -> anyhow::Result<String> {
    let mut policy = policy(upstream, std::path::Path::new(""));
    // Looking approves nothing.
    policy.pins = None;
    let log = |line: &[u8]| {
        // Whoever reads it may be gone.
        let _ = writeln!(std::io::stderr(), "{}", shown(line));
    };
    let connected: Upstream = connect(upstream.clone(), policy, Arc::new(log))()?;
    let entreat = Entreat::builder().start().await?;
    let gateway = entreat.gateway().build();
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = split(theirs);
    let relay = async {
        gateway.wrap(reader, writer, connected).await;
    };
    let asking = async {
        let mut client = Client::new(ours);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "entreat", "version": env!("CARGO_PKG_VERSION")}});
        let hello = client.request("initialize", params).await?;
        client.notify("notifications/initialized").await?;
        let server = &hello["serverInfo"];
        let text = |value: &Value| output::sanitize(value.as_str().unwrap_or("?")).into_owned();
        let mut found = format!("{} {}", text(&server["name"]), text(&server["version"]));
        let lists = [
            ("tools", "tools/list"),
            ("prompts", "prompts/list"),
            ("resources", "resources/list"),
        ];
        for (kind, method) in lists {
            if hello["capabilities"].get(kind).is_some() {
                let list = client.request(method, json!({})).await?;
                let count = list[kind].as_array().map_or(0, Vec::len);
                let _ = write!(found, ", {count} {kind}");
            }
        }
        anyhow::Ok(found)
    };
    let found = tokio::select! {
        biased;
        found = asking => found,
        () = relay => Err(anyhow::anyhow!("it exited")),
    };
    entreat.shutdown().await;
    found
}

struct Client {
    reader: BufReader<tokio::io::ReadHalf<tokio::io::DuplexStream>>,
    writer: tokio::io::WriteHalf<tokio::io::DuplexStream>,
    next: u64,
}

impl Client {
    fn new(stream: tokio::io::DuplexStream) -> Self {
        let (reader, writer) = split(stream);
        Self {
            reader: BufReader::new(reader),
            writer,
            next: 0,
        }
    }

    async fn send(&mut self, message: Value) -> anyhow::Result<()> {
        let line = format!("{message}\n");
        self.writer
            .write_all(line.as_bytes())
            .await
            .context("it exited")
    }

    async fn notify(&mut self, method: &str) -> anyhow::Result<()> {
        self.send(json!({"jsonrpc": "2.0", "method": method})).await
    }

    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.next += 1;
        let id = self.next;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).await? == 0 {
                anyhow::bail!("it exited");
            }
            let mut message: Value = serde_json::from_str(&line)?;
            if message["id"] != id || message.get("method").is_some() {
                continue;
            }
            if let Some(error) = message.get("error") {
                let text = error["message"].as_str().unwrap_or("it failed");
                anyhow::bail!("{method}: {text}");
            }
            return Ok(message["result"].take());
        }
    }
}
