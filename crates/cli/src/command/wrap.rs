//! `entreat wrap`: stands between an MCP client and one server, neither of which knows.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use entreat::core::is_unsafe_to_display;
use entreat::gateway::side::child::{Child, ChildCommand};
use entreat::gateway::side::http::{Http, HttpTarget};
use entreat::gateway::side::lines::stdio;
use entreat::gateway::side::{Closed, UpstreamReceiver, UpstreamSender};
use entreat::gateway::{
    ApprovalAction, ApprovalRule, GatewaySettings, Glob, Policy, Root, Trace, Upstream, UpstreamEra,
};
use http::HeaderMap;
use url::Url;

use super::call;
use crate::agent::{self, AskThrough, CONFIG_HELP};
use crate::config::{Config, ConfigArgs};
use crate::context::{Context, Exit};
use crate::language::LanguageArg;
use crate::sign_in::{SignInArgs, SignInWay};
use crate::signals::Signals;
use crate::store::{NewStoreArgs, StoreLocation};
use crate::texts::Texts;
use crate::{browser, output, runtime, server_label, service, trace_file};

/// Stand between an MCP client and a server, so that the server's questions reach you
///
/// Put it in front of a server in the client's configuration. Everything passes as it is; what the
/// client can't show is asked on a local page that opens in the browser, and clients and servers of
/// different protocol versions understand each other.
#[derive(clap::Args)]
#[command(
    after_help = AFTER_HELP,
    override_usage = "entreat wrap [OPTIONS] -- COMMAND...\n       entreat wrap [OPTIONS] URL"
)]
#[command(mut_arg("config", |config| config.help(CONFIG_HELP)))]
pub(crate) struct Args {
    /// The server's URL
    #[arg(value_name = "URL", value_hint = clap::ValueHint::Url, conflicts_with = "command")]
    url: Option<String>,
    /// The command that starts the server on stdio
    #[arg(last = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
    /// A folder to offer to the server as a root, besides those of the client; may be repeated
    #[arg(long = "root", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    roots: Vec<PathBuf>,
    /// Ask nothing: questions that the client can't show are left to it
    #[arg(long)]
    no_fulfil: bool,
    /// The protocol version to speak to the server
    #[arg(long, value_enum, default_value = "auto")]
    era: EraArg,
    /// What to call the server, on pages and in rules [default: the command, or the script or package
    /// that it runs, such as `server.py`; the URL's host]
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    name: Option<String>,
    /// Ask you before calls of the tools whose names match, such as `delete_*`; may be repeated. `*`
    /// stands for any characters, `?` for one
    #[arg(long, value_name = "GLOB")]
    approve: Vec<Glob>,
    /// Ask you before every call of a tool
    #[arg(long, conflicts_with = "approve")]
    approve_all: bool,
    /// A header for each HTTP request, such as `Authorization: Bearer ...`. Other users of this
    /// machine can see flags
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = call::header)]
    headers: Vec<call::Header>,
    /// An environment variable with a header, such as `Authorization: Bearer ...`
    #[arg(long = "header-env", value_name = "VARIABLE")]
    header_variables: Vec<String>,
    /// Ask through a running service, such as `http://127.0.0.1:7171`: its pages and its inbox. The
    /// key is taken from `$ENTREAT_API_KEY` or the file named by the setting `service_key_file`
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url, conflicts_with = "store")]
    service: Option<String>,
    /// Write a line of JSON for each message to this file, which is created or continued. Answers and
    /// secrets are left out
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    trace: Option<PathBuf>,
    #[command(flatten)]
    sign_in: SignInArgs,
    #[command(flatten)]
    shared: ConfigArgs,
    #[command(flatten)]
    new_store: NewStoreArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum EraArg {
    /// That of the client, if the server supports it
    Auto,
    /// 2025-11-25 or older: for servers that can't ask in 2026-07-28
    Legacy,
}

impl From<EraArg> for UpstreamEra {
    fn from(era: EraArg) -> Self {
        match era {
            EraArg::Auto => Self::Auto,
            EraArg::Legacy => Self::Legacy,
        }
    }
}

/// The longest name of a server, in characters.
const MAX_NAME: usize = 64;

const AFTER_HELP: &str = "\
`entreat setup CLIENT --wrap NAME` puts it in front of a server that the client already has.

With --approve, a call waits until you approve it. Rules in your settings say more:

  [[rule]]
  action = 'ask'            # or allow, or deny; the first rule that matches decides
  server = 'files'          # * and ? stand for other characters
  tool = 'write_*'
  when = { operator = 'regex', field = 'path', value = '^/etc/' }

An agent may start it in a folder with untrusted files, so it doesn't read entreat.toml there:
settings come from your own file, from the environment and from flags.

Examples:
  entreat wrap -- npx -y @modelcontextprotocol/server-everything
  entreat wrap --approve 'delete_*' --approve 'drop_*' -- my-server
  entreat wrap --root ~/projects -- npx -y @modelcontextprotocol/server-filesystem
  entreat wrap https://example.com/mcp
  entreat wrap --trace /tmp/server.jsonl -- my-server

Exit codes: that of the server's command; 0 for a URL, when the client disconnected; 2 wrong usage
or settings, or a command that can't be started; above 128: ended by a signal.";

pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let environment = context.environment();
    let (config, location) = agent::load(&args.shared, &args.new_store, environment)?;
    runtime::block_on(relay(&config, location, args, context))
}

async fn relay(
    config: &Config,
    location: Option<StoreLocation>,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<Exit> {
    let telemetry = service::start_logging(config, context)?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let settings = GatewaySettings {
        fulfils: !args.no_fulfil,
        approvals: approvals(config, args),
        roots: roots(&args.roots)?,
        ..config.gateway_settings()
    };
    let trace = args.trace.as_deref().map(trace_file::open).transpose()?;
    // First, because it takes longest.
    let upstream = connect(args, context)?;
    let named = args.service.as_deref();
    let through = AskThrough::find(config, named, context.environment())?;
    let has_browser = browser::may_open(context);
    let service = agent::start(config, location, through, |builder| builder).await?;
    let mut gateway = service.entreat.gateway().settings(settings);
    if has_browser {
        gateway = gateway.browser(agent::open_page);
    }
    let trace = trace.map(|file| Trace::start(service.entreat.engine().clone(), file));
    let trace = trace.transpose().context("cannot start the trace")?;
    if let Some(trace) = &trace {
        gateway = gateway.trace(trace.clone());
    }
    let gateway = gateway.build();
    let (input, output) = stdio();
    let exit = tokio::select! {
        closed = gateway.wrap(input, output, upstream) => exit_of(closed),
        signal = signals.next() => signal,
    };
    drop(gateway);
    let closing = async {
        if let Some(trace) = trace {
            trace.close().await;
        }
        service.close_with(telemetry).await;
    };
    tokio::select! {
        () = closing => Ok(exit),
        signal = signals.next() => Ok(signal),
    }
}

/// The rules of the settings, and those of flags, which only add to them.
fn approvals(config: &Config, args: &Args) -> Vec<ApprovalRule> {
    let ask = || ApprovalRule::new(ApprovalAction::Ask).added();
    let rules = config.approvals.iter().map(|rule| rule.rule.clone());
    let globs = args.approve.iter();
    let globs = globs.map(|glob| ask().for_tool(glob.clone()));
    let all = args.approve_all.then(ask);
    rules.chain(globs).chain(all).collect()
}

/// Reads the name of a server, which pages show.
fn server_name(name: &str) -> Result<String, &'static str> {
    let length = name.chars().count();
    let is_shown = !name.chars().any(is_unsafe_to_display);
    if name.trim().is_empty() || length > MAX_NAME || !is_shown {
        return Err("use 1 to 64 visible characters");
    }
    Ok(name.to_owned())
}

/// Starts the server, or prepares to call it.
fn connect(args: &Args, context: &Context) -> anyhow::Result<Upstream> {
    let environment = context.environment();
    if let Some(url) = &args.url {
        let mut headers = HeaderMap::new();
        for (name, value) in &args.headers {
            headers.append(name.clone(), value.clone());
        }
        for variable in &args.header_variables {
            let shown = output::sanitize(variable);
            let text = environment.variable(variable).and_then(OsStr::to_str);
            let text = text.with_context(|| format!("--header-env {shown}: it is not set"))?;
            // Without the value, which may be a secret.
            let header = call::header(text);
            let (name, value) =
                header.map_err(|_| anyhow!("--header-env {shown}: it is not NAME: VALUE"))?;
            headers.append(name, value);
        }
        let mut target = HttpTarget::new(url, headers);
        let texts = Texts::of(&LanguageArg::default().messages(context));
        if let Some(tokens) = args
            .sign_in
            .tokens(url, SignInWay::Browser, texts, context)?
        {
            target = target.with_tokens(tokens);
        }
        let (sender, receiver) = Http::connect(target)?;
        let name = Url::parse(url).ok();
        let name = name.and_then(|url| url.host_str().map(str::to_owned));
        return Ok(Upstream {
            sender: UpstreamSender::Http(sender),
            receiver: UpstreamReceiver::Http(receiver),
            name: args.name.clone().or(name).unwrap_or_else(|| url.clone()),
            is_named: args.name.is_some(),
            url: Some(url.clone()),
            policy: Policy::default(),
            era: args.era.into(),
        });
    }
    let Some((program, arguments)) = args.command.split_first() else {
        bail!("name a server: `entreat wrap URL` or `entreat wrap -- COMMAND...`");
    };
    let mut command = ChildCommand::new(program);
    command.arguments = arguments.to_vec();
    command.launcher = std::env::current_exe().ok();
    let name = output::sanitize_path(program);
    let (sender, receiver) =
        Child::start(command).with_context(|| format!("cannot start {name}"))?;
    Ok(Upstream {
        sender: UpstreamSender::Child(sender),
        receiver: UpstreamReceiver::Child(receiver),
        name: args.name.clone().unwrap_or_else(|| {
            let name = server_label::of(program, arguments);
            name.unwrap_or_else(|| output::sanitize_path(program))
        }),
        is_named: args.name.is_some(),
        url: None,
        policy: Policy::default(),
        era: args.era.into(),
    })
}

fn roots(folders: &[PathBuf]) -> anyhow::Result<Vec<Root>> {
    let root = |folder: &PathBuf| {
        let shown = output::sanitize_path(folder);
        let path = folder
            .canonicalize()
            .with_context(|| format!("--root {shown}: there is no such folder"))?;
        let uri = Url::from_directory_path(&path)
            .map_err(|()| anyhow::anyhow!("--root {shown}: it has no URL"))?;
        let name = path.file_name();
        Ok(Root {
            uri: uri.as_str().trim_end_matches('/').to_owned(),
            name: name.map(|name| name.to_string_lossy().into_owned()),
        })
    };
    folders.iter().map(root).collect()
}

fn exit_of(closed: Closed) -> Exit {
    match closed {
        Closed::Here => Exit::Success,
        Closed::Exited(None) => Exit::Error,
        Closed::Exited(Some(status)) => {
            #[cfg(unix)]
            let signal = std::os::unix::process::ExitStatusExt::signal(&status);
            #[cfg(not(unix))]
            let signal: Option<i32> = None;
            let code = status.code().or(signal.map(|signal| 128 + signal));
            match code {
                Some(0) => Exit::Success,
                Some(code) => Exit::OfServer(u8::try_from(code & 0xff).unwrap_or(1)),
                None => Exit::Error,
            }
        }
    }
}
