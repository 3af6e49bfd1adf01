//! The backend of a question: in memory or a store, with or without pages.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use entreat::service::page::PageSettings;
use entreat::{EmbeddedStore, Engine, EngineSettings, Entreat, EntreatError};

use crate::store::{Opened, StoreLocation};

pub(super) enum Backend {
    Memory(Engine),
    Store(Opened),
    Pages(Box<Entreat>, Option<Arc<EmbeddedStore>>),
}

impl Backend {
    pub(super) async fn open(
        location: Option<&StoreLocation>,
        settings: EngineSettings,
    ) -> anyhow::Result<Self> {
        Ok(match location {
            Some(location) => Self::Store(location.open_or_create(settings).await?),
            None => Self::Memory(Engine::builder().settings(settings).start().await?),
        })
    }

    /// Opens a backend with pages, on a free local port.
    pub(super) async fn with_pages(
        location: Option<&StoreLocation>,
        settings: EngineSettings,
    ) -> anyhow::Result<Self> {
        let pages = PageSettings {
            poll: Duration::from_secs(1),
            ..PageSettings::default()
        };
        let builder = Entreat::builder()
            .settings(settings)
            .listen((Ipv4Addr::LOCALHOST, 0))
            .pages(pages);
        let Some(location) = location else {
            return Ok(Self::Pages(Box::new(builder.start().await?), None));
        };
        let prepared = location.prepare()?;
        let store = Arc::new(prepared.store);
        let builder = builder.store(store.clone()).sealing_keys(prepared.keys);
        match builder.start().await {
            Ok(entreat) => Ok(Self::Pages(Box::new(entreat), Some(store))),
            Err(error) => {
                store.close().await;
                Err(match error {
                    EntreatError::Engine(error) => {
                        location.explain_start(error, prepared.has_new_keys)
                    }
                    error => error.into(),
                })
            }
        }
    }

    pub(super) fn engine(&self) -> &Engine {
        match self {
            Self::Memory(engine) => engine,
            Self::Store(opened) => &opened.engine,
            Self::Pages(entreat, _) => entreat.engine(),
        }
    }

    pub(super) async fn close(self) {
        match self {
            Self::Memory(engine) => engine.shutdown().await,
            Self::Store(opened) => opened.close().await,
            Self::Pages(entreat, store) => {
                entreat.shutdown().await;
                if let Some(store) = store {
                    store.close().await;
                }
            }
        }
    }
}
