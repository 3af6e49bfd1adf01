//! A request, its response, and why there is none.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};

use super::events::{EventStream, events};

/// Why an exchange failed, in words for a person.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// There was no connection, so nothing was sent.
    #[error("{0}")]
    Connect(String),
    /// The timeout passed. The server may have got the request.
    #[error("the request timed out")]
    Timeout,
    /// The response is too long.
    #[error("the response has more than {0} bytes")]
    TooLong(usize),
    /// The request is not valid, or the connection broke. The server may have got the request.
    #[error("{0}")]
    Broken(String),
}

impl From<reqwest::Error> for ExchangeError {
    fn from(error: reqwest::Error) -> Self {
        // The URL may contain secrets.
        let error = error.without_url();
        // The layers above the last cause name parts of the library.
        let mut cause: &(dyn Error + 'static) = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        match cause.to_string() {
            _ if error.is_connect() && error.is_timeout() => {
                Self::Connect("connecting took too long".to_owned())
            }
            _ if error.is_connect() && is_not_tls(cause) => {
                let words = "the server does not speak TLS; try `http://` instead of `https://`";
                Self::Connect(words.to_owned())
            }
            cause if error.is_connect() => Self::Connect(cause),
            _ if error.is_timeout() => Self::Timeout,
            cause => Self::Broken(cause),
        }
    }
}

/// Whether a server responded to a TLS handshake with something else.
fn is_not_tls(cause: &(dyn Error + 'static)) -> bool {
    let mut cause = cause;
    // An `io::Error` does not name what it wraps as its source.
    while let Some(inner) = cause
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        cause = inner;
    }
    let error = cause.downcast_ref::<rustls::Error>();
    matches!(error, Some(rustls::Error::InvalidMessage(_)))
}

/// A request that was not sent yet. What is wrong with its headers shows when it is sent.
#[must_use]
pub struct Request(reqwest::RequestBuilder);

impl Request {
    pub(super) fn new(builder: reqwest::RequestBuilder) -> Self {
        Self(builder)
    }

    /// Adds a header.
    pub fn header(self, name: &str, value: &str) -> Self {
        Self(self.0.header(name, value))
    }

    /// Adds headers, in place of those of the same names.
    pub fn headers(self, headers: HeaderMap) -> Self {
        Self(self.0.headers(headers))
    }

    /// Authorizes the request by a key.
    pub fn bearer(self, key: &str) -> Self {
        Self(self.0.bearer_auth(key))
    }

    /// Sets the body.
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        Self(self.0.body(body.into()))
    }

    /// Limits the time of the whole exchange, from connecting to the end of the response.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self(self.0.timeout(timeout))
    }

    /// Sends the request and returns the response as soon as its head is there.
    pub async fn send(self) -> Result<Response, ExchangeError> {
        Ok(Response(self.0.send().await?))
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without URL and headers, which may contain secrets.
        f.debug_struct("Request").finish_non_exhaustive()
    }
}

/// A response. Dropping it before the end of its body closes the connection.
#[derive(Debug)]
pub struct Response(reqwest::Response);

impl Response {
    /// Returns the status.
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Returns a header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// Returns the response without its headers, for a body that takes long: they are parts of the
    /// buffer that they were read into, which they would keep until then.
    #[must_use]
    pub fn without_headers(mut self) -> Self {
        *self.0.headers_mut() = HeaderMap::new();
        self
    }

    /// Reads the body, up to `limit` bytes.
    pub async fn body(mut self, limit: usize) -> Result<Bytes, ExchangeError> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if chunk.len() > limit - body.len() {
                return Err(ExchangeError::TooLong(limit));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    /// Reads the next part of the body; `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ExchangeError> {
        Ok(self.0.chunk().await?)
    }

    /// Reads the body as server-sent events.
    pub fn events(self) -> EventStream {
        events(self.0.bytes_stream())
    }
}
