//! Backs up a store while it is in use.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Shared, files, readers};

/// Why a backup failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The target exists.
    #[error("{} already exists: choose another path, or remove it first", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// The target cannot be written.
    #[error("cannot write the copy to {}", path.display())]
    File {
        /// The target.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The store was closed, or could not be read.
    #[error("cannot copy the store to {}", path.display())]
    Store {
        /// The target.
        path: PathBuf,
        /// The cause.
        #[source]
        source: entreat_engine::store::BoxError,
    },
}

/// Writes a consistent snapshot.
pub(super) async fn run(shared: Arc<Shared>, to: PathBuf) -> Result<(), BackupError> {
    let path = to.clone();
    let copy = tokio::task::spawn_blocking(move || {
        if shared.readers.is_closed() {
            return Err(BackupError::Store {
                path: to,
                source: "the store was closed".into(),
            });
        }
        copy(&shared, &to)
    });
    copy.await.unwrap_or_else(|source| {
        Err(BackupError::Store {
            path,
            source: source.into(),
        })
    })
}

fn copy(shared: &Shared, to: &Path) -> Result<(), BackupError> {
    let path = || to.to_owned();
    let fail = |source| BackupError::File {
        path: path(),
        source,
    };
    // Created here, so that only its owner may read it, and so that nothing is overwritten.
    let file = match files::private().create_new(true).open(to) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(BackupError::Exists { path: path() });
        }
        Err(error) => return Err(fail(error)),
    };
    let copied = write(shared, to).map_err(|source| BackupError::Store {
        path: path(),
        source: source.into(),
    });
    let synced = copied.and_then(|()| {
        let result = file.sync_all().and_then(|()| files::sync_folder(to));
        result.map_err(fail)
    });
    if synced.is_err() {
        // A partial copy could be mistaken for a complete one. It did not exist before.
        drop(std::fs::remove_file(to));
    }
    synced
}

fn write(shared: &Shared, to: &Path) -> rusqlite::Result<()> {
    // A separate connection, because it takes long. It reads one snapshot; meanwhile the log grows,
    // because it cannot be truncated.
    let connection = readers::connect(&shared.path)?;
    // The copy is written by this connection.
    connection.pragma_update(None, "query_only", false)?;
    let to = to
        .to_str()
        .ok_or_else(|| rusqlite::Error::InvalidPath(to.to_owned()))?;
    connection.execute("VACUUM INTO ?1", [to])?;
    Ok(())
}
