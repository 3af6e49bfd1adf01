//! View models of uploaded files.

use entreat_core::form::FileRules;
use entreat_core::{Field, Messages};
use serde_json::Value;

use super::texts::{FileLimits, Texts};

/// The control of a file field.
pub(super) struct FilesView<'a> {
    pub(super) uploaded: Vec<FileView>,
    pub(super) takes_many: bool,
    pub(super) can_drop: bool,
    pub(super) accept: Option<String>,
    pub(super) limits: String,
    pub(super) field: &'a Field,
}

/// An uploaded file.
pub(super) struct FileView {
    pub(super) name: String,
    pub(super) size: String,
    pub(super) location: String,
    /// The URL of its preview image.
    pub(super) image: Option<String>,
    /// The beginning of its text.
    pub(super) text: Option<String>,
}

/// Image types that all browsers display and none executes.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

impl<'a> FilesView<'a> {
    /// The control with the files of a draft; `None` if it is not a file field.
    pub(super) fn new(
        field: &'a Field,
        value: Option<&Value>,
        texts: &Texts,
        messages: &Messages,
    ) -> Option<Self> {
        let rules = field.kind().file_rules()?;
        let hints = field.rendering();
        let (kinds, accept) = kinds(rules, messages);
        Some(Self {
            uploaded: uploads_in(value)
                .filter_map(|file| FileView::new(file, messages))
                .collect(),
            takes_many: rules.max_items > 1,
            can_drop: hints.drag_and_drop != Some(false),
            accept: hints
                .accept_attribute
                .as_deref()
                .map(str::to_owned)
                .or(accept),
            limits: (texts.limits)(&FileLimits {
                most: rules.max_items,
                size: &messages.size(rules.max_size),
                kinds: &kinds,
            }),
            field,
        })
    }

    /// Whether the files have previews on the page.
    pub(super) fn has_previews(&self) -> bool {
        self.field.rendering().preview == Some(true) && !self.field.is_sensitive()
    }
}

impl FileView {
    fn new(file: &Value, messages: &Messages) -> Option<Self> {
        Some(Self {
            name: file["filename"].as_str()?.to_owned(),
            size: messages.size(file["size"].as_u64()?),
            location: location(file)?.to_owned(),
            image: None,
            text: None,
        })
    }
}

/// The uploads in a field's draft, one or many.
pub(super) fn uploads_in(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    let (many, one) = match value {
        Some(Value::Array(files)) => (files.as_slice(), None),
        Some(file @ Value::Object(_)) => (&[][..], Some(file)),
        _ => (&[][..], None),
    };
    many.iter().chain(one)
}

/// The location of an upload, if it is stored here.
pub(super) fn location(file: &Value) -> Option<&str> {
    let content = &file["content"];
    content["location"]
        .as_str()
        .filter(|_| content["type"] == "local")
}

/// Whether a preview of this type can be shown.
pub(super) fn is_image(content_type: &str) -> bool {
    IMAGES.contains(&content_type)
}

/// The accepted types, for people and for the `accept` attribute.
fn kinds(rules: &FileRules, messages: &Messages) -> (String, Option<String>) {
    let extensions = rules.extensions().into_iter().flatten();
    let extensions = extensions.map(|e| format!(".{}", e.trim_start_matches('.')));
    let types = rules.mime_types().into_iter().flatten().map(str::to_owned);
    let (extensions, types): (Vec<_>, Vec<_>) = (extensions.collect(), types.collect());
    let accept: Vec<&str> = extensions
        .iter()
        .chain(&types)
        .map(String::as_str)
        .collect();
    let accept = (!accept.is_empty()).then(|| accept.join(","));
    let shown = if extensions.is_empty() {
        messages.file_kinds(types.iter().map(String::as_str))
    } else {
        extensions.join(", ")
    };
    (shown, accept)
}
