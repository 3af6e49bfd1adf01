//! Receives an upload.

use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use entreat_core::{ElicitationId, Field, FileInfo, Form, Kind};
use entreat_engine::store::BoxError;
use entreat_engine::{ActError, Entropy as _};
use futures_util::Stream;
use serde_json::{Value, json};

use super::folder::{CompleteFile, PartialFile, UploadId};
use super::keys::Salt;
use super::sealed::{Label, SEGMENT, Writer};
use super::stall::StallDetector;
use super::{ReceiveError, UploadError, Uploads, blocking};

/// The file type is detected from this many leading bytes.
const LEADING_BYTES: usize = 8 << 10;
/// Maximum length of a declared type.
const MAX_TYPE_LEN: usize = 255;
/// The type of files with no valid declared type.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// The metadata that a browser sends before a file.
#[derive(Clone, Copy)]
pub struct FileMetadata<'a> {
    /// The file name.
    pub filename: &'a str,
    /// The MIME type; empty if unknown.
    pub content_type: &'a str,
    /// The declared length in bytes, if any.
    pub length: Option<u64>,
}

impl Uploads {
    /// Streams a file to disk within the limits of its field and elicitation, and returns the
    /// reference for the draft: `{"filename", "content_type", "size", "content": {"type": "local",
    /// "location"}}`.
    ///
    /// The core decides the rules; a file that violates one is rejected as early as possible, by
    /// name and declared length before any byte is read. If it is rejected, or this future is
    /// dropped, nothing is left on disk. Waits while the elicitation has its maximum of concurrent
    /// uploads. Aborts a stalled sender; an overall timeout is up to the caller.
    pub async fn receive<E: Into<BoxError>>(
        &self,
        id: ElicitationId,
        field: &Field,
        name: FileMetadata<'_>,
        body: impl Stream<Item = Result<Bytes, E>> + Send,
    ) -> Result<Value, ReceiveError> {
        let (form, asker) = self.open_form(id).await?;
        let known = form.field(field.id()).map(Field::kind);
        let Some(Kind::File(_)) = known else {
            return Err(ReceiveError::NotAFileField);
        };
        let mut checker = FileChecker {
            form: &form,
            label: Label {
                field: field.id().to_owned(),
                filename: name.filename.to_owned(),
                content_type: valid_type(name.content_type).to_owned(),
            },
            size: 0,
            head: Some(Vec::new()),
        };
        checker.check(name.length.unwrap_or(0), None)?;
        let permit = self.0.limits.acquire(id, &asker).await?;
        let mut reservation = self.0.limits.reserve(id, &asker, &form, permit)?;
        if let Some(length) = name.length {
            reservation.check(length)?;
        }
        let upload = UploadId::random(&self.0.entropy);
        let mut incoming = self.begin(id, upload, checker.label.clone()).await?;
        let mut buffered = BytesMut::new();
        let mut body = pin!(body);
        let mut stall_detector = StallDetector::new(self.0.settings.stall_timeout);
        let stalled = |_| ReceiveError::Stalled;
        while let Some(chunk) = stall_detector.next(&mut body).await.map_err(stalled)? {
            let chunk = chunk.map_err(|error| ReceiveError::Body(error.into()))?;
            checker.add(&chunk)?;
            reservation.grow(chunk.len() as u64)?;
            buffered.extend_from_slice(&chunk);
            if buffered.len() >= SEGMENT {
                incoming = incoming.write(buffered.split().freeze()).await?;
            }
        }
        checker.check_head()?;
        let incoming = incoming.write(buffered.freeze()).await?;
        let (complete, on_disk) = incoming.finish().await?;
        complete.keep();
        reservation.commit(on_disk);
        let Label {
            filename,
            content_type,
            ..
        } = checker.label;
        Ok(json!({
            "filename": filename,
            "content_type": content_type,
            "size": checker.size,
            "content": {"type": "local", "location": upload.to_string()},
        }))
    }

    /// The form and the asker of an open elicitation.
    async fn open_form(&self, id: ElicitationId) -> Result<(Form, Arc<str>), ReceiveError> {
        let status = self.0.engine.elicitation(id).status().await;
        let snapshot = status.map_err(|error| match error {
            ActError::NotFound => ReceiveError::Closed,
            error => ReceiveError::Engine(error),
        })?;
        let request = &snapshot.record().request;
        let form = request.subject.form();
        match (snapshot.outcome(), form) {
            (None, Some(form)) => Ok((form.clone(), request.asker.clone())),
            (None, None) => Err(ReceiveError::NotAFileField),
            (Some(_), _) => Err(ReceiveError::Closed),
        }
    }

    async fn begin(
        &self,
        id: ElicitationId,
        upload: UploadId,
        label: Label,
    ) -> Result<Incoming, UploadError> {
        let inner = self.0.clone();
        blocking(move || {
            let (part, file) = inner.folder.begin(id, upload)?;
            let mut salt: Salt = [0; 32];
            inner.entropy.fill(&mut salt);
            let version = inner.keys.sealing();
            let key = inner.keys.file_key(version, &salt, id, upload);
            let key = key.ok_or(UploadError::Damaged)?;
            let writer = Writer::begin(file, version, &salt, &key, &label)?;
            Ok(Incoming { writer, part })
        })
        .await
    }
}

/// A file being written. Blocking threads take it by value, so that it is dropped there, and the
/// file removed, if the caller was cancelled.
struct Incoming {
    writer: Writer,
    part: PartialFile,
}

impl Incoming {
    async fn write(mut self, bytes: Bytes) -> Result<Self, UploadError> {
        blocking(move || {
            self.writer.write(&bytes)?;
            Ok(self)
        })
        .await
    }

    /// Returns the file and its size on disk.
    async fn finish(self) -> Result<(CompleteFile, u64), UploadError> {
        blocking(move || {
            let on_disk = self.writer.finish()?;
            Ok((self.part.finish()?, on_disk))
        })
        .await
    }
}

/// Checks a file against its field as it arrives.
struct FileChecker<'f> {
    form: &'f Form,
    label: Label,
    size: u64,
    /// The leading bytes, until there are enough to detect the type.
    head: Option<Vec<u8>>,
}

impl FileChecker<'_> {
    fn add(&mut self, chunk: &[u8]) -> Result<(), ReceiveError> {
        self.size += chunk.len() as u64;
        let Some(head) = &mut self.head else {
            return self.check(self.size, None);
        };
        head.extend_from_slice(&chunk[..chunk.len().min(LEADING_BYTES - head.len())]);
        if head.len() < LEADING_BYTES {
            return self.check(self.size, None);
        }
        self.check_head()
    }

    /// Checks the leading bytes, unless that is done.
    fn check_head(&mut self) -> Result<(), ReceiveError> {
        let head = self.head.take();
        self.check(self.size, head.as_deref())
    }

    fn check(&self, size: u64, head: Option<&[u8]>) -> Result<(), ReceiveError> {
        let facts = FileInfo {
            filename: &self.label.filename,
            content_type: &self.label.content_type,
            size,
            head,
        };
        let checked = self.form.check_file(&self.label.field, &facts);
        checked.map_err(ReceiveError::Refused)
    }
}

/// The declared type if it is printable ASCII of reasonable length.
fn valid_type(declared: &str) -> &str {
    let declared = declared.trim();
    let is_valid = !declared.is_empty()
        && declared.len() <= MAX_TYPE_LEN
        && declared.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_valid { declared } else { UNKNOWN_TYPE }
}
