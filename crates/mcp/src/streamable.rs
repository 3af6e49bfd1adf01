//! Serves wrapped servers: on standard input and output, or over Streamable HTTP.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body as ResponseBody;
use bytes::{Buf as _, Bytes};
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use rmcp::ServerHandler;
use rmcp::service::ServerInitializeError;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::time::Sleep;
use tower::{Layer as _, Service};

use crate::mcp::Inner;
use crate::raw::{RawLayer, RawService};
use crate::sessions::{OwnSessions, Refusal, Sessions, Visit};
use crate::values::Values;
use crate::wrap::Wrapped;

/// When somebody who cannot have a session now is to try again, in seconds.
const LATER: &str = "30";

impl<S: ServerHandler> Wrapped<S> {
    /// Serves the client that started this program, until it goes.
    pub async fn serve_stdio(self) -> io::Result<()> {
        let running = match self.serve(rmcp::transport::io::stdio_pipes()).await {
            Ok(running) => running,
            // It went before it said anything.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        running.waiting().await.map(drop).map_err(io::Error::other)
    }

    /// Serves any number of clients of all eras over Streamable HTTP.
    ///
    /// A request that a browser sends for a page of an origin which the settings do not name is
    /// refused, as the protocol demands. A session belongs to the
    /// [principal](crate::Builder::principal) that began it; nobody else finds it.
    ///
    /// Connections are the server's under which this is put: it has to bound how many there are,
    /// and how long a request may take to come in.
    pub fn http(self, settings: StreamableHttpServerConfig) -> HttpService<S> {
        let inner = self.inner().clone();
        let mut settings = settings.enforce_origin_validation();
        let store = settings.session_store.take();
        let sessions = Sessions::new(&inner.settings, store.is_some());
        settings.session_store = store.map(|store| Arc::new(OwnSessions(store)) as _);
        let make = move || Ok(self.clone());
        let service = StreamableHttpService::new(make, Arc::new(sessions), settings);
        HttpService {
            service: RawLayer.layer(service),
            inner,
        }
    }
}

/// A wrapped server as a service of HTTP, to be put under a path such as `/mcp`; made by
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
            let refused = refused(StatusCode::BAD_REQUEST, text);
            return Box::pin(std::future::ready(Ok(refused)));
        }
        let visit = Arc::new(Visit::of(self.inner.callers.principal(&parts)));
        // With the request, it lasts as long as its handler; with the body, as long as that.
        parts.extensions.insert(visit.clone());
        let body = Incoming {
            body: Box::pin(body),
            values: Values::default(),
            time: Box::pin(tokio::time::sleep(self.inner.settings.body_timeout)),
            visit: visit.clone(),
        };
        let answering = self.service.call(Request::from_parts(parts, body));
        Box::pin(async move {
            let response = visit.scope(answering).await?;
            Ok(match visit.refusal() {
                Some(Refusal::UnknownSession) => {
                    refused(StatusCode::NOT_FOUND, "Not Found: Session not found")
                }
                Some(Refusal::TooManyValues) => {
                    let text = "Payload Too Large: the message has too many values";
                    refused(StatusCode::PAYLOAD_TOO_LARGE, text)
                }
                Some(Refusal::SlowBody) => {
                    let text = "Request Timeout: the message took too long";
                    refused(StatusCode::REQUEST_TIMEOUT, text)
                }
                Some(Refusal::TooManySessions) => {
                    let text = "Service Unavailable: there are too many sessions; end some, or try \
                                again later";
                    let mut refused = refused(StatusCode::SERVICE_UNAVAILABLE, text);
                    let later = HeaderValue::from_static(LATER);
                    refused.headers_mut().insert(RETRY_AFTER, later);
                    refused
                }
                None => response.map(|body| {
                    ResponseBody::new(VisitBody {
                        body,
                        _visit: visit,
                    })
                }),
            })
        })
    }
}

fn refused(status: StatusCode, text: &'static str) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::from(text));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// The body of a request, as far as it may come.
struct Incoming<B> {
    body: Pin<Box<B>>,
    values: Values,
    time: Pin<Box<Sleep>>,
    visit: Arc<Visit>,
}

impl<B> Body for Incoming<B>
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
                ready!(this.time.as_mut().poll(cx));
                this.visit.refuse(Refusal::SlowBody);
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
            this.visit.refuse(Refusal::TooManyValues);
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

/// A body while which a visit is under way.
struct VisitBody<B> {
    body: B,
    _visit: Arc<Visit>,
}

impl<B: Body<Data = Bytes> + Unpin> Body for VisitBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
