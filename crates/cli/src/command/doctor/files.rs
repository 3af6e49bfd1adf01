//! What the file system says about a path. Opens nothing for writing.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::output;

/// What the group and everybody may do.
pub(super) const OTHERS: u32 = 0o077;
/// What everybody may do.
pub(super) const EVERYBODY: u32 = 0o007;

/// A path, and what lies there.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) found: Found,
}

/// What lies at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Missing,
    File(Rights),
    Folder(Rights),
    /// A device, a pipe, a socket.
    Other,
    /// It cannot be looked at, in the system's words.
    Hidden(String),
}

/// Who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rights {
    /// The bits of the mode; 0 where there are none.
    pub(super) mode: u32,
    /// Whether we may read and write it, and enter it if it is a folder.
    pub(super) is_ours: bool,
}

impl Entry {
    pub(super) fn look(path: &Path) -> Self {
        let found = match std::fs::metadata(path) {
            Ok(metadata) => {
                let rights = Rights {
                    mode: mode(&metadata),
                    is_ours: is_ours(path, &metadata),
                };
                match metadata.file_type() {
                    kind if kind.is_file() => Found::File(rights),
                    kind if kind.is_dir() => Found::Folder(rights),
                    _ => Found::Other,
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Found::Missing,
            Err(error) => Found::Hidden(error.to_string()),
        };
        Self {
            path: path.to_owned(),
            found,
        }
    }

    pub(super) fn shown(&self) -> String {
        shown(&self.path)
    }

    /// Whether some of these rights are given; they say nothing where there is no file.
    pub(super) fn allows(&self, rights: u32) -> bool {
        matches!(self.found, Found::File(found) if found.mode & rights != 0)
    }
}

/// The folder that a path lies in; the current one for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The path itself, or what is there of it.
pub(super) fn nearest(path: &Path) -> &Path {
    let mut folders = path.ancestors();
    let found = folders.find(|folder| !folder.as_os_str().is_empty() && folder.exists());
    found.unwrap_or(Path::new("."))
}

pub(super) fn shown(path: &Path) -> String {
    output::plain(&path.to_string_lossy()).into_owned()
}

/// A path as a shell reads it.
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
fn is_ours(path: &Path, metadata: &Metadata) -> bool {
    use rustix::fs::{Access, access};

    let mut wanted = Access::READ_OK | Access::WRITE_OK;
    wanted.set(Access::EXEC_OK, metadata.is_dir());
    access(path, wanted).is_ok()
}

#[cfg(not(unix))]
fn is_ours(_: &Path, metadata: &Metadata) -> bool {
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
        assert_eq!(Entry::look(&path).found, Found::Missing);
        assert!(matches!(
            Entry::look(folder.path()).found,
            Found::Folder(Rights { is_ours: true, .. })
        ));
    }
}
