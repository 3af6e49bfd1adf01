//! What the head of a response means.

use entreat_core::url::Url;
use entreat_wire::http::{ExchangeError, Response};
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, StatusCode};

use crate::envelope::{Envelope, Kind, RawId};
use crate::json::RawObject;
use crate::reply::error_code;
use crate::side::Failure;

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(super) const BOTH: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

/// The codes that servers use for a session that they do not know, with HTTP 400.
const SESSION_CODES: std::ops::RangeInclusive<i64> = -32001..=-32000;
/// How much of a body is quoted in an error.
const EXCERPT: usize = 200;

/// What a response to a request is, by its head.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A single message.
    Message,
    /// A stream of events.
    Events,
    /// The session is gone.
    SessionLost,
    /// An error, whose body may be a response.
    Refused,
    /// Nothing that can be a response.
    Failed(Failure),
}

/// Judges a response to a request that was sent within a session or without one.
pub(super) fn judge(response: &Response, has_session: bool) -> Verdict {
    let status = response.status();
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let status = status.as_u16();
            Verdict::Failed(Failure::Unauthorized { status })
        }
        StatusCode::NOT_FOUND if has_session => Verdict::SessionLost,
        StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
            let what = format!("HTTP {} and nothing else", status.as_u16());
            Verdict::Failed(Failure::Unexpected(what))
        }
        _ if status.is_success() => match media_type(response).as_deref() {
            Some("text/event-stream") => Verdict::Events,
            // Without a type, the body tells.
            Some("application/json") | None => Verdict::Message,
            Some(other) => {
                let what = format!("the content type {}", shortened(other));
                Verdict::Failed(Failure::Unexpected(what))
            }
        },
        _ if status.is_redirection() => Verdict::Failed(redirected(response)),
        _ => Verdict::Refused,
    }
}

/// Whether a response is a stream of events.
pub(super) fn is_stream(response: &Response) -> bool {
    response.status().is_success()
        && media_type(response).is_some_and(|it| it == "text/event-stream")
}

/// Why a request failed, by a body that is no response.
pub(super) fn refused(status: StatusCode, body: &[u8]) -> Failure {
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        let status = status.as_u16();
        return Failure::Busy { status };
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * EXCERPT)]);
    let text = text.trim();
    let code = status.as_u16();
    // Pages are for browsers.
    if text.is_empty() || text.starts_with('<') {
        let reason = status.canonical_reason().unwrap_or("an error");
        return Failure::Unexpected(format!("HTTP {code} ({reason})"));
    }
    Failure::Unexpected(format!("HTTP {code}: {}", shortened(text)))
}

/// Returns the error of a body that is a JSON-RPC error, also one without an id.
pub(super) fn error_in(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let object = RawObject::parse(text)?;
    let error = object.object("error")?;
    error.get("code")?.parse::<i64>().ok()?;
    Some(error.to_string())
}

/// Whether a server says with HTTP 400 that it does not know the session, as many examples do.
pub(super) fn is_unknown_session(status: StatusCode, error: &str) -> bool {
    let says_so = || {
        let error = RawObject::parse(error)?;
        let message = error.string("message")?.to_ascii_lowercase();
        Some(message.contains("session"))
    };
    status == StatusCode::BAD_REQUEST
        && error_code(error).is_some_and(|code| SESSION_CODES.contains(&code))
        && says_so() == Some(true)
}

/// Whether a response is one to this request: some servers write ids in their own way, and errors
/// may have none.
pub(super) fn responds_to(envelope: &Envelope<'_>, id: &RawId) -> bool {
    let Kind::Response {
        id: found, error, ..
    } = envelope.kind
    else {
        return false;
    };
    let is_same = || {
        let numbers = (found.parse::<f64>(), id.as_str().parse::<f64>());
        let texts = || {
            let text = |it: &str| serde_json::from_str::<String>(it).ok();
            text(found).is_some_and(|found| Some(found) == text(id.as_str()))
        };
        matches!(numbers, (Ok(a), Ok(b)) if a.to_bits() == b.to_bits()) || texts()
    };
    found == id.as_str() || (found == "null" && error.is_some()) || is_same()
}

pub(super) fn failure(error: ExchangeError) -> Failure {
    match error {
        ExchangeError::Connect(why) => Failure::Connect(why),
        ExchangeError::TooLong(limit) => Failure::too_long(limit),
        error => Failure::Broken(error.to_string()),
    }
}

fn redirected(response: &Response) -> Failure {
    let status = response.status().as_u16();
    // Its path may contain secrets.
    let origin = response
        .header(LOCATION.as_str())
        .and_then(|location| Url::parse(location).ok())
        .map(|location| location.origin().ascii_serialization());
    Failure::Unexpected(match origin {
        Some(origin) => format!(
            "a redirect (HTTP {status}) to {origin}; use that server's address if you trust it"
        ),
        None => format!("a redirect (HTTP {status}) that would lose the message"),
    })
}

fn media_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?;
    let value = String::from_utf8_lossy(value.as_bytes());
    let kind = value.split(';').next().unwrap_or_default();
    Some(kind.trim().to_ascii_lowercase())
}

/// Cuts a text of the server, and leaves out what terminals would take for commands.
fn shortened(text: &str) -> String {
    let mut shown = text.chars().filter(|it| !it.is_control());
    let mut short: String = shown.by_ref().take(EXCERPT).collect();
    if shown.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_recognised_however_its_id_is_written() {
        let responds = |text: &str, id: &str| {
            responds_to(&Envelope::read(text.as_bytes()).unwrap(), &RawId::new(id))
        };
        assert!(responds(r#"{"id":7,"result":{}}"#, "7"));
        assert!(responds(r#"{"id":7.0,"result":{}}"#, "7"));
        assert!(responds(r#"{"id":"\u0061","result":{}}"#, r#""a""#));
        assert!(responds(r#"{"id":null,"error":{}}"#, "7"));
        assert!(!responds(r#"{"id":null,"result":{}}"#, "7"));
        assert!(!responds(r#"{"id":8,"result":{}}"#, "7"));
        assert!(!responds(r#"{"id":"7","result":{}}"#, "7"));
        assert!(!responds(r#"{"id":7,"method":"m"}"#, "7"));
    }

    #[test]
    fn only_errors_of_the_protocol_count_as_responses() {
        let error = r#"{"code":-32601,"message":"m"}"#;
        for body in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#),
            format!(r#"{{"error":{error}}}"#),
        ] {
            assert_eq!(error_in(body.as_bytes()).as_deref(), Some(error));
        }
        for body in [
            r#"{"error":"no"}"#,
            r#"{"error":{"message":"m"}}"#,
            "",
            "<p>",
            "[]",
        ] {
            assert_eq!(error_in(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn bodies_are_quoted_briefly() {
        let long = "x\u{1b}[2J".repeat(1_000);
        let failure = refused(StatusCode::BAD_REQUEST, long.as_bytes()).to_string();
        assert!(
            failure.len() < 300 && !failure.contains('\u{1b}'),
            "{failure}"
        );
        let page = refused(StatusCode::NOT_FOUND, b"<!doctype html>").to_string();
        assert_eq!(page, "the server responded with HTTP 404 (Not Found)");
        let busy = refused(StatusCode::BAD_GATEWAY, b"x");
        assert_eq!(busy, Failure::Busy { status: 502 });
    }
}
