//! An HTTP server that does what the test says, and notes what it was sent.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use entreat_gateway::side::http::{Http, HttpReceiver, HttpSender, HttpTarget};
use entreat_gateway::side::{Failure, UpstreamEvent};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};
use http::{HeaderMap, Method, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// What the server was sent.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) message: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn id(&self) -> &Value {
        &self.message["id"]
    }

    /// The method of the message, or `GET` and the like.
    pub(crate) fn what(&self) -> String {
        if self.method != Method::POST {
            return self.method.to_string();
        }
        let method = self.message["method"].as_str();
        method.unwrap_or("response").to_owned()
    }
}

type Handler = dyn Fn(Seen) -> BoxFuture<'static, Response> + Send + Sync;

/// A server; it ends when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    running: AbortHandle,
}

impl Server {
    pub(crate) async fn start<F, R>(handler: F) -> Self
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Response> + Send + 'static,
    {
        let handler: Arc<Handler> = Arc::new(move |seen| handler(seen).boxed());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let noted = seen.clone();
        let service = move |request: Request| {
            let (handler, noted) = (handler.clone(), noted.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap();
                let seen = Seen {
                    method: head.method,
                    path: head.uri.path().to_owned(),
                    headers: head.headers,
                    message: serde_json::from_slice(&body).unwrap_or_default(),
                };
                noted.lock().push(seen.clone());
                handler(seen).await
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(service);
        let running = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            seen,
            running: running.abort_handle(),
        }
    }

    /// A server of 2025 with the session `s1`, then `s2` and so on, whose requests a test handles;
    /// it has no stream of its own.
    pub(crate) async fn legacy<F, R>(handler: F) -> Self
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Response> + Send + 'static,
    {
        let sessions = Mutex::new(0);
        let handler = Arc::new(handler);
        Self::start(move |seen| {
            let handler = handler.clone();
            let session = (seen.what() == "initialize").then(|| {
                let mut sessions = sessions.lock();
                *sessions += 1;
                format!("s{sessions}")
            });
            async move {
                if let Some(session) = session {
                    return in_session(&session, initialized(&seen));
                }
                let is_request = seen.message["method"].is_string() && !seen.id().is_null();
                match seen.method {
                    Method::POST if is_request => handler(seen).await,
                    Method::POST | Method::DELETE => accepted(),
                    _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
                }
            }
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn connect(&self) -> (HttpSender, HttpReceiver) {
        connect(&self.url())
    }

    /// What was sent so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    pub(crate) fn whats(&self) -> Vec<String> {
        self.seen().iter().map(Seen::what).collect()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.whats().iter().filter(|it| *it == what).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abort();
    }
}

pub(crate) fn connect(url: &str) -> (HttpSender, HttpReceiver) {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Bearer of-tests".parse().unwrap());
    Http::connect(HttpTarget::new(url, headers)).unwrap()
}

// ---- responses

pub(crate) fn with_status(status: u16, kind: &str, body: impl Into<Body>) -> Response {
    let response = Response::builder().status(status);
    let response = response.header("content-type", kind);
    response.body(body.into()).unwrap()
}

pub(crate) fn json_of(message: &Value) -> Response {
    with_status(200, "application/json", message.to_string())
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it reads better where it is called"
)]
pub(crate) fn result_of(seen: &Seen, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.id(), "result": result})
}

pub(crate) fn error_of(seen: &Seen, code: i64, message: &str) -> Value {
    let error = json!({"code": code, "message": message});
    json!({"jsonrpc": "2.0", "id": seen.id(), "error": error})
}

pub(crate) fn events(text: impl Into<Body>) -> Response {
    with_status(200, "text/event-stream; charset=utf-8", text)
}

pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

/// A stream that begins with this text and stays open.
pub(crate) fn open_events(text: impl Into<Bytes>) -> Response {
    streamed(stream::iter([text.into()]).chain(stream::pending()))
}

pub(crate) fn streamed(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    events(Body::from_stream(chunks.map(Ok::<_, Infallible>)))
}

/// A stream that breaks after this text.
pub(crate) fn broken_events(text: impl Into<Bytes>) -> Response {
    let text = Ok(text.into());
    let error = Err(std::io::Error::other("broken"));
    // In chunks of their own, or none of it is sent.
    let error = stream::once(async {
        tokio::task::yield_now().await;
        error
    });
    events(Body::from_stream(stream::iter([text]).chain(error)))
}

pub(crate) fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}

pub(crate) fn initialized(seen: &Seen) -> Response {
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "1"}});
    json_of(&result_of(seen, result))
}

pub(crate) fn in_session(id: &str, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert("mcp-session-id", id.parse().unwrap());
    response
}

// ---- the relay's half

pub(crate) async fn send(sender: &HttpSender, message: Value) {
    sender.send(message.to_string().into_bytes()).await;
}

pub(crate) fn request(id: u64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {}})
}

pub(crate) fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method})
}

/// A request of 2026-07-28.
pub(crate) fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let timeout = tokio::time::timeout(Duration::from_secs(20), future);
    timeout.await.expect("it takes too long")
}

/// Waits for something that happens on the server's side.
pub(crate) async fn until(mut happened: impl FnMut() -> bool) {
    soon(async {
        while !happened() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The next message, and the request on whose stream it came.
pub(crate) async fn message(receiver: &mut HttpReceiver) -> (Value, Option<String>) {
    match soon(receiver.next()).await {
        UpstreamEvent::Message { text, via } => {
            let via = via.map(|via| via.to_string());
            (serde_json::from_slice(&text).unwrap(), via)
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn result(receiver: &mut HttpReceiver, id: u64) -> Value {
    let (message, via) = message(receiver).await;
    assert_eq!((&message["id"], via), (&json!(id), Some(id.to_string())));
    message["result"].clone()
}

pub(crate) async fn failed(receiver: &mut HttpReceiver, expected: u64) -> Failure {
    match soon(receiver.next()).await {
        UpstreamEvent::Failed { id, failure } => {
            assert_eq!(id.to_string(), expected.to_string());
            failure
        }
        other => panic!("{other:?}"),
    }
}

/// Makes the handshake of 2025.
pub(crate) async fn handshake(sender: &HttpSender, receiver: &mut HttpReceiver) {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {}},
        "clientInfo": {"name": "c", "version": "1"}});
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    send(sender, message).await;
    result(receiver, 0).await;
    send(sender, notification("notifications/initialized")).await;
}
