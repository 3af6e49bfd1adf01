//! One-time downloads for the asker.

use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use entreat_core::ElicitationId;
use futures_util::{Stream, stream};
use parking_lot::Mutex;

use super::folder::UploadId;
use super::sealed::Reader;
use super::{Inner, UploadError, Uploads, blocking, parse};

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// The name, as sent by the browser.
    pub filename: String,
    /// The declared type, consistent with the file's first bytes.
    pub content_type: String,
    /// The size in bytes.
    pub size: u64,
}

impl FileInfo {
    pub(super) fn of(reader: &Reader) -> Self {
        let label = reader.label().clone();
        Self {
            filename: label.filename,
            content_type: label.content_type,
            size: reader.size(),
        }
    }
}

/// A download in progress, which excludes other downloads of the same file.
pub struct Download {
    info: FileInfo,
    active: ActiveDownload,
}

impl Download {
    /// Returns the metadata of the file.
    pub fn info(&self) -> &FileInfo {
        &self.info
    }

    /// Returns the contents. The file is removed once the last bytes were yielded; until then,
    /// dropping the stream leaves the file in place.
    pub fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        stream::try_unfold(self.active, |mut active| async move {
            let (mut active, segment) = blocking(move || {
                let segment = active.reader.next_segment()?;
                Ok((active, segment))
            })
            .await
            .map_err(io::Error::other)?;
            // Set only after the read: a client that disconnected meanwhile did not get the bytes.
            active.is_complete = active.reader.is_at_end();
            Ok(segment.map(|segment| (Bytes::from(segment), active)))
        })
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Download").field(&self.info).finish()
    }
}

/// The downloads in progress.
#[derive(Default)]
pub(super) struct Claims(Mutex<Vec<UploadId>>);

/// An exclusive download.
struct ActiveDownload {
    reader: Reader,
    /// The last bytes were yielded.
    is_complete: bool,
    claim: Claim,
}

struct Claim {
    inner: Arc<Inner>,
    id: ElicitationId,
    upload: UploadId,
}

impl Claim {
    fn new(inner: &Arc<Inner>, id: ElicitationId, upload: UploadId) -> Result<Self, UploadError> {
        let mut claims = inner.claims.0.lock();
        if claims.contains(&upload) {
            return Err(UploadError::InUse);
        }
        claims.push(upload);
        let inner = inner.clone();
        Ok(Self { inner, id, upload })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.inner
            .claims
            .0
            .lock()
            .retain(|other| *other != self.upload);
    }
}

impl Drop for ActiveDownload {
    // In `drop` and not at the end of the stream: with a known length, hyper does not poll for it.
    fn drop(&mut self) {
        if !self.is_complete {
            return;
        }
        let Claim { inner, id, upload } = &self.claim;
        if let Err(error) = inner.remove(*id, *upload) {
            tracing::warn!(%error, "a file that was downloaded could not be removed");
        }
        inner.folder.remove_if_empty(*id);
    }
}

impl Uploads {
    /// Starts the download of a link made by [`deliver`](Self::deliver).
    ///
    /// Fails with [`UploadError::NotFound`] if the token is wrong, the file was already downloaded,
    /// or it never existed.
    pub async fn start_download(
        &self,
        id: ElicitationId,
        location: &str,
        token: &str,
    ) -> Result<Download, UploadError> {
        let upload = self.authorize(id, location, token)?;
        let inner = self.0.clone();
        blocking(move || {
            let claim = Claim::new(&inner, id, upload)?;
            let reader = inner.open_download(id, upload)?;
            Ok(Download {
                info: FileInfo::of(&reader),
                active: ActiveDownload {
                    reader,
                    is_complete: false,
                    claim,
                },
            })
        })
        .await
    }

    /// Returns what [`start_download`](Self::start_download) would download, without consuming the link.
    pub async fn describe_download(
        &self,
        id: ElicitationId,
        location: &str,
        token: &str,
    ) -> Result<FileInfo, UploadError> {
        let upload = self.authorize(id, location, token)?;
        let inner = self.0.clone();
        blocking(move || Ok(FileInfo::of(&inner.open_download(id, upload)?))).await
    }

    fn authorize(
        &self,
        id: ElicitationId,
        location: &str,
        token: &str,
    ) -> Result<UploadId, UploadError> {
        let upload = parse(location)?;
        if self.0.keys.is_valid_token(token, id, upload) {
            Ok(upload)
        } else {
            Err(UploadError::NotFound)
        }
    }
}

impl Inner {
    /// Opens a file that is delivered as a download.
    fn open_download(&self, id: ElicitationId, upload: UploadId) -> Result<Reader, UploadError> {
        if self.folder.is_download(id, upload) {
            self.open(id, upload)
        } else {
            Err(UploadError::NotFound)
        }
    }
}
