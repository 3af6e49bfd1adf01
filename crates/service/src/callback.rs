//! Posts outcomes to callbacks, signed according to Standard Webhooks.
//!
//! Connects only to addresses that passed the URL guard: no second DNS lookup, no proxy, no
//! redirects. The engine schedules attempts and retries.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use entreat_core::UnixTime;
use entreat_engine::{CallbackDelivery, CallbackSender, DeliveryResult, LogThrottle, Snapshot};
use entreat_wire::http::{Client, ClientError, platform_tls};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rustls::ClientConfig;
use serde_json::json;
use sha2::Sha256;
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
    /// The log lines about failures, by asker.
    failures: Arc<LogThrottle<Arc<str>>>,
}

/// Why callbacks cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// No secret was configured; unsigned callbacks could be forged.
    #[error("callbacks need a signing secret")]
    NoSecret,
    /// The HTTP client cannot be set up.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl Callbacks {
    /// Signs with each of these secrets, which allows rotation, and trusts the system's root
    /// certificates.
    pub fn new(secrets: impl Into<Arc<[SigningSecret]>>) -> Result<Self, CallbackError> {
        Self::with_tls(secrets, platform_tls()?)
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
        let failures = Arc::default();
        Ok(Self {
            secrets,
            tls,
            failures,
        })
    }

    /// Logs a failure: one line per asker in some seconds, with the host, never the URL.
    fn warn(&self, parcel: &CallbackDelivery, reason: &str) {
        let asker = &parcel.settled.record().request.asker;
        if tracing::enabled!(tracing::Level::WARN)
            && let Some(count) = self.failures.count(asker.clone(), parcel.now)
        {
            let (asker, host) = (&**asker, parcel.to.host());
            tracing::warn!(asker, host, reason, count, "a callback failed");
        }
    }

    async fn post(&self, parcel: &CallbackDelivery) -> Result<StatusCode, BoxError> {
        let client = Client::builder(parcel.to.url())
            .tls(ClientConfig::clone(&self.tls))
            .pinned_to(parcel.to.socket_addrs())
            .build()?;
        let body = body(&parcel.settled);
        // Retries carry the same id, so that the receiver can deduplicate.
        let id = parcel.settled.id().to_string();
        let seconds = parcel.now.as_millis() / 1000;
        let signatures: Vec<_> = self
            .secrets
            .iter()
            .map(|secret| secret.sign(&id, seconds, &body))
            .collect();
        let request = client
            .request(Method::POST)
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", &seconds.to_string())
            .header("webhook-signature", &signatures.join(" "))
            .body(body)
            .timeout(ATTEMPT_TIMEOUT);
        // Without the body of the response, which may be of any length.
        Ok(request.send().await?.status())
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl CallbackSender for Callbacks {
    fn deliver(
        &self,
        parcel: CallbackDelivery,
    ) -> Pin<Box<dyn Future<Output = DeliveryResult> + Send>> {
        let callbacks = self.clone();
        Box::pin(async move {
            let (result, reason) = match callbacks.post(&parcel).await {
                Ok(status) if status.is_success() => return DeliveryResult::Delivered,
                Ok(StatusCode::GONE) => (DeliveryResult::Gone, "status 410".to_owned()),
                Ok(status) => {
                    let reason = format!("status {}", status.as_u16());
                    (DeliveryResult::Failed, reason)
                }
                Err(error) => (DeliveryResult::Failed, error.to_string()),
            };
            callbacks.warn(&parcel, &reason);
            result
        })
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
