//! The headers of 2026-07-28, which repeat parts of a message for whoever does not read it.

use entreat_wire::headers::{self, encode, named_by};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::json::{RawObject, may_name};
use crate::meta::PROTOCOL;
use crate::param_headers::ToolHeaders;

pub(super) const SESSION: HeaderName = HeaderName::from_static(headers::SESSION_ID);
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);
const VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
pub(super) const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
const NAME: HeaderName = HeaderName::from_static(headers::NAME);

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
    let name = named_by(method).and_then(|member| params.string(member));
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
    if let Ok(value) = HeaderValue::from_str(&encode(value)) {
        headers.insert(name, value);
    }
}
