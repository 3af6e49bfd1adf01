//! The control API over HTTP: calls, streams of notifications, and WebSockets.
//!
//! Everything that a stranger can make this side hold is bounded: the size of heads and bodies,
//! the time they may take, the number of connections. Rules about who may ask stand in `guard.rs`.

mod call;
mod events;
mod files;
mod guard;
mod refusal;
mod server;
mod socket;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::{get, post};
use entreat_engine::Asker;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::server::listen;

use self::refusal::Refusal;
use crate::askers::Askers;
use crate::page::Pages;
use crate::rpc::{Rpc, openrpc};
use crate::tls::Tls;
use crate::told::Told;
use crate::upload::Uploads;

/// What a server allows its clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpSettings {
    /// The largest body of a request, and message of a WebSocket, in bytes.
    pub body_limit: usize,
    /// How long the head of a request may take, and a connection may be idle; and how long the
    /// handshake of TLS may take.
    pub head_timeout: Duration,
    /// How long a body may take.
    pub body_timeout: Duration,
    /// How long a client may leave what it was sent unread.
    pub write_timeout: Duration,
    /// How many connections are served at once; whoever comes then waits.
    pub connections: usize,
    /// How many calls may be under way on one WebSocket; it is not read beyond that.
    pub calls_per_socket: usize,
    /// Something is sent on a waiting connection this often, for proxies that cut silent ones.
    pub heartbeat: Duration,
    /// How long requests may go on when the server is to end.
    pub grace: Duration,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            body_limit: 32 << 20,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            connections: 32_768,
            calls_per_socket: 1024,
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}

/// So many requests with wrong keys are answered for one address; then its guesses cost it time.
const GUESSES_PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();
const GUESSES_AT_ONCE: NonZeroU32 = NonZeroU32::new(50).unwrap();

/// Serves the control API over HTTP.
///
/// ```no_run
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use entreat_engine::Engine;
/// use entreat_service::Askers;
/// use entreat_service::http::{self, Http};
/// use entreat_service::rpc::Rpc;
///
/// let engine = Engine::builder().start().await?;
/// let askers = Askers::none().with_local(engine.asker("local"));
/// let listener = http::listen(([127, 0, 0, 1], 7171).into())?;
/// let end = async {
///     // Whatever tells the program to stop.
/// };
/// Http::new(Rpc::new(engine), askers).serve(listener, end).await;
/// # Ok(())
/// # }
/// ```
pub struct Http(Arc<Shared>);

/// Text for whoever measures the service.
type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

struct Shared {
    rpc: Rpc,
    askers: Askers,
    settings: HttpSettings,
    metrics: Option<Metrics>,
    pages: Option<Pages>,
    uploads: Option<Uploads>,
    tls: Option<Tls>,
    told: Told,
    guesses: DefaultKeyedRateLimiter<IpAddr>,
    /// Set when the server is to end.
    closing: CancellationToken,
    /// Set when those who are left have had their time.
    cut: CancellationToken,
    /// Connections, sockets and the task that writes down what askers were told.
    tasks: TaskTracker,
}

impl Http {
    /// A server for these askers, with default settings.
    pub fn new(rpc: Rpc, askers: Askers) -> Self {
        Self::with_settings(rpc, askers, HttpSettings::default())
    }

    /// A server for these askers.
    pub fn with_settings(rpc: Rpc, askers: Askers, settings: HttpSettings) -> Self {
        let quota = Quota::per_second(GUESSES_PER_SECOND).allow_burst(GUESSES_AT_ONCE);
        Self(Arc::new(Shared {
            told: Told::new(rpc.engine().clone()),
            rpc,
            askers,
            settings,
            metrics: None,
            pages: None,
            uploads: None,
            tls: None,
            guesses: RateLimiter::keyed(quota),
            closing: CancellationToken::new(),
            cut: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// What `/metrics` answers with; without it there is no such page.
    #[must_use]
    pub fn with_metrics(mut self, metrics: impl Fn() -> String + Send + Sync + 'static) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.metrics = Some(Arc::new(metrics));
        }
        self
    }

    /// Serves pages on which people answer, and the files that they send there.
    #[must_use]
    pub fn with_pages(mut self, pages: Pages) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.uploads = pages.uploads().cloned();
            shared.pages = Some(pages);
        }
        self
    }

    /// Serves files by the links that askers got, and removes those that nobody needs.
    #[must_use]
    pub fn with_uploads(mut self, uploads: Uploads) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.uploads = Some(uploads);
        }
        self
    }

    /// Speaks TLS, and nothing else.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            shared.tls = Some(tls);
        }
        self
    }

    fn router(&self) -> Router {
        let mut router = Router::new()
            .route("/rpc", post(call::rpc))
            .route("/events", get(events::events))
            .route("/ws", get(socket::open))
            .route("/openrpc.json", get(document))
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready));
        if self.0.metrics.is_some() {
            router = router.route("/metrics", get(metrics));
        }
        if self.0.uploads.is_some() {
            router = router.route("/files/{id}/{upload}/{token}", get(files::download));
        }
        let router = router.with_state(self.0.clone());
        let router = match &self.0.pages {
            Some(pages) => router.merge(pages.router()),
            None => router,
        };
        router.fallback(|| async { text(StatusCode::NOT_FOUND, "There is nothing here.\n") })
    }
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http")
            .field("askers", &self.0.askers)
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn admit(&self, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Result<&Asker, Refusal> {
        let admitted = guard::admit(&self.askers, peer, uri, headers);
        match admitted {
            Err(Refusal::NoKey | Refusal::UnknownKey)
                if self.guesses.check_key(&peer.ip()).is_err() =>
            {
                Err(Refusal::TooManyGuesses)
            }
            admitted => admitted,
        }
    }
}

async fn document() -> Response {
    json(StatusCode::OK, openrpc::document(None).to_string())
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.closing.is_cancelled() {
        return text(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n");
    }
    match shared.rpc.engine().check().await {
        Ok(()) => text(StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready: the store does not answer");
            text(
                StatusCode::SERVICE_UNAVAILABLE,
                "the store does not answer\n",
            )
        }
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let metrics = shared.metrics.as_ref().map(|metrics| metrics());
    let mut response = Response::new(Body::from(metrics.unwrap_or_default()));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn text(status: StatusCode, words: &'static str) -> Response {
    let mut response = Response::new(Body::from(words));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

pub(crate) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}
