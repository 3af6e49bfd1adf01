//! Locates and opens the store.
//!
//! Commands that only read a store never create one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use entreat::stores::OpenError;
use entreat::{EmbeddedOptions, EmbeddedStore, Engine, EngineSettings, KeyRing, StartError};

use crate::environment::Environment;
use crate::{keys, output};

/// Selects a store.
#[derive(clap::Args)]
pub(crate) struct StoreArgs {
    /// The store file [default: `$ENTREAT_STORE`, or entreat/entreat.db in `$XDG_DATA_HOME` or
    /// ~/.local/share]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    store: Option<PathBuf>,
    /// The store's key file [default: `$ENTREAT_KEYS`, or the store's name plus .keys]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    keys: Option<PathBuf>,
}

/// The paths of a store and its keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoreLocation {
    store: PathBuf,
    keys: PathBuf,
    /// The default path, whose folder may be created.
    is_default: bool,
    /// The store may be created although its keys exist.
    may_be_new: bool,
}

/// Whether a lost store may be replaced by an empty one.
#[derive(clap::Args)]
pub(crate) struct NewStoreArgs {
    /// Create an empty store if it is missing but its keys exist; an existing store is opened
    /// unchanged
    #[arg(long)]
    new_store: bool,
}

impl NewStoreArgs {
    /// Applies the flag to a location.
    pub(crate) fn allow(&self, location: StoreLocation) -> StoreLocation {
        StoreLocation {
            may_be_new: self.new_store,
            ..location
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

    /// Returns the location by flag, environment or default.
    pub(crate) fn location(&self, environment: &Environment) -> anyhow::Result<StoreLocation> {
        let store = self.store.as_deref().or(environment.store.as_deref());
        let keys = self.keys.as_deref().or(environment.keys.as_deref());
        StoreLocation::new(store, keys, environment.data_folder.as_deref())
    }
}

/// Where the store is if nobody says, in the folder of this person's data.
pub(crate) fn default_path(data_folder: &Path) -> PathBuf {
    data_folder.join("entreat/entreat.db")
}

impl StoreLocation {
    /// Where a store and its keys lie that may have been named.
    pub(crate) fn new(
        store: Option<&Path>,
        keys: Option<&Path>,
        data_folder: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let (store, is_default) = match (store, data_folder) {
            (Some(path), _) => (path.to_owned(), false),
            (None, Some(folder)) => (default_path(folder), true),
            (None, None) => bail!("there is no home folder: set the store with --store"),
        };
        let default_keys = || {
            let mut default_keys = store.clone().into_os_string();
            default_keys.push(".keys");
            default_keys.into()
        };
        let keys = keys.map_or_else(default_keys, Path::to_owned);
        Ok(Self {
            store,
            keys,
            is_default,
            may_be_new: false,
        })
    }

    /// Returns the path of the store.
    pub(crate) fn store(&self) -> &Path {
        &self.store
    }

    /// Returns the path of the keys.
    pub(crate) fn keys(&self) -> &Path {
        &self.keys
    }

    /// Whether this is the default path.
    pub(crate) fn is_default(&self) -> bool {
        self.is_default
    }

    /// Returns the path of the keys for display.
    pub(crate) fn shown_keys(&self) -> String {
        output::sanitize_path(&self.keys)
    }

    /// Returns the URL of the service that has the store open, if it is known.
    pub(crate) fn service_url(&self) -> Option<String> {
        let url = EmbeddedStore::announced_url(&self.store)?;
        let is_url = url.starts_with("http://") || url.starts_with("https://");
        is_url.then(|| output::sanitize(&url).into_owned())
    }

    /// Fails if there is no store.
    pub(crate) fn require_store(&self) -> anyhow::Result<()> {
        let found = self.store.try_exists();
        if !found
            .with_context(|| format!("cannot access {}", output::sanitize_path(&self.store)))?
        {
            let path = output::sanitize_path(&self.store);
            let hint = if self.is_default && Path::new("entreat.toml").exists() {
                "; this command doesn't read the entreat.toml of this folder"
            } else {
                ""
            };
            bail!("there is no store at {path}: set one with --store or ENTREAT_STORE{hint}");
        }
        Ok(())
    }

    /// Opens an existing store.
    pub(crate) fn open_store(&self) -> anyhow::Result<EmbeddedStore> {
        self.require_store()?;
        self.open_file(false, Purpose::Manage)
    }

    /// Opens an existing store and starts an engine on it.
    ///
    /// The engine settles questions that have expired in the meantime, so that the output is
    /// current.
    pub(crate) async fn open(&self) -> anyhow::Result<Opened> {
        let store = self.open_store()?;
        let Some(keys) = keys::read(&self.keys)? else {
            return Err(self.no_keys());
        };
        let opened = self.start(store, keys, EngineSettings::default()).await;
        opened.map_err(|error| self.explain(error))
    }

    /// Opens or creates the store and its keys, and starts an engine on it.
    pub(crate) async fn open_or_create(&self, settings: EngineSettings) -> anyhow::Result<Opened> {
        let Prepared {
            store,
            keys,
            has_new_keys,
        } = self.prepare()?;
        let opened = self.start(store, keys, settings).await;
        opened.map_err(|error| self.explain_start(error, has_new_keys))
    }

    /// Creates the folder of the default store.
    pub(crate) fn create_default_folder(&self) -> anyhow::Result<()> {
        if self.is_default
            && let Some(folder) = self.store.parent()
        {
            create_private_folder(folder).with_context(|| {
                format!("cannot create the folder {}", output::sanitize_path(folder))
            })?;
        }
        Ok(())
    }

    /// Opens or creates the store and its keys.
    pub(crate) fn prepare(&self) -> anyhow::Result<Prepared> {
        self.create_default_folder()?;
        // Keys are created after their store. If only the keys exist, the store was lost, and
        // silently creating a new one would hide that.
        let has_keys = self.keys.try_exists().unwrap_or(true);
        // First, for its lock: of two concurrent processes, one creates the keys.
        let store = self.open_file(self.may_be_new || !has_keys, Purpose::Own)?;
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

    /// Explains why an engine did not start on a prepared store.
    pub(crate) fn explain_start(&self, error: StartError, has_new_keys: bool) -> anyhow::Error {
        if has_new_keys && matches!(error, StartError::Keys(_)) {
            // The store is older than these new keys, which have sealed nothing yet.
            let _ = std::fs::remove_file(&self.keys);
            return self.no_keys();
        }
        self.explain(error)
    }

    fn open_file(&self, may_create: bool, purpose: Purpose) -> anyhow::Result<EmbeddedStore> {
        let options = EmbeddedOptions {
            may_create,
            ..EmbeddedOptions::default()
        };
        let opened = EmbeddedStore::open(&self.store, options);
        opened.map_err(|error| {
            let remedy = match error {
                OpenError::NoStore { .. } => return self.no_store(),
                // The lock is ours as long as this process holds it, so it is another one.
                OpenError::InUse { .. } => {
                    let store = output::sanitize_path(&self.store);
                    return anyhow!("{store} is in use by {}", self.how_to_share(purpose));
                }
                OpenError::Damaged { .. } => self.how_to_restore(),
                _ => String::new(),
            };
            let words = format!("{:#}", anyhow::Error::from(error));
            anyhow!("{}{remedy}", output::sanitize(&words))
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
        let (keys, store) = (
            output::sanitize_path(&self.keys),
            output::sanitize_path(&self.store),
        );
        match error {
            StartError::Keys(_) => anyhow!(
                "the keys in {keys} don't match the store {store}: set the right file with --keys \
                 or ENTREAT_KEYS"
            ),
            error => anyhow::Error::from(error).context(format!("cannot open the store {store}")),
        }
    }

    /// What to do if another process has the store open.
    fn how_to_share(&self, purpose: Purpose) -> String {
        let url = self.service_url();
        match (purpose, url) {
            (Purpose::Manage, Some(url)) => {
                format!("the service at {url}: use --url {url} instead of --store")
            }
            (Purpose::Manage, None) => {
                "another process; if it is a running service, use --url with the address that it \
                 printed when it started; else wait until it exits, or set another store with \
                 --store"
                    .to_owned()
            }
            (Purpose::Own, Some(url)) => format!(
                "the service at {url}: ask through its control API, or set another store with \
                 --store"
            ),
            (Purpose::Own, None) => {
                "another process; wait until it exits, or set another store with --store".to_owned()
            }
        }
    }

    /// The commands that restore a damaged store.
    pub(crate) fn how_to_restore(&self) -> String {
        let command = self.restore_command();
        format!(". If `entreat backup` made a copy, move the file away and run {command}")
    }

    /// The command that restores a backup here.
    pub(crate) fn restore_command(&self) -> String {
        if self.is_default {
            return "`entreat restore BACKUP`".to_owned();
        }
        let store = output::sanitize_path(&self.store);
        format!("`entreat restore BACKUP --store {store}`")
    }

    fn no_store(&self) -> anyhow::Error {
        let (store, command) = (output::sanitize_path(&self.store), self.restore_command());
        anyhow!(
            "the store {store} is missing or empty, although it existed before: restore it from a \
             backup with {command}, or start with an empty one: `entreat serve --new-store`"
        )
    }

    fn no_keys(&self) -> anyhow::Error {
        let (keys, store) = (
            output::sanitize_path(&self.keys),
            output::sanitize_path(&self.store),
        );
        anyhow!(
            "the keys of the store {store} are not at {keys}: set their file with --keys or \
             ENTREAT_KEYS"
        )
    }
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// To list, show or cancel its questions, which a running service does as well.
    Manage,
    /// To ask.
    Own,
}

/// An open store and its keys.
pub(crate) struct Prepared {
    pub(crate) store: EmbeddedStore,
    pub(crate) keys: KeyRing,
    /// Whether the keys were just created.
    pub(crate) has_new_keys: bool,
}

/// An open store with a running engine.
pub(crate) struct Opened {
    pub(crate) engine: Engine,
    store: Arc<EmbeddedStore>,
}

impl Opened {
    /// Shuts down the engine and closes the store once everything is written.
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
        let location = |args: &StoreArgs, environment: &Environment| {
            let location = args.location(environment).unwrap();
            let text = |path: PathBuf| path.to_string_lossy().into_owned();
            (
                text(location.store),
                text(location.keys),
                location.is_default,
            )
        };
        let mut environment = Environment::default();
        environment.data_folder = Some("/d".into());
        let of = |store: &str, keys: &str, is_default| (store.into(), keys.into(), is_default);
        let default = of("/d/entreat/entreat.db", "/d/entreat/entreat.db.keys", true);
        assert_eq!(location(&args(None, None), &environment), default);
        environment.store = Some("e.db".into());
        let by_environment = of("e.db", "e.db.keys", false);
        assert_eq!(location(&args(None, None), &environment), by_environment);
        environment.keys = Some("e.keys".into());
        let mixed = of("f.db", "e.keys", false);
        assert_eq!(location(&args(Some("f.db"), None), &environment), mixed);
        let by_flags = of("f.db", "f.keys", false);
        let flags = args(Some("f.db"), Some("f.keys"));
        assert_eq!(location(&flags, &environment), by_flags);
    }

    #[test]
    fn without_a_home_the_store_has_to_be_named() {
        let error = args(None, None).location(&Environment::default());
        assert!(error.unwrap_err().to_string().contains("--store"));
    }
}
