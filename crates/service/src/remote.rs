//! Pages that another Entreat serves, for a program that serves none.
//!
//! A question of this program is asked there as well, by the control API, and what a person does
//! on that page is done here. When the question ends here first, because its call was dropped or
//! its time is over, it is cancelled there. This program's own record stays the one that counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use entreat_core::{CancelReason, ElicitationId, ReferenceKind};
use entreat_engine::{ActError, Elicitation, Links, Opening};
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

use crate::callback::trusting_the_system;

/// How long the other service may take to answer, besides what it is asked to wait.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long it is asked to wait for an outcome before it is asked again.
const WAIT: Duration = Duration::from_secs(25);
/// How long to wait before a service is asked again that did not answer.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest answer: files may be in it.
const MAX_ANSWER: usize = 64 << 20;

/// Pages that another Entreat serves. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct RemotePages {
    inner: Arc<Inner>,
}

struct Inner {
    url: Url,
    key: Zeroizing<String>,
    tls: Arc<ClientConfig>,
    knows_people: bool,
    /// Pages of questions that are open.
    opened: Mutex<HashMap<ElicitationId, String>>,
    tasks: TaskTracker,
}

/// Why another service cannot serve the pages.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// That is not where a service is.
    #[error("`{0}` is no address of a service, such as https://ask.example.com")]
    Url(String),
    /// The system's certificates cannot be used.
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
    /// The pages of the service at this address, which knows us by a key.
    pub fn new(url: &str, key: &str) -> Result<Self, RemoteError> {
        let wrong = || RemoteError::Url(url.to_owned());
        let parsed = Url::parse(url).map_err(|_| wrong())?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(wrong());
        }
        let tls = trusting_the_system().map_err(RemoteError::Certificates)?;
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

    /// Says that people sign in there, and that our principals are their names. Without this, its
    /// pages are for people at this machine alone.
    #[must_use]
    pub fn with_people(mut self) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.knows_people = true;
        }
        self
    }

    /// Waits until questions that have ended here are cancelled there. To be called when the
    /// engine was shut down, with which the others are let go.
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
        let made = self.call("elicitation/create", params, PATIENCE).await;
        let (there, page) = match &made {
            Ok(record) => (record["elicitationId"].as_str(), record["page"].as_str()),
            Err(error) => {
                let service = self.inner.url.host_str();
                tracing::warn!(%id, service, %error, "another service does not ask");
                (None, None)
            }
        };
        let (there, page) = (there?.to_owned(), page?.to_owned());
        let is_new = {
            let mut opened = self.inner.opened.lock();
            opened.insert(id, page.clone()).is_none()
        };
        if is_new {
            let following = self.clone().follow(question, there);
            self.inner.tasks.spawn(following);
        }
        Some(page)
    }

    /// Does here what happens there, or ends there what ended here.
    async fn follow(self, question: Elicitation, there: String) {
        let mut settled = question.outcome();
        loop {
            let wait = u64::try_from(WAIT.as_millis()).unwrap_or(u64::MAX);
            let params = json!({"elicitationId": there, "timeout": wait});
            let waiting = self.call("elicitation/await", params, WAIT + PATIENCE);
            let record = tokio::select! {
                biased;
                here = &mut settled => {
                    // An engine that is shut down has ended nothing.
                    if here.is_ok() {
                        self.withdraw(&there).await;
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
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        self.inner.opened.lock().remove(&question.id());
    }

    async fn withdraw(&self, there: &str) {
        let params = json!({"elicitationId": there});
        if let Err(error) = self.call("elicitation/cancel", params, PATIENCE).await {
            // It may have ended in the same moment; else its deadline ends it.
            tracing::debug!(%error, "a question was not withdrawn");
        }
    }

    async fn call(
        &self,
        method: &str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, CallError> {
        let called = tokio::time::timeout(patience, self.post(method, params)).await;
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

    fn open(&self, question: Elicitation) -> Opening {
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

/// Settles a question as it was settled elsewhere.
async fn settle(question: &Elicitation, record: &Value) {
    let settled = match record["status"].as_str() {
        Some("completed") => {
            // The other service has judged its files, and its links are its own.
            let vouched = question.clone().vouching_for(ReferenceKind::Url);
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
        // Its own deadline ends it here.
        _ => return,
    };
    if let Err(error) = settled {
        let id = question.id();
        tracing::debug!(%id, %error, "a question had ended before its page did");
    }
}

/// Sends the request, and reads the answer.
async fn send(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Value, BoxError> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let asking = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER)
            .collect()
            .await?;
        Ok::<_, BoxError>((status, body.to_bytes()))
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

fn read(status: StatusCode, body: &[u8]) -> Result<Value, BoxError> {
    let answer = serde_json::from_slice(body);
    answer.map_err(|_| format!("it answers {status}, and not as a service of Entreat does").into())
}
