//! Exchanges a code for an ID token at the issuer.

use std::time::Duration;

use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_wire::http::{Client, ClientError, ExchangeError};
use entreat_wire::issuer::Metadata;
use rustls::ClientConfig;
use serde::Deserialize;
use url::form_urlencoded::{Serializer, byte_serialize};
use zeroize::Zeroizing;

/// How long the issuer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of its response, in bytes.
const MAX_RESPONSE: usize = 256 << 10;

/// How this service authenticates at the issuer.
pub(super) struct ClientIdentity<'a> {
    pub(super) id: &'a str,
    /// `None` for a public client, which PKCE alone protects.
    pub(super) secret: Option<&'a str>,
    pub(super) tls: Option<&'a ClientConfig>,
}

/// Why there is no token. Nothing of the response is shown or logged: it may contain secrets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodeError {
    #[error("the issuer has no token endpoint")]
    NoEndpoint,
    #[error("the token endpoint cannot be used")]
    Client(#[source] ClientError),
    #[error("the token endpoint does not respond as it should")]
    Exchange(#[source] ExchangeError),
    #[error("the token endpoint responded with status {0}")]
    Refused(u16),
    #[error("the token endpoint returned no ID token")]
    NoToken,
}

#[derive(Deserialize)]
struct TokenResponse {
    id_token: String,
}

/// Exchanges a code; returns the ID token.
pub(super) async fn exchange(
    metadata: &Metadata,
    client: &ClientIdentity<'_>,
    code: &str,
    verifier: &str,
    redirect: &str,
) -> Result<Zeroizing<String>, CodeError> {
    let endpoint = metadata.token_endpoint.as_deref();
    let endpoint = endpoint.ok_or(CodeError::NoEndpoint)?;
    let mut builder = Client::builder(endpoint);
    if let Some(tls) = client.tls {
        builder = builder.tls(tls.clone());
    }
    let http = builder.build().map_err(CodeError::Client)?;
    let mut request = http.request(Method::POST);
    let mut fields = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect),
        ("code_verifier", verifier),
    ];
    match client.secret {
        Some(secret) if accepts_basic(metadata) => {
            request = request.header("authorization", &basic(client.id, secret));
        }
        Some(secret) => fields.extend([("client_id", client.id), ("client_secret", secret)]),
        None => fields.push(("client_id", client.id)),
    }
    let response = request
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json")
        .body(encode(&fields))
        .timeout(TIMEOUT)
        .send()
        .await
        .map_err(CodeError::Exchange)?;
    let status = response.status();
    if !status.is_success() {
        return Err(CodeError::Refused(status.as_u16()));
    }
    let body = response.body(MAX_RESPONSE).await;
    let body = body.map_err(CodeError::Exchange)?;
    let response: TokenResponse = serde_json::from_slice(&body).map_err(|_| CodeError::NoToken)?;
    Ok(Zeroizing::new(response.id_token))
}

fn encode(fields: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Whether the secret goes into a header, which is the default of OpenID Connect.
fn accepts_basic(metadata: &Metadata) -> bool {
    let methods = &metadata.token_auth_methods;
    let has = |name: &str| methods.iter().any(|method| method == name);
    has("client_secret_basic") || !has("client_secret_post")
}

/// The header of RFC 6749, section 2.3.1: both parts are form-encoded first.
fn basic(id: &str, secret: &str) -> Zeroizing<String> {
    let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = Zeroizing::new(format!("{}:{}", encode(id), encode(secret)));
    Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_encoded_before_it_becomes_a_header() {
        // `a:b` and `p%d é`, encoded as forms are.
        let header = basic("a:b", "p%d é");
        let encoded = header.strip_prefix("Basic ").unwrap();
        let pair = STANDARD.decode(encoded).unwrap();
        assert_eq!(pair, b"a%3Ab:p%25d+%C3%A9");
    }

    #[test]
    fn a_secret_goes_where_the_issuer_takes_it() {
        let of = |methods: &[&str]| {
            accepts_basic(&Metadata {
                token_auth_methods: methods.iter().map(|&method| method.to_owned()).collect(),
                ..Metadata::default()
            })
        };
        assert!(of(&[]));
        assert!(of(&["client_secret_post", "client_secret_basic"]));
        assert!(!of(&["client_secret_post"]));
    }
}
