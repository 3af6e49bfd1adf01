//! Requests rejected before they reach a method.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use entreat_engine::{ActError, Asker};
use serde_json::json;

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A key is required.
    NoKey,
    /// No asker has this key.
    UnknownKey,
    /// Too many requests with wrong keys.
    TooManyGuesses,
    /// A request without a key has a foreign `Host`.
    ForeignHost,
    /// A request without a key comes from a page of another site.
    ForeignOrigin,
    /// The content type is not JSON.
    NotJson,
    /// The body exceeds this many bytes.
    TooLarge(usize),
    /// The body did not arrive within this time.
    BodyTimeout(Duration),
    /// The memory quota is exhausted: too many large bodies at once.
    NoMemory,
    /// The body ended early.
    Incomplete,
    /// Not a WebSocket handshake.
    #[cfg_attr(
        not(feature = "standalone"),
        expect(dead_code, reason = "there are no WebSockets in this build")
    )]
    UpgradeRequired,
    /// The asker is rate-limited and may retry after this time.
    RateLimited(Duration),
    /// A header that must not be repeated is repeated.
    RepeatedHeader(&'static HeaderName),
}

/// Charges the asker's rate limit for opening a stream, which the engine does not see.
pub(super) fn charge(asker: &Asker) -> Result<(), Refusal> {
    match asker.charge() {
        Err(ActError::RateLimited { retry_after }) => Err(Refusal::RateLimited(retry_after)),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl Refusal {
    /// A stable name for logs.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::NoKey => "no_key",
            Self::UnknownKey => "unknown_key",
            Self::TooManyGuesses => "too_many_guesses",
            Self::ForeignHost => "foreign_host",
            Self::ForeignOrigin => "foreign_origin",
            Self::NotJson => "not_json",
            Self::TooLarge(_) => "body_too_large",
            Self::BodyTimeout(_) => "body_timeout",
            Self::NoMemory => "body_memory",
            Self::Incomplete => "incomplete",
            Self::UpgradeRequired => "upgrade_required",
            Self::RateLimited(_) => "rate_limited",
            Self::RepeatedHeader(_) => "repeated_header",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::NoKey | Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::TooManyGuesses | Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::ForeignHost | Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
            Self::BodyTimeout(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Incomplete | Self::RepeatedHeader(_) => StatusCode::BAD_REQUEST,
            Self::UpgradeRequired => StatusCode::UPGRADE_REQUIRED,
        }
    }

    fn message(self) -> String {
        match self {
            Self::NoKey => "A key is required: send `Authorization: Bearer KEY`.".to_owned(),
            Self::UnknownKey => {
                "This key is unknown: send `Authorization: Bearer KEY` with one of the service's \
                 keys."
                    .to_owned()
            }
            Self::TooManyGuesses => {
                "Too many requests without a known key: wait a second and try again.".to_owned()
            }
            Self::ForeignHost => {
                "Without a key, `Host` must be a loopback address or `localhost`.".to_owned()
            }
            Self::ForeignOrigin => {
                "Without a key, a page of another origin cannot call this service.".to_owned()
            }
            Self::NotJson => {
                "The body must be JSON: send `Content-Type: application/json`, not compressed."
                    .to_owned()
            }
            Self::TooLarge(limit) => format!("The body must not be larger than {limit} bytes."),
            Self::BodyTimeout(limit) => {
                format!("The body must arrive within {} seconds.", limit.as_secs())
            }
            Self::NoMemory => {
                "Too many large bodies at once: send them one after the other.".to_owned()
            }
            Self::Incomplete => "The body ended before it was complete.".to_owned(),
            Self::RateLimited(wait) => {
                format!("Too many requests: try again in {} ms.", wait.as_millis())
            }
            Self::RepeatedHeader(name) => format!("The header `{name}` must not be sent twice."),
            Self::UpgradeRequired => {
                "This endpoint accepts only WebSocket handshakes, version 13.".to_owned()
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = json!({"code": -32600, "message": self.message()});
        let body = json!({"jsonrpc": "2.0", "id": null, "error": error});
        let mut response = super::json(self.status(), body.to_string());
        let headers = response.headers_mut();
        match self {
            Self::NoKey | Self::UnknownKey => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::TooManyGuesses => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Self::RateLimited(wait) => {
                let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
                // Digits are always a valid header value.
                if let Ok(seconds) = HeaderValue::from_str(&seconds) {
                    headers.insert(header::RETRY_AFTER, seconds);
                }
            }
            Self::TooLarge(_)
            | Self::BodyTimeout(_)
            | Self::NoMemory
            | Self::Incomplete
            | Self::RepeatedHeader(_) => {
                // The rest of the body is not read.
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::UpgradeRequired => {
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            }
            Self::ForeignHost | Self::ForeignOrigin | Self::NotJson => {}
        }
        response
    }
}
