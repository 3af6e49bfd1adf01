//! Loads form templates from a folder and reloads them while the service runs.
//!
//! The file stem is the template's name. A template whose file becomes invalid keeps its last valid
//! form; see [`Templates::replace`].

mod scan;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use entreat_core::Validators;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::scan::Scan;
use crate::rpc::Templates;

/// Interval of scans. Notifications of the operating system would be faster, but not every file
/// system sends them, and a scan that finds nothing new only looks at the folder and the files'
/// metadata.
const SCAN_INTERVAL: Duration = Duration::from_millis(500);

/// Why the templates of a folder cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[error("the folder of templates {} cannot be read", folder.display())]
pub struct FolderError {
    /// The folder.
    pub folder: PathBuf,
    /// The I/O error.
    pub source: io::Error,
}

/// A watched folder of form templates.
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
    scans: watch::Receiver<u64>,
}

impl TemplateFolder {
    /// Loads the forms of a folder into `templates`, and reloads them when they change.
    ///
    /// The first load is complete when this returns. Fails if the folder cannot be read; an invalid
    /// file only logs a warning and is reported as a problem of its template.
    pub async fn watch(
        folder: impl Into<PathBuf>,
        templates: Templates,
    ) -> Result<Self, FolderError> {
        Self::watch_with(folder, templates, Validators::default()).await
    }

    /// Watches a folder like [`watch`](Self::watch); its forms may name these functions in
    /// `custom_validators`.
    pub async fn watch_with(
        folder: impl Into<PathBuf>,
        templates: Templates,
        validators: Validators,
    ) -> Result<Self, FolderError> {
        let folder = folder.into();
        let scan = Scan::new(folder.clone(), validators);
        let ScanResult { scan, found } = run_scan(scan, &templates).await;
        if let Err(source) = found {
            return Err(FolderError { folder, source });
        }
        let end = CancellationToken::new();
        let (rescanned, scans) = watch::channel(1);
        let watch_task = WatchTask {
            templates,
            rescanned,
            end: end.clone(),
        };
        let task = tokio::spawn(watch_task.run(scan));
        Ok(Self { task, end, scans })
    }

    /// Waits for the next scan, which is at most half a second away.
    pub async fn rescanned(&self) {
        // An error means that the watch has ended.
        let _ = self.scans.clone().changed().await;
    }

    /// Stops watching; the templates stay loaded.
    pub async fn close(mut self) {
        self.end.cancel();
        // Fails only if the runtime cancelled the task.
        let _ = (&mut self.task).await;
    }
}

impl Drop for TemplateFolder {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// The scan after it ran, and its result.
struct ScanResult {
    scan: Scan,
    found: io::Result<()>,
}

/// Scans the folder on a blocking thread.
async fn run_scan(mut scan: Scan, templates: &Templates) -> ScanResult {
    let templates = templates.clone();
    // If the scan panics, the next one starts from scratch.
    let fresh = scan.fresh();
    let scanning = tokio::task::spawn_blocking(move || {
        let found = scan.run(&templates);
        ScanResult { scan, found }
    });
    scanning.await.unwrap_or_else(|error| ScanResult {
        scan: fresh,
        found: Err(io::Error::other(error)),
    })
}

/// The task that keeps the templates up to date.
struct WatchTask {
    templates: Templates,
    rescanned: watch::Sender<u64>,
    end: CancellationToken,
}

impl WatchTask {
    /// Scans at an interval.
    async fn run(self, mut scan: Scan) {
        let mut was_readable = true;
        loop {
            tokio::select! {
                () = self.end.cancelled() => return,
                () = tokio::time::sleep(SCAN_INTERVAL) => {}
            }
            let result = run_scan(scan, &self.templates).await;
            scan = result.scan;
            let is_readable = result.found.is_ok();
            if let Err(error) = result.found
                && was_readable
            {
                let folder = scan.folder().display();
                tracing::warn!(%folder, %error, "templates stay as they are: their folder cannot be read");
            }
            was_readable = is_readable;
            self.rescanned.send_modify(|scans| *scans += 1);
        }
    }
}
