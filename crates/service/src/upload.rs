//! Files that people send, from the moment they choose one until the asker has it.
//!
//! A file is streamed to disk while its form is still open, and is never whole in memory. What a
//! draft keeps is a reference to it; when the person sends the form, [`Uploads::deliver`] puts the
//! bytes, or a link that works once, in its place. Everything on disk is sealed, whether its field
//! is sensitive or not: one way in, one way out.
//!
//! Deliberately absent: HTTP, and rules about names, types and sizes, which are the core's.

mod copy;
mod deliver;
mod download;
mod error;
mod folder;
mod keys;
mod limits;
mod lock;
mod pace;
mod receive;
mod sealed;
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
pub use self::download::{Described, Download};
pub use self::error::{ReceiveError, UploadError};
pub(crate) use self::limits::MOST_FILES;
pub use self::receive::FileName;
pub(crate) use self::sealed::{read_under_a_fixed_key, seal_under_a_fixed_key};

use self::download::Claims;
use self::folder::{Folder, UploadId};
use self::keys::Keys;
use self::limits::Limits;
use self::lock::Lock;
use self::sealed::Reader;

/// So many bytes of files go with one answer; the rest is downloaded.
pub const MAX_INLINE: u64 = 16 << 20;

/// What people may send, and how askers get it.
#[derive(Clone, Debug)]
pub struct UploadSettings {
    /// Files up to this many bytes are handed to the asker in the answer itself, at most
    /// [`MAX_INLINE`] of them in one answer; larger ones by a link that works once.
    pub inline_limit: u64,
    /// So many bytes are kept for one elicitation, whatever its form allows.
    pub bytes_per_elicitation: u64,
    /// So many bytes are kept for all elicitations of one asker.
    pub bytes_per_asker: u64,
    /// So many bytes are kept for all elicitations together.
    pub bytes_in_all: u64,
    /// So many files may be on their way at once, for all elicitations together; half of them
    /// for those of one asker.
    pub at_once: usize,
    /// So many of them may be one elicitation's; what is sent for it besides waits.
    pub at_once_per_elicitation: usize,
    /// A file is given up of which next to nothing came for so long.
    pub stall_timeout: Duration,
}

impl Default for UploadSettings {
    fn default() -> Self {
        Self {
            inline_limit: 1 << 20,
            bytes_per_elicitation: 1 << 30,
            bytes_per_asker: 8 << 30,
            bytes_in_all: 16 << 30,
            at_once: 64,
            at_once_per_elicitation: 8,
            stall_timeout: Duration::from_secs(30),
        }
    }
}

/// The files that people have sent. Cheap to clone; all clones are one.
///
/// One program at a time uses a folder, as with a store: opening one that is in use fails.
///
/// ```
/// use bytes::Bytes;
/// use entreat_core::Form;
/// use entreat_engine::{Ask, Engine};
/// use entreat_service::upload::{FileName, UploadSettings, Uploads};
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
/// let name = FileName { filename: "a.txt", content_type: "text/plain", length: None };
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
    /// Downloads that are under way.
    claims: Claims,
    /// That the folder is ours.
    _lock: Lock,
    /// The folder, if it goes with this.
    _temporary: Option<TempDir>,
}

impl Uploads {
    /// Keeps files in a folder, which is made for this user alone if it is not there. They are
    /// sealed by keys that are derived from the engine's ring, and follow its rotation.
    pub fn open(
        folder: impl Into<PathBuf>,
        engine: Engine,
        settings: UploadSettings,
    ) -> Result<Self, UploadError> {
        Self::on(&folder.into(), None, engine, settings)
    }

    /// Where the files of a store at a path are kept: in a folder beside it.
    pub fn folder_beside(store: &Path) -> PathBuf {
        let mut folder = store.as_os_str().to_owned();
        folder.push(".uploads");
        folder.into()
    }

    /// Keeps files in a folder that goes with this, as suits elicitations that do.
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
        let limits = Limits::new(&settings, kept.census().map_err(failed)?);
        Ok(Self(Arc::new(Inner {
            keys: Keys::of(&engine),
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

    /// The bytes of a file again, as for a preview.
    ///
    /// A location that is none of this elicitation's is [`UploadError::NotThere`], here as
    /// everywhere. What was tampered with ends the stream with an error, before a byte of the
    /// piece in question was told.
    pub async fn read(
        &self,
        id: ElicitationId,
        location: &str,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>, UploadError> {
        let reader = self.reader(id, parse(location)?).await?;
        Ok(stream::try_unfold(reader, |mut reader| async move {
            let (reader, piece) = blocking(move || {
                let piece = reader.next_piece()?;
                Ok((reader, piece))
            })
            .await
            .map_err(io::Error::other)?;
            Ok(piece.map(|piece| (Bytes::from(piece), reader)))
        }))
    }

    /// The first bytes of a file; fewer if it has no more.
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
                && let Some(piece) = reader.next_piece()?
            {
                head.extend_from_slice(&piece);
            }
            head.truncate(bytes);
            Ok(head)
        })
        .await
    }

    /// What a file is called, and how large it is.
    pub async fn describe(
        &self,
        id: ElicitationId,
        location: &str,
    ) -> Result<Described, UploadError> {
        let reader = self.reader(id, parse(location)?).await?;
        Ok(Described::of(&reader))
    }

    /// Forgets a file, as when it was replaced by another. One that is not there is none.
    pub async fn remove(&self, id: ElicitationId, location: &str) {
        let Ok(upload) = parse(location) else { return };
        self.in_background(move |inner| inner.forget(id, upload))
            .await;
    }

    /// Forgets all files of an elicitation.
    pub async fn remove_all(&self, id: ElicitationId) {
        self.in_background(move |inner| inner.forget_all(id)).await;
    }

    async fn reader(&self, id: ElicitationId, upload: UploadId) -> Result<Reader, UploadError> {
        let inner = self.0.clone();
        blocking(move || inner.open(id, upload)).await
    }

    /// Does something that nobody waits to hear about, on a thread that may wait for a disk.
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
            self.keys.of_file(version, salt, id, upload)
        })
    }

    fn forget(&self, id: ElicitationId, upload: UploadId) -> io::Result<()> {
        if let Some(bytes) = self.folder.remove(id, upload)? {
            self.limits.give_back(id, bytes);
        }
        Ok(())
    }

    fn forget_all(&self, id: ElicitationId) -> io::Result<()> {
        for upload in self.folder.uploads(id)? {
            self.forget(id, upload)?;
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

/// The upload of a location. What is no upload's name is not there; it never becomes a path.
fn parse(location: &str) -> Result<UploadId, UploadError> {
    UploadId::parse(location).ok_or(UploadError::NotThere)
}

/// Does what may wait for a disk on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, UploadError> + Send + 'static,
) -> Result<T, UploadError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(UploadError::Disk(io::Error::other(error))))
}
