//! Locks, checks and migrates the file; every error says what to do.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use entreat_engine::store::BoxError;
use rusqlite::Connection;

use super::EmbeddedOptions;
use super::files::{Identities, Locks, with_ending};
use super::schema::{self, Refusal};
use super::wal;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It is already open.
    #[error("{} is in use: another process, or another part of this one, has it open", path.display())]
    InUse {
        /// The store's file.
        path: PathBuf,
    },
    /// The folder does not exist.
    #[error("the folder {} does not exist: create it first", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// Permission denied.
    #[error("{} cannot be read and written: check who owns the file and its folder", path.display())]
    NoPermission {
        /// The store's file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The file is not a store.
    #[error("{} is not an Entreat store: choose another path", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The store does not exist or is empty, and may not be created.
    #[error("there is no store at {}, or it is empty", path.display())]
    NoStore {
        /// The store's path.
        path: PathBuf,
    },
    /// The file has several hard links, and its log belongs to only one of the names.
    #[error("{} has a second name (a hard link): remove that name; to copy a store, use `entreat \
             backup`", path.display())]
    Linked {
        /// The store's file.
        path: PathBuf,
    },
    /// The data is corrupt: the disk is broken, or another program wrote to the file.
    #[error("{} is damaged ({part}): restore it from a backup, or move it away and start with a \
             new one", path.display())]
    Damaged {
        /// The store's file.
        path: PathBuf,
        /// Where the damage was found.
        part: &'static str,
    },
    /// A newer Entreat wrote it.
    #[error("{} has format {found}, but this version supports up to {known}: use a newer Entreat", path.display())]
    Newer {
        /// The store's file.
        path: PathBuf,
        /// The file's format.
        found: i32,
        /// The newest format that this version supports.
        known: i32,
    },
    /// The disk, the system or the database failed.
    #[error("cannot {attempt} in {}", path.display())]
    Failed {
        /// The store's file.
        path: PathBuf,
        /// The operation.
        attempt: &'static str,
        /// The cause.
        #[source]
        source: BoxError,
    },
}

/// A locked and migrated store.
pub(super) struct Opened {
    // Drop order: connections before locks.
    pub(super) connection: Connection,
    pub(super) identities: Identities,
    pub(super) locks: Locks,
}

/// Locks, checks and migrates the file.
pub(super) fn open(path: &Path, options: &EmbeddedOptions) -> Result<Opened, OpenError> {
    let locks = Locks::acquire(&resolve(path)?, options.may_create)?;
    let path = &locks.path;
    let length = locks.length();
    // Not left to SQLite, which would delete the log of an empty file.
    if length.is_ok_and(|length| length == 0) && !options.may_create {
        return Err(OpenError::NoStore { path: path.clone() });
    }
    let log = wal::is_damaged(&with_ending(path, "-wal"));
    if log.map_err(|error| failed(path, "read the log", error))? {
        return Err(OpenError::Damaged {
            path: path.clone(),
            part: "its log",
        });
    }
    let connection = connect(path, options).map_err(|refusal| refused(path, refusal))?;
    let identities = locks.identities();
    let identities = identities.map_err(|error| failed(path, "find the file again", error))?;
    Ok(Opened {
        connection,
        identities,
        locks,
    })
}

/// Canonicalizes the path, so that a store has one lock whatever path is used.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    if let Ok(path) = path.canonicalize() {
        return Ok(path);
    }
    let (Some(folder), Some(name)) = (folder_of(path), path.file_name()) else {
        let path = path.to_owned();
        return Err(OpenError::NotAStore { path });
    };
    match folder.canonicalize() {
        Ok(folder) => Ok(folder.join(name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(OpenError::NoFolder {
            folder: folder.to_owned(),
        }),
        Err(error) => Err(failed(path, "find the folder", error)),
    }
}

/// Returns the parent folder; `.` for a bare name.
pub(super) fn folder_of(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    let is_bare = folder.as_os_str().is_empty();
    Some(if is_bare { Path::new(".") } else { folder })
}

fn connect(path: &Path, options: &EmbeddedOptions) -> Result<Connection, Refusal> {
    let connection = Connection::open(path)?;
    // No other writer, but a person may read the file with another program.
    connection.busy_timeout(Duration::from_secs(5))?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        let message = format!("the file system does not allow a write-ahead log ({mode})");
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        return Err(rusqlite::Error::SqliteFailure(code, Some(message)).into());
    }
    // macOS leaves an fsync in the disk's cache, unless it is asked for a full one; other systems
    // ignore the pragmas.
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA secure_delete = FAST;
         PRAGMA temp_store = MEMORY;
         PRAGMA cell_size_check = ON;
         PRAGMA cache_size = -65536;",
    )?;
    if let Some(size) = options.max_size {
        let page: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let pages = i64::try_from(size / u64::from(page)).unwrap_or(i64::MAX);
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    schema::migrate(&connection, options.may_create)?;
    Ok(connection)
}

fn refused(path: &Path, refusal: Refusal) -> OpenError {
    let path = path.to_owned();
    match refusal {
        Refusal::Foreign => OpenError::NotAStore { path },
        Refusal::Empty => OpenError::NoStore { path },
        Refusal::Newer { found, known } => OpenError::Newer { path, found, known },
        Refusal::Sqlite(error) => match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => OpenError::NotAStore { path },
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => OpenError::Damaged {
                path,
                part: "its pages",
            },
            Some(
                rusqlite::ErrorCode::ReadOnly
                | rusqlite::ErrorCode::PermissionDenied
                | rusqlite::ErrorCode::CannotOpen,
            ) => OpenError::NoPermission {
                path,
                source: error.into(),
            },
            _ => OpenError::Failed {
                path,
                attempt: "prepare the tables",
                source: error.into(),
            },
        },
    }
}

pub(super) fn failed(path: &Path, attempt: &'static str, error: io::Error) -> OpenError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::NoPermission {
                path,
                source: error.into(),
            }
        }
        _ => OpenError::Failed {
            path,
            attempt,
            source: error.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_lies_in_the_current_folder() {
        assert_eq!(folder_of(Path::new("a.db")), Some(Path::new(".")));
        assert_eq!(folder_of(Path::new("b/a.db")), Some(Path::new("b")));
        assert_eq!(folder_of(Path::new("/")), None);
    }
}
