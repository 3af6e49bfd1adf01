//! Replaces references in answers by file contents or links for the asker.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_core::{ElicitationId, Form, ReferenceKind};
use serde_json::{Map, Value, json};

use super::folder::UploadId;
use super::{Inner, MAX_INLINE, UploadError, Uploads, blocking, parse};

impl Uploads {
    /// Returns the answers with every reference replaced: by the contents in base64 if the file is
    /// small, else by `{"type": "url", "location"}` with a one-time link below `base_url`.
    ///
    /// Name, type and size come from the file, whatever the answers claim. A reference to no file
    /// of this elicitation, or to one of another field, fails with [`UploadError::NotFound`]: the
    /// host vouches for the result. May be called again on its own result, for example after a
    /// rejected submission.
    pub async fn deliver(
        &self,
        id: ElicitationId,
        form: &Form,
        mut answers: Map<String, Value>,
        base_url: &str,
    ) -> Result<Map<String, Value>, UploadError> {
        let mut room = MAX_INLINE;
        for field in form.fields() {
            if field.kind().file_rules().is_none() {
                continue;
            }
            let files = match answers.get_mut(field.id()) {
                Some(Value::Array(files)) => files.as_mut_slice(),
                Some(file) => std::slice::from_mut(file),
                None => continue,
            };
            for file in files {
                // Other values and inline contents are checked by the core.
                let Some(content) = file.get("content").filter(|content| content.is_object())
                else {
                    continue;
                };
                let upload = self.0.resolve(id, content)?;
                let delivery = FileDelivery {
                    inner: self.0.clone(),
                    id,
                    upload,
                    field: field.id().to_owned(),
                    base_url: base_url.trim_end_matches('/').to_owned(),
                };
                let left = room;
                let (delivered, inline) = blocking(move || delivery.run(left)).await?;
                room -= inline;
                *file = delivered;
            }
        }
        Ok(answers)
    }
}

impl Inner {
    /// Resolves a reference: one from a draft, or a link made from it.
    fn resolve(&self, id: ElicitationId, content: &Value) -> Result<UploadId, UploadError> {
        let text = |key| content.get(key).and_then(Value::as_str).unwrap_or_default();
        let location = text("location");
        if text("type") == ReferenceKind::Local.name() {
            return parse(location);
        }
        let mut steps = location.rsplit('/');
        let (Some(token), Some(upload)) = (steps.next(), steps.next()) else {
            return Err(UploadError::NotFound);
        };
        let upload = parse(upload)?;
        if text("type") == ReferenceKind::Url.name() && self.keys.is_valid_token(token, id, upload)
        {
            Ok(upload)
        } else {
            Err(UploadError::NotFound)
        }
    }
}

/// The delivery of one file.
struct FileDelivery {
    inner: Arc<Inner>,
    id: ElicitationId,
    upload: UploadId,
    field: String,
    base_url: String,
}

impl FileDelivery {
    /// Returns the file for the asker, and how many bytes of it are inline.
    fn run(self, room: u64) -> Result<(Value, u64), UploadError> {
        let Self {
            inner, id, upload, ..
        } = self;
        let mut reader = inner.open(id, upload)?;
        if reader.label().field != self.field {
            return Err(UploadError::NotFound);
        }
        let size = reader.size();
        let is_inline = size <= inner.settings.inline_limit && size <= room;
        let content = if is_inline {
            let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
            while let Some(segment) = reader.next_segment()? {
                bytes.extend_from_slice(&segment);
            }
            STANDARD.encode(bytes).into()
        } else {
            let token = inner.keys.token(id, upload).ok_or(UploadError::Damaged)?;
            let location = format!("{}/files/{id}/{upload}/{token}", self.base_url);
            json!({"type": ReferenceKind::Url.name(), "location": location})
        };
        inner.folder.mark_download(id, upload, !is_inline)?;
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
