//! Where secrets and files are put for an agent on this machine.

#[cfg(feature = "workspace")]
mod dotenv;
#[cfg(feature = "workspace")]
mod folder;
#[cfg(feature = "workspace")]
mod saved;

use std::path::{Component, Path, PathBuf};
use std::pin::Pin;

use entreat_core::{Upload, is_unsafe_to_display};
use serde::{Deserialize, Serialize};

#[cfg(feature = "workspace")]
pub use saved::FolderWorkspace;

/// The maximum length of a path or name, in bytes.
const MAX_LENGTH: usize = 255;

/// A variable in a dotenv file, below the folder of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawTarget", into = "RawTarget")]
pub struct SecretTarget {
    file: PathBuf,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct RawTarget {
    file: PathBuf,
    name: String,
}

/// Why a secret or file cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The path leaves the folder, or names it.
    #[error("`{0}` must be the path of a file below the working folder, without `..`")]
    Outside(String),
    /// The path has a part that only a shell would replace.
    #[error("`{0}` is not expanded as in a shell; give a path below the working folder without it")]
    Shell(String),
    /// The path is reserved.
    #[error("`{0}` belongs to Git; choose another file")]
    Git(String),
    /// The path is too long, has spaces at an end, or characters that cannot be shown.
    #[error(
        "the path of the file has more than 255 bytes, spaces at an end, or characters that cannot \
         be shown"
    )]
    Path,
    /// Not the name of a variable.
    #[error("`name` must be a variable's name: letters, digits and `_`, not starting with a digit")]
    Name,
    /// A part of the path is a symbolic link.
    #[error("{0} is a symbolic link, which is not followed; name a file that is none")]
    Link(PathBuf),
    /// The target is not a file.
    #[error("{0} is not a file")]
    NotAFile(PathBuf),
    /// The file has other contents.
    #[error("{path} is not a dotenv file: line {line} is neither a comment nor NAME=value")]
    NotDotenv {
        /// The file.
        path: PathBuf,
        /// The first line that is wrong, from 1.
        line: usize,
    },
    /// The file is too large.
    #[error("{0} has more than 1 MB")]
    TooLarge(PathBuf),
    /// The secret cannot be written as text of one variable.
    #[error("the secret has control characters, which a dotenv file cannot hold")]
    Characters,
    /// The file cannot be fetched.
    #[error("the file cannot be fetched: {0}")]
    Fetch(String),
    /// Reading or writing failed.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// Where a secret will be saved, for the person to read beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretPlace {
    /// The full path of the file.
    pub path: PathBuf,
    /// Whether Git ignores the file; `None` if it is in no repository.
    pub is_ignored: Option<bool>,
}

/// The future of a workspace's work.
pub type WorkspaceFuture<T> = Pin<Box<dyn Future<Output = Result<T, WorkspaceError>> + Send>>;

/// Saves secrets and files for an agent that runs on this machine.
pub trait Workspace: Send + Sync {
    /// Checks that a secret can be saved, and returns where.
    fn place(&self, target: &SecretTarget) -> WorkspaceFuture<SecretPlace>;

    /// Sets the variable to the secret. An existing value is replaced only if `replace`.
    fn save_secret(
        &self,
        target: &SecretTarget,
        secret: &str,
        replace: bool,
    ) -> WorkspaceFuture<()>;

    /// Saves a file of an answer, once: the same file of the same question is not fetched again.
    /// `question` and `place` are names: of a question, and of the file among its files.
    fn save_file(
        &self,
        question: &str,
        place: &str,
        file: Upload<'static>,
    ) -> WorkspaceFuture<PathBuf>;
}

impl SecretTarget {
    /// A variable in a file below the folder.
    pub fn new(file: &str, name: &str) -> Result<Self, WorkspaceError> {
        let has_spaces = file.trim() != file;
        if file.len() > MAX_LENGTH || has_spaces || file.chars().any(is_unsafe_to_display) {
            return Err(WorkspaceError::Path);
        }
        let path = checked_path(file)?;
        let mut characters = name.bytes();
        let is_name = characters
            .next()
            .is_some_and(|it| it == b'_' || it.is_ascii_alphabetic())
            && characters.all(|it| it == b'_' || it.is_ascii_alphanumeric())
            && name.len() <= MAX_LENGTH;
        if !is_name {
            return Err(WorkspaceError::Name);
        }
        Ok(Self {
            file: path,
            name: name.to_owned(),
        })
    }

    /// The path of the file, relative to the folder.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The name of the variable.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl TryFrom<RawTarget> for SecretTarget {
    type Error = WorkspaceError;

    fn try_from(raw: RawTarget) -> Result<Self, WorkspaceError> {
        Self::new(&raw.file.to_string_lossy(), &raw.name)
    }
}

impl From<SecretTarget> for RawTarget {
    fn from(target: SecretTarget) -> Self {
        Self {
            file: target.file,
            name: target.name,
        }
    }
}

/// The path with nothing but names in it.
fn checked_path(file: &str) -> Result<PathBuf, WorkspaceError> {
    let outside = || WorkspaceError::Outside(file.to_owned());
    // A backslash separates folders on Windows only; nobody means it as part of a name.
    if file.contains('\\') || file.ends_with('/') {
        return Err(outside());
    }
    let mut path = PathBuf::new();
    for part in Path::new(file).components() {
        match part {
            Component::Normal(name) if is_for_a_shell(&name.to_string_lossy()) => {
                return Err(WorkspaceError::Shell(name.to_string_lossy().into_owned()));
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                return Err(outside());
            }
        }
        if let Component::Normal(name) = part
            && is_git(&name.to_string_lossy())
        {
            return Err(WorkspaceError::Git(file.to_owned()));
        }
    }
    if path.as_os_str().is_empty() {
        return Err(outside());
    }
    Ok(path)
}

/// Whether a shell would replace the name, as people and models expect: `~`, `$HOME`, `%USERPROFILE%`.
fn is_for_a_shell(name: &str) -> bool {
    name.starts_with(['~', '$', '%'])
}

/// Whether some file system takes the name for Git's folder: without case, without trailing dots
/// and spaces, under a short name, or with a stream after a colon.
fn is_git(name: &str) -> bool {
    let name = name.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    name == ".git"
        || name
            .strip_prefix("git~")
            .is_some_and(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_stays_below_the_folder_and_out_of_git() {
        for file in [".env", "config/.env.local", "./a/b", "a.git/x", "gitfiles"] {
            assert!(SecretTarget::new(file, "KEY").is_ok(), "{file}");
        }
        let outside = [
            "",
            ".",
            "/",
            "/etc/x",
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "a/",
            "a\\..\\b",
            "C:\\x",
        ];
        let git = [
            ".git",
            ".git/config",
            "a/.git/hooks/x",
            ".GIT/x",
            ".git./x",
            ".git /x",
            "git~1/x",
            ".git::$INDEX_ALLOCATION/x",
        ];
        for file in outside.into_iter().chain(git) {
            assert!(SecretTarget::new(file, "KEY").is_err(), "{file:?}");
        }
        for file in ["~/.env", "~me/x", "$HOME/.env", "a/$B/c", "%APPDATA%/x"] {
            let error = SecretTarget::new(file, "KEY").unwrap_err();
            assert!(matches!(error, WorkspaceError::Shell(_)), "{file}: {error}");
        }
        for file in [
            " .env",
            ".env ",
            "a\nb",
            "a\u{202e}b",
            "a\0b",
            &"x".repeat(256),
        ] {
            assert!(SecretTarget::new(file, "KEY").is_err(), "{file:?}");
        }
    }

    #[test]
    fn a_variable_has_the_name_of_one() {
        for name in ["A", "_a1", "API_KEY"] {
            assert!(SecretTarget::new(".env", name).is_ok(), "{name}");
        }
        for name in ["", "1A", "A-B", "A B", "A=B", "A\nB", "Ä", "A'"] {
            assert!(SecretTarget::new(".env", name).is_err(), "{name:?}");
        }
    }
}
