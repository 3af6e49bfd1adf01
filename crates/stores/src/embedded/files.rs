//! Locks and identity checks of an open store's files.
//!
//! Two locks, because each has a gap. The lock file beside the database is found by path: deleting
//! it, or opening the store by another name, bypasses it. The lock on the database itself is bound
//! to the file, but only on Linux is it independent of SQLite's locks.
//!
//! SQLite's locks belong to the process, and closing any handle of the database drops them. So our
//! handle is opened before SQLite's and closed after, and no other is opened in between.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::open::{OpenError, failed, folder_of};

/// Locks on the database and the lock file; the system releases them when the process ends.
pub(super) struct Locks {
    pub(super) path: PathBuf,
    /// Closed after all connections.
    database: File,
    beside: File,
}

impl Locks {
    /// Locks a store, creating an empty file if allowed.
    pub(super) fn acquire(path: &Path, may_create: bool) -> Result<Self, OpenError> {
        let path = path.to_owned();
        let metadata = path.metadata();
        match &metadata {
            Ok(found) if found.is_dir() => return Err(OpenError::NotAStore { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !may_create => {
                return Err(OpenError::NoStore { path });
            }
            _ => {}
        }
        let beside = private()
            .open(lock_file(&path))
            .map_err(|error| failed(&path, "open the lock", error))?;
        lock(&beside, &path)?;
        // Of an earlier process.
        let cleared = beside.set_len(0);
        cleared.map_err(|error| failed(&path, "write the lock", error))?;
        // Before it is opened: closing a handle would drop the locks of another part of this
        // process that has it open by its other name.
        if metadata.is_ok_and(|found| links(&found) > 1) {
            return Err(OpenError::Linked { path });
        }
        let database = create(&path).map_err(|error| failed(&path, "create the file", error))?;
        if cfg!(target_os = "linux") {
            lock(&database, &path)?;
        }
        Ok(Self {
            path,
            database,
            beside,
        })
    }

    /// Returns the length of the database without its log.
    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.database.metadata()?.len())
    }

    /// Writes the contents of an empty database.
    pub(super) fn fill(&self, from: &mut impl io::Read) -> io::Result<()> {
        io::copy(from, &mut &self.database)?;
        self.database.sync_all()?;
        sync_folder(&self.path)
    }

    /// Tells other processes at which URL the holder of the store is reached.
    pub(super) fn announce(&self, url: &str) -> io::Result<()> {
        self.beside.set_len(0)?;
        (&self.beside).write_all(url.as_bytes())
    }

    /// Returns the identities of the files, once the database is open.
    pub(super) fn identities(&self) -> io::Result<Identities> {
        let log = with_ending(&self.path, "-wal");
        let log_identity = identity(&log.metadata()?);
        let identities = Identities([
            (self.path.clone(), identity(&self.database.metadata()?)),
            (log, log_identity),
        ]);
        identities.verify().map_err(io::Error::other)?;
        Ok(identities)
    }
}

/// Maximum length of an announced URL.
const MAX_URL: u64 = 1024;

/// Returns what the holder of a store has announced; elsewhere than on Unix, a lock may keep others
/// from reading it.
pub(super) fn announced(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mut url = String::new();
    let file = File::open(lock_file(&path)).ok()?;
    file.take(MAX_URL).read_to_string(&mut url).ok()?;
    Some(url).filter(|url| !url.is_empty())
}

fn lock_file(path: &Path) -> PathBuf {
    with_ending(path, ".lock")
}

/// The identities of an open store's files. Writes to deleted or replaced files would be lost.
pub(super) struct Identities([(PathBuf, Identity); 2]);

/// Device and inode; constant on systems where open files cannot be deleted.
type Identity = (u64, u64);

/// A file of the store was deleted or replaced.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} was removed or replaced while it was in use: stop this process and restore the file", path.display())]
pub(super) struct Removed {
    path: PathBuf,
}

impl Identities {
    /// Fails if a path no longer leads to the file that was opened.
    pub(super) fn verify(&self) -> Result<(), Removed> {
        for (path, known) in &self.0 {
            let found = path.metadata().map(|found| identity(&found));
            if !found.is_ok_and(|found| found == *known) {
                return Err(Removed { path: path.clone() });
            }
        }
        Ok(())
    }
}

fn lock(file: &File, path: &Path) -> Result<(), OpenError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(failed(path, "take the lock", error)),
    }
}

/// Opens the file, or creates an empty one that only its owner may read.
///
/// SQLite would create it with the umask's permissions; its other files inherit ours.
fn create(path: &Path) -> io::Result<File> {
    let known = path.exists();
    let file = private().open(path)?;
    if !known {
        // The directory entry has to be synced too.
        sync_folder(path)?;
    }
    Ok(file)
}

/// Syncs the directory entry of a new file.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    match folder_of(path) {
        // Elsewhere folders cannot be opened as files, and need no sync.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Options for a file that only its owner can read and write.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(unix)]
fn identity(found: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;

    (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Identity {
    (0, 0)
}

/// The number of hard links.
#[cfg(unix)]
pub(super) fn links(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
pub(super) fn links(_: &std::fs::Metadata) -> u64 {
    1
}
