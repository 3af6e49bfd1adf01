//! Inspects paths. Opens nothing for writing.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::output;

/// Permission bits of the group and others.
pub(super) const GROUP_AND_OTHERS: u32 = 0o077;
/// Permission bits of others.
pub(super) const OTHERS: u32 = 0o007;

/// A path and what exists there.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) found: Found,
}

/// What exists at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Missing,
    File(Permissions),
    Folder(Permissions),
    /// A device, a pipe, a socket.
    Other,
    /// It cannot be inspected; the system's error message.
    Inaccessible(String),
}

/// Permissions of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permissions {
    /// The mode bits; 0 on systems without them.
    pub(super) mode: u32,
    /// Whether this user may read and write it, and enter it if it is a folder.
    pub(super) is_accessible: bool,
}

impl Entry {
    pub(super) fn inspect(path: &Path) -> Self {
        let found = match std::fs::metadata(path) {
            Ok(metadata) => {
                let permissions = Permissions {
                    mode: mode(&metadata),
                    is_accessible: is_accessible(path, &metadata),
                };
                match metadata.file_type() {
                    kind if kind.is_file() => Found::File(permissions),
                    kind if kind.is_dir() => Found::Folder(permissions),
                    _ => Found::Other,
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Found::Missing,
            Err(error) => Found::Inaccessible(error.to_string()),
        };
        Self {
            path: path.to_owned(),
            found,
        }
    }

    pub(super) fn display_path(&self) -> String {
        output::sanitize_path(&self.path)
    }

    /// Whether a file grants any of these permission bits; false if it is not a file.
    pub(super) fn allows(&self, permissions: u32) -> bool {
        matches!(self.found, Found::File(found) if found.mode & permissions != 0)
    }
}

/// Returns the folder of a path; the current one for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Returns the path or its nearest existing ancestor.
pub(super) fn nearest(path: &Path) -> &Path {
    let mut folders = path.ancestors();
    let found = folders.find(|folder| !folder.as_os_str().is_empty() && folder.exists());
    found.unwrap_or(Path::new("."))
}

/// Quotes a path for a shell.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@,:".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.into_owned();
    }
    let dashed = if text.starts_with('-') { "./" } else { "" };
    format!("'{dashed}{}'", text.replace('\'', r"'\''"))
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    0
}

#[cfg(unix)]
fn is_accessible(path: &Path, metadata: &Metadata) -> bool {
    use rustix::fs::{Access, access};

    let mut wanted = Access::READ_OK | Access::WRITE_OK;
    wanted.set(Access::EXEC_OK, metadata.is_dir());
    access(path, wanted).is_ok()
}

#[cfg(not(unix))]
fn is_accessible(_: &Path, metadata: &Metadata) -> bool {
    !metadata.permissions().readonly()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_if_a_shell_would_misread_it() {
        let quoted = |text: &str| quoted(Path::new(text));
        assert_eq!(quoted("/var/lib/entreat/q.db"), "/var/lib/entreat/q.db");
        assert_eq!(quoted("my store.db"), "'my store.db'");
        assert_eq!(quoted("it's; rm"), r"'it'\''s; rm'");
        assert_eq!(quoted("-rf"), "'./-rf'");
    }

    #[test]
    fn what_is_not_there_lies_in_something_that_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.db");
        assert_eq!(nearest(&path), folder.path());
        assert_eq!(nearest(Path::new("no-such-file")), Path::new("."));
        assert_eq!(folder_of(Path::new("q.db")), Path::new("."));
        assert_eq!(Entry::inspect(&path).found, Found::Missing);
        assert!(matches!(
            Entry::inspect(folder.path()).found,
            Found::Folder(Permissions {
                is_accessible: true,
                ..
            })
        ));
    }
}
