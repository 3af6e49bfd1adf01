//! Forms that lie in a folder, kept up to date while the service runs.
//!
//! A file's name without its ending is the template's name. Decides nothing about forms, and
//! never takes a sound one away because its file was broken: [`Templates::replace`] sees to that.

mod scan;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::Validators;
use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::scan::{Look, Scan};
use crate::rpc::Templates;

/// Editors change a file in several steps; what comes within this time is looked at once.
const SETTLING: Duration = Duration::from_millis(50);
/// The folder is looked at this often even if nobody tells of a change: not every file system
/// does, and a folder that was replaced is another one.
const PATROL: Duration = Duration::from_secs(3);

/// Why the templates of a folder cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("the folder of templates {} cannot be read", folder.display())]
pub struct FolderError {
    /// The folder.
    pub folder: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// A folder of forms under watch.
///
/// ```
/// use entreat_service::TemplateFolder;
/// use entreat_service::rpc::Templates;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// std::fs::write(
///     folder.join("go.yaml"),
///     "{id: go, title: Go?, fields: [{id: sure, type: boolean, label: Sure?}]}",
/// )?;
/// let templates = Templates::default();
/// let watched = TemplateFolder::watch(folder, templates.clone()).await?;
/// assert!(templates.get("go").is_some());
/// watched.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TemplateFolder {
    task: JoinHandle<()>,
    end: CancellationToken,
    looks: watch::Receiver<u64>,
}

impl TemplateFolder {
    /// Loads the forms of a folder into `templates`, and goes on doing so as they change.
    ///
    /// They are there when this returns. Fails if the folder cannot be read; a file that is
    /// broken is a warning in the log and a problem of its template.
    pub async fn watch(
        folder: impl Into<PathBuf>,
        templates: Templates,
    ) -> Result<Self, FolderError> {
        Self::watch_with(folder, templates, Validators::default()).await
    }

    /// Loads and watches a folder as [`watch`](Self::watch) does; its forms may name these
    /// functions in `custom_validators`.
    pub async fn watch_with(
        folder: impl Into<PathBuf>,
        templates: Templates,
        validators: Validators,
    ) -> Result<Self, FolderError> {
        let folder = folder.into();
        let changed = Arc::new(Notify::new());
        // Before the first look, so that no change falls between the two.
        let watcher = watcher(&folder, changed.clone());
        let Looked { scan, found } = look(
            Scan::of(folder.clone(), validators),
            Look::Closely,
            &templates,
        )
        .await;
        if let Err(source) = found {
            return Err(FolderError { folder, source });
        }
        let end = CancellationToken::new();
        let (looked, looks) = watch::channel(1);
        let keeper = Keeper {
            templates,
            changed,
            looked,
            end: end.clone(),
            _watcher: watcher,
        };
        let task = tokio::spawn(keeper.keep(scan));
        Ok(Self { task, end, looks })
    }

    /// Waits until the folder was looked at once more. That is soon after a change, and every few
    /// seconds in any case.
    pub async fn looked(&self) {
        // An error means that nobody looks any more.
        let _ = self.looks.clone().changed().await;
    }

    /// Ends the watch; the templates stay as they are.
    pub async fn close(mut self) {
        self.end.cancel();
        // Cancelled with its runtime, it has ended too.
        let _ = (&mut self.task).await;
    }
}

impl Drop for TemplateFolder {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// A look at the folder that is over.
struct Looked {
    scan: Scan,
    found: io::Result<()>,
}

/// Looks at the folder, on a thread that may wait for a disk.
async fn look(mut scan: Scan, how: Look, templates: &Templates) -> Looked {
    let templates = templates.clone();
    // Should the look panic, the next begins as the first did.
    let anew = scan.forgotten();
    let looking = tokio::task::spawn_blocking(move || {
        let found = scan.look(how, &templates);
        Looked { scan, found }
    });
    looking.await.unwrap_or_else(|error| Looked {
        scan: anew,
        found: Err(io::Error::other(error)),
    })
}

/// Looks after the templates while the folder is watched.
struct Keeper {
    templates: Templates,
    changed: Arc<Notify>,
    looked: watch::Sender<u64>,
    end: CancellationToken,
    /// Tells of changes as long as it is held.
    _watcher: Option<RecommendedWatcher>,
}

impl Keeper {
    /// Looks again whenever something changed, and now and then in any case.
    async fn keep(self, mut scan: Scan) {
        let mut was_there = true;
        loop {
            let how = tokio::select! {
                () = self.end.cancelled() => return,
                () = settled(&self.changed) => Look::Closely,
                () = tokio::time::sleep(PATROL) => Look::InPassing,
            };
            let looked = look(scan, how, &self.templates).await;
            scan = looked.scan;
            let is_there = looked.found.is_ok();
            if let Err(error) = looked.found
                && was_there
            {
                let folder = scan.folder().display();
                tracing::warn!(%folder, %error, "templates stay as they are: their folder cannot be read");
            }
            was_there = is_there;
            self.looked.send_modify(|looks| *looks += 1);
        }
    }
}

async fn settled(changed: &Notify) {
    changed.notified().await;
    tokio::time::sleep(SETTLING).await;
}

/// Somebody who calls `changed` when the folder changes; `None` if the system has nobody.
fn watcher(folder: &std::path::Path, changed: Arc<Notify>) -> Option<RecommendedWatcher> {
    let tell = move |event: notify::Result<notify::Event>| {
        // Looking at a file is an event too; it must not lead to another look.
        let is_change = event.is_ok_and(|event| match event.kind {
            EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
            EventKind::Any
            | EventKind::Create(_)
            | EventKind::Modify(_)
            | EventKind::Remove(_)
            | EventKind::Other => true,
        });
        if is_change {
            changed.notify_one();
        }
    };
    let watcher = notify::recommended_watcher(tell).and_then(|mut watcher| {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    });
    let refused = |error: &notify::Error| {
        let folder = folder.display();
        tracing::warn!(%folder, %error, "changes of templates are noticed late: the folder cannot be watched");
    };
    watcher.inspect_err(refused).ok()
}
