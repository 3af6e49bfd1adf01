//! `entreat gateway`: serves several MCP servers to any client.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use entreat::gateway::front::{Connect, Route};
use entreat::gateway::side::child::{Child, ChildCommand, LogLine, Stderr};
use entreat::gateway::side::http::{Http, HttpTarget, SharedConnections};
use entreat::gateway::side::{UpstreamReceiver, UpstreamSender};
use entreat::gateway::{Pins, Policy, Upstream, forget_tools};
use entreat::{Builder, GatewayOptions};
use entreat_wire::oauth::TokenSource;

pub(super) use self::sign_in::account;

use super::serve;
use crate::config::{
    self, Config, ConfigArgs, ConfigLocation, ServeArgs, UpstreamConfig, UpstreamTarget,
};
use crate::context::{Context, Exit};
use crate::store::NewStoreArgs;
use crate::{agent, browser, output, runtime};

/// Serve MCP servers to any client over HTTP, and ask what clients can't show
///
/// The servers are in `[[upstream]]` tables of the configuration: all as one at /mcp, each at
/// /mcp/NAME. It is `entreat serve` with a gateway beside it: the same address, keys, pages and store.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<GatewayCommand>,
    /// Serve all servers as one to a client on stdio, instead of over HTTP
    #[arg(long, conflicts_with_all = ["listen", "public_url"])]
    stdio: bool,
    #[command(flatten)]
    serve: ServeArgs,
    #[command(flatten)]
    shared: ConfigArgs,
    #[command(flatten)]
    new_store: NewStoreArgs,
}

#[derive(Subcommand)]
enum GatewayCommand {
    /// Connect to each server and say what it offers
    Check(ServerArgs),
    /// Sign in at a server with `oauth`, for everybody who uses it through the gateway
    SignIn(sign_in::Args),
    /// Forget the sign-in at a server
    SignOut(sign_in::Args),
    /// Approve the tools of a server as they are now, where `pin` watches them
    ApproveTools(ServerArgs),
    /// Show what goes on behind a running gateway
    Status(status::Args),
}

#[derive(clap::Args)]
struct ServerArgs {
    /// The name of a server; without it, all servers
    name: Option<String>,
    #[command(flatten)]
    shared: ConfigArgs,
}

/// The longest line of a server that is logged, in bytes.
const LONGEST_LOG_LINE: usize = 4 << 10;

const AFTER_HELP: &str = "\
Example of a configuration, entreat.toml:

  [[upstream]]
  name = 'files'
  command = ['npx', '-y', '@modelcontextprotocol/server-filesystem', '/srv/files']
  tools.deny = ['write_*']

  [[upstream]]
  name = 'tickets'
  url = 'https://tickets.example.com/mcp'
  header_files = { Authorization = 'tickets.token' }
  pin = 'block'

  [[rule]]
  action = 'ask'
  server = 'tickets'
  tool = 'delete_*'

At /mcp, tools and prompts are called NAME__tool, and URIs begin with NAME+; a single server keeps
its own names. Clients on this machine need no key; others use that of an [[asker]].

With --stdio, it is one server in a client's configuration, for you alone. An agent may start it in
a folder with untrusted files, so it doesn't read entreat.toml there: settings come from your own
file, from --config, from the environment and from flags. Questions are kept in memory unless a
store is configured.

Exit codes: 0 shut down normally, all servers answer; 1 a server doesn't answer (check); 2 wrong
usage or settings, a store or address that can't be used; above 128: ended by a second signal.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    match &args.command {
        Some(GatewayCommand::Check(args)) => check::run(args, context, out),
        Some(GatewayCommand::SignIn(args)) => sign_in::run(args, context, out),
        Some(GatewayCommand::SignOut(args)) => sign_in::forget(args, context),
        Some(GatewayCommand::ApproveTools(args)) => approve_tools(args, context, out),
        Some(GatewayCommand::Status(args)) => status::run(args, context, out),
        None if args.stdio => stdio::run(args, context),
        None => serve(args, context),
    }
}

fn serve(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let config = config::load(
        &args.shared,
        &args.serve,
        ConfigLocation::WorkingFolder,
        context.environment(),
    )?;
    has_servers(&config)?;
    let location = config
        .store_location()?
        .map(|location| args.new_store.allow(location));
    let options = GatewayOptions {
        routes: routes(&config)?,
        settings: config.gateway_settings(),
        front: config.front_settings(),
        respondents: config.respondents(),
    };
    let has_browser = browser::may_open(context);
    let resource = config.tokens.protected_resource(config.pages.issuer())?;
    let add = move |builder: Builder| {
        let builder = builder.gateway(options);
        let builder = match resource {
            Some(resource) => builder.mcp_tokens(resource),
            None => builder,
        };
        if has_browser {
            builder.gateway_browser(agent::open_page)
        } else {
            builder
        }
    };
    runtime::block_on_all(serve::serve(&config, location, context, add, "/mcp"))
}

fn has_servers(config: &Config) -> anyhow::Result<()> {
    if config.upstreams.is_empty() {
        bail!(
            "there are no servers: name them in [[upstream]] tables of the configuration; \
             `entreat gateway --help` has an example"
        );
    }
    Ok(())
}

/// The routes to all servers.
fn routes(config: &Config) -> anyhow::Result<Vec<Route>> {
    let has_pins = config
        .upstreams
        .iter()
        .any(|upstream| upstream.pin.is_some());
    let pins = if has_pins {
        pins_file(config)?
    } else {
        PathBuf::new()
    };
    let route = |upstream: &UpstreamConfig| {
        let per_principal = match upstream.target {
            UpstreamTarget::Command { .. } => 4,
            UpstreamTarget::Url { .. } => 64,
        };
        let tokens =
            account(config, upstream)?.map(|account| Arc::new(account) as Arc<dyn TokenSource>);
        let (policy, log) = (policy(upstream, &pins), log_of(&upstream.name));
        anyhow::Ok(Route {
            name: upstream.name.clone(),
            connect: connect(upstream.clone(), policy, log, tokens),
            per_principal,
        })
    };
    config.upstreams.iter().map(route).collect()
}

/// The file of approved tools, beside the store.
fn pins_file(config: &Config) -> anyhow::Result<PathBuf> {
    config
        .data_file("tools.json")
        .context("there is no folder for the file of approved tools")
}

fn policy(upstream: &UpstreamConfig, pins: &std::path::Path) -> Policy {
    Policy {
        allow: upstream.allow.clone(),
        deny: upstream.deny.clone(),
        may_ask_forms: upstream.may_ask_forms,
        may_ask_urls: upstream.may_ask_urls,
        questions_per_minute: upstream.questions_per_minute,
        pins: upstream.pin.map(|mode| Pins::new(pins, mode)),
    }
}

/// Connects to a server, or starts it.
fn connect(
    upstream: UpstreamConfig,
    policy: Policy,
    log: LogLine,
    tokens: Option<Arc<dyn TokenSource>>,
) -> Connect {
    let connections = OnceLock::new();
    Arc::new(move || {
        let started = start(&upstream, &log, &connections, tokens.as_ref())
            .map_err(|error| std::io::Error::other(format!("{error:#}")));
        let (sender, receiver, url) = started?;
        Ok(Upstream {
            sender,
            receiver,
            name: upstream.name.clone(),
            is_named: true,
            url,
            policy: policy.clone(),
            era: upstream.era,
        })
    })
}

type Started = (UpstreamSender, UpstreamReceiver, Option<String>);

/// Starts a server, or prepares to call it over connections that all its sessions share.
fn start(
    upstream: &UpstreamConfig,
    log: &LogLine,
    connections: &OnceLock<SharedConnections>,
    tokens: Option<&Arc<dyn TokenSource>>,
) -> anyhow::Result<Started> {
    match &upstream.target {
        UpstreamTarget::Command {
            program,
            arguments,
            folder,
            environment,
            environment_files,
        } => {
            let mut command = ChildCommand::new(program);
            command.arguments.clone_from(arguments);
            command.directory.clone_from(folder);
            command.launcher = std::env::current_exe().ok();
            command.stderr = Stderr::Lines(log.clone());
            for (name, value) in environment {
                command.environment.push((name.into(), value.into()));
            }
            for (name, file) in environment_files {
                let value = config::read_secret(file, "secret")?;
                command
                    .environment
                    .push((name.into(), value.as_str().into()));
            }
            let (sender, receiver) = Child::start(command)?;
            Ok((
                UpstreamSender::Child(sender),
                UpstreamReceiver::Child(receiver),
                None,
            ))
        }
        UpstreamTarget::Url { url, header_files } => {
            let headers = config::upstream_headers(header_files)?;
            let connections = if let Some(connections) = connections.get() {
                connections.clone()
            } else {
                let made = SharedConnections::to(url)?;
                connections.get_or_init(|| made).clone()
            };
            let mut target = HttpTarget::new(url, headers).sharing(connections);
            if let Some(tokens) = tokens {
                target = target.with_tokens(tokens.clone());
            }
            let (sender, receiver) = Http::connect(target)?;
            Ok((
                UpstreamSender::Http(sender),
                UpstreamReceiver::Http(receiver),
                Some(url.clone()),
            ))
        }
    }
}

/// Logs what a server writes to its stderr: it must not look like a line of ours.
fn log_of(server: &str) -> LogLine {
    let server = server.to_owned();
    Arc::new(move |line| {
        let text = shown(line);
        tracing::info!(target: "entreat::upstream", server, "{text}");
    })
}

/// What a server writes, as text that no terminal takes for a command.
fn shown(line: &[u8]) -> String {
    let line = &line[..line.len().min(LONGEST_LOG_LINE)];
    let text = String::from_utf8_lossy(line);
    output::sanitize(text.trim_end()).into_owned()
}

/// The configuration, and the servers of a name or all.
fn selected(args: &ServerArgs, context: &Context) -> anyhow::Result<(Config, Vec<UpstreamConfig>)> {
    let config = config::load(
        &args.shared,
        &ServeArgs::default(),
        ConfigLocation::WorkingFolder,
        context.environment(),
    )?;
    let mut upstreams = config.upstreams.clone();
    if let Some(name) = &args.name {
        upstreams.retain(|upstream| upstream.name == *name);
        if upstreams.is_empty() {
            bail!("there is no server {}", output::sanitize(name));
        }
    }
    Ok((config, upstreams))
}

fn approve_tools(
    args: &ServerArgs,
    context: &Context,
    out: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let (config, upstreams) = selected(args, context)?;
    let file = pins_file(&config)?;
    for upstream in upstreams.iter().filter(|upstream| upstream.pin.is_some()) {
        let forgot = forget_tools(&file, &upstream.name)
            .with_context(|| format!("cannot change {}", file.display()))?;
        let said = if forgot {
            "its tools are approved as it lists them next"
        } else {
            "no tools were noted yet"
        };
        writeln!(out, "{}: {said}", upstream.name)?;
    }
    if upstreams.iter().all(|upstream| upstream.pin.is_none()) {
        bail!("no server has `pin`, so nothing is to be approved");
    }
    Ok(Exit::Success)
}

mod check;
mod sign_in;
mod status;
mod stdio;
