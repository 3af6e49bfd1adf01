//! Fetches documents of an issuer: within limits of time and size, and without following
//! redirects, which could lead to where the issuer's word does not count.

use std::time::Duration;

use http::{Method, StatusCode};
use rustls::ClientConfig;
use url::Url;

use super::IssuerError;
use super::keys::KeySet;
use super::metadata::{self, Metadata};
use crate::http::{Client, ExchangeError};

/// The maximum size of a document, in bytes.
pub(crate) const MAX_DOCUMENT: usize = 64 << 10;
/// How long a request may take.
pub(super) const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Fetches an issuer's metadata, from the first place where there are any.
pub(super) async fn metadata(
    issuer: String,
    tls: Option<ClientConfig>,
) -> Result<Metadata, IssuerError> {
    let url = Url::parse(&issuer).map_err(|_| IssuerError::Url)?;
    for place in metadata::places(&url) {
        if let Some(text) = document(&place, tls.clone()).await? {
            return metadata::read(&text, &issuer);
        }
    }
    let problem = "no metadata at /.well-known/openid-configuration or oauth-authorization-server";
    Err(IssuerError::Invalid(problem.to_owned()))
}

/// Fetches a key set.
pub(super) async fn keys(url: String, tls: Option<ClientConfig>) -> Result<KeySet, IssuerError> {
    match document(&url, tls).await? {
        Some(text) => KeySet::read(&text),
        None => Err(IssuerError::Invalid("no keys where it says".to_owned())),
    }
}

/// Fetches a document; `None` if there is none.
async fn document(url: &str, tls: Option<ClientConfig>) -> Result<Option<String>, IssuerError> {
    let mut builder = Client::builder(url).connect_timeout(CONNECT_TIMEOUT);
    if let Some(tls) = tls {
        builder = builder.tls(tls);
    }
    let client = builder
        .build()
        .map_err(|error| IssuerError::Unavailable(error.to_string()))?;
    let request = client
        .request(Method::GET)
        .header("accept", "application/json")
        .timeout(FETCH_TIMEOUT);
    let response = request.send().await.map_err(unavailable)?;
    match response.status() {
        StatusCode::OK => {}
        status if status.is_client_error() => return Ok(None),
        status => {
            let what = if status.is_redirection() {
                "a redirect, which is not followed"
            } else {
                status.as_str()
            };
            return Err(IssuerError::Unavailable(format!("it returned {what}")));
        }
    }
    match response.body(MAX_DOCUMENT).await {
        Ok(body) => {
            let text = String::from_utf8(body.into());
            let not_text = |_| IssuerError::Invalid("what is not text".to_owned());
            text.map(Some).map_err(not_text)
        }
        Err(ExchangeError::TooLong(limit)) => Err(IssuerError::Invalid(format!(
            "a document of more than {limit} bytes"
        ))),
        Err(error) => Err(unavailable(error)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
pub(super) fn unavailable(error: ExchangeError) -> IssuerError {
    IssuerError::Unavailable(error.to_string())
}
