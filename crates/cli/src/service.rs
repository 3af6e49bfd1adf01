//! Starts a service from a configuration, and explains why it cannot.

use std::sync::Arc;

use anyhow::anyhow;
use entreat::service::Callbacks;
use entreat::{Builder, EmbeddedStore, Entreat, EntreatError};

use crate::config::{Config, Origin};
use crate::context::Context;
use crate::log;
use crate::store::StoreLocation;
use crate::telemetry::Telemetry;

/// A running service and its store.
pub(crate) struct Service {
    pub(crate) entreat: Entreat,
    store: Option<Arc<EmbeddedStore>>,
}

/// Starts logging and prints remarks about the settings; returns the trace exporter, if any.
pub(crate) fn start_logging(
    config: &Config,
    context: &mut Context,
) -> anyhow::Result<Option<Telemetry>> {
    let telemetry = config.telemetry(context.environment())?;
    log::start(&config.log, config.log_format, telemetry.as_ref())?;
    for remark in &config.remarks {
        context.say(format_args!("entreat: {remark}"));
    }
    Ok(telemetry)
}

/// Starts a service. `location` is that of its store; `None` is in memory.
pub(crate) async fn start(
    config: &Config,
    location: Option<StoreLocation>,
    customise: impl FnOnce(Builder) -> Builder,
) -> anyhow::Result<Service> {
    let mut builder = customise(Entreat::builder()).settings(config.settings());
    if let Some(folder) = &config.forms {
        builder = builder.templates(folder);
    }
    let secrets = config.signing_secrets();
    if !secrets.is_empty() {
        builder = builder.callbacks(Callbacks::new(secrets)?);
    }
    let Some(location) = location else {
        let entreat = builder
            .start()
            .await
            .map_err(|error| explain(config, error))?;
        return Ok(Service {
            entreat,
            store: None,
        });
    };
    let prepared = location.prepare()?;
    let store = Arc::new(prepared.store);
    let builder = builder.store(store.clone()).sealing_keys(prepared.keys);
    match builder.start().await {
        Ok(entreat) => Ok(Service {
            entreat,
            store: Some(store),
        }),
        Err(error) => {
            store.close().await;
            Err(match error {
                EntreatError::Engine(error) => location.explain_start(error, prepared.has_new_keys),
                error => explain(config, error),
            })
        }
    }
}

impl Service {
    /// Tells commands that find the store in use where the service is.
    pub(crate) fn announce(&self, url: &str) {
        if let Some(store) = &self.store
            && let Err(error) = store.announce(url)
        {
            tracing::debug!(%error, "the address could not be written to the store's lock");
        }
    }

    /// Shuts down; everything is on disk when this returns.
    pub(crate) async fn close(self) {
        self.entreat.shutdown().await;
        if let Some(store) = self.store {
            store.close().await;
        }
    }

    /// Shuts down the service, then the trace exporter.
    pub(crate) async fn close_with(self, telemetry: Option<Telemetry>) {
        self.close().await;
        if let Some(telemetry) = telemetry {
            telemetry.close().await;
        }
    }
}

/// Adds a remedy to a start error.
fn explain(config: &Config, error: EntreatError) -> anyhow::Error {
    match error {
        EntreatError::NoKey { address } => {
            let file = config.file.as_deref().unwrap_or("entreat.toml");
            let remedy = format!("add an [[asker]] with a name and a key to {file}");
            if address.ip().to_canonical().is_loopback() {
                let why = config.reach().why_key_required();
                let why = why.unwrap_or("`local_without_key` is false");
                return anyhow!("nobody can ask: {why}, and no asker has a key; {remedy}");
            }
            anyhow!(
                "other machines can reach {address}, but no asker has a key; {remedy}, or listen \
                 on 127.0.0.1"
            )
        }
        EntreatError::Listen { address, .. } => {
            let source = match config.origin("listen") {
                Origin::Default => String::new(),
                origin => format!(" (from {origin})"),
            };
            let error = anyhow::Error::from(error);
            let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
            let cause = causes.join(": ");
            anyhow!("cannot listen on {address}{source}: {cause}; set another with --listen")
        }
        error => error.into(),
    }
}
