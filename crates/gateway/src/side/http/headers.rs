//! The headers of 2026-07-28, which repeat parts of a message for whoever does not read it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::json::{RawObject, may_name};
use crate::meta::PROTOCOL;
use crate::param_headers::ToolHeaders;

pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const LAST_EVENT_ID: &str = "last-event-id";
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Returns the protocol version that a message itself names, as those of 2026-07-28 do.
pub(super) fn named_version(params: &str) -> Option<String> {
    // Older ones are not read as a whole.
    if !may_name(params, PROTOCOL) {
        return None;
    }
    RawObject::parse(params)?.object("_meta")?.string(PROTOCOL)
}

/// Adds the version that a session has agreed on.
pub(super) fn add_version(headers: &mut HeaderMap, version: &str) {
    insert(headers, VERSION, version);
}

/// Adds the headers of a request or notification of 2026-07-28.
pub(super) fn add_modern(
    headers: &mut HeaderMap,
    method: &str,
    params: &RawObject<'_>,
    tools: &ToolHeaders,
) {
    insert(headers, METHOD, method);
    let name = match method {
        "tools/call" | "prompts/get" => params.string("name"),
        "resources/read" => params.string("uri"),
        _ => None,
    };
    let Some(name) = name else { return };
    insert(headers, NAME, &name);
    if method == "tools/call"
        && let Some(arguments) = params.object("arguments")
    {
        for (header, value) in tools.values(&name, &arguments) {
            insert(headers, header, &value);
        }
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // Encoded, every text is a valid value.
    if let Ok(value) = HeaderValue::from_str(&encoded(value)) {
        headers.insert(name, value);
    }
}

/// Writes a value as a header can carry it.
fn encoded(value: &str) -> Cow<'_, str> {
    let is_padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    let is_plain = value
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    if is_plain && !is_padded && !looks_encoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification.
    #[test]
    fn values_are_encoded_as_the_specification_says() {
        for (value, expected) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("a\tb c", "a\tb c"),
            ("", ""),
        ] {
            assert_eq!(encoded(value), expected);
        }
    }
}
