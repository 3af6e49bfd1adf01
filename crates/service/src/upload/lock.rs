//! An exclusive lock on the folder of uploads.
//!
//! A second service with another store would remove the first one's files as orphans.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The lock; the system releases it when the process ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks an existing folder; `None` if another process holds the lock.
    ///
    /// Locks the folder itself, so that there is no lock file to lose. Where that is not possible,
    /// as on Windows and some network drives, locks a file in it.
    pub(super) fn take(folder: &Path) -> io::Result<Option<Self>> {
        let locked = File::open(folder).and_then(lock);
        let locked = locked.or_else(|_| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false);
            lock(options.open(folder.join(".lock"))?)
        })?;
        Ok(locked.map(|file| Self { _file: file }))
    }
}

fn lock(file: File) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
