//! `entreat gateway --stdio`: all servers as one, for a client that has started this program.

use anyhow::Context as _;
use entreat::gateway::side::Closed;
use entreat::gateway::side::lines::stdio;

use super::{Args, has_servers, routes};
use crate::agent::{self, AskThrough};
use crate::config::Config;
use crate::context::{Context, Exit};
use crate::signals::Signals;
use crate::store::StoreLocation;
use crate::{browser, runtime, service};

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let environment = context.environment();
    let (config, location) = agent::load(&args.shared, &args.new_store, environment)?;
    has_servers(&config)?;
    runtime::block_on(relay(&config, location, context))
}

async fn relay(
    config: &Config,
    location: Option<StoreLocation>,
    context: &mut Context,
) -> anyhow::Result<Exit> {
    let telemetry = service::start_logging(config, context)?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let through = AskThrough::find(config, None, context.environment())?;
    let has_browser = browser::may_open(context);
    let routes = routes(config)?;
    let service = agent::start(config, location, through, |builder| builder).await?;
    let mut gateway = service
        .entreat
        .gateway()
        .settings(config.gateway_settings());
    if has_browser {
        gateway = gateway.browser(agent::open_page);
    }
    let gateway = gateway.build();
    let (input, output) = stdio();
    let relayed = async {
        // Nothing is renamed where nothing can be confused.
        let [route] = routes.as_slice() else {
            gateway.unite(input, output, routes).await;
            return anyhow::Ok(Exit::Success);
        };
        let upstream = (route.connect)().with_context(|| {
            let name = &route.name;
            format!("the server {name:?} cannot be started")
        })?;
        Ok(match gateway.wrap(input, output, upstream).await {
            Closed::Here => Exit::Success,
            Closed::Exited(_) => Exit::Error,
        })
    };
    let exit = tokio::select! {
        exit = relayed => exit,
        signal = signals.next() => Ok(signal),
    };
    drop(gateway);
    tokio::select! {
        () = service.close_with(telemetry) => exit,
        signal = signals.next() => Ok(signal),
    }
}
