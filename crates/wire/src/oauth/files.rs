//! Keeps grants in a folder: a file each, which only its owner may read.
//!
//! A file is replaced as a whole, so that a reader finds the old grant or the new one. Whoever
//! renews a grant holds its lock, so that two processes don't use one refresh token: many servers
//! take the second use for theft.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

use super::grant::Grant;
use crate::seal::Sealer;

/// The maximum size of a file, in bytes.
const MAX_FILE: u64 = 256 << 10;
/// The version of the format.
const FORMAT: u32 = 1;

/// A folder with grants. Clones share it.
#[derive(Clone, Debug)]
pub struct GrantFiles(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    sealer: Option<Sealer>,
}

/// What a file contains.
#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    grant: Grant,
}

/// Which grant of a folder.
#[derive(Clone, Debug)]
pub(super) struct GrantName(String);

impl GrantName {
    /// Names the grant of a person for a server and a client.
    pub(super) fn of(person: &str, server: &str, client: &str) -> Self {
        let mut hash = blake3::Hasher::new_derive_key("entreat oauth grant");
        for part in [person, server, client] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.finalize().to_hex()[..32].to_owned())
    }
}

/// The right to renew a grant, until it is dropped.
pub(super) struct GrantLock {
    _file: File,
}

impl GrantFiles {
    /// Keeps grants in this folder, which is created when it is needed. With a sealer, they are
    /// encrypted.
    pub fn new(folder: PathBuf, sealer: Option<Sealer>) -> Self {
        Self(Arc::new(Inner { folder, sealer }))
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Reads a grant. What is damaged, or of another version, is none: its person signs in again.
    pub(super) async fn load(&self, name: &GrantName) -> io::Result<Option<Grant>> {
        let (inner, name) = (self.0.clone(), name.clone());
        blocking(move || inner.load(&name)).await
    }

    /// Writes a grant in place of an earlier one.
    pub(super) async fn save(&self, name: &GrantName, grant: Grant) -> io::Result<()> {
        let (inner, name) = (self.0.clone(), name.clone());
        blocking(move || inner.save(&name, grant)).await
    }

    /// Removes a grant; returns whether there was one.
    pub(super) async fn forget(&self, name: &GrantName) -> io::Result<bool> {
        let path = self.0.path(name);
        blocking(move || match fs::remove_file(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        })
        .await
    }

    /// Waits until nobody else renews a grant.
    pub(super) async fn lock(&self, name: &GrantName) -> io::Result<GrantLock> {
        let inner = self.0.clone();
        let name = name.clone();
        blocking(move || {
            inner.prepare()?;
            let path = inner.folder.join(format!("{}.lock", name.0));
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            let file = private(&mut options).open(path)?;
            file.lock()?;
            Ok(GrantLock { _file: file })
        })
        .await
    }
}

impl Inner {
    fn path(&self, name: &GrantName) -> PathBuf {
        self.folder.join(&name.0)
    }

    fn load(&self, name: &GrantName) -> io::Result<Option<Grant>> {
        let file = match File::open(self.path(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        if length > MAX_FILE {
            return Ok(None);
        }
        // Full capacity at once: growing would leave copies in memory.
        let capacity = usize::try_from(length).unwrap_or_default();
        let mut bytes = Zeroizing::new(Vec::with_capacity(capacity + 1));
        file.take(MAX_FILE).read_to_end(&mut bytes)?;
        let text = match &self.sealer {
            None => bytes,
            Some(sealer) => match sealer.open_kept(name.0.as_bytes(), &bytes) {
                Ok(text) => Zeroizing::new(text),
                Err(reason) => {
                    tracing::warn!(%reason, "a kept sign-in cannot be read");
                    return Ok(None);
                }
            },
        };
        let contents = serde_json::from_slice::<Contents>(&text).ok();
        Ok(contents
            .filter(|contents| contents.version == FORMAT)
            .map(|contents| contents.grant))
    }

    fn save(&self, name: &GrantName, grant: Grant) -> io::Result<()> {
        self.prepare()?;
        let contents = Contents {
            version: FORMAT,
            grant,
        };
        let text = Zeroizing::new(serde_json::to_vec(&contents)?);
        let sealed = self
            .sealer
            .as_ref()
            .map(|it| it.seal_kept(name.0.as_bytes(), &text));
        // Created with permissions for the owner only.
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.folder)?;
        file.write_all(sealed.as_deref().unwrap_or(&text))?;
        file.as_file().sync_all()?;
        file.persist(self.path(name))?;
        Ok(())
    }

    /// Creates the folder, for its owner only.
    fn prepare(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}
