//! Requests that never reach a method, and what their senders are told.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use entreat_engine::{ActError, Asker};
use serde_json::json;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no key, and one is needed.
    NoKey,
    /// The key is nobody's.
    UnknownKey,
    /// Too many requests with wrong keys.
    TooManyGuesses,
    /// A request without a key names another machine.
    ForeignHost,
    /// A request without a key comes from a page of another site.
    ForeignOrigin,
    /// The body is not said to be JSON.
    NotJson,
    /// The body is larger than this.
    TooLarge(usize),
    /// The body did not come in this time.
    TooSlow(Duration),
    /// There is no memory for it: too many large ones come at once.
    NoMemory,
    /// The body ended early.
    Broken,
    /// Not a WebSocket's first request.
    NoUpgrade,
    /// The asker has had its requests, and may come back after this time.
    TooMany(Duration),
    /// A header that may stand once stands twice.
    Twice(&'static HeaderName),
}

/// Counts a request that opens a stream; the engine does not see it.
pub(super) fn charge(asker: &Asker) -> Result<(), Refusal> {
    match asker.charge() {
        Err(ActError::RateLimited { retry_after }) => Err(Refusal::TooMany(retry_after)),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl Refusal {
    fn status(self) -> StatusCode {
        match self {
            Self::NoKey | Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::TooManyGuesses | Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::ForeignHost | Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Broken | Self::Twice(_) => StatusCode::BAD_REQUEST,
            Self::NoUpgrade => StatusCode::UPGRADE_REQUIRED,
        }
    }

    fn message(self) -> String {
        match self {
            Self::NoKey => "A key is needed: send `Authorization: Bearer KEY`.".to_owned(),
            Self::UnknownKey => {
                "This key is not known: send `Authorization: Bearer KEY` with one of the \
                 service's keys."
                    .to_owned()
            }
            Self::TooManyGuesses => {
                "Too many requests without a known key: wait a second before the next.".to_owned()
            }
            Self::ForeignHost => {
                "Without a key, `Host` must be a loopback address or `localhost`.".to_owned()
            }
            Self::ForeignOrigin => {
                "Without a key, a page of another origin may not call this service.".to_owned()
            }
            Self::NotJson => {
                "The body must be JSON: send `Content-Type: application/json`, not compressed."
                    .to_owned()
            }
            Self::TooLarge(limit) => format!("The body must not be larger than {limit} bytes."),
            Self::TooSlow(limit) => {
                format!("The body must arrive within {} seconds.", limit.as_secs())
            }
            Self::NoMemory => {
                "Too many large bodies come at once: send them one after the other.".to_owned()
            }
            Self::Broken => "The body ended before it was complete.".to_owned(),
            Self::TooMany(wait) => {
                format!("Too many requests: come back in {} ms.", wait.as_millis())
            }
            Self::Twice(name) => format!("The header `{name}` must not be sent twice."),
            Self::NoUpgrade => {
                "This is where a WebSocket is opened: send its handshake, version 13.".to_owned()
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
            Self::TooMany(wait) => {
                let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
                // Digits are a value of any header.
                if let Ok(seconds) = HeaderValue::from_str(&seconds) {
                    headers.insert(header::RETRY_AFTER, seconds);
                }
            }
            Self::TooLarge(_)
            | Self::TooSlow(_)
            | Self::NoMemory
            | Self::Broken
            | Self::Twice(_) => {
                // The rest of the body is not worth reading.
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::NoUpgrade => {
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            }
            Self::ForeignHost | Self::ForeignOrigin | Self::NotJson => {}
        }
        response
    }
}
