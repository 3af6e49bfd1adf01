//! The headers of 2026-07-28, which repeat parts of the body: whoever reads both compares them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};

use crate::json::RawObject;
use crate::meta::{self, PROTOCOL};
use crate::reply::{Reply, code};

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Compares the headers of a request with its body; returns the error for what differs.
pub(super) fn mismatch(headers: &HeaderMap, method: &str, params: &str) -> Option<Reply> {
    let params = RawObject::parse(params).unwrap_or_default();
    let version = params
        .object("_meta")
        .and_then(|meta| meta.string(PROTOCOL));
    let version = version.unwrap_or_else(|| meta::VERSION.to_owned());
    let name = match method {
        "tools/call" | "prompts/get" => params.string("name"),
        "resources/read" => params.string("uri"),
        _ => None,
    };
    let expected = [
        (VERSION, Some(version)),
        (METHOD, Some(method.to_owned())),
        (NAME, name),
    ];
    for (header, expected) in expected {
        let mut values = headers.get_all(&header).iter();
        let value = values
            .next()
            .map(|value| value.to_str().ok().and_then(decoded));
        let is_single = values.next().is_none();
        let fits = match (&expected, value) {
            (Some(expected), Some(Some(value))) => is_single && value == *expected,
            (Some(_), _) => false,
            (None, _) => true,
        };
        if !fits {
            let message = match expected {
                Some(expected) => {
                    format!("the header {header} must be there once, as {expected:?}")
                }
                None => format!("the header {header} must not be there"),
            };
            return Some(Reply::error(code::HEADER_MISMATCH, &message));
        }
    }
    None
}

/// Decodes the value of a header; `None` if it only looks encoded.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let value = value.trim_matches([' ', '\t']);
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
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
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn headers_must_repeat_the_body() {
        let params =
            r#"{"name":"hé","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let good = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "=?base64?aMOp?="),
        ];
        assert_eq!(mismatch(&headers(&good), "tools/call", params), None);
        for (at, value) in [
            (0, "2025-11-25"),
            (1, "tools/list"),
            (2, "h"),
            (2, "=?base64?aMOp"),
            (2, "=?base64?!?="),
        ] {
            let mut bad = good;
            bad[at].1 = value;
            assert!(
                mismatch(&headers(&bad), "tools/call", params).is_some(),
                "{bad:?}"
            );
        }
        for missing in 0..3 {
            let mut bad = good.to_vec();
            bad.remove(missing);
            assert!(
                mismatch(&headers(&bad), "tools/call", params).is_some(),
                "{bad:?}"
            );
        }
        let twice = [good[0], good[1], good[2], ("mcp-name", "other")];
        assert!(mismatch(&headers(&twice), "tools/call", params).is_some());
        assert_eq!(mismatch(&headers(&good[..2]), "tools/call", "{}"), None);
    }
}
