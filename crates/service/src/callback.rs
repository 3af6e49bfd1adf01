//! Posts outcomes to callbacks, signed according to Standard Webhooks.
//!
//! Connects only to addresses that passed the URL guard: no second DNS lookup, no proxy, no
//! redirects. The engine schedules attempts and retries.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Request, StatusCode};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use entreat_core::UnixTime;
use entreat_engine::{CallbackDelivery, CallbackSender, DeliveryResult, Snapshot};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::json;
use sha2::Sha256;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Position, Url};
use zeroize::Zeroizing;

/// Timeout of one attempt, from connecting to the response headers.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);

/// A secret for signing callbacks.
///
/// Written as `whsec_` and the base64 of 24 to 64 bytes. `Debug` redacts it.
#[derive(Clone)]
pub struct SigningSecret(Zeroizing<Vec<u8>>);

/// The text is not a signing secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a signing secret is `whsec_` and the base64 of 24 to 64 bytes")]
pub struct InvalidSigningSecret;

impl std::str::FromStr for SigningSecret {
    type Err = InvalidSigningSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSigningSecret> {
        let text = text.strip_prefix("whsec_").ok_or(InvalidSigningSecret)?;
        let bytes = Zeroizing::new(
            BASE64_STANDARD
                .decode(text)
                .map_err(|_| InvalidSigningSecret)?,
        );
        if (24..=64).contains(&bytes.len()) {
            Ok(Self(bytes))
        } else {
            Err(InvalidSigningSecret)
        }
    }
}

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningSecret(…)")
    }
}

impl SigningSecret {
    /// Returns a signature in the format of the header.
    fn sign(&self, id: &str, seconds: u64, body: &str) -> String {
        // HMAC accepts keys of any length.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(format!("{id}.{seconds}.{body}").as_bytes());
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// Posts outcomes to callback URLs.
#[derive(Clone, Debug)]
pub struct Callbacks {
    secrets: Arc<[SigningSecret]>,
    tls: Arc<ClientConfig>,
}

/// Why callbacks cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// No secret was configured; unsigned callbacks could be forged.
    #[error("callbacks need a signing secret")]
    NoSecret,
    /// The system's root certificates cannot be loaded.
    #[error("the system's certificates cannot be read")]
    Certificates(#[source] rustls::Error),
}

impl Callbacks {
    /// Signs with each of these secrets, which allows rotation, and trusts the system's root
    /// certificates.
    pub fn new(secrets: impl Into<Arc<[SigningSecret]>>) -> Result<Self, CallbackError> {
        let tls = system_trust_config().map_err(CallbackError::Certificates)?;
        Self::with_tls(secrets, tls)
    }

    /// Signs with each of these secrets, and uses this TLS configuration.
    pub fn with_tls(
        secrets: impl Into<Arc<[SigningSecret]>>,
        tls: ClientConfig,
    ) -> Result<Self, CallbackError> {
        let secrets = secrets.into();
        if secrets.is_empty() {
            return Err(CallbackError::NoSecret);
        }
        let tls = Arc::new(tls);
        Ok(Self { secrets, tls })
    }

    async fn post(&self, parcel: &CallbackDelivery) -> Result<StatusCode, BoxError> {
        let url = Url::parse(parcel.to.url())?;
        let mut stream = Err("there is no address to connect to".into());
        for address in parcel.to.socket_addrs() {
            stream = TcpStream::connect(address).await.map_err(BoxError::from);
            if stream.is_ok() {
                break;
            }
        }
        let stream = stream?;
        stream.set_nodelay(true)?;
        let request = self.request(&url, parcel)?;
        if url.scheme() == "https" {
            let host = url.host_str().unwrap_or_default();
            let host = host.trim_matches(['[', ']']).trim_end_matches('.');
            let name = ServerName::try_from(host)?.to_owned();
            let connector = TlsConnector::from(self.tls.clone());
            return send(connector.connect(name, stream).await?, request).await;
        }
        send(stream, request).await
    }

    fn request(
        &self,
        url: &Url,
        parcel: &CallbackDelivery,
    ) -> Result<Request<Full<Bytes>>, BoxError> {
        let body = body(&parcel.settled);
        // Retries carry the same id, so that the receiver can deduplicate.
        let id = parcel.settled.id().to_string();
        let seconds = parcel.now.as_millis() / 1000;
        let signatures: Vec<_> = self
            .secrets
            .iter()
            .map(|secret| secret.sign(&id, seconds, &body))
            .collect();
        let request = Request::post(&url[Position::BeforePath..Position::AfterQuery])
            .header("host", &url[Position::BeforeHost..Position::AfterPort])
            .header("content-type", "application/json")
            .header("user-agent", concat!("entreat/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signatures.join(" "))
            .body(Full::new(Bytes::from(body)))?;
        Ok(request)
    }
}

/// A TLS client configuration that trusts the system's root certificates.
pub(crate) fn system_trust_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)?;
    Ok(tls.with_no_client_auth())
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl CallbackSender for Callbacks {
    fn deliver(
        &self,
        parcel: CallbackDelivery,
    ) -> Pin<Box<dyn Future<Output = DeliveryResult> + Send>> {
        let callbacks = self.clone();
        Box::pin(async move {
            let host = parcel.to.host().to_owned();
            let posted = tokio::time::timeout(ATTEMPT_TIMEOUT, callbacks.post(&parcel)).await;
            let (id, posted) = (
                parcel.settled.id(),
                posted.map_err(BoxError::from).flatten(),
            );
            match posted {
                Ok(status) if status.is_success() => DeliveryResult::Delivered,
                Ok(StatusCode::GONE) => DeliveryResult::Gone,
                Ok(status) => {
                    let status = status.as_u16();
                    tracing::debug!(elicitation.id = %id, host, status, "a callback was refused");
                    DeliveryResult::Failed
                }
                Err(error) => {
                    tracing::debug!(elicitation.id = %id, host, %error, "a callback failed");
                    DeliveryResult::Failed
                }
            }
        })
    }
}

/// Sends the request and reads the response headers.
async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<StatusCode, BoxError> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let mut connection = std::pin::pin!(connection);
    let mut response = std::pin::pin!(sender.send_request(request));
    tokio::select! {
        response = &mut response => Ok(response?.status()),
        ended = &mut connection => {
            ended?;
            // The response may have arrived together with the end of the connection.
            Ok(response.await?.status())
        }
    }
}

/// The payload: the outcome, with sensitive answers sealed.
fn body(settled: &Snapshot) -> String {
    let at = settled.lifecycle().settled_at().unwrap_or_default();
    json!({
        "type": format!("elicitation.{}", settled.status().as_str()),
        "timestamp": iso_8601(at),
        "data": settled,
    })
    .to_string()
}

/// Formats a time as ISO 8601.
fn iso_8601(at: UnixTime) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis)
        .unwrap_or(jiff::Timestamp::MAX)
        .to_string()
}
