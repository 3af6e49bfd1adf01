//! Asks an issuer about opaque tokens (RFC 7662), and remembers what it said for a short while.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use entreat_core::UnixTime;
use entreat_core::document::{Notation, read};
use http::{Method, StatusCode};
use parking_lot::Mutex;
use rustls::ClientConfig;
use serde_json::Value;
use tokio::sync::Semaphore;
use url::form_urlencoded;
use zeroize::Zeroizing;

use super::cache::{Fingerprint, TokenCache};
use super::fetch::{FETCH_TIMEOUT, MAX_DOCUMENT, unavailable};
use super::metadata::Metadata;
use super::rules::Genuine;
use super::{IssuerError, TokenError};
use crate::http::Client;

/// How long the issuer's word is good for, so that a revoked token is noticed.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
/// How many tokens are asked about at a time.
const MAX_REQUESTS: usize = 32;

/// Our account at an issuer.
#[derive(Clone)]
pub struct ClientCredentials {
    /// The client's id.
    pub id: String,
    /// The client's secret.
    pub secret: Zeroizing<String>,
}

impl std::fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientCredentials")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Asks about tokens.
pub(super) struct Introspection {
    credentials: ClientCredentials,
    /// For the endpoint that the metadata named last.
    client: Mutex<Option<(String, Client)>>,
    requests: Semaphore,
    remembered: TokenCache<Remembered>,
}

/// What the issuer said about a token, and until when that counts.
#[derive(Clone)]
struct Remembered {
    /// `None` if the token is not active.
    token: Option<Arc<Genuine>>,
    until: UnixTime,
}

impl Introspection {
    pub(super) fn new(credentials: ClientCredentials) -> Self {
        Self {
            credentials,
            client: Mutex::new(None),
            requests: Semaphore::new(MAX_REQUESTS),
            remembered: TokenCache::new(),
        }
    }

    /// Returns what was remembered about a token.
    pub(super) fn remembered(
        &self,
        fingerprint: Fingerprint,
        now: UnixTime,
    ) -> Option<Result<Arc<Genuine>, TokenError>> {
        let found = self.remembered.get(fingerprint)?;
        (now < found.until).then(|| found.token.ok_or(TokenError::Inactive))
    }

    /// Asks about a token.
    pub(super) async fn ask(
        &self,
        token: &str,
        metadata: &Metadata,
        tls: Option<&ClientConfig>,
        issuer: Arc<str>,
        now: UnixTime,
    ) -> Result<Arc<Genuine>, TokenError> {
        let fingerprint = Fingerprint::of(token);
        let _permit = self.requests.acquire().await;
        // Another request may have asked about it in the meantime.
        if let Some(remembered) = self.remembered(fingerprint, now) {
            return remembered;
        }
        let body = self.request(token, metadata, tls).await?;
        let invalid = || IssuerError::Invalid("no information on tokens in JSON".to_owned());
        let Ok(Value::Object(claims)) = read(&body, Notation::Json) else {
            return Err(invalid().into());
        };
        let is_active = match claims.get("active") {
            Some(Value::Bool(is_active)) => *is_active,
            _ => return Err(invalid().into()),
        };
        let token = match is_active {
            true => Some(Arc::new(Genuine::introspected(claims, issuer)?)),
            false => None,
        };
        let remembered = Remembered {
            token,
            until: now.after(REMEMBERED_FOR),
        };
        let size = remembered.token.as_ref().map_or(0, |it| it.size());
        self.remembered
            .insert(fingerprint, remembered.clone(), size);
        remembered.token.ok_or(TokenError::Inactive)
    }

    async fn request(
        &self,
        token: &str,
        metadata: &Metadata,
        tls: Option<&ClientConfig>,
    ) -> Result<String, IssuerError> {
        let endpoint = metadata.introspection_endpoint.as_deref().ok_or_else(|| {
            IssuerError::Invalid("no endpoint to look opaque tokens up at".to_owned())
        })?;
        let ClientCredentials { id, secret } = &self.credentials;
        let methods = &metadata.introspection_auth_methods;
        let names = |method: &str| methods.iter().any(|it| it == method);
        let by_post = names("client_secret_post") && !names("client_secret_basic");
        let body = {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.append_pair("token", token)
                .append_pair("token_type_hint", "access_token");
            if by_post {
                form.append_pair("client_id", id)
                    .append_pair("client_secret", secret);
            }
            form.finish()
        };
        let mut request = self
            .client(endpoint, tls)?
            .request(Method::POST)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .timeout(FETCH_TIMEOUT)
            .body(body);
        if !by_post {
            // RFC 6749 encodes both as in a form first.
            let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect();
            let (id, secret): (String, String) = (encode(id), encode(secret));
            let encoded = STANDARD.encode(format!("{id}:{secret}"));
            request = request.header("authorization", &format!("Basic {encoded}"));
        }
        let response = request.send().await.map_err(unavailable)?;
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            let words = "it does not accept our client id and secret for looking tokens up";
            return Err(IssuerError::Unavailable(words.to_owned()));
        }
        if status != StatusCode::OK {
            return Err(IssuerError::Unavailable(format!("it returned {status}")));
        }
        let body = response.body(MAX_DOCUMENT).await.map_err(unavailable)?;
        let text = String::from_utf8(body.into());
        text.map_err(|_| IssuerError::Invalid("what is not text".to_owned()))
    }

    fn client(&self, endpoint: &str, tls: Option<&ClientConfig>) -> Result<Client, IssuerError> {
        let mut kept = self.client.lock();
        if let Some((url, client)) = &*kept
            && url == endpoint
        {
            return Ok(client.clone());
        }
        let mut builder = Client::builder(endpoint).reusing_connections();
        if let Some(tls) = tls {
            builder = builder.tls(tls.clone());
        }
        let client = builder
            .build()
            .map_err(|error| IssuerError::Unavailable(error.to_string()))?;
        *kept = Some((endpoint.to_owned(), client.clone()));
        Ok(client)
    }
}
