//! Pages served by another Entreat service, for a program that serves none.
//!
//! A question of this program is also created on that service, through the control API, and its
//! outcome there is applied here. If the question settles here first, because its call was dropped
//! or timed out, it is cancelled there. The local record is authoritative.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use entreat_core::{CancelReason, ElicitationId, ReferenceKind};
use entreat_engine::{ActError, Elicitation, Links, PageUrlFuture};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::TaskTracker;
use url::{Position, Url};
use zeroize::Zeroizing;

use crate::callback::system_trust_config;

/// Timeout of a call, on top of any wait it asks for.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// How long one `elicitation/await` waits for an outcome.
const AWAIT_TIMEOUT: Duration = Duration::from_secs(25);
/// Delay before retrying an unreachable service.
const RETRY_DELAY: Duration = Duration::from_secs(2);
/// Maximum size of a response in bytes; answers may contain files.
const MAX_RESPONSE: usize = 64 << 20;

/// Pages served by another Entreat service. Clones share one state.
#[derive(Clone)]
pub struct RemotePages {
    inner: Arc<Inner>,
}

struct Inner {
    url: Url,
    key: Zeroizing<String>,
    tls: Arc<ClientConfig>,
    knows_people: bool,
    /// Page URLs of open questions.
    opened: Mutex<HashMap<ElicitationId, String>>,
    tasks: TaskTracker,
}

/// Why the pages of another service cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The URL is not an HTTP or HTTPS URL.
    #[error("`{0}` is no address of a service, such as https://ask.example.com")]
    Url(String),
    /// The system's root certificates cannot be loaded.
    #[error("the system's certificates cannot be read")]
    Certificates(#[source] rustls::Error),
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("it cannot be reached: {0}")]
    Unreachable(BoxError),
    #[error("it answers with {code}: {message}")]
    Refused { code: i64, message: String },
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl RemotePages {
    /// Uses the service at this URL, authenticated by this key.
    pub fn new(url: &str, key: &str) -> Result<Self, RemoteError> {
        let invalid_url = || RemoteError::Url(url.to_owned());
        let parsed = Url::parse(url).map_err(|_| invalid_url())?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(invalid_url());
        }
        let tls = system_trust_config().map_err(RemoteError::Certificates)?;
        let inner = Inner {
            url: parsed,
            key: Zeroizing::new(key.to_owned()),
            tls: Arc::new(tls),
            knows_people: false,
            opened: Mutex::default(),
            tasks: TaskTracker::new(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Declares that people sign in at that service under the names of our principals. Without
    /// this, its pages are for people on this machine only.
    #[must_use]
    pub fn with_people(mut self) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.knows_people = true;
        }
        self
    }

    /// Waits until questions that settled here are cancelled there. Call it after shutting down the
    /// engine, which ends the tasks of all other questions.
    pub async fn close(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    async fn open_page(&self, question: Elicitation) -> Option<String> {
        let id = question.id();
        if let Some(page) = self.page(id) {
            return Some(page);
        }
        let asked = match question.outcome_within(Duration::ZERO).await {
            Ok(snapshot) => snapshot,
            Err(error) => {
                tracing::warn!(%id, %error, "a question cannot be read");
                return None;
            }
        };
        let request = &asked.record().request;
        let form = request.subject.form()?;
        let time = u64::try_from(asked.lifecycle().timeout().as_millis()).unwrap_or(u64::MAX);
        let mut params = json!({"mode": "form", "formDefinition": form.definition(),
            "timeout": time, "durable": true, "idempotencyKey": id});
        let extras = request.extras.as_ref();
        if let Some(message) = extras.and_then(|it| it.message.as_deref()) {
            params["message"] = message.into();
        }
        if let Some(respondent) = extras.and_then(|it| it.respondent.as_deref()) {
            params["respondent"] = respondent.into();
        }
        let made = self.call("elicitation/create", params, CALL_TIMEOUT).await;
        let (remote_id, page) = match &made {
            Ok(record) => (record["elicitationId"].as_str(), record["page"].as_str()),
            Err(error) => {
                let service = self.inner.url.host_str();
                tracing::warn!(%id, service, %error, "another service does not ask");
                (None, None)
            }
        };
        let (remote_id, page) = (remote_id?.to_owned(), page?.to_owned());
        let is_new = {
            let mut opened = self.inner.opened.lock();
            opened.insert(id, page.clone()).is_none()
        };
        if is_new {
            let following = self.clone().follow(question, remote_id);
            self.inner.tasks.spawn(following);
        }
        Some(page)
    }

    /// Applies the remote outcome here, or cancels the remote question if this one settles first.
    async fn follow(self, question: Elicitation, remote_id: String) {
        let mut settled = question.outcome();
        loop {
            let wait = u64::try_from(AWAIT_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
            let params = json!({"elicitationId": remote_id, "timeout": wait});
            let waiting = self.call("elicitation/await", params, AWAIT_TIMEOUT + CALL_TIMEOUT);
            let record = tokio::select! {
                biased;
                here = &mut settled => {
                    // A shutdown of the engine settles nothing.
                    if here.is_ok() {
                        self.cancel_remote(&remote_id).await;
                    }
                    break;
                }
                record = waiting => record,
            };
            match record {
                Ok(record) if is_open(&record) => {}
                Ok(record) => {
                    settle(&question, &record).await;
                    break;
                }
                Err(CallError::Refused { code, message }) => {
                    tracing::warn!(code, message, "a page of another service is gone");
                    break;
                }
                Err(error @ CallError::Unreachable(_)) => {
                    tracing::debug!(%error, "another service does not answer");
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
        self.inner.opened.lock().remove(&question.id());
    }

    async fn cancel_remote(&self, remote_id: &str) {
        let params = json!({"elicitationId": remote_id});
        if let Err(error) = self.call("elicitation/cancel", params, CALL_TIMEOUT).await {
            // It may have settled concurrently; otherwise its deadline ends it.
            tracing::debug!(%error, "a question was not withdrawn");
        }
    }

    async fn call(
        &self,
        method: &str,
        params: Value,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let called = tokio::time::timeout(timeout, self.post(method, params)).await;
        let called = called.unwrap_or_else(|late| Err(late.into()));
        let mut answer = called.map_err(CallError::Unreachable)?;
        let error = &answer["error"];
        if error.is_null() {
            return Ok(answer["result"].take());
        }
        Err(CallError::Refused {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        })
    }

    async fn post(&self, method: &str, params: Value) -> Result<Value, BoxError> {
        let Inner { url, key, tls, .. } = &*self.inner;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or_default();
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let path = url.path().trim_end_matches('/');
        let request = Request::post(format!("{path}/rpc"))
            .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", &**key))
            .body(Full::new(Bytes::from(body.to_string())))?;
        if url.scheme() == "https" {
            let name = ServerName::try_from(host)?.to_owned();
            let connector = TlsConnector::from(tls.clone());
            return send(connector.connect(name, stream).await?, request).await;
        }
        send(stream, request).await
    }
}

impl Links for RemotePages {
    fn page(&self, id: ElicitationId) -> Option<String> {
        self.inner.opened.lock().get(&id).cloned()
    }

    fn open(&self, question: Elicitation) -> PageUrlFuture {
        let pages = self.clone();
        Box::pin(async move { pages.open_page(question).await })
    }

    fn needs_respondent(&self) -> bool {
        self.inner.knows_people
    }
}

impl std::fmt::Debug for RemotePages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemotePages")
            .field("url", &self.inner.url.as_str())
            .finish_non_exhaustive()
    }
}

fn is_open(record: &Value) -> bool {
    matches!(record["status"].as_str(), Some("pending" | "active"))
}

/// Settles a question with the outcome of its remote record.
async fn settle(question: &Elicitation, record: &Value) {
    let settled = match record["status"].as_str() {
        Some("completed") => {
            // The other service has checked its files, and the links are its own.
            let vouched = question.clone().accepting_references(ReferenceKind::Url);
            match vouched.submit(&record["result"]).await {
                Err(ActError::Invalid(_)) => question.cancel(CancelReason::FormInvalidated).await,
                other => other,
            }
        }
        Some("declined") => question.decline().await,
        Some("cancelled") => {
            let reason = serde_json::from_value(record["reason"].clone());
            let reason = reason.unwrap_or(CancelReason::AskerCancelled);
            question.cancel(reason).await
        }
        // The local deadline ends it.
        _ => return,
    };
    if let Err(error) = settled {
        let id = question.id();
        tracing::debug!(%id, %error, "a question had ended before its page did");
    }
}

/// Sends the request and reads the response.
async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Value, BoxError> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let asking = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_RESPONSE)
            .collect()
            .await?;
        Ok::<_, BoxError>((status, body.to_bytes()))
    };
    let mut asking = std::pin::pin!(asking);
    let (status, body) = tokio::select! {
        answer = &mut asking => answer?,
        // The connection may end as soon as the response has arrived.
        ended = connection => {
            ended?;
            asking.await?
        }
    };
    read(status, &body)
}

fn read(status: StatusCode, body: &[u8]) -> Result<Value, BoxError> {
    let answer = serde_json::from_slice(body);
    answer.map_err(|_| format!("it answers {status}, and not as a service of Entreat does").into())
}
