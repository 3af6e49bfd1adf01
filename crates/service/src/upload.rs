//! Uploaded files, from the upload until the asker has received them.
//!
//! A file is streamed to disk while its form is still open, and is never held in memory as a whole.
//! Drafts hold a reference to it; on submission, [`Uploads::deliver`] replaces the reference by the
//! contents or by a one-time link. Every file on disk is sealed, whether its field is sensitive or
//! not.
//!
//! Deliberately absent: HTTP, and rules about names, types and sizes, which belong to the core.

mod copy;
mod deliver;
mod download;
mod error;
mod folder;
mod keys;
mod limits;
mod lock;
mod receive;
mod sealed;
mod stall;
mod sweep;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use entreat_core::ElicitationId;
use entreat_engine::{Engine, SystemEntropy};
use futures_util::{Stream, stream};
use tempfile::TempDir;

pub use self::copy::copy;
pub use self::download::{Download, FileInfo};
pub use self::error::{ReceiveError, UploadError};
pub(crate) use self::limits::MAX_FILES;
pub use self::receive::FileMetadata;
pub(crate) use self::sealed::{open_with_fixed_key, seal_with_fixed_key};

use self::download::Claims;
use self::folder::{Folder, UploadId};
use self::keys::Keys;
use self::limits::Limits;
use self::lock::Lock;
use self::sealed::Reader;
use self::sweep::is_without_draft;

/// Maximum size of all inline files of one answer, in bytes; other files are downloaded.
pub const MAX_INLINE: u64 = 16 << 20;

/// Limits for uploads, and how askers receive them.
#[derive(Clone, Debug)]
pub struct UploadSettings {
    /// Files up to this many bytes are sent inline in the answer, at most [`MAX_INLINE`] in one
    /// answer; larger ones by a one-time link.
    pub inline_limit: u64,
    /// Maximum bytes stored for one elicitation, whatever its form allows.
    pub bytes_per_elicitation: u64,
    /// Maximum bytes stored for all elicitations of one asker.
    pub bytes_per_asker: u64,
    /// Maximum bytes stored for all elicitations.
    pub bytes_total: u64,
    /// Maximum concurrent uploads in total; one asker may have half of them.
    pub max_concurrent: usize,
    /// Maximum concurrent uploads for one elicitation; further ones wait in a queue.
    pub max_concurrent_per_elicitation: usize,
    /// An upload that makes no progress for this long is aborted.
    pub stall_timeout: Duration,
}

impl Default for UploadSettings {
    fn default() -> Self {
        Self {
            inline_limit: 1 << 20,
            bytes_per_elicitation: 1 << 30,
            bytes_per_asker: 8 << 30,
            bytes_total: 16 << 30,
            max_concurrent: 64,
            max_concurrent_per_elicitation: 8,
            stall_timeout: Duration::from_secs(30),
        }
    }
}

/// The uploaded files. Clones share one state.
///
/// Only one process may use a folder at a time: opening one that is in use fails.
///
/// ```
/// use bytes::Bytes;
/// use entreat_core::Form;
/// use entreat_engine::{Ask, Engine};
/// use entreat_service::upload::{FileMetadata, UploadSettings, Uploads};
/// use futures_util::stream;
/// use serde_json::{Map, json};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
///     {"id": "notes", "type": "file", "label": "Notes"}]}))?;
/// let engine = Engine::builder().start().await?;
/// let id = engine.asker("me").ask(Ask::form(form.clone())).await?.id();
/// let uploads = Uploads::temporary(engine.clone(), UploadSettings::default())?;
///
/// let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"hello"))]);
/// let name = FileMetadata { filename: "a.txt", content_type: "text/plain", length: None };
/// let kept = uploads.receive(id, &form.fields()[0], name, body).await?;
/// assert_eq!(kept["size"], 5);
///
/// let answers = Map::from_iter([("notes".to_owned(), kept)]);
/// let answers = uploads.deliver(id, &form, answers, "https://ask.example.com").await?;
/// assert_eq!(answers["notes"]["content"], "aGVsbG8=");
/// # engine.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Uploads(Arc<Inner>);

struct Inner {
    folder: Folder,
    keys: Keys,
    engine: Engine,
    entropy: SystemEntropy,
    settings: UploadSettings,
    limits: Limits,
    /// Downloads in progress.
    claims: Claims,
    /// The exclusive lock on the folder.
    _lock: Lock,
    /// Removes the folder on drop, if it is temporary.
    _temporary: Option<TempDir>,
}

impl Uploads {
    /// Stores files in a folder, which is created with access for this user only. Files are sealed
    /// with keys derived from the engine's key ring and follow its rotation.
    pub fn open(
        folder: impl Into<PathBuf>,
        engine: Engine,
        settings: UploadSettings,
    ) -> Result<Self, UploadError> {
        Self::on(&folder.into(), None, engine, settings)
    }

    /// Returns the default upload folder of a store: beside it.
    pub fn folder_for_store(store: &Path) -> PathBuf {
        let mut folder = store.as_os_str().to_owned();
        folder.push(".uploads");
        folder.into()
    }

    /// Stores files in a temporary folder, which is removed on drop.
    pub fn temporary(engine: Engine, settings: UploadSettings) -> Result<Self, UploadError> {
        let folder = tempfile::Builder::new()
            .prefix("entreat-uploads-")
            .tempdir();
        let folder = folder.map_err(|source| UploadError::Folder {
            folder: "for temporary files".into(),
            source,
        })?;
        let path = folder.path().to_owned();
        Self::on(&path, Some(folder), engine, settings)
    }

    fn on(
        folder: &Path,
        temporary: Option<TempDir>,
        engine: Engine,
        settings: UploadSettings,
    ) -> Result<Self, UploadError> {
        let failed = |source| UploadError::Folder {
            folder: folder.to_owned(),
            source,
        };
        let kept = Folder::open(folder).map_err(failed)?;
        let lock = Lock::take(folder).map_err(failed)?;
        let lock = lock.ok_or_else(|| UploadError::FolderInUse {
            folder: folder.to_owned(),
        })?;
        let limits = Limits::new(&settings, kept.usage().map_err(failed)?);
        Ok(Self(Arc::new(Inner {
            keys: Keys::derive(&engine),
            entropy: SystemEntropy::new().map_err(UploadError::Disk)?,
            claims: Claims::default(),
            folder: kept,
            _lock: lock,
            _temporary: temporary,
            engine,
            settings,
            limits,
        })))
    }

    /// Reads a file, for example for a preview.
    ///
    /// Fails with [`UploadError::NotFound`] if the location is not a file of this elicitation. If
    /// the file was tampered with, the stream ends with an error before it yields any altered
    /// bytes.
    pub async fn read(
        &self,
        id: ElicitationId,
        location: &str,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>, UploadError> {
        let reader = self.reader(id, parse(location)?).await?;
        Ok(stream::try_unfold(reader, |mut reader| async move {
            let (reader, segment) = blocking(move || {
                let segment = reader.next_segment()?;
                Ok((reader, segment))
            })
            .await
            .map_err(io::Error::other)?;
            Ok(segment.map(|segment| (Bytes::from(segment), reader)))
        }))
    }

    /// Returns the first bytes of a file, or all of a shorter one.
    pub async fn head(
        &self,
        id: ElicitationId,
        location: &str,
        bytes: usize,
    ) -> Result<Vec<u8>, UploadError> {
        let mut reader = self.reader(id, parse(location)?).await?;
        blocking(move || {
            let mut head = Vec::new();
            while head.len() < bytes
                && let Some(segment) = reader.next_segment()?
            {
                head.extend_from_slice(&segment);
            }
            head.truncate(bytes);
            Ok(head)
        })
        .await
    }

    /// Returns the name, type and size of a file.
    pub async fn describe(
        &self,
        id: ElicitationId,
        location: &str,
    ) -> Result<FileInfo, UploadError> {
        let reader = self.reader(id, parse(location)?).await?;
        Ok(FileInfo::of(&reader))
    }

    /// Removes a file, for example when it was replaced. Does nothing if it does not exist.
    pub async fn remove(&self, id: ElicitationId, location: &str) {
        let Ok(upload) = parse(location) else { return };
        self.in_background(move |inner| inner.remove(id, upload))
            .await;
    }

    /// Removes all files of an elicitation.
    pub async fn remove_all(&self, id: ElicitationId) {
        self.in_background(move |inner| inner.remove_all(id)).await;
    }

    /// Removes the files of an elicitation that became one for somebody else: its draft was dropped.
    /// Does nothing while there is a draft, because then it is for whom it was before.
    pub async fn remove_of_dropped_draft(&self, id: ElicitationId) {
        let status = self.0.engine.elicitation(id).status().await;
        if status.is_ok_and(|snapshot| is_without_draft(&snapshot)) {
            self.remove_all(id).await;
        }
    }

    async fn reader(&self, id: ElicitationId, upload: UploadId) -> Result<Reader, UploadError> {
        let inner = self.0.clone();
        blocking(move || inner.open(id, upload)).await
    }

    /// Runs work on a blocking thread and logs its error.
    async fn in_background(&self, work: impl FnOnce(&Inner) -> io::Result<()> + Send + 'static) {
        let inner = self.0.clone();
        if let Err(error) = blocking(move || Ok(work(&inner)?)).await {
            tracing::warn!(%error, "an uploaded file could not be removed");
        }
    }
}

impl Inner {
    fn open(&self, id: ElicitationId, upload: UploadId) -> Result<Reader, UploadError> {
        let file = self.folder.read(id, upload)?;
        Reader::open(file, |version, salt| {
            self.keys.file_key(version, salt, id, upload)
        })
    }

    fn remove(&self, id: ElicitationId, upload: UploadId) -> io::Result<()> {
        if let Some(bytes) = self.folder.remove(id, upload)? {
            self.limits.release(id, bytes);
        }
        Ok(())
    }

    fn remove_all(&self, id: ElicitationId) -> io::Result<()> {
        for upload in self.folder.uploads(id)? {
            self.remove(id, upload)?;
        }
        self.folder.remove_if_empty(id);
        Ok(())
    }
}

impl fmt::Debug for Uploads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploads")
            .field("folder", &self.0.folder.path())
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

/// Parses a location. Anything but an upload id is rejected here and never becomes a path.
fn parse(location: &str) -> Result<UploadId, UploadError> {
    UploadId::parse(location).ok_or(UploadError::NotFound)
}

/// Runs disk I/O on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, UploadError> + Send + 'static,
) -> Result<T, UploadError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(UploadError::Disk(io::Error::other(error))))
}
