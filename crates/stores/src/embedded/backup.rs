//! Copies a store while it is in use.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Shared, files, readers};

/// Why a copy could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is something already.
    #[error("{} exists already: choose another path, or remove it first", path.display())]
    Exists {
        /// Where the copy should have gone.
        path: PathBuf,
    },
    /// The copy cannot be written there.
    #[error("cannot write the copy to {}", path.display())]
    File {
        /// Where the copy should have gone.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The store was closed, or could not be read.
    #[error("cannot copy the store to {}", path.display())]
    Store {
        /// Where the copy should have gone.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: entreat_engine::store::BoxError,
    },
}

/// Makes a copy of one moment.
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
    // Made here, so that only its owner may read it, and so that nothing is overwritten.
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
    let kept = copied.and_then(|()| {
        let synced = file.sync_all().and_then(|()| files::sync_folder(to));
        synced.map_err(fail)
    });
    if kept.is_err() {
        // Half a copy would be taken for a whole one. It is ours: it was not there before.
        drop(std::fs::remove_file(to));
    }
    kept
}

fn write(shared: &Shared, to: &Path) -> rusqlite::Result<()> {
    // A connection of its own, for it takes long. It reads the state of one moment, and while
    // it does the log grows instead of being emptied.
    let connection = readers::connect(&shared.path)?;
    // The copy is written by this connection.
    connection.pragma_update(None, "query_only", false)?;
    let to = to
        .to_str()
        .ok_or_else(|| rusqlite::Error::InvalidPath(to.to_owned()))?;
    connection.execute("VACUUM INTO ?1", [to])?;
    Ok(())
}
