//! Where the store is, and how a command gets hold of it.
//!
//! Commands that look at a store never make one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use entreat::stores::OpenError;
use entreat::{EmbeddedOptions, EmbeddedStore, Engine, EngineSettings, KeyRing, StartError};

use crate::environment::Environment;
use crate::{keys, output};

/// Which store is meant.
#[derive(clap::Args)]
pub(crate) struct StoreArgs {
    /// The file of the store [default: `$ENTREAT_STORE`, else entreat/entreat.db in
    /// `$XDG_DATA_HOME` or ~/.local/share]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    store: Option<PathBuf>,
    /// The file of the store's keys [default: `$ENTREAT_KEYS`, else the store's name and .keys]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    keys: Option<PathBuf>,
}

/// Where a store and its keys lie.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    store: PathBuf,
    keys: PathBuf,
    /// Nobody named it, so its folder is ours to make.
    is_default: bool,
    /// It may be empty although its keys are there.
    may_be_new: bool,
}

/// Whether a store that is gone may be begun anew.
#[derive(clap::Args)]
pub(crate) struct NewStoreArgs {
    /// Begin with an empty store where there is none, although its keys are there; one that is
    /// there is opened as it is
    #[arg(long)]
    new_store: bool,
}

impl NewStoreArgs {
    /// The place, for a command with this flag.
    pub(crate) fn allow(&self, place: Place) -> Place {
        Place {
            may_be_new: self.new_store,
            ..place
        }
    }
}

impl StoreArgs {
    /// Whether a flag names the store.
    pub(crate) fn is_named(&self) -> bool {
        self.store.is_some()
    }

    /// Whether a flag names the keys.
    pub(crate) fn names_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// Where the store lies by flag, by environment, or by default.
    pub(crate) fn place(&self, environment: &Environment) -> anyhow::Result<Place> {
        let store = self.store.as_deref().or(environment.store.as_deref());
        let keys = self.keys.as_deref().or(environment.keys.as_deref());
        Place::of(store, keys, environment.data_folder.as_deref())
    }
}

/// Where the store is if nobody says, in the folder of this person's data.
pub(crate) fn default_path(data_folder: &Path) -> PathBuf {
    data_folder.join("entreat/entreat.db")
}

impl Place {
    /// Where a store and its keys lie that may have been named.
    pub(crate) fn of(
        store: Option<&Path>,
        keys: Option<&Path>,
        data_folder: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let (store, is_default) = match (store, data_folder) {
            (Some(path), _) => (path.to_owned(), false),
            (None, Some(folder)) => (default_path(folder), true),
            (None, None) => bail!("there is no home folder: say where the store is with --store"),
        };
        let beside = || {
            let mut beside = store.clone().into_os_string();
            beside.push(".keys");
            beside.into()
        };
        let keys = keys.map_or_else(beside, Path::to_owned);
        Ok(Self {
            store,
            keys,
            is_default,
            may_be_new: false,
        })
    }

    /// The file of the store.
    pub(crate) fn store(&self) -> &Path {
        &self.store
    }

    /// The file of the keys.
    pub(crate) fn keys(&self) -> &Path {
        &self.keys
    }

    /// Whether nobody named it.
    pub(crate) fn is_default(&self) -> bool {
        self.is_default
    }

    /// The file of the keys, as it may be shown.
    pub(crate) fn shown_keys(&self) -> String {
        shown(&self.keys)
    }

    /// Opens the store that is there.
    pub(crate) fn open_store(&self) -> anyhow::Result<EmbeddedStore> {
        let found = self.store.try_exists();
        if !found.with_context(|| format!("cannot look for {}", shown(&self.store)))? {
            let path = shown(&self.store);
            bail!("there is no store at {path}: name one with --store or ENTREAT_STORE");
        }
        self.open_file(false)
    }

    /// Opens the store that is there, and starts an engine on it.
    ///
    /// What expired in the meantime is expired then, so that what is shown is true.
    pub(crate) async fn open(&self) -> anyhow::Result<Opened> {
        let store = self.open_store()?;
        let Some(keys) = keys::read(&self.keys)? else {
            return Err(self.no_keys());
        };
        let opened = self.start(store, keys, EngineSettings::default()).await;
        opened.map_err(|error| self.explain(error))
    }

    /// Opens the store, or makes it with keys of its own, and starts an engine on it.
    pub(crate) async fn open_or_create(&self, settings: EngineSettings) -> anyhow::Result<Opened> {
        let Prepared {
            store,
            keys,
            has_new_keys,
        } = self.prepare()?;
        let opened = self.start(store, keys, settings).await;
        opened.map_err(|error| self.explain_start(error, has_new_keys))
    }

    /// Opens the store, or makes it, and gets its keys, or makes them.
    pub(crate) fn prepare(&self) -> anyhow::Result<Prepared> {
        if self.is_default
            && let Some(folder) = self.store.parent()
        {
            create_private_folder(folder)
                .with_context(|| format!("cannot make the folder {}", shown(folder)))?;
        }
        // Keys are made after their store. So if they are there and it is not, it was lost: to
        // begin anew without a word would hide that.
        let has_keys = self.keys.try_exists().unwrap_or(true);
        // First, for its lock: of two that begin at once, one makes the keys.
        let store = self.open_file(self.may_be_new || !has_keys)?;
        let (keys, has_new_keys) = match keys::read(&self.keys)? {
            Some(keys) => (keys, false),
            None => (keys::create(&self.keys)?, true),
        };
        Ok(Prepared {
            store,
            keys,
            has_new_keys,
        })
    }

    /// Says why an engine did not start on what was prepared.
    pub(crate) fn explain_start(&self, error: StartError, has_new_keys: bool) -> anyhow::Error {
        if has_new_keys && matches!(error, StartError::Keys(_)) {
            // The store is older than these keys, which have sealed nothing.
            let _ = std::fs::remove_file(&self.keys);
            return self.no_keys();
        }
        self.explain(error)
    }

    fn open_file(&self, may_create: bool) -> anyhow::Result<EmbeddedStore> {
        let options = EmbeddedOptions {
            may_create,
            ..EmbeddedOptions::default()
        };
        let opened = EmbeddedStore::open(&self.store, options);
        opened.map_err(|error| {
            let remedy = match error {
                OpenError::NoStore { .. } => return self.no_store(),
                OpenError::InUse { .. } => {
                    "; wait until it has ended, or name another store with --store"
                }
                _ => "",
            };
            let words = format!("{:#}", anyhow::Error::from(error));
            anyhow!("{}{remedy}", output::plain(&words))
        })
    }

    async fn start(
        &self,
        store: EmbeddedStore,
        keys: KeyRing,
        settings: EngineSettings,
    ) -> Result<Opened, StartError> {
        let store = Arc::new(store);
        let engine = Engine::builder()
            .shared_store(store.clone())
            .keys(keys)
            .settings(settings)
            .start()
            .await?;
        Ok(Opened { engine, store })
    }

    fn explain(&self, error: StartError) -> anyhow::Error {
        let (keys, store) = (shown(&self.keys), shown(&self.store));
        match error {
            StartError::Keys(_) => anyhow!(
                "the keys in {keys} are not those of the store {store}: \
                 name the right file with --keys or ENTREAT_KEYS"
            ),
            error => anyhow::Error::from(error).context(format!("cannot use the store {store}")),
        }
    }

    fn no_store(&self) -> anyhow::Error {
        let store = shown(&self.store);
        anyhow!(
            "the store {store} is gone or empty, and was not always: put it back from your copy, \
             or begin with an empty one by `entreat serve --new-store`"
        )
    }

    fn no_keys(&self) -> anyhow::Error {
        let (keys, store) = (shown(&self.keys), shown(&self.store));
        anyhow!(
            "the keys of the store {store} are not at {keys}: \
             name their file with --keys or ENTREAT_KEYS"
        )
    }
}

/// A store that is open, and its keys.
pub(crate) struct Prepared {
    pub(crate) store: EmbeddedStore,
    pub(crate) keys: KeyRing,
    /// Whether they were just made.
    pub(crate) has_new_keys: bool,
}

/// A store in use.
pub(crate) struct Opened {
    pub(crate) engine: Engine,
    store: Arc<EmbeddedStore>,
}

impl Opened {
    /// Lets go of the store once all is written.
    pub(crate) async fn close(self) {
        self.engine.shutdown().await;
        self.store.close().await;
    }
}

fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn shown(path: &Path) -> String {
    output::plain(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(store: Option<&str>, keys: Option<&str>) -> StoreArgs {
        StoreArgs {
            store: store.map(Into::into),
            keys: keys.map(Into::into),
        }
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_default() {
        let place = |args: &StoreArgs, environment: &Environment| {
            let place = args.place(environment).unwrap();
            let text = |path: PathBuf| path.to_string_lossy().into_owned();
            (text(place.store), text(place.keys), place.is_default)
        };
        let mut environment = Environment::default();
        environment.data_folder = Some("/d".into());
        let of = |store: &str, keys: &str, is_default| (store.into(), keys.into(), is_default);
        let default = of("/d/entreat/entreat.db", "/d/entreat/entreat.db.keys", true);
        assert_eq!(place(&args(None, None), &environment), default);
        environment.store = Some("e.db".into());
        let by_environment = of("e.db", "e.db.keys", false);
        assert_eq!(place(&args(None, None), &environment), by_environment);
        environment.keys = Some("e.keys".into());
        let mixed = of("f.db", "e.keys", false);
        assert_eq!(place(&args(Some("f.db"), None), &environment), mixed);
        let by_flags = of("f.db", "f.keys", false);
        let flags = args(Some("f.db"), Some("f.keys"));
        assert_eq!(place(&flags, &environment), by_flags);
    }

    #[test]
    fn without_a_home_the_store_has_to_be_named() {
        let error = args(None, None).place(&Environment::default());
        assert!(error.unwrap_err().to_string().contains("--store"));
    }
}
