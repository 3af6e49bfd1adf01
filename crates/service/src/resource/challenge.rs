//! Responses to requests that were not authorized (RFC 6750, RFC 9728).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use super::metadata::ResourceUrl;

/// Why a request is not authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// It has no token.
    NoToken,
    /// Its token is not accepted, for whatever reason.
    InvalidToken,
    /// Its token lacks a scope.
    InsufficientScope,
    /// Its token cannot be checked now.
    Unavailable,
}

impl Challenge {
    /// A stable name for logs.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::NoToken => "no_token",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::Unavailable => "issuer_unavailable",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::NoToken | Self::InvalidToken => StatusCode::UNAUTHORIZED,
            Self::InsufficientScope => StatusCode::FORBIDDEN,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn message(self) -> &'static str {
        match self {
            Self::NoToken => {
                "A token is required: the header `WWW-Authenticate` says where to get one."
            }
            Self::InvalidToken => "The token is invalid or has expired: get a new one.",
            Self::InsufficientScope => "The token lacks a scope that this server requires.",
            Self::Unavailable => "The token can't be checked at the moment: try again soon.",
        }
    }

    pub(super) fn response(self, url: &ResourceUrl, scopes: &[&str]) -> Response {
        let error = json!({"code": -32600, "message": self.message()});
        let body = json!({"jsonrpc": "2.0", "id": null, "error": error});
        let mut response = crate::http::json(self.status(), body.to_string());
        let headers = response.headers_mut();
        if self == Self::Unavailable {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            return response;
        }
        let mut challenge = format!("Bearer resource_metadata=\"{}\"", url.metadata_url());
        match self {
            Self::NoToken | Self::Unavailable => {}
            Self::InvalidToken | Self::InsufficientScope => {
                challenge.push_str(", error=\"");
                challenge.push_str(self.code());
                challenge.push('"');
            }
        }
        if !scopes.is_empty() {
            challenge.push_str(", scope=\"");
            challenge.push_str(&scopes.join(" "));
            challenge.push('"');
        }
        // Scopes and the URL consist of what a header can carry: both were checked.
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
