//! A client of a running service's control API.
//!
//! Supports HTTP without TLS only: it is meant for the service's own machine or a trusted network.

use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use entreat::service::rpc::Code;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use url::Url;

use crate::environment::Environment;
use crate::output;

/// The environment variable that holds the key.
pub(crate) const KEY_VARIABLE: &str = "ENTREAT_API_KEY";
/// The default address of a service.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7171";
/// The timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum size of a response: a page of records.
const MAX_RESPONSE_BYTES: usize = 256 << 20;

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
pub(crate) struct Remote {
    url: Url,
    key: Option<String>,
}

/// An error response of a service.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// The elicitation does not exist, or belongs to another asker.
    #[error("there is no such question")]
    NotFound,
    /// The elicitation has settled.
    #[error("the question is already settled: {state}")]
    Settled { state: String },
    /// The answers are not valid.
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
        let url = Url::parse(url).context("--url must be a URL such as http://127.0.0.1:7171")?;
        ensure!(
            url.scheme() == "http",
            "--url must start with http://: other protocols are not supported"
        );
        let from_environment = || environment.variable(KEY_VARIABLE)?.to_str();
        let key = key.or_else(from_environment).map(str::to_owned);
        Ok(Self { url, key })
    }

    /// Calls a method. The outer error means that there was no response.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: Value,
    ) -> anyhow::Result<Result<Value, RemoteError>> {
        let response = tokio::time::timeout(TIMEOUT, self.send(method, params)).await;
        let response = response.unwrap_or_else(|_| Err(anyhow!("the request timed out")));
        let url = self.url.as_str();
        response
            .with_context(|| format!("no response from the service at {}", output::sanitize(url)))
    }

    async fn send(
        &self,
        method: &str,
        params: Value,
    ) -> anyhow::Result<Result<Value, RemoteError>> {
        let addresses = self.url.socket_addrs(|| None)?;
        let stream = TcpStream::connect(&*addresses).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let path = self.url.path().trim_end_matches('/');
        let mut request = Request::post(format!("{path}/rpc"))
            .header(HOST, self.url.authority())
            .header(CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        let request = request.body(Full::new(Bytes::from(body.to_string())))?;
        let exchange = async {
            let response = sender.send_request(request).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES)
                .collect()
                .await;
            let body = body.map_err(|error| anyhow!(error))?;
            anyhow::Ok((status, body.to_bytes()))
        };
        let mut exchange = std::pin::pin!(exchange);
        let (status, body) = tokio::select! {
            response = &mut exchange => response?,
            // The connection may close as soon as the response has arrived.
            ended = connection => {
                ended?;
                exchange.await?
            }
        };
        read(status, &body)
    }
}

fn read(status: StatusCode, body: &[u8]) -> anyhow::Result<Result<Value, RemoteError>> {
    let Ok(mut response) = serde_json::from_slice::<Value>(body) else {
        bail!("it returned {status}, unlike an Entreat service");
    };
    let error = &response["error"];
    if error.is_null() {
        return Ok(Ok(response["result"].take()));
    }
    let code = error["code"].as_i64().and_then(Code::from_wire);
    Ok(Err(match code {
        Some(Code::NotFound) => RemoteError::NotFound,
        Some(Code::Settled) => RemoteError::Settled {
            state: text(&error["data"], "state"),
        },
        Some(code @ (Code::Invalid | Code::LastAttempt)) => RemoteError::Invalid {
            errors: match error["data"]["errors"].as_array() {
                Some(errors) => errors.clone(),
                None => Vec::new(),
            },
            is_last: code == Code::LastAttempt,
        },
        Some(Code::TooLarge) => RemoteError::TooLarge {
            size: error["data"]["size"].as_u64().unwrap_or_default(),
            limit: error["data"]["limit"].as_u64().unwrap_or_default(),
        },
        Some(Code::TimedOut) => RemoteError::Settled {
            state: "timeout".to_owned(),
        },
        _ if status == StatusCode::UNAUTHORIZED => {
            RemoteError::Refused(format!("the key is missing or unknown: set {KEY_VARIABLE}"))
        }
        _ => RemoteError::Refused(text(error, "message")),
    }))
}

/// Returns a sanitized text member of a record.
pub(crate) fn text(record: &Value, key: &str) -> String {
    output::sanitize(record[key].as_str().unwrap_or_default()).into_owned()
}
