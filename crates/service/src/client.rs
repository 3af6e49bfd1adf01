//! A client of another service's control API, over HTTP.

use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use entreat_wire::http::{Client, ClientError, ExchangeError};
use serde_json::{Value, json};
use url::Url;
use zeroize::Zeroizing;

use crate::rpc::Code;

/// Maximum size of a response in bytes: a page of records, whose answers may contain files.
const MAX_RESPONSE: usize = 256 << 20;

/// Calls methods of a service's control API.
pub struct ControlClient {
    url: Url,
    client: Client,
    key: Option<Zeroizing<String>>,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// There is no response, or not all of it.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// The response is not one of a control API.
    #[error("it returned {0}, unlike an Entreat service")]
    Foreign(StatusCode),
    /// The service answers with an error.
    #[error("{}", .0.message)]
    Refused(Box<Refusal>),
}

impl CallError {
    /// The error in words for whoever set this program up: where, and what would help.
    pub fn explained(&self, service: &Url) -> String {
        let place = match service.host_str() {
            Some(host) => match service.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            },
            None => String::new(),
        };
        let (what, remedy) = match self {
            Self::Exchange(ExchangeError::Connect(_)) => {
                ("cannot be reached", "; is `entreat serve` running there?")
            }
            Self::Exchange(_) | Self::Foreign(_) => ("does not respond as it should", ""),
            Self::Refused(refusal) if refusal.status == StatusCode::UNAUTHORIZED => {
                ("says", "; set the asker's key")
            }
            Self::Refused(_) => ("says", ""),
        };
        let message = self.to_string();
        let message = message.trim_end_matches('.');
        format!("the service at {place} {what}: {message}{remedy}")
    }
}

/// The error that a service answers with.
#[derive(Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: StatusCode,
    /// The code, if it is known.
    pub code: Option<Code>,
    /// The message, for developers.
    pub message: String,
    /// Details, by code.
    pub data: Value,
}

impl CallError {
    /// The longest timeout that the service allows, in milliseconds, and the setting that changes
    /// it, if the call asked for a longer one.
    pub fn timeout_limit(&self) -> Option<(u64, &str)> {
        let Self::Refused(refusal) = self else {
            return None;
        };
        let setting = refusal.data["setting"].as_str()?;
        (refusal.data["key"] == "timeout" || refusal.data["param"] == "timeout").then_some(())?;
        Some((refusal.data["maximum"].as_u64()?, setting))
    }
}

impl ControlClient {
    /// Creates a client of the service at this URL, authenticated by a key.
    pub fn new(url: &str, key: Option<&str>) -> Result<Self, ClientError> {
        let url = Url::parse(url).map_err(|_| ClientError::NotAUrl(url.to_owned()))?;
        let mut rpc = url.clone();
        rpc.set_path(&format!("{}/rpc", url.path().trim_end_matches('/')));
        rpc.set_query(None);
        Ok(Self {
            client: Client::builder(rpc.as_str()).build()?,
            key: key.map(|key| Zeroizing::new(key.to_owned())),
            url,
        })
    }

    /// Returns the URL of the service.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Creates a question, with the longest timeout that the service allows if it refuses that of
    /// the parameters as too long: nobody has asked for that one.
    pub async fn create_with_allowed_timeout(
        &self,
        mut params: Value,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let method = "elicitation/create";
        let created = self.call(method, params.clone(), timeout).await;
        let limit = created.as_ref().err().and_then(CallError::timeout_limit);
        let Some((maximum, setting)) = limit else {
            return created;
        };
        tracing::info!(
            maximum,
            setting,
            "a service shortens the time for a question"
        );
        params["timeout"] = maximum.into();
        self.call(method, params, timeout).await
    }

    /// Calls a method, within a timeout.
    pub async fn call(
        &self,
        method: &str,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = self
            .client
            .request(Method::POST)
            .header(CONTENT_TYPE.as_str(), "application/json")
            .body(body.to_string())
            .timeout(timeout);
        if let Some(key) = &self.key {
            request = request.bearer(key);
        }
        let response = request.send().await?;
        let status = response.status();
        read(status, &response.body(MAX_RESPONSE).await?)
    }
}

impl std::fmt::Debug for ControlClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlClient")
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

fn read(status: StatusCode, body: &[u8]) -> Result<Value, CallError> {
    let response = serde_json::from_slice(body);
    let mut response: Value = response.map_err(|_| CallError::Foreign(status))?;
    let mut error = response["error"].take();
    if error.is_null() {
        return Ok(response["result"].take());
    }
    Err(CallError::Refused(Box::new(Refusal {
        status,
        code: error["code"].as_i64().and_then(Code::from_wire),
        message: error["message"].as_str().unwrap_or_default().to_owned(),
        data: error["data"].take(),
    })))
}
