//! Answers on their way to the asker: bytes, or links to them, in the place of our references.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_core::{ElicitationId, Form, Kind, ReferenceKind};
use serde_json::{Map, Value, json};

use super::folder::UploadId;
use super::{Inner, MAX_INLINE, UploadError, Uploads, blocking, parse};

impl Uploads {
    /// The answers with every reference of ours replaced: by the bytes in base64 if the file is
    /// small, else by `{"type": "url", "location"}` with a link below `base_url` that works once.
    ///
    /// Name, type and size are told as the file has them, whatever the answers say. A reference
    /// that is none of ours, or is for another field, is [`UploadError::NotThere`]: the host
    /// vouches for what comes out of here. Answers that came out of here may be given again, as
    /// after a submission that was refused.
    pub async fn deliver(
        &self,
        id: ElicitationId,
        form: &Form,
        mut answers: Map<String, Value>,
        base_url: &str,
    ) -> Result<Map<String, Value>, UploadError> {
        let mut room = MAX_INLINE;
        for field in form.fields() {
            let Kind::File(_) = field.kind() else {
                continue;
            };
            let files = match answers.get_mut(field.id()) {
                Some(Value::Array(files)) => files.as_mut_slice(),
                Some(file) => std::slice::from_mut(file),
                None => continue,
            };
            for file in files {
                // What is no upload, or has its bytes in it, is the core's to judge.
                let Some(content) = file.get("content").filter(|content| content.is_object())
                else {
                    continue;
                };
                let upload = self.0.referred(id, content)?;
                let errand = Errand {
                    inner: self.0.clone(),
                    id,
                    upload,
                    field: field.id().to_owned(),
                    base_url: base_url.trim_end_matches('/').to_owned(),
                };
                let left = room;
                let (delivered, inline) = blocking(move || errand.run(left)).await?;
                room -= inline;
                *file = delivered;
            }
        }
        Ok(answers)
    }
}

impl Inner {
    /// The upload that a reference of ours means: one in a draft, or a link that was made of it.
    fn referred(&self, id: ElicitationId, content: &Value) -> Result<UploadId, UploadError> {
        let text = |key| content.get(key).and_then(Value::as_str).unwrap_or_default();
        let location = text("location");
        if text("type") == ReferenceKind::Local.name() {
            return parse(location);
        }
        let mut steps = location.rsplit('/');
        let (Some(token), Some(upload)) = (steps.next(), steps.next()) else {
            return Err(UploadError::NotThere);
        };
        let upload = parse(upload)?;
        if text("type") == ReferenceKind::Url.name() && self.keys.opens(token, id, upload) {
            Ok(upload)
        } else {
            Err(UploadError::NotThere)
        }
    }
}

/// One file to be delivered.
struct Errand {
    inner: Arc<Inner>,
    id: ElicitationId,
    upload: UploadId,
    field: String,
    base_url: String,
}

impl Errand {
    /// The upload as the asker gets it, and how many bytes of it are in there.
    fn run(self, room: u64) -> Result<(Value, u64), UploadError> {
        let Self {
            inner, id, upload, ..
        } = self;
        let mut reader = inner.open(id, upload)?;
        if reader.label().field != self.field {
            return Err(UploadError::NotThere);
        }
        let size = reader.size();
        let is_inline = size <= inner.settings.inline_limit && size <= room;
        let content = if is_inline {
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
            while let Some(piece) = reader.next_piece()? {
                bytes.extend_from_slice(&piece);
            }
            STANDARD.encode(bytes).into()
        } else {
            let token = inner.keys.token(id, upload).ok_or(UploadError::Damaged)?;
            let location = format!("{}/files/{id}/{upload}/{token}", self.base_url);
            json!({"type": ReferenceKind::Url.name(), "location": location})
        };
        inner.folder.mark(id, upload, !is_inline)?;
        let label = reader.label();
        let delivered = json!({
            "filename": label.filename,
            "content_type": label.content_type,
            "size": size,
            "content": content,
        });
        Ok((delivered, if is_inline { size } else { 0 }))
    }
}
