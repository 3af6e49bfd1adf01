//! A service from what holds: the store opened, and what to say if it does not start.

use std::sync::Arc;

use anyhow::anyhow;
use entreat::service::Callbacks;
use entreat::{Builder, EmbeddedStore, Entreat, EntreatError};

use crate::config::{Config, Origin};
use crate::context::Context;
use crate::log;
use crate::store::Place;
use crate::telemetry::Telemetry;

/// A service, and the store that it keeps questions in.
pub(crate) struct Service {
    pub(crate) entreat: Entreat,
    store: Option<Arc<EmbeddedStore>>,
}

/// Begins to log, and says what there is to say about the settings; where traces go, if they do.
pub(crate) fn announce(
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

/// Starts a service. `place` is where its store is; `None` is in memory.
pub(crate) async fn start(
    config: &Config,
    place: Option<Place>,
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
    let Some(place) = place else {
        let entreat = builder
            .start()
            .await
            .map_err(|error| explain(config, error))?;
        return Ok(Service {
            entreat,
            store: None,
        });
    };
    let prepared = place.prepare()?;
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
                EntreatError::Engine(error) => place.explain_start(error, prepared.has_new_keys),
                error => explain(config, error),
            })
        }
    }
}

impl Service {
    /// Ends it: all is on disk when this returns.
    pub(crate) async fn close(self) {
        self.entreat.shutdown().await;
        if let Some(store) = self.store {
            store.close().await;
        }
    }

    /// Ends it, then what tells of it.
    pub(crate) async fn close_with(self, telemetry: Option<Telemetry>) {
        self.close().await;
        if let Some(telemetry) = telemetry {
            telemetry.close().await;
        }
    }
}

/// Adds what to do.
fn explain(config: &Config, error: EntreatError) -> anyhow::Error {
    match error {
        EntreatError::NoKey { address } => {
            let file = config.file.as_deref().unwrap_or("entreat.toml");
            let remedy = format!("add an [[asker]] with a name and a key to {file}");
            if address.ip().to_canonical().is_loopback() {
                let why = config.reach().why_keys();
                let why = why.unwrap_or("`local_without_key` is false");
                return anyhow!("nobody could ask: {why}, and there is no key; {remedy}");
            }
            anyhow!(
                "{address} can be reached from other machines, and nobody who asks there has a \
                 key; {remedy}, or listen on 127.0.0.1"
            )
        }
        EntreatError::Listen { address, .. } => {
            let place = match config.origin("listen") {
                Origin::Default => String::new(),
                origin => format!(" (from {origin})"),
            };
            let error = anyhow::Error::from(error);
            let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
            let cause = causes.join(": ");
            anyhow!("cannot listen on {address}{place}: {cause}; name another with --listen")
        }
        error => error.into(),
    }
}
