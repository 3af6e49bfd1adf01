//! `file`: uploads within bounds of size, count, type and name.

use std::borrow::Cow;
use std::sync::Arc;

use crate::form::findings::Findings;
use crate::form::kind::{Mistake, Parsed, Unreadable};
use crate::form::multi_select::check_count;
use crate::form::reader::{Object, Reader};
use crate::parse::Source;
use crate::problem::ProblemCode;
use crate::upload::{self, Base64, Bytes, Content, FileInfo, Reference, ReferenceKind, Upload};
use crate::violation::{Constraint, Expected};

/// The maximum file size in bytes, unless the form sets one.
pub(crate) const DEFAULT_MAX_SIZE: u64 = 10 * 1024 * 1024;

/// The rules of a `file` field.
#[derive(Clone, Debug)]
pub struct FileRules {
    /// `maxSize` of each file, in bytes.
    pub max_size: u64,
    /// `minItems`.
    pub min_items: Option<u64>,
    /// `maxItems`, 1 by default. Above 1, the answer is a list.
    pub max_items: u64,
    mime_types: Option<Arc<[Arc<str>]>>,
    /// `mime_types`, normalised.
    accepted_types: Vec<MimeRange>,
    extensions: Option<Arc<[Arc<str>]>>,
}

impl FileRules {
    pub(crate) const KEYS: &[&str] = &[
        "maxSize",
        "allowedMimeTypes",
        "allowedExtensions",
        "minItems",
        "maxItems",
    ];

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, validation: &'v Object) -> Self {
        let mime_types = read_list(reader, validation, "allowedMimeTypes", is_mime_type);
        let accepted = mime_types.iter().flat_map(|list| list.iter());
        let rules = Self {
            max_size: reader
                .count_at(validation, "maxSize")
                .unwrap_or(DEFAULT_MAX_SIZE),
            min_items: reader.count_at(validation, "minItems"),
            max_items: reader.count_at(validation, "maxItems").unwrap_or(1),
            accepted_types: accepted.map(|text| MimeRange::new(text)).collect(),
            mime_types,
            extensions: read_list(reader, validation, "allowedExtensions", is_extension),
        };
        if rules.max_items == 0 {
            let message = "A file field must take at least one file.";
            reader.report_at("maxItems", ProblemCode::Contradiction, message);
        }
        reader.check_bounds(
            ("minItems", rules.min_items),
            ("maxItems", Some(rules.max_items)),
        );
        rules
    }

    /// `allowedMimeTypes`, as in the definition; `None` if any type is allowed.
    pub fn mime_types(&self) -> Option<impl Iterator<Item = &str>> {
        self.mime_types
            .as_ref()
            .map(|list| list.iter().map(|t| &**t))
    }

    /// `allowedExtensions`, as in the definition; `None` if any extension is allowed.
    pub fn extensions(&self) -> Option<impl Iterator<Item = &str>> {
        self.extensions
            .as_ref()
            .map(|list| list.iter().map(|e| &**e))
    }

    pub(crate) fn parse<'a>(&self, source: impl Source<'a>) -> Parsed<'a, Vec<Upload<'a>>> {
        let mut files = Vec::with_capacity(1);
        let mut mistakes = Vec::new();
        if self.max_items <= 1 {
            parse_upload(&source, None, &mut files, &mut mistakes);
        } else if let Some(items) = source.items() {
            for (i, item) in items.iter().enumerate() {
                parse_upload(item, Some(i), &mut files, &mut mistakes);
            }
        } else {
            mistakes.push(Mistake::wrong_type("array"));
        }
        if mistakes.is_empty() {
            Ok(files)
        } else {
            let raw = source.into();
            Err(Box::new(Unreadable { raw, mistakes }))
        }
    }

    pub(crate) fn check(&self, files: &[Upload<'_>], findings: &mut Findings<'_>) {
        for (i, file) in files.iter().enumerate() {
            findings.at_item((self.max_items > 1).then_some(i));
            self.check_upload(file, findings);
        }
        findings.at_item(None).at_part(None);
        check_count(self.min_items, Some(self.max_items), files.len(), findings);
    }

    fn check_upload(&self, file: &Upload<'_>, findings: &mut Findings<'_>) {
        let size = match &file.content {
            Content::Inline(base64) => base64.len() as u64,
            Content::Reference(reference) => {
                let kind = reference.kind;
                if !findings.settings.references.contains(&kind) {
                    findings.at_part(Some("content")).add_text(
                        Constraint::Reference,
                        Expected::Nothing,
                        kind.name(),
                    );
                }
                file.size
            }
        };
        self.check_name(&file.filename, findings);
        let bytes = match &file.content {
            Content::Inline(base64) => Some(Bytes::Encoded(base64)),
            Content::Reference(_) => None,
        };
        self.check_type(&file.content_type, bytes, findings);
        if size != file.size {
            findings.at_part(Some("size"));
            findings.add(Constraint::Size, Expected::Count(size), || file.size.into());
        }
        self.check_max_size(size, findings);
    }

    /// Checks a file that has not been received completely.
    pub(crate) fn check_partial(&self, file: &FileInfo<'_>, findings: &mut Findings<'_>) {
        self.check_name(file.filename, findings);
        self.check_type(file.content_type, file.head.map(Bytes::Plain), findings);
        self.check_max_size(file.size, findings);
    }

    fn check_name(&self, name: &str, findings: &mut Findings<'_>) {
        findings.at_part(Some("filename"));
        if !upload::is_safe_name(name) {
            findings.add_text(Constraint::Filename, Expected::Nothing, name);
        }
        if let Some(extensions) = &self.extensions
            && !has_extension(extensions, name)
        {
            let found = upload::extension(name);
            let expected = Expected::Names(extensions.clone());
            findings.add_text(Constraint::AllowedExtensions, expected, &found);
        }
    }

    fn check_max_size(&self, size: u64, findings: &mut Findings<'_>) {
        findings.at_part(None);
        if size > self.max_size {
            let expected = Expected::Count(self.max_size);
            findings.add(Constraint::MaxSize, expected, || size.into());
        }
    }

    fn check_type(&self, mime: &str, bytes: Option<Bytes<'_>>, findings: &mut Findings<'_>) {
        findings.at_part(Some("content_type"));
        let allowed = |mime: &str| {
            self.mime_types.is_none()
                || self.accepted_types.iter().any(|wanted| wanted.covers(mime))
        };
        let list = || match &self.mime_types {
            Some(list) => Expected::Names(list.clone()),
            None => Expected::Nothing,
        };
        let is_one = |mime: &str| self.accepted_types.iter().any(|wanted| wanted.is(mime));
        // Usually the type is spelled as in the list, without parameters.
        let as_listed = is_one(mime);
        let written = if as_listed {
            mime
        } else {
            upload::essence(mime)
        };
        let is_listed = as_listed || is_one(written);
        let declared = if is_listed {
            // Listed types are canonical already.
            Cow::Borrowed(written)
        } else {
            upload::canonical(written)
        };
        if !is_listed && !allowed(&declared) {
            findings.add_text(Constraint::AllowedMimeTypes, list(), written);
            return;
        }
        let Some(found) = bytes.and_then(|bytes| upload::contradiction(&declared, bytes)) else {
            return;
        };
        if allowed(&upload::canonical(found)) {
            let expected = Expected::Name(found);
            findings.add_text(Constraint::ContentType, expected, &declared);
        } else {
            findings.add_text(Constraint::AllowedMimeTypes, list(), found);
        }
    }
}

fn read_list<'v>(
    reader: &mut Reader<'v>,
    validation: &'v Object,
    key: &'v str,
    is_valid: fn(&str) -> bool,
) -> Option<Arc<[Arc<str>]>> {
    let texts = reader.texts_at(validation, key)?;
    reader.within(key, |reader| {
        if texts.is_empty() {
            reader.report(
                ProblemCode::Empty,
                "An empty list allows no file; leave the key out to allow all files.",
            );
        }
        for (i, text) in &texts {
            if !is_valid(text) {
                let message = format!("`{text}` is not something that `{key}` can list.");
                reader.report_at(*i, ProblemCode::BadValue, message);
            }
        }
    });
    Some(texts.into_iter().map(|(_, text)| text.into()).collect())
}

/// Whether the text is a MIME type or range: `image/png`, `image/*` or `*/*`.
fn is_mime_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+*".contains(&b))
    };
    text.split_once('/')
        .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Whether the text is a file extension: `.png`, `png` or `.tar.gz`.
fn is_extension(text: &str) -> bool {
    let name = text.strip_prefix('.').unwrap_or(text);
    !name.is_empty() && !name.contains(['/', '\\', '*', ' '])
}

/// An entry of `allowedMimeTypes`.
#[derive(Clone, Debug)]
enum MimeRange {
    Any,
    /// `image/*`, as `image/`.
    Kind(Box<str>),
    One(Box<str>),
}

impl MimeRange {
    fn new(text: &str) -> Self {
        match text.strip_suffix('*') {
            Some("*/") => Self::Any,
            Some(kind) => Self::Kind(kind.to_ascii_lowercase().into()),
            None => Self::One(upload::canonical(upload::essence(text)).into()),
        }
    }

    /// Whether this entry is exactly this type, not a range.
    fn is(&self, mime: &str) -> bool {
        matches!(self, Self::One(one) if **one == *mime)
    }

    /// Whether this entry includes a type in canonical spelling.
    fn covers(&self, mime: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Kind(kind) => mime.starts_with(&**kind),
            Self::One(one) => **one == *mime,
        }
    }
}

fn has_extension(extensions: &[Arc<str>], name: &str) -> bool {
    // Usually the extension is spelled as in the list, with its dot.
    let as_listed = |extension: &Arc<str>| {
        let ending = name.len().checked_sub(extension.len());
        let ending = ending.and_then(|start| name.get(start..));
        extension.starts_with('.') && ending == Some(&**extension)
    };
    extensions.iter().any(as_listed)
        || extensions.iter().any(|extension| {
            let extension = extension.strip_prefix('.').unwrap_or(extension);
            let Some(dot) = name.len().checked_sub(extension.len() + 1) else {
                return false;
            };
            name.as_bytes()[dot] == b'.'
                && name.get(dot + 1..).is_some_and(|ending| {
                    ending.eq_ignore_ascii_case(extension)
                        || (!ending.is_ascii() && ending.to_lowercase() == extension.to_lowercase())
                })
        })
}

/// The unparsed members of an upload.
struct Parts<S> {
    filename: Option<S>,
    content_type: Option<S>,
    size: Option<S>,
    content: Option<S>,
}

/// Parses one upload into `files`, or records every mistake in its shape.
fn parse_upload<'a, S: Source<'a>>(
    source: &S,
    item: Option<usize>,
    files: &mut Vec<Upload<'a>>,
    mistakes: &mut Vec<Mistake>,
) {
    let mut parts = Parts {
        filename: None,
        content_type: None,
        size: None,
        content: None,
    };
    let is_object = source.each_member(|key, value| match key {
        "filename" => parts.filename = Some(value),
        "content_type" => parts.content_type = Some(value),
        "size" => parts.size = Some(value),
        "content" => parts.content = Some(value),
        _ => {}
    });
    if !is_object {
        mistakes.push(Mistake {
            item,
            ..Mistake::wrong_type("object")
        });
        return;
    }
    let mut record = |mistake: Box<Mistake>| mistakes.push(Mistake { item, ..*mistake });
    let filename = text_part(parts.filename, "filename").map_err(&mut record);
    let content_type = text_part(parts.content_type, "content_type").map_err(&mut record);
    let size = parts.size.as_ref().and_then(Source::number);
    let size = size.and_then(|size| size.as_integer()?.try_into().ok());
    let size = size.ok_or_else(|| record(wrong_part(parts.size.as_ref(), "size", "integer")));
    let content = parse_content(parts.content).map_err(&mut record);
    if let Ok(filename) = filename
        && let Ok(content_type) = content_type
        && let Ok(size) = size
        && let Ok(content) = content
    {
        files.push(Upload {
            filename,
            content_type,
            size,
            content,
        });
    }
}

#[inline]
fn parse_content<'a, S: Source<'a>>(content: Option<S>) -> Result<Content<'a>, Box<Mistake>> {
    let content = match content.map(Source::text) {
        Some(Ok(text)) => {
            return Base64::read(text).map(Content::Inline).map_err(|text| {
                Box::new(Mistake {
                    actual: Some(text.into()),
                    part: Some("content"),
                    ..Mistake::wrong_format("base64")
                })
            });
        }
        Some(Err(other)) => Some(other),
        None => None,
    };
    let (mut kind, mut location) = (None, None);
    if let Some(reference) = &content {
        reference.each_member(|key, value| match key {
            "type" => kind = value.text().ok(),
            "location" => location = value.text().ok(),
            _ => {}
        });
    }
    if let (Some(kind), Some(location)) = (kind, location)
        && let Some(kind) = ReferenceKind::from_name(&kind)
    {
        return Ok(Content::Reference(Box::new(Reference { kind, location })));
    }
    Err(wrong_part(content.as_ref(), "content", "string"))
}

#[inline]
fn text_part<'a, S: Source<'a>>(
    part: Option<S>,
    name: &'static str,
) -> Result<Cow<'a, str>, Box<Mistake>> {
    match part.map(Source::text) {
        Some(Ok(text)) => Ok(text),
        Some(Err(other)) => Err(wrong_part(Some(&other), name, "string")),
        None => Err(wrong_part(None::<&S>, name, "string")),
    }
}

#[cold]
fn wrong_part<'a>(
    part: Option<&impl Source<'a>>,
    name: &'static str,
    wanted: &'static str,
) -> Box<Mistake> {
    let mistake = match part.filter(|part| !part.is_null()) {
        None => Mistake::new(Constraint::Required, Expected::True),
        Some(other) => Mistake {
            actual: Some(other.to_json()),
            ..Mistake::wrong_type(wanted)
        },
    };
    Box::new(Mistake {
        part: Some(name),
        ..mistake
    })
}
