//! The files of a field, as the page shows them.

use entreat_core::form::FileRules;
use entreat_core::{Field, Kind};
use serde_json::Value;

use super::said::readable_size;
use super::words::{FileLimits, Words};

/// The control of a file field.
pub(super) struct FilesView<'a> {
    pub(super) kept: Vec<FileView>,
    pub(super) takes_many: bool,
    pub(super) can_drop: bool,
    pub(super) accept: Option<String>,
    pub(super) limits: String,
    pub(super) field: &'a Field,
}

/// A file that was uploaded.
pub(super) struct FileView {
    pub(super) name: String,
    pub(super) size: String,
    pub(super) location: String,
    /// Where its picture is.
    pub(super) image: Option<String>,
    /// How its text begins.
    pub(super) text: Option<String>,
}

/// Pictures that every browser shows and none runs.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

impl<'a> FilesView<'a> {
    /// The control for what a draft holds; `None` if it is no file field.
    pub(super) fn new(field: &'a Field, value: Option<&Value>, words: &Words) -> Option<Self> {
        let Kind::File(rules) = field.kind() else {
            return None;
        };
        let hints = field.rendering();
        let (kinds, accept) = kinds(rules);
        Some(Self {
            kept: kept(value).filter_map(FileView::new).collect(),
            takes_many: rules.max_items > 1,
            can_drop: hints.drag_and_drop != Some(false),
            accept: hints
                .accept_attribute
                .as_deref()
                .map(str::to_owned)
                .or(accept),
            limits: (words.limits)(&FileLimits {
                most: rules.max_items,
                size: &readable_size(rules.max_size),
                kinds: &kinds,
            }),
            field,
        })
    }

    /// Whether the files may be looked at on the page.
    pub(super) fn has_previews(&self) -> bool {
        self.field.rendering().preview == Some(true) && !self.field.is_sensitive()
    }
}

impl FileView {
    fn new(file: &Value) -> Option<Self> {
        Some(Self {
            name: file["filename"].as_str()?.to_owned(),
            size: readable_size(file["size"].as_u64()?),
            location: location(file)?.to_owned(),
            image: None,
            text: None,
        })
    }
}

/// The uploads that a field's draft holds, one or many.
pub(super) fn kept(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    let (many, one) = match value {
        Some(Value::Array(files)) => (files.as_slice(), None),
        Some(file @ Value::Object(_)) => (&[][..], Some(file)),
        _ => (&[][..], None),
    };
    many.iter().chain(one)
}

/// Where an upload's bytes are, if they are here.
pub(super) fn location(file: &Value) -> Option<&str> {
    let content = &file["content"];
    content["location"]
        .as_str()
        .filter(|_| content["type"] == "local")
}

/// Whether a picture of this type can be shown.
pub(super) fn is_image(content_type: &str) -> bool {
    IMAGES.contains(&content_type)
}

/// What is taken, in words and for the browser's dialog.
fn kinds(rules: &FileRules) -> (String, Option<String>) {
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
    let words = if extensions.is_empty() {
        &types
    } else {
        &extensions
    };
    (words.join(", "), accept)
}
