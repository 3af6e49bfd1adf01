//! The HTTP headers of MCP: their names, and values that a header cannot carry as they are.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The session that a message belongs to, until 2025-11-25.
pub const SESSION_ID: &str = "mcp-session-id";
/// The version of the protocol that a message is written in.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The method of a message, since 2026-07-28.
pub const METHOD: &str = "mcp-method";
/// The name or URI of what a request is for, since 2026-07-28; [`named_by`] says of which.
pub const NAME: &str = "mcp-name";
/// What the headers begin with that repeat arguments of tools, since 2026-07-28.
pub const PARAM_PREFIX: &str = "mcp-param-";
/// The last event that a client has got of the stream that it resumes.
pub const LAST_EVENT_ID: &str = "last-event-id";

const ENCODED_PREFIX: &str = "=?base64?";
const ENCODED_SUFFIX: &str = "?=";

/// Returns the member of a request's parameters that [`NAME`] repeats.
pub fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

/// Writes a value as a header can carry it.
pub fn encode(value: &str) -> Cow<'_, str> {
    let is_padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let looks_encoded = value.starts_with(ENCODED_PREFIX) && value.ends_with(ENCODED_SUFFIX);
    let is_plain = value
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    if is_plain && !is_padded && !looks_encoded {
        return Cow::Borrowed(value);
    }
    let encoded = STANDARD.encode(value);
    Cow::Owned(format!("{ENCODED_PREFIX}{encoded}{ENCODED_SUFFIX}"))
}

/// Reads the value of a header that was written by [`encode`]; `None` if it only looks encoded.
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim_matches([' ', '\t']);
    let encoded = value
        .strip_prefix(ENCODED_PREFIX)
        .and_then(|rest| rest.strip_suffix(ENCODED_SUFFIX));
    match encoded {
        Some(encoded) => {
            let bytes = STANDARD.decode(encoded).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
        None => Some(Cow::Borrowed(value)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            assert_eq!(encode(value), expected);
            assert_eq!(decode(expected).as_deref(), Some(value));
        }
    }

    #[test]
    fn what_only_looks_encoded_has_no_value() {
        for value in ["=?base64?!?=", "=?base64?/w==?=", "=?base64?aMOp?"] {
            let decoded = decode(value);
            let is_plain = !value.ends_with(ENCODED_SUFFIX);
            assert_eq!(decoded.is_some(), is_plain, "{value}");
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(value in any::<String>()) {
            let encoded = encode(&value);
            prop_assert!(encoded.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')));
            prop_assert_eq!(decode(&encoded).unwrap(), value.as_str());
        }
    }
}
