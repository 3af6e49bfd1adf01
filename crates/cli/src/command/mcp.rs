//! `entreat mcp`: Entreat as an MCP server, for agents that need their human.

use std::net::Ipv4Addr;

use anyhow::Context as _;
use tokio::net::TcpListener;

use crate::browser;
use crate::config::{self, Config, ConfigArgs, ServeArgs};
use crate::context::{Context, Exit};
use crate::signals::Signals;
use crate::store::{NewStoreArgs, Place};
use crate::{runtime, service};

/// Be an MCP server with which an agent asks its human
///
/// The tools are `ask_user`, `ask_status` and `ask_cancel`; each form of the folder is a prompt.
/// The client shows the questions. What it cannot show is asked on a page of this machine, which
/// opens in the browser.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Serve Streamable HTTP under `/mcp` on this port of loopback, instead of stdin and stdout; 0
    /// is any that is free
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    #[command(flatten)]
    shared: ConfigArgs,
    #[command(flatten)]
    new_store: NewStoreArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat mcp --forms forms/
  entreat mcp --port 7272

Exit codes: 0 the client went, or a signal ended it; 2 wrong usage or settings, a store or a port
that cannot be had; above 128: a second signal ended it.";

pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let config = config::load(&args.shared, &ServeArgs::default(), context.environment())?;
    let place = match config.store {
        Some(_) => config.place()?.map(|place| args.new_store.allow(place)),
        None => None,
    };
    runtime::block_on_all(serve(&config, place, args.port, context))
}

async fn serve(
    config: &Config,
    place: Option<Place>,
    port: Option<u16>,
    context: &mut Context,
) -> anyhow::Result<Exit> {
    let telemetry = service::announce(config, context)?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let has_browser = browser::may_open(context);
    let service = service::start(config, place, |builder| {
        let builder = builder
            .listen((Ipv4Addr::LOCALHOST, 0))
            .mcp_local_clients(true);
        if !has_browser {
            return builder;
        }
        builder.browser(|url| {
            if let Err(error) = browser::open(url) {
                tracing::warn!(%error, "the browser did not open");
            }
        })
    })
    .await?;
    let agent = service.entreat.ask_server();
    let ended = match port {
        None => tokio::select! {
            ended = agent.serve_stdio() => ended.context("cannot go on serving"),
            _ = signals.next() => Ok(()),
        },
        Some(port) => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
            let listener = listener.with_context(|| format!("cannot listen on port {port}"))?;
            context.say(format_args!(
                "listening on http://{}/mcp",
                listener.local_addr()?
            ));
            let (end, told) = tokio::sync::oneshot::channel::<()>();
            let serving = agent.serve_http(listener, async {
                let _ = told.await;
            });
            let mut serving = std::pin::pin!(serving);
            tokio::select! {
                ended = &mut serving => ended.context("cannot go on serving"),
                _ = signals.next() => {
                    drop(end);
                    serving.await.context("cannot end well")
                }
            }
        }
    };
    tokio::select! {
        () = service.close_with(telemetry) => {}
        signal = signals.next() => return Ok(signal),
    }
    ended?;
    Ok(Exit::Clean)
}
