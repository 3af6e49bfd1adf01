//! A running service, asked over its control API.
//!
//! Speaks plain HTTP alone: it is for the machine that the service runs on, or for a network that
//! is one's own.

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

/// The variable of the key.
pub(crate) const KEY_VARIABLE: &str = "ENTREAT_API_KEY";
/// Where a service listens if nobody says otherwise.
pub(crate) const HERE: &str = "http://127.0.0.1:7171";
/// How long a service may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer: a page of records.
const MAX_ANSWER: usize = 256 << 20;

/// Which service is meant, if it is one.
#[derive(clap::Args)]
pub(crate) struct RemoteArgs {
    /// Ask a running service, such as `http://127.0.0.1:7171`, instead of opening a store
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url, conflicts_with_all = ["store", "keys"])]
    url: Option<String>,
    /// The asker's key at that service; others on this machine can see flags, so better
    /// `$ENTREAT_API_KEY`
    #[arg(long, value_name = "KEY", requires = "url")]
    key: Option<String>,
}

/// A service that can be asked.
pub(crate) struct Remote {
    url: Url,
    key: Option<String>,
}

/// What a service refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// It has none of that name, or shows it to somebody else.
    #[error("there is no such elicitation")]
    NotFound,
    /// It is over.
    #[error("the elicitation is over already: {state}")]
    Settled { state: String },
    /// The answers are not valid.
    #[error("the answers are not valid")]
    Invalid {
        /// What is wrong, as it came.
        errors: Vec<Value>,
        /// That was the last attempt.
        is_last: bool,
    },
    /// The answers are too large.
    #[error("the answers have {size} bytes, and {limit} are taken")]
    TooLarge { size: u64, limit: u64 },
    /// Anything else, in the service's words.
    #[error("{0}")]
    Refused(String),
}

impl RemoteArgs {
    /// The service, if one is named.
    pub(crate) fn service(&self, environment: &Environment) -> anyhow::Result<Option<Remote>> {
        let Some(url) = &self.url else {
            return Ok(None);
        };
        Remote::at(url, self.key.as_deref(), environment).map(Some)
    }
}

impl Remote {
    /// The service at a URL; the key is taken from the environment if none is given.
    pub(crate) fn at(
        url: &str,
        key: Option<&str>,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let url = Url::parse(url).context("--url is no URL, such as http://127.0.0.1:7171")?;
        ensure!(
            url.scheme() == "http",
            "--url begins with http://: this command speaks no other protocol"
        );
        let by_variable = || environment.variable(KEY_VARIABLE)?.to_str();
        let key = key.or_else(by_variable).map(str::to_owned);
        Ok(Self { url, key })
    }

    /// Calls a method. The outer error is that no answer could be had.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: Value,
    ) -> anyhow::Result<Result<Value, RemoteError>> {
        let asked = tokio::time::timeout(PATIENCE, self.ask(method, params)).await;
        let asked = asked.unwrap_or_else(|_| Err(anyhow!("it takes too long")));
        let url = self.url.as_str();
        asked.with_context(|| format!("no answer from the service at {}", output::plain(url)))
    }

    async fn ask(&self, method: &str, params: Value) -> anyhow::Result<Result<Value, RemoteError>> {
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
        let asking = async {
            let answer = sender.send_request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
            let body = body.map_err(|error| anyhow!(error))?;
            anyhow::Ok((status, body.to_bytes()))
        };
        let mut asking = std::pin::pin!(asking);
        let (status, body) = tokio::select! {
            answer = &mut asking => answer?,
            // The connection may end as soon as its answer is here.
            ended = connection => {
                ended?;
                asking.await?
            }
        };
        read(status, &body)
    }
}

fn read(status: StatusCode, body: &[u8]) -> anyhow::Result<Result<Value, RemoteError>> {
    let Ok(mut answer) = serde_json::from_slice::<Value>(body) else {
        bail!("it answers {status}, and not as a service of Entreat does");
    };
    let error = &answer["error"];
    if error.is_null() {
        return Ok(Ok(answer["result"].take()));
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
            RemoteError::Refused(format!("it wants a key that it knows: set {KEY_VARIABLE}"))
        }
        _ => RemoteError::Refused(text(error, "message")),
    }))
}

/// A text of a record, as it may be shown.
pub(crate) fn text(record: &Value, key: &str) -> String {
    output::plain(record[key].as_str().unwrap_or_default()).into_owned()
}
