//! `entreat serve`: the control API over HTTP, until somebody ends it.

use anyhow::Context as _;

use crate::config::{self, Config, ConfigArgs, ServeArgs};
use crate::context::{Context, Exit};
use crate::signals::Signals;
use crate::store::{NewStoreArgs, Place};
use crate::{measure, runtime, service};

/// Serve the control API: programs of any language ask over HTTP
///
/// Questions and answers are kept in a file that survives a crash, unless the store is `memory`.
/// On this machine no key is needed; to be reached from others, the service needs askers with
/// keys in its configuration.
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

Ask it:
  curl -H 'content-type: application/json' http://127.0.0.1:7171/rpc -d '{\"jsonrpc\": \"2.0\",
    \"id\": 1, \"method\": \"elicitation/create\", \"params\": {\"prompt\": \"What is your name?\"}}'

It says `listening on http://…` on stderr once it is ready, and logs there. SIGTERM or Ctrl-C
lets requests under way end; a second one does not. `entreat config` prints the settings.

Exit codes: 0 ended as it was told to; 2 wrong usage or settings, a store that cannot be opened,
an address that cannot be had; above 128: a second signal ended it.";

pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let config = config::load(&args.shared, &args.serve, context.environment())?;
    let place = config.place()?.map(|place| args.new_store.allow(place));
    runtime::block_on_all(serve(&config, place, context))
}

async fn serve(
    config: &Config,
    place: Option<Place>,
    context: &mut Context,
) -> anyhow::Result<Exit> {
    let telemetry = service::announce(config, context)?;
    let mut http = config.http.clone();
    if let Some(files) = raise_file_limit() {
        http.connections = http
            .connections
            .min(files.saturating_sub(OTHER_FILES).max(1));
    }
    let metrics = measure::start()?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let shown = metrics.clone();
    let tls = config.pages.tls()?;
    let service = service::start(config, place, |builder| {
        let mut builder = builder
            .listen(config.listen)
            .http(http)
            .local_without_key(config.local_may_ask())
            .identity(config.pages.identity())
            .upload_settings(config.pages.upload_settings())
            .metrics(move || shown.render());
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
            builder = builder
                .key(asker.key.expose(), &asker.name, asker.settings.clone())
                .brand(&asker.name, asker.brand.clone());
        }
        builder
    })
    .await?;
    if let Some(url) = service.entreat.listening_url() {
        context.say(format_args!("listening on {url}"));
    }
    if let Some(pages) = service.entreat.pages() {
        context.say(format_args!("inbox at {}", pages.inbox_link()));
    }
    tokio::select! {
        signal = signals.next() => tracing::info!(?signal, "shutting down"),
        never = measure::tend(metrics) => match never {},
    }
    tokio::select! {
        () = service.close_with(telemetry) => Ok(Exit::Clean),
        signal = signals.next() => Ok(signal),
    }
}

/// Open files that are no connections: the store, the log, look-ups. Without them nothing that
/// comes over a connection could be answered.
const OTHER_FILES: usize = 128;

/// Lets the service hold as many connections as the system allows it: each is an open file, and
/// the usual limit is 1024. Returns how many files may be open, if there is a limit.
#[cfg(unix)]
fn raise_file_limit() -> Option<usize> {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    let allowed = match setrlimit(Resource::Nofile, limit) {
        Ok(()) => limit.current,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files stays as it is");
            before
        }
    };
    usize::try_from(allowed?).ok()
}

#[cfg(not(unix))]
fn raise_file_limit() -> Option<usize> {
    None
}
