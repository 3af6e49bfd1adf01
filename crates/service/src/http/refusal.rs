//! Requests that never reach a method, and what their senders are told.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
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
    /// The body ended early.
    Broken,
    /// Not a WebSocket's first request.
    NoUpgrade,
}

impl Refusal {
    fn status(self) -> StatusCode {
        match self {
            Self::NoKey | Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::TooManyGuesses => StatusCode::TOO_MANY_REQUESTS,
            Self::ForeignHost | Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
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
                "Without a key, a page of another site may not call this service.".to_owned()
            }
            Self::NotJson => {
                "The body must be JSON: send `Content-Type: application/json`, not compressed."
                    .to_owned()
            }
            Self::TooLarge(limit) => format!("The body must not be larger than {limit} bytes."),
            Self::TooSlow(limit) => {
                format!("The body must arrive within {} seconds.", limit.as_secs())
            }
            Self::Broken => "The body ended before it was complete.".to_owned(),
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
            Self::TooLarge(_) | Self::TooSlow(_) | Self::Broken => {
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
