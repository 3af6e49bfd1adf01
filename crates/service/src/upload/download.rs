//! Files that the asker fetches, once.

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

/// What is told of a file besides its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name, as the person's system had it.
    pub filename: String,
    /// Its type, as it was declared and not contradicted by its first bytes.
    pub content_type: String,
    /// How many bytes it has.
    pub size: u64,
}

impl Described {
    pub(super) fn of(reader: &Reader) -> Self {
        let label = reader.label().clone();
        Self {
            filename: label.filename,
            content_type: label.content_type,
            size: reader.size(),
        }
    }
}

/// A download that has begun. While it is there, nobody else can begin the same.
pub struct Download {
    described: Described,
    taking: Taking,
}

impl Download {
    /// What is told of the file.
    pub fn described(&self) -> &Described {
        &self.described
    }

    /// The bytes. The file is removed once the last of them was handed out; until then, dropping
    /// this leaves everything as it was.
    pub fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        stream::try_unfold(self.taking, |mut taking| async move {
            let (mut taking, piece) = blocking(move || {
                let piece = taking.reader.next_piece()?;
                Ok((taking, piece))
            })
            .await
            .map_err(io::Error::other)?;
            // Only now: who went away while it was read did not get it.
            taking.is_handed_out = taking.reader.is_at_end();
            Ok(piece.map(|piece| (Bytes::from(piece), taking)))
        })
    }
}

impl fmt::Debug for Download {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Download").field(&self.described).finish()
    }
}

/// Which downloads are under way.
#[derive(Default)]
pub(super) struct Claims(Mutex<Vec<UploadId>>);

/// A file that is being downloaded by nobody else.
struct Taking {
    reader: Reader,
    /// The last byte is on its way.
    is_handed_out: bool,
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

impl Drop for Taking {
    // Here and not at the end of the stream: who knows the length does not ask for an end.
    fn drop(&mut self) {
        if !self.is_handed_out {
            return;
        }
        let Claim { inner, id, upload } = &self.claim;
        if let Err(error) = inner.forget(*id, *upload) {
            tracing::warn!(%error, "a file that was downloaded could not be removed");
        }
        inner.folder.remove_if_empty(*id);
    }
}

impl Uploads {
    /// Begins the download that a link of [`deliver`](Self::deliver) leads to.
    ///
    /// A token that is not the file's, a file that was downloaded, and one that never was there
    /// are all [`UploadError::NotThere`].
    pub async fn take(
        &self,
        id: ElicitationId,
        location: &str,
        token: &str,
    ) -> Result<Download, UploadError> {
        let upload = self.opened_by(id, location, token)?;
        let inner = self.0.clone();
        blocking(move || {
            let claim = Claim::new(&inner, id, upload)?;
            let reader = inner.open_out(id, upload)?;
            Ok(Download {
                described: Described::of(&reader),
                taking: Taking {
                    reader,
                    is_handed_out: false,
                    claim,
                },
            })
        })
        .await
    }

    /// What [`take`](Self::take) would find; changes nothing.
    pub async fn peek(
        &self,
        id: ElicitationId,
        location: &str,
        token: &str,
    ) -> Result<Described, UploadError> {
        let upload = self.opened_by(id, location, token)?;
        let inner = self.0.clone();
        blocking(move || Ok(Described::of(&inner.open_out(id, upload)?))).await
    }

    fn opened_by(
        &self,
        id: ElicitationId,
        location: &str,
        token: &str,
    ) -> Result<UploadId, UploadError> {
        let upload = parse(location)?;
        if self.0.keys.opens(token, id, upload) {
            Ok(upload)
        } else {
            Err(UploadError::NotThere)
        }
    }
}

impl Inner {
    /// A file that goes out as a download, and no other.
    fn open_out(&self, id: ElicitationId, upload: UploadId) -> Result<Reader, UploadError> {
        if self.folder.is_out(id, upload) {
            self.open(id, upload)
        } else {
            Err(UploadError::NotThere)
        }
    }
}
