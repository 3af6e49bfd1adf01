//! Finds, locks and prepares the file; every way in which that fails says what to do.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use entreat_engine::store::BoxError;
use rusqlite::Connection;

use super::EmbeddedOptions;
use super::schema::{self, Refusal};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Somebody else has it open.
    #[error("{} is in use: another process, or another part of this one, has it open", path.display())]
    InUse {
        /// The store's file.
        path: PathBuf,
    },
    /// There is no such folder.
    #[error("the folder {} does not exist: create it first", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// The file system does not let us.
    #[error("{} cannot be read and written: check who owns the file and its folder", path.display())]
    NoPermission {
        /// The store's file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: BoxError,
    },
    /// It is something else.
    #[error("{} is not a store of Entreat: choose another path", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// A newer Entreat wrote it.
    #[error("{} has format {found}, and this version knows up to {known}: use a newer Entreat", path.display())]
    Newer {
        /// The store's file.
        path: PathBuf,
        /// The file's format.
        found: i32,
        /// The newest format that this version knows.
        known: i32,
    },
    /// The disk, the system or the database failed.
    #[error("cannot {attempt} in {}", path.display())]
    Failed {
        /// The store's file.
        path: PathBuf,
        /// What was tried.
        attempt: &'static str,
        /// What went wrong.
        #[source]
        source: BoxError,
    },
}

/// A file that is ours, locked and up to date.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) lock: File,
    pub(super) connection: Connection,
}

/// Locks the file and brings it up to date.
pub(super) fn open(path: &Path, options: &EmbeddedOptions) -> Result<Opened, OpenError> {
    let path = resolve(path)?;
    let lock = lock(&path)?;
    create(&path)?;
    let connection = connect(&path, options).map_err(|refusal| refused(&path, refusal))?;
    Ok(Opened {
        path,
        lock,
        connection,
    })
}

/// The path without links, so that a store has one lock whatever it is called.
fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
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

/// The folder that a path lies in; the current one for a bare name.
fn folder_of(path: &Path) -> Option<&Path> {
    let folder = path.parent()?;
    let is_bare = folder.as_os_str().is_empty();
    Some(if is_bare { Path::new(".") } else { folder })
}

/// Locks the file beside the database; the system unlocks it when the process ends.
///
/// Not the database itself: closing any handle of it would drop SQLite's own locks.
fn lock(path: &Path) -> Result<File, OpenError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = private().truncate(false).open(PathBuf::from(name));
    let file = file.map_err(|error| failed(path, "open the lock", error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(failed(path, "take the lock", error)),
    }
}

/// Makes an empty file that only its owner may read, unless there is one already.
///
/// SQLite would make it with the rights that the umask leaves; its other files take over ours.
fn create(path: &Path) -> Result<(), OpenError> {
    if path.is_dir() {
        let path = path.to_owned();
        return Err(OpenError::NotAStore { path });
    }
    let known = path.exists();
    let made = private().truncate(false).open(path).and_then(|_| {
        // The file's name is kept by its folder.
        if known { Ok(()) } else { sync_folder(path) }
    });
    made.map_err(|error| failed(path, "create the file", error))
}

/// Sees to it that a new file's name is on disk.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    match folder_of(path) {
        // Elsewhere a folder cannot be opened like a file, and needs no such care.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// A file to be read and written by its owner alone.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn connect(path: &Path, options: &EmbeddedOptions) -> Result<Connection, Refusal> {
    let connection = Connection::open(path)?;
    // Nobody else writes, but a person may look at the file with another program.
    connection.busy_timeout(Duration::from_secs(5))?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        let message = format!("the file system does not allow a write-ahead log ({mode})");
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        return Err(rusqlite::Error::SqliteFailure(code, Some(message)).into());
    }
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         PRAGMA secure_delete = FAST;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -65536;",
    )?;
    if let Some(size) = options.max_size {
        let page: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let pages = i64::try_from(size / u64::from(page)).unwrap_or(i64::MAX);
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    schema::migrate(&connection)?;
    Ok(connection)
}

fn refused(path: &Path, refusal: Refusal) -> OpenError {
    let path = path.to_owned();
    match refusal {
        Refusal::Foreign => OpenError::NotAStore { path },
        Refusal::Newer { found, known } => OpenError::Newer { path, found, known },
        Refusal::Sqlite(error) => match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => OpenError::NotAStore { path },
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

fn failed(path: &Path, attempt: &'static str, error: io::Error) -> OpenError {
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
