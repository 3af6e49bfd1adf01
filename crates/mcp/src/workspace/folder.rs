//! A folder whose contents may be hostile: no symbolic link in it is followed.
//!
//! On Unix, each step goes through a handle of the folder before, so that nothing can be swapped
//! between a check and its use. Elsewhere, each step is checked before it is taken.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::WorkspaceError;

/// The largest file that is read.
const MAX_SIZE: u64 = 1 << 20;

pub(super) struct Folder {
    path: PathBuf,
    handle: handle::Handle,
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    File,
    Folder,
    Link,
    Other,
}

impl Folder {
    /// Opens a folder that is trusted, whatever its path leads through.
    pub(super) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let handle = handle::open(path).map_err(|source| failed(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            handle,
        })
    }

    /// Opens a folder in this one; `None` if it does not exist.
    pub(super) fn enter(&self, name: &Path) -> Result<Option<Self>, WorkspaceError> {
        let path = self.path.join(name);
        match self.entry(name)? {
            None => Ok(None),
            Some(Entry::Folder) => {
                let handle = handle::enter(&self.handle, &path, name);
                let handle = handle.map_err(|source| failed(&path, source))?;
                Ok(Some(Self { path, handle }))
            }
            Some(Entry::Link) => Err(WorkspaceError::Link(path)),
            Some(Entry::File | Entry::Other) => {
                let source = io::Error::from(io::ErrorKind::NotADirectory);
                Err(failed(&path, source))
            }
        }
    }

    /// Opens a folder in this one, and creates it if it does not exist.
    pub(super) fn enter_or_create(&self, name: &Path) -> Result<Self, WorkspaceError> {
        if let Some(found) = self.enter(name)? {
            return Ok(found);
        }
        let path = self.path.join(name);
        match handle::create_folder(&self.handle, &path, name) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(&path, source));
            }
            _ => {}
        }
        let missing = || failed(&path, io::ErrorKind::NotFound.into());
        self.enter(name)?.ok_or_else(missing)
    }

    /// Whether a file of this name exists. Anything else of the name is an error.
    pub(super) fn has_file(&self, name: &Path) -> Result<bool, WorkspaceError> {
        match self.entry(name)? {
            None => Ok(false),
            Some(Entry::File) => Ok(true),
            Some(Entry::Link) => Err(WorkspaceError::Link(self.path.join(name))),
            Some(Entry::Folder | Entry::Other) => {
                Err(WorkspaceError::NotAFile(self.path.join(name)))
            }
        }
    }

    /// Reads a file as text; an absent one is empty.
    pub(super) fn read(&self, name: &Path) -> Result<String, WorkspaceError> {
        if !self.has_file(name)? {
            return Ok(String::new());
        }
        let path = self.path.join(name);
        let mut text = String::new();
        let file = handle::read(&self.handle, &path, name);
        let read = file.and_then(|file| file.take(MAX_SIZE + 1).read_to_string(&mut text));
        let length = read.map_err(|source| failed(&path, source))?;
        if length as u64 > MAX_SIZE {
            return Err(WorkspaceError::TooLarge(path));
        }
        Ok(text)
    }

    /// Replaces or creates a file as a whole, readable by its owner only.
    pub(super) fn replace(&self, name: &Path, contents: &[u8]) -> Result<(), WorkspaceError> {
        self.has_file(name)?;
        let (mut file, draft) = self.create_draft(name)?;
        let written = file.write_all(contents).and_then(|()| file.sync_all());
        if let Err(source) = written {
            self.remove(&draft);
            return Err(failed(&self.path.join(name), source));
        }
        self.publish(&draft, name)
    }

    /// Creates a file under a temporary name; [`publish`](Self::publish) gives it its own.
    pub(super) fn create_draft(&self, name: &Path) -> Result<(File, PathBuf), WorkspaceError> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for attempt in 0..100 {
            let process = std::process::id();
            let draft = PathBuf::from(format!(".{}.{process}-{attempt}.part", name.display()));
            match handle::create_file(&self.handle, &self.path.join(&draft), &draft) {
                Ok(file) => return Ok((file, draft)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(failed(&self.path.join(name), error)),
            }
        }
        Err(failed(&self.path.join(name), last))
    }

    /// Gives a complete draft its name, in place of what has it.
    pub(super) fn publish(&self, draft: &Path, name: &Path) -> Result<(), WorkspaceError> {
        let (from, to) = (self.path.join(draft), self.path.join(name));
        let renamed = handle::rename(&self.handle, (&from, draft), (&to, name));
        renamed.map_err(|source| {
            self.remove(draft);
            failed(&to, source)
        })
    }

    /// Removes a file, if it can be.
    pub(super) fn remove(&self, name: &Path) {
        let _ = handle::remove(&self.handle, &self.path.join(name), name);
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn entry(&self, name: &Path) -> Result<Option<Entry>, WorkspaceError> {
        let path = self.path.join(name);
        match handle::entry(&self.handle, &path, name) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(failed(&path, source)),
        }
    }
}

pub(super) fn failed(path: &Path, source: io::Error) -> WorkspaceError {
    WorkspaceError::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(unix)]
mod handle {
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::{AtFlags, FileType, Mode, OFlags};

    use super::Entry;

    pub(super) type Handle = OwnedFd;

    const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

    pub(super) fn open(path: &Path) -> io::Result<Handle> {
        Ok(rustix::fs::open(path, FOLDER, Mode::empty())?)
    }

    pub(super) fn enter(within: &Handle, _: &Path, name: &Path) -> io::Result<Handle> {
        let flags = FOLDER | OFlags::NOFOLLOW;
        Ok(rustix::fs::openat(within, name, flags, Mode::empty())?)
    }

    pub(super) fn create_folder(within: &Handle, _: &Path, name: &Path) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(within, name, Mode::RWXU)?)
    }

    pub(super) fn read(within: &Handle, _: &Path, name: &Path) -> io::Result<File> {
        // A pipe that took the file's place would block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(within, name, flags, Mode::empty())?.into())
    }

    pub(super) fn create_file(within: &Handle, _: &Path, name: &Path) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(within, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    pub(super) fn rename(
        within: &Handle,
        (_, from): (&Path, &Path),
        (_, to): (&Path, &Path),
    ) -> io::Result<()> {
        rustix::fs::renameat(within, from, within, to)?;
        Ok(rustix::fs::fsync(within)?)
    }

    pub(super) fn remove(within: &Handle, _: &Path, name: &Path) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(within, name, AtFlags::empty())?)
    }

    pub(super) fn entry(within: &Handle, _: &Path, name: &Path) -> io::Result<Entry> {
        let stat = rustix::fs::statat(within, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Entry::File,
            FileType::Directory => Entry::Folder,
            FileType::Symlink => Entry::Link,
            _ => Entry::Other,
        })
    }
}

#[cfg(not(unix))]
mod handle {
    use std::fs::{self, File};
    use std::io;
    use std::path::Path;

    use super::Entry;

    /// Paths are used whole.
    pub(super) type Handle = ();

    pub(super) fn open(path: &Path) -> io::Result<Handle> {
        fs::read_dir(path).map(drop)
    }

    pub(super) fn enter((): &Handle, path: &Path, _: &Path) -> io::Result<Handle> {
        open(path)
    }

    pub(super) fn create_folder((): &Handle, path: &Path, _: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    pub(super) fn read((): &Handle, path: &Path, _: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(super) fn create_file((): &Handle, path: &Path, _: &Path) -> io::Result<File> {
        File::create_new(path)
    }

    pub(super) fn rename(
        (): &Handle,
        (from, _): (&Path, &Path),
        (to, _): (&Path, &Path),
    ) -> io::Result<()> {
        fs::rename(from, to)
    }

    pub(super) fn remove((): &Handle, path: &Path, _: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    pub(super) fn entry((): &Handle, path: &Path, _: &Path) -> io::Result<Entry> {
        let kind = fs::symlink_metadata(path)?.file_type();
        Ok(if kind.is_symlink() {
            Entry::Link
        } else if kind.is_dir() {
            Entry::Folder
        } else if kind.is_file() {
            Entry::File
        } else {
            Entry::Other
        })
    }
}
