//! `entreat inbox`: prints the link to the inbox of the person who answers.
//!
//! The link lets people in, so it is printed on request only, and never into logs. Without --url,
//! it is derived from the store's keys: whoever can read them may have it.

use std::io::Write;

use anyhow::{Context as _, anyhow, bail};
use entreat::service::{PageSettings, Pages};
use entreat::{EmbeddedStore, Engine};
use serde_json::json;

use crate::config::{self, Config, ConfigArgs, ConfigLocation, ServeArgs};
use crate::context::{Context, Exit};
use crate::environment::Environment;
use crate::remote::{RemoteArgs, text};
use crate::{keys, output, runtime};

/// Print the link to your inbox, where questions wait for you
///
/// Takes the flags of `entreat serve`, and derives the link from the store's keys: run it as the
/// service's user. With --url, asks a running service; if nobody needs a key there, it gives the
/// link to programs on its machine.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    serve: ServeArgs,
    #[command(flatten)]
    shared: ConfigArgs,
}

const AFTER_HELP: &str = "\
Examples:
  entreat inbox
  entreat inbox --url http://127.0.0.1:7171
  xdg-open \"$(entreat inbox)\"

Anyone on this machine who has the link can see and answer your questions.

Exit codes: 0 printed; 2 wrong usage, no running service, no keys, a service that has no inbox or
doesn't give you its link.";

pub(crate) fn run(args: &Args, context: &mut Context, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let environment = context.environment();
    let link = match args.remote.service(environment)? {
        Some(service) => {
            let asked = runtime::block_on(service.call("inbox/link", json!({})))?;
            text(&asked?, "url")
        }
        None => runtime::block_on(derive(args, environment))?,
    };
    writeln!(out, "{link}")?;
    Ok(Exit::Success)
}

/// Derives the link as the service does, from its configuration and keys.
async fn derive(args: &Args, environment: &Environment) -> anyhow::Result<String> {
    let location = ConfigLocation::WorkingFolder;
    let config = config::load(&args.shared, &args.serve, location, environment)?;
    let url = page_url(&config)?;
    let Some(location) = config.store_location()? else {
        bail!("the service's questions and keys are in memory: use --url with its address");
    };
    let Some(keys) = keys::read(location.keys())? else {
        bail!(
            "the keys of the service's store are not at {}: use its flags, or --url with its \
             address",
            location.shown_keys()
        );
    };
    let engine = Engine::builder().keys(keys).start().await?;
    let settings = PageSettings {
        identity: config.pages.identity()?,
        ..PageSettings::default()
    };
    let link = Pages::new(engine.clone(), &url, settings).map(|pages| pages.inbox_link());
    engine.shutdown().await;
    Ok(output::sanitize(&link.context("cannot get random bytes from the system")?).into_owned())
}

/// The URL of the service's pages.
fn page_url(config: &Config) -> anyhow::Result<String> {
    if config.reach().rejects_everyone() {
        bail!("nobody can open the service's pages: run `entreat doctor` to see why");
    }
    if let Some(url) = &config.public_url {
        return Ok(url.clone());
    }
    let location = config.store_location()?;
    let running = location.filter(|location| EmbeddedStore::is_in_use(location.store()));
    let announced = running.and_then(|location| location.service_url());
    let url = announced.ok_or_else(|| {
        anyhow!(
            "no service is running with this store: start `entreat serve`, use its flags, or --url \
             with its address"
        )
    })?;
    if config.listen.ip().is_unspecified() {
        bail!("the service listens on all addresses: set `public_url`, so that links lead to it");
    }
    Ok(url)
}
