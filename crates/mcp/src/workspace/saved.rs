//! A workspace that is a folder: secrets go to its dotenv files, files to a folder of their own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{Content, ReferenceKind, Upload, is_unsafe_to_display};
use entreat_wire::http::Client;
use http::Method;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use zeroize::Zeroizing;

use super::dotenv::{self, DotenvError};
use super::folder::{Folder, failed};
use super::{SecretPlace, SecretTarget, Workspace, WorkspaceError, WorkspaceFuture};

/// The folder of saved files, below the workspace.
const FILES: [&str; 2] = [".entreat", "files"];
/// How long `git` may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum length of a saved file's name, in bytes.
const MAX_NAME: usize = 100;

/// The folder in which an agent works.
#[derive(Clone, Debug)]
pub struct FolderWorkspace {
    root: Arc<Path>,
}

impl FolderWorkspace {
    /// Saves below this folder, which must exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into().into(),
        }
    }
}

impl Workspace for FolderWorkspace {
    fn place(&self, target: &SecretTarget) -> WorkspaceFuture<SecretPlace> {
        let (root, target) = (self.root.clone(), target.clone());
        Box::pin(async move {
            let path = root.join(&target.file);
            let checked = (root.clone(), target.file.clone());
            blocking(move || check(&checked.0, &checked.1)).await?;
            Ok(SecretPlace {
                is_ignored: is_ignored(&root, &target.file).await,
                path,
            })
        })
    }

    fn save_secret(
        &self,
        target: &SecretTarget,
        secret: &str,
        replace: bool,
    ) -> WorkspaceFuture<()> {
        let (root, target) = (self.root.clone(), target.clone());
        let secret = Zeroizing::new(secret.to_owned());
        Box::pin(blocking(move || save(&root, &target, &secret, replace)))
    }

    fn save_file(
        &self,
        question: &str,
        place: &str,
        file: Upload<'static>,
    ) -> WorkspaceFuture<PathBuf> {
        let root = self.root.clone();
        let question = PathBuf::from(question);
        let name = PathBuf::from(format!("{place}-{}", file_name(file.filename())));
        Box::pin(async move {
            let opened = {
                let name = name.clone();
                blocking(move || open_files(&root, &question, &name)).await?
            };
            let path = opened.folder.path().join(&name);
            let Some((draft_file, draft)) = opened.draft else {
                return Ok(path);
            };
            let mut draft_file = tokio::fs::File::from_std(draft_file);
            let written = receive(&file, &mut draft_file, &path).await;
            drop(draft_file);
            blocking(move || match written {
                Ok(()) => opened.folder.publish(&draft, &name),
                Err(error) => {
                    opened.folder.remove(&draft);
                    Err(error)
                }
            })
            .await?;
            Ok(path)
        })
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(failed(Path::new("a file"), std::io::Error::other(error))))
}

/// The folder of a file below the root; `None` if it does not exist.
fn parent(root: &Path, file: &Path) -> Result<Option<Folder>, WorkspaceError> {
    let mut folder = Folder::open(root)?;
    for part in file.parent().into_iter().flat_map(Path::iter) {
        match folder.enter(Path::new(part))? {
            Some(next) => folder = next,
            None => return Ok(None),
        }
    }
    Ok(Some(folder))
}

fn name_of(file: &Path) -> &Path {
    file.file_name().map_or(file, Path::new)
}

/// Checks that a variable could be set, without changing anything.
fn check(root: &Path, file: &Path) -> Result<(), WorkspaceError> {
    let Some(folder) = parent(root, file)? else {
        return Ok(());
    };
    let text = folder.read(name_of(file))?;
    let set = dotenv::set(&text, "_", "", true);
    set.map(drop).map_err(|error| explain(root, file, &error))
}

fn save(
    root: &Path,
    target: &SecretTarget,
    secret: &str,
    replace: bool,
) -> Result<(), WorkspaceError> {
    let mut folder = Folder::open(root)?;
    for part in target.file.parent().into_iter().flat_map(Path::iter) {
        folder = folder.enter_or_create(Path::new(part))?;
    }
    let name = name_of(&target.file);
    let text = Zeroizing::new(folder.read(name)?);
    let changed = dotenv::set(&text, &target.name, secret, replace)
        .map_err(|error| explain(root, &target.file, &error))?;
    match changed.map(Zeroizing::new) {
        Some(changed) => folder.replace(name, changed.as_bytes()),
        None => Ok(()),
    }
}

fn explain(root: &Path, file: &Path, error: &DotenvError) -> WorkspaceError {
    match error {
        DotenvError::Line(line) => WorkspaceError::NotDotenv {
            path: root.join(file),
            line: *line,
        },
        DotenvError::Value => WorkspaceError::Characters,
    }
}

/// Asks Git whether it ignores a file; a tracked file is not ignored. `None` if there is no
/// repository, or no Git.
async fn is_ignored(root: &Path, file: &Path) -> Option<bool> {
    let mut git = Command::new("git");
    // The repository may be hostile: its configuration must not start a program.
    git.args([
        "-c",
        "core.fsmonitor=false",
        "check-ignore",
        "--quiet",
        "--",
    ])
    .arg(file)
    .current_dir(root)
    .stdin(Stdio::null())
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .kill_on_drop(true);
    let status = tokio::time::timeout(GIT_TIMEOUT, git.status()).await;
    match status.ok()?.ok()?.code()? {
        0 => Some(true),
        1 => Some(false),
        _ => None,
    }
}

/// A place for a file.
struct OpenedFiles {
    folder: Folder,
    /// A draft to write, unless the file is there already.
    draft: Option<(std::fs::File, PathBuf)>,
}

fn open_files(root: &Path, question: &Path, name: &Path) -> Result<OpenedFiles, WorkspaceError> {
    let top = Folder::open(root)?.enter_or_create(Path::new(FILES[0]))?;
    let ignore = Path::new(".gitignore");
    if !top.has_file(ignore)? {
        top.replace(ignore, b"*\n")?;
    }
    let files = top.enter_or_create(Path::new(FILES[1]))?;
    let folder = files.enter_or_create(question)?;
    let draft = if folder.has_file(name)? {
        None
    } else {
        Some(folder.create_draft(name)?)
    };
    Ok(OpenedFiles { folder, draft })
}

/// Writes the contents of an upload: its bytes, or what its link leads to.
async fn receive(
    file: &Upload<'static>,
    draft: &mut tokio::fs::File,
    path: &Path,
) -> Result<(), WorkspaceError> {
    let io = |source| failed(path, source);
    match file.content() {
        Content::Inline(base64) => draft.write_all(&base64.decode()).await.map_err(io)?,
        Content::Reference(reference) if reference.kind == ReferenceKind::Url => {
            download(&reference.location, file.size(), draft, path).await?;
        }
        Content::Reference(_) => {
            let message = "it is stored where this program has no access";
            return Err(WorkspaceError::Fetch(message.to_owned()));
        }
    }
    draft.sync_all().await.map_err(io)
}

async fn download(
    url: &str,
    size: u64,
    draft: &mut tokio::fs::File,
    path: &Path,
) -> Result<(), WorkspaceError> {
    let fetch = |error: &dyn std::fmt::Display| WorkspaceError::Fetch(error.to_string());
    let client = Client::builder(url)
        .build()
        .map_err(|error| fetch(&error))?;
    let response = client.request(Method::GET).send().await;
    let mut response = response.map_err(|error| fetch(&error))?;
    if !response.status().is_success() {
        let status = response.status();
        return Err(fetch(&format_args!(
            "the service answered with status {status}"
        )));
    }
    let mut received: u64 = 0;
    while let Some(chunk) = response.chunk().await.map_err(|error| fetch(&error))? {
        received += chunk.len() as u64;
        if received > size {
            return Err(fetch(&"it is larger than announced"));
        }
        let written = draft.write_all(&chunk).await;
        written.map_err(|source| failed(path, source))?;
    }
    if received == size {
        Ok(())
    } else {
        Err(fetch(&"it ended early"))
    }
}

/// The name under which a file is saved: nothing in it means anything to a shell or file system.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let plain: String = name
        .chars()
        .map(|c| {
            if is_plain(c) && !is_unsafe_to_display(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    // Cut at the front: the ending tells the type.
    let surplus = plain.len().saturating_sub(MAX_NAME);
    let kept = plain.char_indices().find(|(start, _)| *start >= surplus);
    kept.map_or_else(String::new, |(start, _)| plain[start..].to_owned())
}
