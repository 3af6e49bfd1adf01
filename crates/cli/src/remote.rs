//! A running service, as the commands use it.

use std::time::Duration;

use anyhow::{Context as _, bail};
use entreat::service::rpc::Code;
use entreat::service::{CallError, ControlClient, Refusal};
use entreat_wire::http::Client;
use serde_json::Value;
use url::Url;

use crate::environment::Environment;
use crate::output;

/// The environment variable that holds the key.
pub(crate) const KEY_VARIABLE: &str = "ENTREAT_API_KEY";
/// The default address of a service.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7171";
/// The largest state of a gateway, in bytes.
const MAX_STATUS: usize = 16 << 20;
/// The timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The key in the environment.
pub(crate) fn key_in(environment: &Environment) -> Option<&str> {
    environment.variable(KEY_VARIABLE)?.to_str()
}

/// Selects a service.
#[derive(clap::Args)]
pub(crate) struct RemoteArgs {
    /// Connect to a running service, such as `http://127.0.0.1:7171`, instead of opening a store
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url, conflicts_with_all = ["store", "keys"])]
    url: Option<String>,
    /// The asker's key for that service. Other users of this machine can see flags; prefer
    /// `$ENTREAT_API_KEY`
    #[arg(long, value_name = "KEY", requires = "url")]
    key: Option<String>,
}

/// A client of one service.
pub(crate) struct Remote(ControlClient);

/// An error response of a service.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// The elicitation does not exist, or belongs to another asker.
    #[error("there is no such question")]
    NotFound,
    /// The elicitation has settled.
    #[error("the question is already settled: {state}")]
    Settled { state: String },
    /// The answers are invalid.
    #[error("the answers are invalid")]
    Invalid {
        /// The field errors, as received.
        errors: Vec<Value>,
        /// Whether this was the last attempt.
        is_last: bool,
    },
    /// The answers are too large.
    #[error("the answers have {size} bytes; the limit is {limit}")]
    TooLarge { size: u64, limit: u64 },
    /// Any other error, with the service's message.
    #[error("{0}")]
    Refused(String),
}

impl RemoteArgs {
    /// Returns the URL and the key that are named.
    pub(crate) fn named(&self) -> Option<(&str, Option<&str>)> {
        Some((self.url.as_deref()?, self.key.as_deref()))
    }

    /// Returns the service, if one is named.
    pub(crate) fn service(&self, environment: &Environment) -> anyhow::Result<Option<Remote>> {
        let Some(url) = &self.url else {
            return Ok(None);
        };
        Remote::at(url, self.key.as_deref(), environment).map(Some)
    }
}

impl Remote {
    /// Creates a client for a URL; the key defaults to the environment's.
    pub(crate) fn at(
        url: &str,
        key: Option<&str>,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let client = ControlClient::new(url, key.or_else(|| key_in(environment)));
        let client = client.context("the URL of the service cannot be used")?;
        Ok(Self(client))
    }

    /// Returns the URL for display.
    pub(crate) fn shown_url(&self) -> String {
        output::sanitize(self.0.url().as_str()).into_owned()
    }

    /// Calls a method. The outer error means that there was no response.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: Value,
    ) -> anyhow::Result<Result<Value, RemoteError>> {
        match self.0.call(method, params, TIMEOUT).await {
            Ok(result) => Ok(Ok(result)),
            Err(CallError::Refused(refusal)) => Ok(Err(RemoteError::of(&refusal))),
            Err(error) => {
                let url = self.shown_url();
                Err(error).with_context(|| format!("no response from the service at {url}"))
            }
        }
    }
}

impl RemoteError {
    fn of(refusal: &Refusal) -> Self {
        let Refusal {
            status,
            code,
            message,
            data,
        } = refusal;
        match code {
            Some(Code::NotFound) if data["reason"] == "not_found" => Self::NotFound,
            Some(Code::Settled) => Self::Settled {
                state: text(data, "state"),
            },
            Some(Code::TimedOut) => Self::Settled {
                state: "timeout".to_owned(),
            },
            Some(code @ (Code::Invalid | Code::LastAttempt)) => Self::Invalid {
                errors: data["errors"].as_array().cloned().unwrap_or_default(),
                is_last: *code == Code::LastAttempt,
            },
            Some(Code::TooLarge) => Self::TooLarge {
                size: data["size"].as_u64().unwrap_or_default(),
                limit: data["limit"].as_u64().unwrap_or_default(),
            },
            _ if status.as_u16() == 401 => {
                Self::Refused(format!("the key is missing or unknown: set {KEY_VARIABLE}"))
            }
            _ => Self::Refused(output::sanitize(message).into_owned()),
        }
    }
}

/// Asks a running service for the state of its gateway; the key defaults to the environment's.
pub(crate) async fn gateway_status(
    url: &str,
    key: Option<&str>,
    environment: &Environment,
) -> anyhow::Result<Value> {
    let shown = output::sanitize(url).into_owned();
    let mut target = Url::parse(url).context("the URL of the service cannot be used")?;
    let path = format!("{}/gateway/status", target.path().trim_end_matches('/'));
    target.set_path(&path);
    target.set_query(None);
    let client = Client::builder(target.as_str()).build();
    let client = client.context("the URL of the service cannot be used")?;
    let mut request = client.request(http::Method::GET).timeout(TIMEOUT);
    if let Some(key) = key.or_else(|| key_in(environment)) {
        request = request.bearer(key);
    }
    let response = request.send().await.with_context(|| {
        format!("no gateway responds at {shown}: start `entreat gateway`, or name its --url")
    })?;
    let status = response.status();
    let body = response.body(MAX_STATUS).await;
    let body = body.with_context(|| format!("no response from the gateway at {shown}"))?;
    match status.as_u16() {
        200 => serde_json::from_slice(&body)
            .with_context(|| format!("{shown} is no gateway of Entreat")),
        401 => bail!("the key is missing or unknown: set {KEY_VARIABLE} to an operator's"),
        403 => bail!("this key may not see the state of the gateway: use an operator's"),
        404 => bail!("the service at {shown} has no gateway: start `entreat gateway`"),
        other => bail!("{shown} returned HTTP {other}, unlike a gateway of Entreat"),
    }
}

/// Returns a sanitized text member of a record.
pub(crate) fn text(record: &Value, key: &str) -> String {
    output::sanitize(record[key].as_str().unwrap_or_default()).into_owned()
}
