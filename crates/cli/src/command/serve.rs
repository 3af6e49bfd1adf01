//! `entreat serve`: serves the control API over HTTP until a signal.

use anyhow::Context as _;
use entreat::Builder;

use crate::config::{self, Config, ConfigArgs, ConfigLocation, ServeArgs};
use crate::context::{Context, Exit};
use crate::signals::Signals;
use crate::store::{NewStoreArgs, StoreLocation};
use crate::{metrics, open_files, runtime, service};

/// Serve the control API over HTTP, for programs in any language
///
/// Questions and answers are stored in a file that survives a crash, unless the store is `memory`.
/// Programs on this machine need no key. To accept others, directly or through a proxy, configure
/// askers with keys.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    serve: ServeArgs,
    #[command(flatten)]
    shared: ConfigArgs,
    #[command(flatten)]
    new_store: NewStoreArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat serve
  entreat serve --listen 127.0.0.1:0 --store memory --forms forms/
  entreat serve --config /etc/entreat/entreat.toml --log-format json

To ask a question:
  curl -H 'content-type: application/json' http://127.0.0.1:7171/rpc -d '{\"jsonrpc\": \"2.0\",
    \"id\": 1, \"method\": \"elicitation/create\", \"params\":
    {\"prompt\": \"What is your name?\", \"timeout\": 300000}}'

When it is ready, it prints `listening on http://…` to stderr; logs go there too. SIGTERM or Ctrl-C
shuts it down gracefully, a second one immediately. To see the settings, run `entreat config`.

Exit codes: 0 shut down normally; 2 wrong usage or settings, a store that cannot be opened, an
address that cannot be used; above 128: ended by a second signal.";

pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let config = config::load(
        &args.shared,
        &args.serve,
        ConfigLocation::WorkingFolder,
        context.environment(),
    )?;
    let location = config
        .store_location()?
        .map(|location| args.new_store.allow(location));
    runtime::block_on_all(serve(&config, location, context, |builder| builder, ""))
}

/// Serves until a signal. `add` adds to what is served, and `path` is where clients find that.
pub(super) async fn serve(
    config: &Config,
    location: Option<StoreLocation>,
    context: &mut Context,
    add: impl FnOnce(Builder) -> Builder,
    path: &str,
) -> anyhow::Result<Exit> {
    let telemetry = service::start_logging(config, context)?;
    let mut http = config.http.clone();
    let limit = open_files::raise_limit();
    let (connections, few_files) = open_files::connections(http.connections, limit)?;
    http.connections = connections;
    for warning in few_files.into_iter().chain(config.warnings()) {
        context.say(format_args!("entreat: warning: {warning}"));
    }
    let registry = metrics::install()?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let tls = config.pages.tls()?;
    let identity = config.pages.identity()?;
    let service = service::start(config, location, |builder| {
        let mut builder = builder
            .listen(config.listen)
            .http(http)
            .local_without_key(config.local_may_ask())
            .identity(identity)
            .upload_settings(config.pages.upload_settings())
            .metrics(move || registry.render());
        if let Some(folder) = config.uploads() {
            builder = builder.uploads(folder);
        }
        if let Some(tls) = tls {
            builder = builder.tls(tls);
        }
        if let Some(url) = &config.public_url {
            builder = builder.public_url(url);
        }
        for asker in &config.askers {
            let (key, settings) = (asker.key.expose(), asker.settings.clone());
            builder = builder
                .key_with_role(key, &asker.name, settings, asker.role)
                .brand(&asker.name, asker.brand.clone());
        }
        add(builder)
    })
    .await?;
    if let Some(url) = service.entreat.listening_url() {
        service.announce(&url);
        context.say(format_args!("listening on {url}{path}"));
        let has_pages = service.entreat.pages().is_some() && !config.reach().rejects_everyone();
        if has_pages {
            // Not the link itself: it lets people in, and stderr is often a log.
            let how = if config.local_may_ask() && config.askers.is_empty() {
                format!("run `entreat inbox --url {url}`")
            } else {
                "run `entreat inbox` as this user, with the same flags".to_owned()
            };
            context.say(format_args!("for the link to your inbox, {how}"));
        }
    }
    let signal = signals.next().await;
    tracing::info!(?signal, "shutting down");
    tokio::select! {
        () = service.close_with(telemetry) => Ok(Exit::Success),
        signal = signals.next() => Ok(signal),
    }
}
