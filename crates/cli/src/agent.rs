//! What the commands have in common that an agent or its client starts: `mcp`, `wrap` and
//! `gateway --stdio`.
//!
//! The folder that they are started in may be anybody's, so no file in it is read. Their pages are on
//! this machine, or those of another service.

use std::net::Ipv4Addr;

use entreat::Builder;

use crate::config::{self, Config, ConfigArgs, ConfigLocation, ServeArgs};
use crate::environment::Environment;
use crate::service::{self, Service};
use crate::store::{NewStoreArgs, StoreLocation};
use crate::{browser, remote};

pub(crate) const CONFIG_HELP: &str = "The configuration file [default: `$ENTREAT_CONFIG`, or \
                           entreat/entreat.toml in `$XDG_CONFIG_HOME` or ~/.config]";

/// Loads the configuration of the user. Questions are kept in memory unless it names a store.
pub(crate) fn load(
    shared: &ConfigArgs,
    new_store: &NewStoreArgs,
    environment: &Environment,
) -> anyhow::Result<(Config, Option<StoreLocation>)> {
    let none = ServeArgs::default();
    let config = config::load(shared, &none, ConfigLocation::User, environment)?;
    let location = config.configured_store_location()?;
    Ok((config, location.map(|location| new_store.allow(location))))
}

/// Another service to ask through.
pub(crate) struct AskThrough {
    pub(crate) url: String,
    pub(crate) key: Option<String>,
}

impl AskThrough {
    /// The service that a flag or the configuration names.
    pub(crate) fn find(
        config: &Config,
        named: Option<&str>,
        environment: &Environment,
    ) -> anyhow::Result<Option<Self>> {
        let Some(url) = named.or(config.service.as_deref()) else {
            return Ok(None);
        };
        let key = match &config.service_key_file {
            Some(file) => Some(config::read_secret(file, "key")?.trim().to_owned()),
            None => remote::key_in(environment).map(str::to_owned),
        };
        Ok(Some(Self {
            url: url.to_owned(),
            key,
        }))
    }
}

/// Starts a service with pages at a free port of this machine, or at another service.
pub(crate) async fn start(
    config: &Config,
    location: Option<StoreLocation>,
    through: Option<AskThrough>,
    customise: impl FnOnce(Builder) -> Builder,
) -> anyhow::Result<Service> {
    let start = |builder: Builder| {
        let builder = builder
            .listen((Ipv4Addr::LOCALHOST, 0))
            .http(config.http.clone());
        customise(match through {
            Some(service) => builder.service_at(service.url, service.key),
            None => builder,
        })
    };
    service::start(config, location, start).await
}

/// Opens a page for a question of an agent, which goes on if that fails: it has a link, too.
pub(crate) fn open_page(url: &str) {
    if let Err(error) = browser::open(url) {
        tracing::warn!(%error, "the browser did not open");
    }
}
