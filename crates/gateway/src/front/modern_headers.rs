//! The headers of 2026-07-28, which repeat parts of the body: whoever reads both compares them.

use std::time::Duration;

use entreat_wire::headers::{self, PARAM_PREFIX, decode, named_by};
use http::{HeaderMap, HeaderName};

use super::live::Service;
use super::stream::{Next, Stream};
use crate::client::ClientSender;
use crate::envelope::{self, Envelope, Kind, RawId};
use crate::json::{RawObject, quoted};
use crate::meta::{self, PROTOCOL};
use crate::reply::{Reply, code};

pub(super) const VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
const NAME: HeaderName = HeaderName::from_static(headers::NAME);
/// How long a server may take to list its tools before a call goes on without that, and how many
/// pages of the list are read.
const LISTING: Duration = Duration::from_secs(10);
const MAX_PAGES: usize = 100;

/// Compares the headers of a request with its body; returns the error for what differs.
pub(super) fn mismatch(headers: &HeaderMap, method: &str, params: &str) -> Option<Reply> {
    let params = RawObject::parse(params).unwrap_or_default();
    let version = params
        .object("_meta")
        .and_then(|meta| meta.string(PROTOCOL));
    let version = version.unwrap_or_else(|| meta::VERSION.to_owned());
    let name = named_by(method).and_then(|member| params.string(member));
    let expected = [
        (VERSION, Some(version)),
        (METHOD, Some(method.to_owned())),
        (NAME, name),
    ];
    for (header, expected) in expected {
        let mut values = headers.get_all(&header).iter();
        let value = values
            .next()
            .map(|value| value.to_str().ok().and_then(decode));
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

/// Compares the headers that repeat arguments of a tool with those; returns the error for what
/// differs. What a server says about its tools has to be known for that, so it is asked if a client
/// knows them from before.
pub(super) async fn param_mismatch(
    service: &Service,
    headers: &HeaderMap,
    params: &str,
) -> Option<Reply> {
    let has_params = headers
        .keys()
        .any(|name| name.as_str().starts_with(PARAM_PREFIX));
    if !has_params && !service.has_param_headers() {
        return None;
    }
    let params = RawObject::parse(params)?;
    let tool = params.string("name")?;
    let found = service.session_of_tool(&tool);
    if has_params && !found.is_some_and(|(session, _)| session.has_listed()) {
        // Who is called then says what is wrong with its tools.
        let _ = tokio::time::timeout(LISTING, list_tools(service, &params)).await;
    }
    let (session, own_name) = service.session_of_tool(&tool)?;
    let arguments = params.object("arguments").unwrap_or_default();
    let known = &session.param_headers;
    let mismatch = known.mismatch(&own_name, &arguments, headers)?;
    Some(Reply::error(code::HEADER_MISMATCH, &mismatch))
}

/// Lists the tools as the client of a call would.
async fn list_tools(service: &Service, call: &RawObject<'_>) {
    let mut meta = call.object("_meta").unwrap_or_default();
    meta.remove("progressToken");
    let mut params = RawObject::default();
    params.set("_meta", meta.to_string());
    for _ in 0..MAX_PAGES {
        let stream = Stream::cancelling();
        let reader = stream.read(None);
        let request = envelope::request(&RawId::text("tools"), "tools/list", &params.to_string());
        let via = ClientSender::Stream(stream);
        service.take(vec![request.into()], via).await;
        let cursor = loop {
            let Next::Message(_, message) = reader.next().await else {
                return;
            };
            let Ok(envelope) = Envelope::read(&message) else {
                return;
            };
            if let Kind::Response { result, .. } = envelope.kind {
                let page = result.and_then(RawObject::parse);
                break page.and_then(|page| page.string("nextCursor"));
            }
        };
        match cursor {
            Some(cursor) => params.set("cursor", quoted(&cursor)),
            None => return,
        }
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
