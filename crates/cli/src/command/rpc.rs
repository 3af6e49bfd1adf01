//! `entreat rpc`: the control API on stdin and stdout, for the program that started it.

use anyhow::Context as _;
use entreat::service::stdio;
use tokio::io::BufReader;

use crate::config::{self, Config, ConfigArgs, ConfigLocation, LOCAL, ServeArgs};
use crate::context::{Context, Exit};
use crate::signals::Signals;
use crate::store::{NewStoreArgs, StoreLocation};
use crate::{runtime, service};

/// Serve the control API on stdin and stdout, one message per line
///
/// For programs that start Entreat themselves. Questions are kept in memory unless a flag, variable
/// or file sets a store. When stdin ends, open questions are cancelled unless they are durable.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    shared: ConfigArgs,
    #[command(flatten)]
    new_store: NewStoreArgs,
}

const AFTER_HELP: &str = "\
Examples:
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"forms/list\"}' | entreat rpc --forms forms/
  entreat rpc --store questions.db --log warn

Exit codes: 0 end of stdin, or a signal; 2 wrong usage or settings, a store that cannot be opened,
a message that is too long; above 128: ended by a second signal.";

pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let serve = ServeArgs::default();
    let config = config::load(
        &args.shared,
        &serve,
        ConfigLocation::WorkingFolder,
        context.environment(),
    )?;
    let location = config
        .configured_store_location()?
        .map(|location| args.new_store.allow(location));
    runtime::block_on_all(answer(&config, location, context))
}

async fn answer(
    config: &Config,
    location: Option<StoreLocation>,
    context: &mut Context,
) -> anyhow::Result<Exit> {
    let telemetry = service::start_logging(config, context)?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let service = service::start(config, location, |builder| builder).await?;
    let asker = service.entreat.asker(LOCAL);
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let end = async {
        signals.next().await;
    };
    let rpc = service.entreat.rpc();
    let answered = stdio::serve(rpc, asker, BufReader::new(input), output, end).await;
    tokio::select! {
        () = service.close_with(telemetry) => {}
        signal = signals.next() => return Ok(signal),
    }
    answered.context("the server failed")?;
    Ok(Exit::Success)
}
