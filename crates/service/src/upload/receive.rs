//! Taking a file in.

use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use entreat_core::{ElicitationId, Field, FileFacts, Form, Kind};
use entreat_engine::store::BoxError;
use entreat_engine::{ActError, Entropy as _};
use futures_util::Stream;
use serde_json::{Value, json};

use super::folder::{Part, UploadId, Whole};
use super::keys::Salt;
use super::pace::Pace;
use super::sealed::{Label, PIECE, Writer};
use super::{ReceiveError, UploadError, Uploads, blocking};

/// So many bytes from its beginning tell what a file is.
const HEAD: usize = 8 << 10;
/// Longer ones are no types.
const LONGEST_TYPE: usize = 255;
/// What a file is that nobody says anything about.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// What a browser says about a file before it sends it.
#[derive(Clone, Copy)]
pub struct FileName<'a> {
    /// Its name.
    pub filename: &'a str,
    /// Its MIME type; empty if the browser knows none.
    pub content_type: &'a str,
    /// How many bytes will come, if that was said.
    pub length: Option<u64>,
}

impl Uploads {
    /// Streams one file to disk, within the limits of its field and of its elicitation, and
    /// returns what a draft keeps of it:
    /// `{"filename", "content_type", "size", "content": {"type": "local", "location"}}`.
    ///
    /// The rules are the core's; a file that breaks one is refused as soon as that is known, by
    /// its name and declared length before a byte of it is read. Whenever it is not taken, also
    /// because this was dropped, nothing of it stays. If as many files as one elicitation may send
    /// at once are on their way, it waits for its turn. A sender that stops sending is given up;
    /// how long it may take in all is the caller's to say.
    pub async fn receive<E: Into<BoxError>>(
        &self,
        id: ElicitationId,
        field: &Field,
        name: FileName<'_>,
        body: impl Stream<Item = Result<Bytes, E>> + Send,
    ) -> Result<Value, ReceiveError> {
        let (form, asker) = self.open_form(id).await?;
        let known = form.field(field.id()).map(Field::kind);
        let Some(Kind::File(_)) = known else {
            return Err(ReceiveError::NotAFile);
        };
        let mut judge = Judge {
            form: &form,
            label: Label {
                field: field.id().to_owned(),
                filename: name.filename.to_owned(),
                content_type: plain_type(name.content_type).to_owned(),
            },
            size: 0,
            head: Some(Vec::new()),
        };
        judge.check(name.length.unwrap_or(0), None)?;
        let berth = self.0.limits.berth(id, &asker).await?;
        let mut hold = self.0.limits.hold(id, &asker, &form, berth)?;
        if let Some(length) = name.length {
            hold.check(length)?;
        }
        let upload = UploadId::random(&self.0.entropy);
        let mut incoming = self.begin(id, upload, judge.label.clone()).await?;
        let mut waiting = BytesMut::new();
        let mut body = pin!(body);
        let mut pace = Pace::new(self.0.settings.stall_timeout);
        let stalled = |_| ReceiveError::Stalled;
        while let Some(piece) = pace.next(&mut body).await.map_err(stalled)? {
            let piece = piece.map_err(|error| ReceiveError::Body(error.into()))?;
            judge.see(&piece)?;
            hold.grow(piece.len() as u64)?;
            waiting.extend_from_slice(&piece);
            if waiting.len() >= PIECE {
                incoming = incoming.write(waiting.split().freeze()).await?;
            }
        }
        judge.see_end()?;
        let incoming = incoming.write(waiting.freeze()).await?;
        let (whole, on_disk) = incoming.finish().await?;
        whole.keep();
        hold.keep(on_disk);
        let Label {
            filename,
            content_type,
            ..
        } = judge.label;
        Ok(json!({
            "filename": filename,
            "content_type": content_type,
            "size": judge.size,
            "content": {"type": "local", "location": upload.to_string()},
        }))
    }

    /// The form of an elicitation that is still open, and who asks.
    async fn open_form(&self, id: ElicitationId) -> Result<(Form, Arc<str>), ReceiveError> {
        let looked = self.0.engine.elicitation(id).status().await;
        let snapshot = looked.map_err(|error| match error {
            ActError::NotFound => ReceiveError::Closed,
            error => ReceiveError::Engine(error),
        })?;
        let request = &snapshot.record().request;
        let form = request.subject.form();
        match (snapshot.outcome(), form) {
            (None, Some(form)) => Ok((form.clone(), request.asker.clone())),
            (None, None) => Err(ReceiveError::NotAFile),
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
            let version = inner.keys.newest();
            let key = inner.keys.of_file(version, &salt, id, upload);
            let key = key.ok_or(UploadError::Damaged)?;
            let writer = Writer::begin(file, version, &salt, &key, &label)?;
            Ok(Incoming { writer, part })
        })
        .await
    }
}

/// A file that is being written. It goes to a thread that may wait for a disk and comes back; if
/// nobody waits for it any more, it is dropped there, and the file is removed.
struct Incoming {
    writer: Writer,
    part: Part,
}

impl Incoming {
    async fn write(mut self, bytes: Bytes) -> Result<Self, UploadError> {
        blocking(move || {
            self.writer.write(&bytes)?;
            Ok(self)
        })
        .await
    }

    /// The file, and the bytes that it takes on disk.
    async fn finish(self) -> Result<(Whole, u64), UploadError> {
        blocking(move || {
            let on_disk = self.writer.finish()?;
            Ok((self.part.finish()?, on_disk))
        })
        .await
    }
}

/// Asks the core about a file as it comes in.
struct Judge<'f> {
    form: &'f Form,
    label: Label,
    size: u64,
    /// The first bytes, until there are enough of them.
    head: Option<Vec<u8>>,
}

impl Judge<'_> {
    fn see(&mut self, piece: &[u8]) -> Result<(), ReceiveError> {
        self.size += piece.len() as u64;
        let Some(head) = &mut self.head else {
            return self.check(self.size, None);
        };
        head.extend_from_slice(&piece[..piece.len().min(HEAD - head.len())]);
        if head.len() < HEAD {
            return self.check(self.size, None);
        }
        self.see_end()
    }

    /// Judges the first bytes, if that is not done: there are no more of them.
    fn see_end(&mut self) -> Result<(), ReceiveError> {
        let head = self.head.take();
        self.check(self.size, head.as_deref())
    }

    fn check(&self, size: u64, head: Option<&[u8]>) -> Result<(), ReceiveError> {
        let facts = FileFacts {
            filename: &self.label.filename,
            content_type: &self.label.content_type,
            size,
            head,
        };
        let checked = self.form.check_file(&self.label.field, &facts);
        checked.map_err(ReceiveError::Refused)
    }
}

/// A declared type that can be kept and handed on.
fn plain_type(declared: &str) -> &str {
    let declared = declared.trim();
    let is_plain = !declared.is_empty()
        && declared.len() <= LONGEST_TYPE
        && declared.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { declared } else { UNKNOWN_TYPE }
}
