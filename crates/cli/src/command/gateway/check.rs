//! `entreat gateway check`: connects to each server as a client would, through the gateway.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use entreat::Entreat;
use entreat::gateway::{Policy, Upstream};
use entreat_wire::oauth::{Account, TokenSource};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, split};
use tokio::task::JoinSet;

use super::{ServerArgs, connect, policy, selected, shown, sign_in};
use crate::config::{UpstreamConfig, command_problem};
use crate::context::{Context, Exit};
use crate::{output, runtime};

/// How long a server may take for everything.
const TIMEOUT: Duration = Duration::from_secs(45);
/// How many pages of a list are counted.
const MAX_PAGES: usize = 1_000;

pub(super) fn run(
    args: &ServerArgs,
    context: &Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let (config, upstreams) = selected(args, context)?;
    if upstreams.is_empty() {
        anyhow::bail!("there are no servers: name them in [[upstream]] tables");
    }
    runtime::block_on(async {
        let mut exit = Exit::Success;
        // All at once, each line as it arrives: one server may be silent.
        let mut looking = JoinSet::new();
        for upstream in upstreams {
            let problem = command_problem(&upstream.target, context.environment());
            let account = sign_in::account(&config, &upstream)?.map(Arc::new);
            looking.spawn(async move {
                let found = match problem {
                    Some(problem) => Err(anyhow::anyhow!(problem)),
                    None => examine(&upstream, account).await,
                };
                (upstream.name, found)
            });
        }
        while let Some(looked) = looking.join_next().await {
            let (name, found) = looked?;
            match found {
                Ok(found) => writeln!(out, "{name}: {found}")?,
                Err(error) => {
                    exit = Exit::Findings;
                    let error = format!("{error:#}");
                    writeln!(out, "{name}: {}", output::sanitize(&error))?;
                }
            }
            out.flush()?;
        }
        Ok(exit)
    })
}

/// Looks at a server for as long as it may take. If it fails, the error has the last line that it
/// wrote to its stderr.
async fn examine(
    upstream: &UpstreamConfig,
    account: Option<Arc<Account>>,
) -> anyhow::Result<String> {
    let last_line = Arc::new(Mutex::new(String::new()));
    let looking = check(upstream, account, last_line.clone());
    let found = match tokio::time::timeout(TIMEOUT, looking).await {
        Ok(found) => found,
        Err(_) => Err(anyhow::anyhow!("it did not respond within 45 seconds")),
    };
    found.map_err(|error| {
        let line = last_line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_empty() {
            error
        } else {
            anyhow::anyhow!("{error:#}: {line}")
        }
    })
}

/// What a server offers, and where somebody has signed in to it.
async fn check(
    upstream: &UpstreamConfig,
    account: Option<Arc<Account>>,
    last_line: Arc<Mutex<String>>,
) -> anyhow::Result<String> {
    let Some(account) = account else {
        return look_at(upstream, None, last_line).await;
    };
    let found = look_at(upstream, Some(account.clone()), last_line).await;
    // Afterwards, since looking may have found out that it has ended.
    match account.signed_in().await? {
        Some(signed_in) => {
            let issuer = output::sanitize(&signed_in.issuer).into_owned();
            Ok(format!("{}, signed in at {issuer}", found?))
        }
        None => anyhow::bail!(
            "sign-in is needed: run `entreat gateway sign-in {}`",
            upstream.name
        ),
    }
}

/// What a server says of itself and offers. Its last line on stderr is left in `last_line`.
pub(super) async fn look_at(
    upstream: &UpstreamConfig,
    tokens: Option<Arc<dyn TokenSource>>,
    last_line: Arc<Mutex<String>>,
) -> anyhow::Result<String> {
    let policy = policy(upstream, std::path::Path::new(""));
    let server = upstream.name.clone();
    let log = move |line: &[u8]| {
        let line = shown(line);
        // Whoever reads it may be gone.
        let _ = writeln!(std::io::stderr(), "{server}: {line}");
        if !line.is_empty() {
            *last_line.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    };
    // Everything passes: looking approves nothing, and says what is not offered.
    let connected: Upstream =
        connect(upstream.clone(), Policy::default(), Arc::new(log), tokens)()?;
    let entreat = Entreat::builder().start().await?;
    let gateway = entreat.gateway().observed().build();
    let name = connected.name.clone();
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
        let mut counts = String::new();
        for kind in ["tools", "prompts", "resources"] {
            if hello["capabilities"].get(kind).is_some() {
                let names = client.list(kind).await?;
                let kind_of_one = kind.trim_end_matches('s');
                let shown = if names.len() == 1 { kind_of_one } else { kind };
                let _ = write!(counts, ", {} {shown}", names.len());
                let offers = |name: &&String| kind != "tools" || policy.offers(name);
                let withheld = names.len() - names.iter().filter(offers).count();
                if withheld > 0 {
                    let _ = write!(counts, " ({withheld} not offered)");
                }
            }
        }
        anyhow::Ok((hello["serverInfo"].clone(), counts))
    };
    // Once there is no client any more, the server ends too.
    let (found, ()) = tokio::join!(asking, relay);
    entreat.shutdown().await;
    let (server, counts) = found?;
    let text = |name: &str| output::sanitize(server[name].as_str().unwrap_or("?")).into_owned();
    let era = gateway.version_of(&name).unwrap_or("?");
    // Some servers have no version.
    let words = [text("name"), text("version"), format!("({era})")];
    let words: Vec<&str> = words
        .iter()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty())
        .collect();
    Ok(format!("{}{counts}", words.join(" ")))
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

    /// The names of all entries of a list.
    async fn list(&mut self, kind: &str) -> anyhow::Result<Vec<String>> {
        let mut names = Vec::new();
        let mut params = json!({});
        for _ in 0..MAX_PAGES {
            let page = self.request(&format!("{kind}/list"), params).await?;
            let entries = page[kind].as_array().into_iter().flatten();
            names.extend(entries.map(|entry| entry["name"].as_str().unwrap_or("").to_owned()));
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        Ok(names)
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
