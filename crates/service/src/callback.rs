//! Outcomes posted to the asker's callback, signed as Standard Webhooks says.
//!
//! A connection goes to an address that was judged and nowhere else: the name is not looked up
//! again, no proxy is asked and no redirect followed. When and how often is the engine's business.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Request, StatusCode};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use entreat_core::UnixTime;
use entreat_engine::{Courier, Parcel, Receipt, Snapshot};
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

/// How long an attempt may take, from the connection to the answer's head.
const PATIENCE: Duration = Duration::from_secs(15);

/// A secret that callbacks are signed with.
///
/// Written as `whsec_` and the base64 of 24 to 64 bytes. Never shown.
#[derive(Clone)]
pub struct SigningSecret(Zeroizing<Vec<u8>>);

/// Why a text is no signing secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a signing secret is `whsec_` and the base64 of 24 to 64 bytes")]
pub struct NoSecret;

impl std::str::FromStr for SigningSecret {
    type Err = NoSecret;

    fn from_str(text: &str) -> Result<Self, NoSecret> {
        let text = text.strip_prefix("whsec_").ok_or(NoSecret)?;
        let bytes = Zeroizing::new(BASE64_STANDARD.decode(text).map_err(|_| NoSecret)?);
        if (24..=64).contains(&bytes.len()) {
            Ok(Self(bytes))
        } else {
            Err(NoSecret)
        }
    }
}

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningSecret(…)")
    }
}

impl SigningSecret {
    /// The signature of a message, as it stands in the header.
    fn sign(&self, id: &str, seconds: u64, body: &str) -> String {
        // A key of any length will do.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            return String::new();
        };
        mac.update(format!("{id}.{seconds}.{body}").as_bytes());
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// Posts outcomes to callbacks.
#[derive(Clone, Debug)]
pub struct Callbacks {
    secrets: Arc<[SigningSecret]>,
    tls: Arc<ClientConfig>,
}

/// Why nobody can be called back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// What is not signed cannot be told from a forgery.
    #[error("callbacks need a signing secret")]
    NoSecret,
    /// The system's certificates cannot be used.
    #[error("the system's certificates cannot be read")]
    Certificates(#[source] rustls::Error),
}

impl Callbacks {
    /// Signs with each of these secrets, so that one can be replaced while both hold; trusts the
    /// certificates that the system trusts.
    pub fn new(secrets: impl Into<Arc<[SigningSecret]>>) -> Result<Self, CallbackError> {
        let tls = trusting_the_system().map_err(CallbackError::Certificates)?;
        Self::with_tls(secrets, tls)
    }

    /// Signs with each of these secrets, and trusts whom a TLS configuration says.
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

    async fn post(&self, parcel: &Parcel) -> Result<StatusCode, BoxError> {
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

    fn request(&self, url: &Url, parcel: &Parcel) -> Result<Request<Full<Bytes>>, BoxError> {
        let body = body(&parcel.settled);
        // One outcome, one message, however often it is sent.
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

/// TLS for calls to others, whose certificates the system has to trust.
pub(crate) fn trusting_the_system() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)?;
    Ok(tls.with_no_client_auth())
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Courier for Callbacks {
    fn deliver(&self, parcel: Parcel) -> Pin<Box<dyn Future<Output = Receipt> + Send>> {
        let callbacks = self.clone();
        Box::pin(async move {
            let host = parcel.to.host().to_owned();
            let posted = tokio::time::timeout(PATIENCE, callbacks.post(&parcel)).await;
            let (id, posted) = (
                parcel.settled.id(),
                posted.map_err(BoxError::from).flatten(),
            );
            match posted {
                Ok(status) if status.is_success() => Receipt::Taken,
                Ok(StatusCode::GONE) => Receipt::Gone,
                Ok(status) => {
                    let status = status.as_u16();
                    tracing::debug!(elicitation.id = %id, host, status, "a callback was refused");
                    Receipt::Failed
                }
                Err(error) => {
                    tracing::debug!(elicitation.id = %id, host, %error, "a callback failed");
                    Receipt::Failed
                }
            }
        })
    }
}

/// Sends the request, and reads the head of the answer.
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
            // The answer may have come with the end.
            Ok(response.await?.status())
        }
    }
}

/// What is posted: the outcome, its secrets sealed.
fn body(settled: &Snapshot) -> String {
    let at = settled.lifecycle().settled_at().unwrap_or_default();
    json!({
        "type": format!("elicitation.{}", settled.status().as_str()),
        "timestamp": written(at),
        "data": settled,
    })
    .to_string()
}

/// A moment as ISO 8601 writes it.
fn written(at: UnixTime) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis)
        .unwrap_or(jiff::Timestamp::MAX)
        .to_string()
}
