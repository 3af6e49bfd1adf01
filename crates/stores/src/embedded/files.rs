//! The files of a store that is open: locked against others, and known again.
//!
//! Two locks, because each alone can be got around. The lock of a file beside the database goes by
//! path: whoever removes that file, or calls the store by another name, gets in. The lock of the
//! database itself goes by file, and only Linux keeps it apart from the locks that SQLite takes.
//!
//! SQLite's own locks belong to the process, and closing any handle of the database drops them.
//! So ours is opened before SQLite's and closed after, and no other is opened while a store is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::open::{OpenError, failed, folder_of};

/// The database and the file beside it, both locked; the system unlocks them when the process
/// ends.
pub(super) struct Locks {
    pub(super) path: PathBuf,
    /// Closed after the connections, which are dropped before this is.
    database: File,
    _beside: File,
}

impl Locks {
    /// Locks a store, which is made, empty, if it may be.
    pub(super) fn take(path: &Path, may_create: bool) -> Result<Self, OpenError> {
        let path = path.to_owned();
        let look = path.metadata();
        match &look {
            Ok(found) if found.is_dir() => return Err(OpenError::NotAStore { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !may_create => {
                return Err(OpenError::NoStore { path });
            }
            _ => {}
        }
        let beside = private()
            .open(with_ending(&path, ".lock"))
            .map_err(|error| failed(&path, "open the lock", error))?;
        lock(&beside, &path)?;
        // Before it is opened, and so before a handle of it is closed: another part of this
        // process may have it open by its other name.
        if look.is_ok_and(|found| links(&found) > 1) {
            return Err(OpenError::Linked { path });
        }
        let database = create(&path).map_err(|error| failed(&path, "create the file", error))?;
        if cfg!(target_os = "linux") {
            lock(&database, &path)?;
        }
        Ok(Self {
            path,
            database,
            _beside: beside,
        })
    }

    /// How long the database is, its log apart.
    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.database.metadata()?.len())
    }

    /// What the files are, to be known again; to be called once the database is open.
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

/// Which files a store consists of while it is open. What is written to others, or to files that
/// nobody can find any more, is lost.
pub(super) struct Identities([(PathBuf, Identity); 2]);

/// A file's device and number; always the same where a file that is open cannot be removed.
type Identity = (u64, u64);

/// A file of the store is not there any more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} was removed or replaced while it was in use: end this process, and put it back", path.display())]
pub(super) struct Removed {
    path: PathBuf,
}

impl Identities {
    /// Whether the files are still those that were opened.
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

/// Opens the file, or makes an empty one that only its owner may read.
///
/// SQLite would make it with the rights that the umask leaves; its other files take over ours.
fn create(path: &Path) -> io::Result<File> {
    let known = path.exists();
    let file = private().open(path)?;
    if !known {
        // The file's name is kept by its folder.
        sync_folder(path)?;
    }
    Ok(file)
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

/// By how many names a file can be found.
#[cfg(unix)]
pub(super) fn links(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
pub(super) fn links(_: &std::fs::Metadata) -> u64 {
    1
}
