//! One service at a time has a folder of uploads.
//!
//! A second one with another store would take the files of the first for nobody's.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// That a folder is ours. The system gives it back when the process ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes a folder, which is there; `None` if somebody else has it.
    ///
    /// What is locked is the folder itself, so that there is no file to be lost or removed.
    /// Where folders cannot be locked, as on Windows and some network drives, it is a file in it.
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
