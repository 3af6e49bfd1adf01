//! `entreat mcp`: Entreat as an MCP server, for agents that ask their user.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, ensure};
use entreat::service::{UploadSettings, http};

use crate::agent::{self, AskThrough, CONFIG_HELP};
use crate::config::{self, Config, ConfigArgs};
use crate::context::{Context, Exit};
use crate::signals::Signals;
use crate::store::{NewStoreArgs, StoreLocation};
use crate::{browser, runtime, service};

/// Run an MCP server that lets an agent ask its user
///
/// The tools are `ask_user`, `ask_status` and `ask_cancel`; each form in the folder is a prompt.
/// The client shows the questions. If it doesn't support them, they are asked on a local page that
/// opens in the browser.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
#[command(mut_arg("config", |config| config.help(CONFIG_HELP)))]
pub(crate) struct Args {
    /// Serve Streamable HTTP at `/mcp` on this loopback port instead of stdio; 0 picks a free port
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Serve Streamable HTTP at `/mcp` on this address, for clients with a token for the setting
    /// `mcp.resource`
    #[arg(long, value_name = "ADDR", conflicts_with = "port")]
    listen: Option<String>,
    /// The folder below which secrets and files are saved for the agent, on stdio [default: the
    /// working folder]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with_all = ["port", "listen"])]
    folder: Option<PathBuf>,
    /// Ask through a running service, such as `http://127.0.0.1:7171`: its pages and its inbox.
    /// Questions asked with `wait: false` then outlive this process. The key is taken from
    /// `$ENTREAT_API_KEY` or the file named by the setting `service_key_file`
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url, conflicts_with = "store")]
    service: Option<String>,
    #[command(flatten)]
    shared: ConfigArgs,
    #[command(flatten)]
    new_store: NewStoreArgs,
}

const AFTER_HELP: &str = "\
An agent may start it in a folder with untrusted files, so it doesn't read entreat.toml there:
settings come from your own file, from the environment and from flags. To see them, run
`entreat config --for mcp`.

Examples:
  entreat mcp --forms forms/
  entreat mcp --folder ~/projects/shop
  entreat mcp --port 7272
  entreat mcp --listen 0.0.0.0:7272 --service https://ask.example.com
  entreat mcp --service http://127.0.0.1:7171

Exit codes: 0 the client disconnected, or a signal; 2 wrong usage or settings, a store or port that
cannot be used; above 128: ended by a second signal.";

impl Args {
    /// Whether it serves its client on stdio.
    pub(crate) fn serves_stdio(&self) -> bool {
        self.port.is_none() && self.listen.is_none()
    }

    /// Where clients are served over HTTP.
    fn address(&self, config: &Config) -> anyhow::Result<Option<SocketAddr>> {
        if let Some(port) = self.port {
            return Ok(Some((Ipv4Addr::LOCALHOST, port).into()));
        }
        let Some(text) = &self.listen else {
            return Ok(None);
        };
        ensure!(
            config.tokens.resource().is_some(),
            "--listen serves clients that have a token: set `mcp.resource` and an [[mcp.issuer]], \
             or use --port for clients on this machine"
        );
        let address = config::address(text).map_err(|words| anyhow!("--listen: {words}"))?;
        Ok(Some(address))
    }
}

pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let environment = context.environment();
    let (config, location) = agent::load(&args.shared, &args.new_store, environment)?;
    runtime::block_on_all(serve(&config, location, args, context))
}

async fn serve(
    config: &Config,
    location: Option<StoreLocation>,
    args: &Args,
    context: &mut Context,
) -> anyhow::Result<Exit> {
    let address = args.address(config)?;
    let resource = config.tokens.protected_resource(config.pages.issuer())?;
    let resource = resource.filter(|_| address.is_some());
    let telemetry = service::start_logging(config, context)?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let has_browser = browser::may_open(context);
    let named = args.service.as_deref();
    let through = AskThrough::find(config, named, context.environment())?;
    let service = agent::start(config, location, through, |builder| {
        let builder = builder
            .mcp(config.mcp_settings())
            // Holders of tokens may be anywhere.
            .mcp_local_clients(resource.is_none())
            .upload_settings(UploadSettings {
                // Files never go through a model.
                inline_limit: 0,
                ..config.pages.upload_settings()
            });
        let builder = match resource {
            Some(resource) => builder.mcp_tokens(resource),
            None => builder,
        };
        if has_browser {
            builder.browser(agent::open_page)
        } else {
            builder
        }
    })
    .await?;
    let ended = match address {
        None => {
            let folder = match &args.folder {
                Some(folder) => folder.clone(),
                None => std::env::current_dir().context("there is no working folder")?,
            };
            let folder = std::path::absolute(folder).context("--folder is not a path")?;
            let agent = service.entreat.ask_server_in(folder);
            tokio::select! {
                ended = agent.serve_stdio() => ended.context("the server failed"),
                _ = signals.next() => Ok(()),
            }
        }
        Some(address) => {
            let agent = service.entreat.ask_server();
            let listener = http::listen(address);
            let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
            context.say(format_args!(
                "listening on http://{}/mcp",
                listener.local_addr()?
            ));
            let (end, ended) = tokio::sync::oneshot::channel::<()>();
            let serving = service.entreat.serve_mcp(agent, listener, async {
                let _ = ended.await;
            });
            let mut serving = std::pin::pin!(serving);
            tokio::select! {
                () = &mut serving => {}
                _ = signals.next() => {
                    drop(end);
                    serving.await;
                }
            }
            Ok(())
        }
    };
    tokio::select! {
        () = service.close_with(telemetry) => {}
        signal = signals.next() => return Ok(signal),
    }
    ended?;
    Ok(Exit::Success)
}
