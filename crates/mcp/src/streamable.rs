//! Serves wrapped servers on stdio and over Streamable HTTP.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body as ResponseBody;
use bytes::{Buf as _, Bytes};
use entreat_wire::values::ValueCounter;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use rmcp::ServerHandler;
use rmcp::service::ServerInitializeError;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::Sleep;
use tower::{Layer as _, Service};

use crate::mcp::Inner;
use crate::raw::{RawLayer, RawService};
use crate::sessions::{Refusal, RequestScope, ScopedSessionStore, Sessions};
use crate::wrap::Wrapped;

/// The `Retry-After` of a refused session, in seconds.
const RETRY_AFTER_SECS: &str = "30";

impl<S: ServerHandler> Wrapped<S> {
    /// Serves the client that started this program on stdin and stdout, until it disconnects.
    pub async fn serve_stdio(self) -> io::Result<()> {
        let running = match self.serve(rmcp::transport::io::stdio_pipes()).await {
            Ok(running) => running,
            // The client disconnected before the handshake.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        running.waiting().await.map(drop).map_err(io::Error::other)
    }

    /// Serves any number of clients over Streamable HTTP.
    ///
    /// Requests with an `Origin` that `settings` does not allow are refused, as the protocol
    /// requires. A session belongs to the [principal](crate::Builder::principal) that created it,
    /// and does not exist for others.
    ///
    /// The HTTP server that this is mounted in has to limit the number of connections and the time
    /// to read a request.
    pub fn http(self, settings: StreamableHttpServerConfig) -> HttpService<S> {
        let inner = self.inner().clone();
        let mut settings = settings.enforce_origin_validation();
        let store = settings.session_store.take();
        let sessions = Sessions::new(&inner.settings, store.is_some());
        settings.session_store = store.map(|store| Arc::new(ScopedSessionStore(store)) as _);
        let make = move || Ok(self.clone());
        let service = StreamableHttpService::new(make, Arc::new(sessions), settings);
        HttpService {
            service: RawLayer.layer(service),
            inner,
        }
    }
}

/// A wrapped server as an HTTP service, to be mounted at a path such as `/mcp`; returned by
/// [`Wrapped::http`].
pub struct HttpService<S> {
    service: RawService<StreamableHttpService<Wrapped<S>, Sessions>>,
    inner: Arc<Inner>,
}

impl<S> Clone for HttpService<S> {
    fn clone(&self) -> Self {
        Self {
            service: self.service.clone(),
            inner: self.inner.clone(),
        }
    }
}

impl<S> std::fmt::Debug for HttpService<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

impl<S, B> Service<Request<B>> for HttpService<S>
where
    S: ServerHandler,
    B: Body + Send + 'static,
    B::Data: Send + 'static,
    B::Error: std::fmt::Display,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut parts, body) = request.into_parts();
        if parts.headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
            let text = "Bad Request: there is more than one Authorization header";
            let refused = error_response(StatusCode::BAD_REQUEST, text);
            return Box::pin(std::future::ready(Ok(refused)));
        }
        let scope = Arc::new(RequestScope::of(self.inner.callers.principal(&parts)));
        // The request holds it until the handler ends, the response body until it is sent.
        parts.extensions.insert(scope.clone());
        let body = LimitedBody {
            body: Box::pin(body),
            values: ValueCounter::default(),
            deadline: Box::pin(tokio::time::sleep(self.inner.settings.body_timeout)),
            scope: scope.clone(),
        };
        let answering = self.service.call(Request::from_parts(parts, body));
        Box::pin(async move {
            let response = scope.run(answering).await?;
            Ok(match scope.refusal() {
                Some(Refusal::UnknownSession) => {
                    error_response(StatusCode::NOT_FOUND, "Not Found: Session not found")
                }
                Some(Refusal::TooManyValues) => {
                    let text = "Payload Too Large: the message has too many values";
                    error_response(StatusCode::PAYLOAD_TOO_LARGE, text)
                }
                Some(Refusal::SlowBody) => {
                    let text = "Request Timeout: the message took too long";
                    error_response(StatusCode::REQUEST_TIMEOUT, text)
                }
                Some(Refusal::TooManySessions) => {
                    let text = "Service Unavailable: there are too many sessions; end some, or try \
                                again later";
                    let mut refused = error_response(StatusCode::SERVICE_UNAVAILABLE, text);
                    let later = HeaderValue::from_static(RETRY_AFTER_SECS);
                    refused.headers_mut().insert(RETRY_AFTER, later);
                    refused
                }
                None => response.map(|body| {
                    // The body holds the scope until it is sent.
                    ResponseBody::new(body.map_frame(move |frame| {
                        let _scope = &scope;
                        frame
                    }))
                }),
            })
        })
    }
}

fn error_response(status: StatusCode, text: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::from(text));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// A request body with a deadline and a limit on JSON values.
struct LimitedBody<B> {
    body: Pin<Box<B>>,
    values: ValueCounter,
    deadline: Pin<Box<Sleep>>,
    scope: Arc<RequestScope>,
}

impl<B> Body for LimitedBody<B>
where
    B: Body,
    B::Error: std::fmt::Display,
{
    type Data = Bytes;
    type Error = String;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        let this = &mut *self;
        let frame = match this.body.as_mut().poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                ready!(this.deadline.as_mut().poll(cx));
                this.scope.refuse(Refusal::SlowBody);
                return Poll::Ready(Some(Err("it took too long".to_owned())));
            }
        };
        let Some(frame) = frame else {
            return Poll::Ready(None);
        };
        let bytes = |mut data: B::Data| data.copy_to_bytes(data.remaining());
        let frame = frame.map(|frame| frame.map_data(bytes));
        let frame = frame.map_err(|error| error.to_string());
        if let Ok(frame) = &frame
            && let Some(data) = frame.data_ref()
            && let Err(error) = this.values.read(data)
        {
            this.scope.refuse(Refusal::TooManyValues);
            return Poll::Ready(Some(Err(error.to_string())));
        }
        Poll::Ready(Some(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
