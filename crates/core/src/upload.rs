//! Uploaded files and their checks.
//!
//! The content is authoritative: a declared type that contradicts it is an error. Nothing is
//! renamed silently, and references are never followed.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value, json};

/// A file in an answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Upload<'a> {
    pub(crate) filename: Cow<'a, str>,
    pub(crate) content_type: Cow<'a, str>,
    pub(crate) size: u64,
    pub(crate) content: Content<'a>,
}

/// The content of an upload.
#[derive(Clone, PartialEq, Eq)]
pub enum Content<'a> {
    /// The bytes, in base64.
    Inline(Base64<'a>),
    /// A reference, passed to the asker unchanged.
    Reference(Box<Reference<'a>>),
}

/// The bytes of a file, as valid base64. Decoded on demand, so that passing a file on never
/// decodes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Base64<'a> {
    /// Without padding.
    symbols: Cow<'a, str>,
}

/// A reference to a file that is stored elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The kind of reference.
    pub kind: ReferenceKind,
    /// The location, in the format of its kind.
    pub location: Cow<'a, str>,
}

/// The kind of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A URL.
    Url,
    /// An object in S3.
    S3,
    /// A file on the asker's machine.
    Local,
}

/// What is known of a file while it is received; checked by
/// [`Form::check_file`](crate::Form::check_file).
#[derive(Clone, Copy)]
pub struct FileInfo<'a> {
    /// The file name.
    pub filename: &'a str,
    /// The declared MIME type.
    pub content_type: &'a str,
    /// The size in bytes, or a lower bound of it.
    pub size: u64,
    /// The first bytes, once received. Some formats have their signature late: 8 KiB are enough
    /// for all that are detected.
    pub head: Option<&'a [u8]>,
}

impl fmt::Debug for FileInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, mime) = (self.filename, self.content_type);
        write!(f, "FileInfo({name:?}, {mime}, {} bytes)", self.size)
    }
}

impl ReferenceKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Url, Self::S3, Self::Local];

    /// The kind's name in an upload.
    pub fn name(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::S3 => "s3",
            Self::Local => "local",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Upload<'_> {
    /// The file's base name.
    pub fn filename(&self) -> &str {
        &self.filename
    }

    /// The declared MIME type.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes or the reference.
    pub fn content(&self) -> &Content<'_> {
        &self.content
    }

    /// Decodes the bytes; `None` if the content is a reference.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        match &self.content {
            Content::Inline(base64) => Some(base64.decode()),
            Content::Reference(_) => None,
        }
    }

    /// Returns an upload that owns its data.
    pub fn into_owned(self) -> Upload<'static> {
        Upload {
            filename: Cow::Owned(self.filename.into_owned()),
            content_type: Cow::Owned(self.content_type.into_owned()),
            size: self.size,
            content: match self.content {
                Content::Inline(base64) => Content::Inline(Base64 {
                    symbols: Cow::Owned(base64.symbols.into_owned()),
                }),
                Content::Reference(reference) => Content::Reference(Box::new(Reference {
                    kind: reference.kind,
                    location: Cow::Owned(reference.location.into_owned()),
                })),
            },
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let content = match &self.content {
            Content::Inline(base64) => base64.padded().into(),
            Content::Reference(reference) => {
                json!({"type": reference.kind.name(), "location": reference.location})
            }
        };
        let mut upload = Map::new();
        upload.insert("filename".into(), self.filename.as_ref().into());
        upload.insert("content_type".into(), self.content_type.as_ref().into());
        upload.insert("size".into(), self.size.into());
        upload.insert("content".into(), content);
        upload.into()
    }
}

impl fmt::Debug for Upload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Upload({:?}, {}, {} bytes)",
            self.filename, self.content_type, self.size
        )
    }
}

impl<'a> Base64<'a> {
    /// Validates base64, with or without padding. Returns the text if it is invalid.
    #[inline]
    pub(crate) fn read(text: Cow<'a, str>) -> Result<Self, Cow<'a, str>> {
        // More than two are left to the decoder, which rejects them.
        let ([symbols @ .., b'=', b'='] | [symbols @ .., b'='] | symbols) = text.as_bytes();
        let max_padding = match symbols.len() % 4 {
            2 => 2,
            3 => 1,
            _ => 0,
        };
        let length = symbols.len();
        if text.len() - length > max_padding || base64_simd::STANDARD_NO_PAD.check(symbols).is_err()
        {
            return Err(text);
        }
        let symbols = match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..length]),
            Cow::Owned(mut text) => {
                text.truncate(length);
                Cow::Owned(text)
            }
        };
        Ok(Self { symbols })
    }

    /// The number of decoded bytes.
    #[expect(clippy::len_without_is_empty, reason = "it is a size")]
    pub fn len(&self) -> usize {
        self.symbols.len() / 4 * 3 + self.symbols.len() % 4 * 3 / 4
    }

    /// Decodes the bytes.
    pub fn decode(&self) -> Vec<u8> {
        // Valid since `read`.
        base64_simd::STANDARD_NO_PAD
            .decode_to_vec(self.symbols.as_bytes())
            .unwrap_or_default()
    }

    /// The text with canonical padding.
    fn padded(&self) -> String {
        let padding = match self.symbols.len() % 4 {
            2 => "==",
            3 => "=",
            _ => "",
        };
        [&*self.symbols, padding].concat()
    }
}

/// The bytes of a file, or the first of them.
#[derive(Clone, Copy)]
pub(crate) enum Bytes<'b> {
    Plain(&'b [u8]),
    Encoded(&'b Base64<'b>),
}

impl<'b> Bytes<'b> {
    fn all(self) -> Cow<'b, [u8]> {
        match self {
            Self::Plain(bytes) => Cow::Borrowed(bytes),
            Self::Encoded(base64) => Cow::Owned(base64.decode()),
        }
    }
}

/// Whether a file name is safe on all systems.
///
/// Rejects path separators, control characters, invisible direction marks, names that Windows
/// reserves, `.` and `..`, a trailing dot or space, and more than 255 bytes.
pub(crate) fn is_safe_name(name: &str) -> bool {
    let is_bad = |c: char| {
        matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')
            || !matches!(c, ' '..='~')
                && (c.is_control()
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'))
    };
    // The fast path: most names have only these bytes.
    let is_plain = |b: u8| IS_PLAIN[usize::from(b)];
    !name.is_empty()
        && name.len() <= 255
        && (name.bytes().all(is_plain) || !name.chars().any(is_bad))
        && !matches!(name.as_bytes(), [.., b'.' | b' '] | [b' ', ..])
        && !is_reserved(name)
}

/// The bytes that most names consist of.
static IS_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        table[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b' ');
        byte += 1;
    }
    table
};

/// Whether Windows reserves the name for a device, with any extension.
fn is_reserved(name: &str) -> bool {
    let Some((start, _)) = name.as_bytes().split_first_chunk::<3>() else {
        return false;
    };
    let rest = || {
        let stem = name.split('.').next().unwrap_or(name).trim_end();
        &stem.as_bytes()[3..]
    };
    match &start.map(|b| b.to_ascii_lowercase()) {
        b"prn" | b"aux" | b"nul" => rest().is_empty(),
        b"con" => [&b""[..], b"in$", b"out$"]
            .iter()
            .any(|device| rest().eq_ignore_ascii_case(device)),
        // The digits may be superscripts: `COM¹`.
        b"com" | b"lpt" => matches!(rest(), [b'0'..=b'9'] | [0xc2, 0xb2 | 0xb3 | 0xb9]),
        _ => false,
    }
}

/// The extension of a file name in lower case, with its dot: `.png`.
pub(crate) fn extension(name: &str) -> String {
    match name.rfind('.') {
        Some(dot) if dot > 0 => name[dot..].to_lowercase(),
        _ => String::new(),
    }
}

/// Returns the type detected from the bytes, if it contradicts the declared one.
///
/// The declared type must be [`canonical`].
pub(crate) fn contradiction(declared: &str, bytes: Bytes<'_>) -> Option<&'static str> {
    let is_confirmed = match bytes {
        Bytes::Encoded(base64) => has_signature_of(declared, &base64.symbols),
        Bytes::Plain(_) => false,
    };
    if is_confirmed || declared == "application/octet-stream" {
        return None;
    }
    let bytes = bytes.all();
    if bytes.is_empty() {
        return None;
    }
    match infer::get(&bytes).map(|kind| kind.mime_type()) {
        Some(found) if agree(declared, found) => None,
        Some(found) => Some(found),
        // No known signature, though the declared type would have one.
        None if infer::is_mime_supported(declared) && !is_textual(declared) => {
            Some("application/octet-stream")
        }
        None => None,
    }
}

/// A fast path for the most common types: compares the start of the base64 with the signature.
/// Decoding and trying every signature takes longer than all other checks of a form together.
fn has_signature_of(declared: &str, symbols: &str) -> bool {
    match declared {
        "image/png" => symbols.starts_with("iVBORw0K"),
        "image/jpeg" => symbols.starts_with("/9j/"),
        "image/gif" => symbols.starts_with("R0lG"),
        "application/pdf" => symbols.starts_with("JVBERi"),
        _ => false,
    }
}

/// A MIME type without its parameters.
pub(crate) fn essence(mime: &str) -> &str {
    match mime.bytes().position(|b| b == b';') {
        Some(end) => mime[..end].trim(),
        None => mime.trim(),
    }
}

/// Maps aliases of a MIME type to one spelling.
pub(crate) fn canonical(mime: &str) -> Cow<'_, str> {
    let mime = if mime.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(mime.to_ascii_lowercase())
    } else {
        Cow::Borrowed(mime)
    };
    Cow::Borrowed(match &*mime {
        "image/jpg" | "image/pjpeg" => "image/jpeg",
        "image/x-png" => "image/png",
        "image/x-icon" => "image/vnd.microsoft.icon",
        "audio/wav" | "audio/wave" | "audio/vnd.wave" => "audio/x-wav",
        "audio/mp3" => "audio/mpeg",
        "audio/x-m4a" | "audio/mp4" => "audio/m4a",
        "audio/flac" => "audio/x-flac",
        "application/x-gzip" => "application/gzip",
        "application/x-zip-compressed" => "application/zip",
        "application/x-pdf" => "application/pdf",
        "application/x-rar-compressed" | "application/x-rar" => "application/vnd.rar",
        "video/x-matroska" => "video/webm",
        _ => return mime,
    })
}

/// Whether content detected as `found` may be declared as `declared`.
fn agree(declared: &str, found: &str) -> bool {
    let found = canonical(found);
    if declared == found {
        return true;
    }
    // A format built on another is both: office files are ZIP archives.
    let container = |mime: &str| match mime {
        "application/zip" | "application/epub+zip" | "application/java-archive" => Some("zip"),
        mime if mime.starts_with("application/vnd.openxmlformats-officedocument")
            || mime.starts_with("application/vnd.oasis.opendocument")
            || mime.starts_with("application/vnd.android") =>
        {
            Some("zip")
        }
        "application/msword"
        | "application/vnd.ms-excel"
        | "application/vnd.ms-powerpoint"
        | "application/x-ole-storage" => Some("ole"),
        "video/mp4" | "video/quicktime" | "video/x-m4v" | "audio/m4a" | "image/heif"
        | "image/heic" | "image/avif" => Some("iso"),
        "audio/ogg" | "video/ogg" | "application/ogg" => Some("ogg"),
        "video/webm" | "audio/webm" => Some("matroska"),
        _ => None,
    };
    if container(declared).is_some() && container(declared) == container(&found) {
        return true;
    }
    // Text that looks like markup is still text.
    is_textual(declared) && is_textual(&found)
}

fn is_textual(mime: &str) -> bool {
    mime.starts_with("text/")
        || mime.ends_with("+xml")
        || mime.ends_with("+json")
        || matches!(
            mime,
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/yaml"
                | "application/toml"
                | "application/x-sh"
        )
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
    use proptest::prelude::*;

    use super::*;

    fn decode(text: &str) -> Option<Vec<u8>> {
        let base64 = Base64::read(text.into()).ok()?;
        let bytes = base64.decode();
        assert_eq!(base64.len(), bytes.len());
        assert_eq!(base64.padded(), STANDARD.encode(&bytes));
        Some(bytes)
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn names_that_bite_somewhere_are_refused() {
        for good in [
            "a.txt",
            "résumé.pdf",
            ".env",
            "a b.c",
            "consul.txt",
            "com10.txt",
            "日本.png",
            "a..b",
        ] {
            assert!(is_safe_name(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            r"a\b",
            "C:x",
            "a\0b",
            "a\nb",
            "con",
            "CON.txt",
            "nul.tar.gz",
            "com1",
            "LPT9.x",
            "a.",
            "a ",
            " a",
            "x\u{202e}gpj.exe",
            "com¹.txt",
            "aux .txt",
        ] {
            assert!(!is_safe_name(bad), "{bad:?}");
        }
        assert!(!is_safe_name(&"x".repeat(256)));
    }

    #[test]
    fn bytes_contradict_a_false_type_and_leave_a_plausible_one() {
        let contradiction = |declared: &str, bytes: &[u8]| {
            let text = STANDARD.encode(bytes);
            let encoded = Base64::read(text.into()).ok().unwrap();
            let declared = canonical(essence(declared));
            let found = contradiction(&declared, Bytes::Encoded(&encoded));
            assert_eq!(found, contradiction(&declared, Bytes::Plain(bytes)));
            found
        };
        assert_eq!(contradiction("image/png", PNG), None);
        assert_eq!(contradiction("IMAGE/PNG; q=1", PNG), None);
        assert_eq!(contradiction("application/octet-stream", PNG), None);
        assert_eq!(contradiction("application/pdf", PNG), Some("image/png"));
        assert_eq!(contradiction("text/plain", PNG), Some("image/png"));
        assert!(contradiction("image/png", b"hello").is_some());
        assert_eq!(contradiction("image/gif", b"GIF89a\x01\0"), None);
        assert_eq!(contradiction("application/pdf", b"%PDF-1.7\n"), None);
        assert!(contradiction("application/pdf", b"%PDX-1.7\n").is_some());
        assert_eq!(contradiction("text/plain", b"<html><p>hi"), None);
        assert_eq!(contradiction("text/csv", b"a,b\n1,2"), None);
        assert_eq!(contradiction("application/json", b"{}"), None);
        assert_eq!(contradiction("image/jpg", b"\xff\xd8\xff\xe0"), None);
        let zip = b"PK\x03\x04\x14\0\0\0";
        assert_eq!(
            contradiction(
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                zip
            ),
            None
        );
        assert_eq!(contradiction("image/png", zip), Some("application/zip"));
        assert_eq!(contradiction("x-vendor/unknown", b"whatever"), None);
        assert_eq!(contradiction("image/png", b""), None);
    }

    proptest! {
        #[test]
        fn base64_is_read_as_another_decoder_reads_it(text in "[a-zA-D0-9+/]{0,70}[A-Z=*\n_-]{0,5}") {
            let config = GeneralPurposeConfig::new()
                .with_decode_padding_mode(DecodePaddingMode::Indifferent);
            let other = GeneralPurpose::new(&base64::alphabet::STANDARD, config);
            prop_assert_eq!(decode(&text), other.decode(&text).ok());
        }

        #[test]
        fn bytes_come_back_as_they_were_encoded(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let text = STANDARD.encode(&bytes);
            prop_assert_eq!(decode(text.trim_end_matches('=')), Some(bytes.clone()));
            prop_assert_eq!(decode(&text), Some(bytes));
        }
    }

    #[test]
    fn padding_of_base64_is_optional() {
        assert_eq!(decode("aGk=").as_deref(), Some(&b"hi"[..]));
        assert_eq!(decode("aGk").as_deref(), Some(&b"hi"[..]));
        for bad in ["a", "aGk==", "a G k", "aGk-", "aGk=x"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
