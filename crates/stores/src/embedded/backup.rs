//! Backs up a store while it is in use, and restores a backup.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::files::Locks;
use super::open::{self, OpenError};
use super::{Shared, beside, files, inspect, readers};

/// Why a backup or its restoration failed.
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
    /// The source is not a store that can be read.
    #[error(transparent)]
    Source(#[from] OpenError),
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

/// Writes a consistent snapshot of a store that this process has open.
pub(super) async fn run(shared: Arc<Shared>, to: PathBuf) -> Result<(), BackupError> {
    on_thread(to, move |to| {
        if shared.readers.is_closed() {
            return Err(BackupError::Store {
                path: to.to_owned(),
                source: "the store was closed".into(),
            });
        }
        create(to, |_| {
            // A separate connection, because it takes long. It reads one snapshot; meanwhile the
            // log grows, because it cannot be truncated.
            let copied = readers::connect(&shared.path).and_then(|connection| {
                // The copy is written by this connection.
                connection.pragma_update(None, "query_only", false)?;
                vacuum(&connection, to)
            });
            copied.map_err(|source| BackupError::Store {
                path: to.to_owned(),
                source: source.into(),
            })
        })
    })
    .await
}

/// Writes a consistent snapshot of a store that another process may have open, and verifies it.
pub(super) async fn of_file(from: PathBuf, to: PathBuf) -> Result<(), BackupError> {
    on_thread(to, move |to| {
        create(to, |file| {
            beside::read(&from, |connection| {
                // There is something in it if a first attempt was disturbed.
                let emptied = file.set_len(0);
                emptied.map_err(|_| rusqlite::Error::InvalidPath(to.to_owned()))?;
                Ok(vacuum(connection, to)?)
            })?;
            // Copying reads no checksums.
            match beside::check(to, &Arc::default()) {
                Err(OpenError::Damaged { part, .. }) => {
                    Err(OpenError::Damaged { path: from, part }.into())
                }
                checked => Ok(checked.map(drop)?),
            }
        })
    })
    .await
}

async fn on_thread(
    to: PathBuf,
    work: impl FnOnce(&Path) -> Result<(), BackupError> + Send + 'static,
) -> Result<(), BackupError> {
    let path = to.clone();
    let copy = tokio::task::spawn_blocking(move || work(&to));
    copy.await.unwrap_or_else(|source| {
        Err(BackupError::Store {
            path,
            source: source.into(),
        })
    })
}

/// Creates a file and writes it, or leaves none behind.
fn create(
    to: &Path,
    write: impl FnOnce(&File) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
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
    let synced = write(&file).and_then(|()| {
        let result = file.sync_all().and_then(|()| files::sync_folder(to));
        result.map_err(fail)
    });
    if synced.is_err() {
        // A partial copy could be mistaken for a complete one. It did not exist before.
        drop(std::fs::remove_file(to));
    }
    synced
}

fn vacuum(connection: &Connection, to: &Path) -> rusqlite::Result<()> {
    let to = to
        .to_str()
        .ok_or_else(|| rusqlite::Error::InvalidPath(to.to_owned()))?;
    connection.execute("VACUUM INTO ?1", [to])?;
    Ok(())
}

/// Copies a backup to where there is no store yet, after verifying it.
pub(super) async fn restore(from: PathBuf, to: PathBuf) -> Result<(), BackupError> {
    on_thread(to, move |to| {
        // A copy of the file alone would lack what is in the log.
        if inspect::is_in_use(&from) || beside::has_log(&from) {
            return Err(OpenError::InUse { path: from }.into());
        }
        beside::check(&from, &Arc::default())?;
        let path = || to.to_owned();
        for side_file in inspect::side_files(to) {
            // SQLite would apply a log to the store beside it.
            if side_file.exists() {
                return Err(BackupError::Exists { path: side_file });
            }
        }
        // Locked, so that nobody opens it halfway.
        let locks = Locks::acquire(&open::resolve(to)?, true)?;
        let fail = |source| BackupError::File {
            path: path(),
            source,
        };
        // An empty file is what is left of a store, not one.
        if locks.length().map_err(fail)? > 0 {
            return Err(BackupError::Exists { path: path() });
        }
        let copied = File::open(&from).and_then(|mut from| locks.fill(&mut from));
        if copied.is_err() {
            drop(std::fs::remove_file(to));
        }
        copied.map_err(fail)
    })
    .await
}
