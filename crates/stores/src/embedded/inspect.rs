//! Inspects a store's files without opening the store.

use std::fs::{File, Metadata, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::files::{links, with_ending};
use super::schema::APPLICATION;

/// The kind of a file, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A store; or unknown, because the file is missing or cannot be read.
    Store,
    /// An empty file.
    Empty,
    /// A file with several hard links, which cannot be opened as a store.
    Linked,
    /// Another program's file.
    Foreign,
}

impl FileKind {
    /// Determines the kind of the file at this path.
    pub fn of(path: &Path) -> Self {
        /// Position of SQLite's application id.
        const PROGRAM: std::ops::Range<usize> = 68..72;
        let mut start = Vec::new();
        let read = File::open(path).and_then(|file| file.take(72).read_to_end(&mut start));
        // Folders always have several links.
        let is_linked = |found: &Metadata| found.is_file() && links(found) > 1;
        if path.metadata().is_ok_and(|found| is_linked(&found)) {
            return Self::Linked;
        }
        match read {
            Err(_) => return Self::Store,
            Ok(0) => return Self::Empty,
            Ok(_) => {}
        }
        let is_database = start.starts_with(b"SQLite format 3\0");
        let program = start.get(PROGRAM).and_then(|bytes| bytes.try_into().ok());
        match program.map(i32::from_be_bytes) {
            // Zero if the process crashed while it created the store.
            Some(APPLICATION | 0) if is_database => Self::Store,
            _ => Self::Foreign,
        }
    }
}

/// Whether another process has the store open.
///
/// Must not be called by a process that has it open: that would drop SQLite's locks.
pub(super) fn is_in_use(path: &Path) -> bool {
    // Canonical, as in `open`.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_locked = |path: &Path| {
        let file = File::open(path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    is_locked(&with_ending(&path, ".lock")) || (cfg!(target_os = "linux") && is_locked(&path))
}

/// SQLite's auxiliary files: the write-ahead log and its index.
pub(super) fn side_files(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|ending| with_ending(path, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_first_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("q.db");
        let of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            FileKind::of(&path)
        };
        assert_eq!(FileKind::of(&folder.path().join("none")), FileKind::Store);
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        assert_eq!(FileKind::of(folder.path()), FileKind::Store);
        assert_eq!(of(b""), FileKind::Empty);
        assert_eq!(of(b"hello"), FileKind::Foreign);
        let mut bytes = [0; 100];
        bytes[..16].copy_from_slice(b"SQLite format 3\0");
        assert_eq!(of(&bytes), FileKind::Store);
        bytes[68..72].copy_from_slice(b"Entr");
        assert_eq!(of(&bytes), FileKind::Store);
        bytes[68..72].copy_from_slice(b"Else");
        assert_eq!(of(&bytes), FileKind::Foreign);
        #[cfg(unix)]
        {
            std::fs::hard_link(&path, folder.path().join("other.db")).unwrap();
            assert_eq!(FileKind::of(&path), FileKind::Linked);
        }
    }
}
