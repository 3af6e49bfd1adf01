//! `file`: a path on this machine, read into an upload.
//!
//! Reads regular files only: a pipe or a device could block forever. A file above the field's
//! limit is not read whole; [`FetchedFile::TooLarge`] holds a placeholder reference with the size
//! for the form to reject, which is never sent.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_core::form::FileRules;
use entreat_core::{Messages, ReferenceKind};
use serde_json::{Value, json};

use super::count;
use crate::texts::RefusalTexts;
use crate::typography::{quoted, quoted_choice};

/// The number of leading bytes needed to detect a file's type.
const SNIFF_BYTES: u64 = 8 * 1024;

/// The result of reading a file.
pub(crate) enum FetchedFile {
    /// The upload.
    Whole(Value),
    /// An upload without its content.
    TooLarge(Value),
}

pub(super) fn hint(rules: &FileRules, messages: &Messages) -> String {
    let size = messages.size(rules.max_size);
    let what = if rules.max_items > 1 {
        let how_many = count(rules.min_items, Some(rules.max_items)).unwrap_or_default();
        format!("Paths of {how_many} files, one per line, Enter after the last; each up to {size}")
    } else {
        format!("The path of a file up to {size}")
    };
    let kinds = rules
        .mime_types()
        .map(|types| format!(": {}", messages.file_kinds(types)));
    let extensions = rules
        .extensions()
        .map(|extensions| format!("; ending in {}", quoted_choice(extensions)));
    format!(
        "{what}{}{}.",
        kinds.unwrap_or_default(),
        extensions.unwrap_or_default()
    )
}

/// Reads the file at a typed path, or returns a message that explains why it cannot be read.
pub(crate) fn fetch(
    rules: &FileRules,
    typed: &str,
    texts: &RefusalTexts,
) -> Result<FetchedFile, String> {
    let path = path(typed);
    read(rules, &path).map_err(|unreadable| {
        let why = match unreadable {
            Unreadable::Folder => texts.is_folder.to_owned(),
            Unreadable::Irregular => texts.is_no_file.to_owned(),
            Unreadable::Failed(error) => match error.kind() {
                io::ErrorKind::NotFound => texts.no_such_file.to_owned(),
                io::ErrorKind::PermissionDenied => texts.no_permission.to_owned(),
                _ => error.to_string(),
            },
        };
        (texts.unreadable)(&quoted(&path.to_string_lossy()), &why)
    })
}

/// Why a file was not read.
enum Unreadable {
    Folder,
    /// A pipe, a device or a socket.
    Irregular,
    Failed(io::Error),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Returns the path as typed, or without the quotation marks that terminals add to a dropped file.
fn path(typed: &str) -> PathBuf {
    let typed = typed.trim();
    let unquoted = ['\'', '"']
        .iter()
        .find_map(|mark| typed.strip_prefix(*mark)?.strip_suffix(*mark));
    match unquoted {
        Some(unquoted) if !Path::new(typed).exists() => unquoted.into(),
        _ => typed.into(),
    }
}

fn read(rules: &FileRules, path: &Path) -> Result<FetchedFile, Unreadable> {
    // Before opening, since opening a pipe already blocks.
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(Unreadable::Folder);
    }
    if !metadata.is_file() {
        return Err(Unreadable::Irregular);
    }
    let fits = metadata.len() <= rules.max_size;
    let limit = if fits {
        rules.max_size.saturating_add(1)
    } else {
        SNIFF_BYTES
    };
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let upload = |size: u64, content: Value| {
        json!({
            "filename": name,
            "content_type": content_type(&name, &bytes),
            "size": size,
            "content": content,
        })
    };
    let length = bytes.len() as u64;
    // The file may have grown since.
    if fits && length <= rules.max_size {
        Ok(FetchedFile::Whole(upload(
            length,
            STANDARD.encode(&bytes).into(),
        )))
    } else {
        let reference = json!({"type": ReferenceKind::Local.name(), "location": ""});
        Ok(FetchedFile::TooLarge(upload(
            metadata.len().max(length),
            reference,
        )))
    }
}

/// Detects the type from the bytes; text types look alike, so those are told by the name.
fn content_type(name: &str, bytes: &[u8]) -> &'static str {
    let found = infer::get(bytes).map(|kind| kind.mime_type());
    match (found, text_type(name)) {
        (Some(found), Some(by_name)) if found.starts_with("text/") => by_name,
        (Some(found), _) => found,
        (None, Some(by_name)) => by_name,
        (None, None) => "application/octet-stream",
    }
}

fn text_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "txt" | "log" | "text" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "js" | "mjs" => "text/javascript",
        "ics" => "text/calendar",
        "json" => "application/json",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "sh" => "application/x-sh",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_tell_the_type_and_names_that_of_text() {
        const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(content_type("a.txt", PNG), "image/png");
        assert_eq!(content_type("a.CSV", b"a,b"), "text/csv");
        assert_eq!(
            content_type("a.svg", b"<?xml version=\"1.0\"?><svg/>"),
            "image/svg+xml"
        );
        assert_eq!(content_type("a.png", b"hello"), "application/octet-stream");
        assert_eq!(content_type("a", b""), "application/octet-stream");
    }

    #[test]
    fn quotation_marks_around_a_path_are_taken_off() {
        assert_eq!(path(" '/no/such file' "), Path::new("/no/such file"));
        assert_eq!(path("\"x\""), Path::new("x"));
        assert_eq!(path("'x"), Path::new("'x"));
    }
}
