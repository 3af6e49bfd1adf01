//! The control API over HTTP: calls, notification streams, and WebSockets.
//!
//! Every resource a client can consume is bounded: header and body sizes, how long they may take,
//! the number of connections. `guard.rs` decides who may ask.

mod admitted;
mod call;
mod events;
mod files;
mod guard;
mod metered;
mod permit_stream;
mod proxied;
mod refusal;
mod server;
#[cfg(feature = "standalone")]
mod socket;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
#[cfg(feature = "tokens")]
use entreat_engine::Asker;
use entreat_engine::LogThrottle;
use tokio::net::TcpListener;

pub use self::admitted::AdmittedCaller;
pub use self::server::{Server, listen};

use self::proxied::ProxiedRequests;
use self::refusal::Refusal;
use self::server::Shutdown;
use crate::askers::{Askers, Caller};
use crate::guess_limiter::GuessLimiter;
use crate::local::AddressBlock;
use crate::memory::MemoryQuota;
use crate::notification_log::NotificationLog;
use crate::page::Pages;
#[cfg(feature = "tokens")]
use crate::resource::ProtectedResource;
use crate::rpc::{Rpc, openrpc};
use crate::tls::Tls;
use crate::upload::Uploads;

/// Limits that a server imposes on its clients.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Maximum size of a request body or a WebSocket message, in bytes.
    pub body_limit: usize,
    /// Memory for all bodies and messages being received, in bytes. One asker may use half of it.
    /// The first 64 KiB of each body or message do not count.
    pub body_memory: usize,
    /// Timeout for reading request headers, for idle connections, and for the TLS handshake.
    pub head_timeout: Duration,
    /// Timeout for reading a body.
    pub body_timeout: Duration,
    /// How long a write may block before the connection is dropped.
    pub write_timeout: Duration,
    /// Maximum number of open connections, WebSockets included. Further ones wait in the backlog.
    pub connections: usize,
    /// Maximum number of connections from one IPv4 address or IPv6 /64 network; further ones are
    /// rejected. Defaults to three quarters of `connections`. Proxies trusted to name people are
    /// exempt; instead, each person and each asker behind them has this many requests in flight.
    pub connections_per_address: Option<usize>,
    /// Maximum number of calls in flight on one WebSocket; reading pauses at that number.
    pub calls_per_socket: usize,
    /// Interval of keep-alives on waiting connections, for proxies that close idle ones.
    pub heartbeat: Duration,
    /// How long requests in flight may take to finish once shutdown begins.
    pub grace: Duration,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            body_limit: 32 << 20,
            body_memory: 256 << 20,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            connections: 32_768,
            connections_per_address: None,
            calls_per_socket: 1024,
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}

impl HttpSettings {
    /// Returns the connection limit of one address. By default below the total, so that one address
    /// cannot lock out the others.
    pub fn per_address_limit(&self) -> usize {
        let most = self.connections / 4 * 3 + self.connections % 4 * 3 / 4;
        self.connections_per_address.unwrap_or(most).max(1)
    }
}

/// Rate limit per address for requests with wrong keys or links.
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
///     // Resolves when the program should stop.
/// };
/// Http::new(Rpc::new(engine), askers).serve(listener, end).await;
/// # Ok(())
/// # }
/// ```
pub struct Http {
    shared: Arc<Shared>,
    server: Server,
}

/// Renders the metrics in the Prometheus text format.
type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

struct Shared {
    rpc: Rpc,
    askers: Askers,
    settings: HttpSettings,
    metrics: Option<Metrics>,
    pages: Option<Pages>,
    /// The URL scheme of this server.
    scheme: &'static str,
    notifications: NotificationLog,
    guess_limiter: GuessLimiter,
    /// The log lines about refused requests.
    refusals: LogThrottle<(AddressBlock, &'static str)>,
    proxied_requests: Option<ProxiedRequests>,
    memory: MemoryQuota,
    readiness: tokio::sync::Mutex<()>,
    /// Routes of others, for admitted callers.
    admitted: Option<Router>,
    /// Whose tokens admit callers to those routes.
    #[cfg(feature = "tokens")]
    tokens: Option<admitted::Tokens>,
    /// Also tracks WebSocket tasks and the task that fills the notification log.
    shutdown: Shutdown,
}

impl Http {
    /// Creates a server for these askers with default settings.
    pub fn new(rpc: Rpc, askers: Askers) -> Self {
        Self::with_settings(rpc, askers, HttpSettings::default())
    }

    /// Creates a server for these askers.
    pub fn with_settings(rpc: Rpc, askers: Askers, settings: HttpSettings) -> Self {
        let server = Server::new(settings.clone());
        let shared = Shared {
            notifications: NotificationLog::new(rpc.engine().clone()),
            rpc,
            askers,
            memory: settings.memory(),
            settings,
            metrics: None,
            pages: None,
            scheme: "http",
            guess_limiter: GuessLimiter::new(GUESSES_PER_SECOND, GUESSES_AT_ONCE),
            refusals: LogThrottle::default(),
            proxied_requests: None,
            readiness: tokio::sync::Mutex::default(),
            admitted: None,
            #[cfg(feature = "tokens")]
            tokens: None,
            shutdown: server.shutdown().clone(),
        };
        let shared = Arc::new(shared);
        Self { shared, server }
    }

    /// Serves this text at `/metrics`. Without it, the route does not exist.
    #[must_use]
    pub fn with_metrics(mut self, metrics: impl Fn() -> String + Send + Sync + 'static) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.metrics = Some(Arc::new(metrics));
        }
        self
    }

    /// Serves the pages on which people answer, and the files uploaded there.
    #[must_use]
    pub fn with_pages(mut self, pages: Pages) -> Self {
        let identity = pages.identity();
        self.server = self.server.with_proxies(identity.proxies().to_vec());
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.proxied_requests = ProxiedRequests::new(identity, &shared.settings);
            shared.pages = Some(pages);
        }
        self
    }

    /// Serves a router beside the control API, for the same callers: only admitted requests reach
    /// it, each charged to its asker, with an [`AdmittedCaller`] and the [`Asker`] among their
    /// extensions.
    ///
    /// [`Asker`]: entreat_engine::Asker
    #[must_use]
    pub fn with_admitted(mut self, router: Router) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.admitted = Some(router);
        }
        self
    }

    /// Also admits holders of a token for this resource to the routes of
    /// [`with_admitted`](Self::with_admitted), and serves its metadata. Each is charged to this
    /// asker on their behalf, and comes with a [`TokenHolder`] in place of an [`AdmittedCaller`].
    ///
    /// [`TokenHolder`]: crate::resource::TokenHolder
    #[cfg(feature = "tokens")]
    #[must_use]
    pub fn with_tokens(mut self, resource: ProtectedResource, asker: Asker) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.tokens = Some(admitted::Tokens { resource, asker });
        }
        self
    }

    /// Accepts TLS connections only.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.server = self.server.with_tls(tls);
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.scheme = "https";
        }
        self
    }

    /// Serves until `end` resolves, then lets requests in flight finish within the grace period.
    ///
    /// Calls that wait for an outcome return the current status, so that the caller can retry.
    /// Shuts down the engine, too.
    pub async fn serve(self, listener: TcpListener, end: impl Future<Output = ()>) {
        let Shutdown { closing, tasks, .. } = &self.shared.shutdown;
        let follow = self.shared.notifications.clone().follow();
        let ended = closing.clone();
        tasks.spawn(async move {
            ended.run_until_cancelled(follow).await;
        });
        if let Some(uploads) = self.shared.uploads().cloned() {
            let ended = closing.clone().cancelled_owned();
            tasks.spawn(async move { uploads.sweep_until(ended).await });
        }
        let engine = self.shared.rpc.engine();
        self.server.serve_until(self.router(), listener, end).await;
        // Before sockets are closed, so that a restart does not count as a disconnect of the
        // askers.
        engine.stop();
        self.server.close();
        // Wakes all waiters.
        engine.shutdown().await;
        self.server.finish().await;
    }

    fn router(&self) -> Router {
        let mut router = Router::new()
            .route("/rpc", post(call::rpc))
            .route("/events", get(events::events))
            .route("/openrpc.json", get(document))
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready));
        #[cfg(feature = "standalone")]
        {
            router = router.route("/ws", get(socket::open));
        }
        if self.shared.metrics.is_some() {
            router = router.route("/metrics", get(metrics));
        }
        if self.shared.uploads().is_some() {
            router = router.route("/files/{id}/{upload}/{token}", get(files::download));
        }
        let router = router.with_state(self.shared.clone());
        let router = match &self.shared.pages {
            Some(pages) => router.merge(pages.router()),
            None => router,
        };
        let router = match &self.shared.admitted {
            Some(admitted) => {
                let admit = from_fn_with_state(self.shared.clone(), admitted::admit);
                router.merge(admitted.clone().layer(admit))
            }
            None => router,
        };
        #[cfg(feature = "tokens")]
        let router = match &self.shared.tokens {
            Some(tokens) => router.merge(tokens.resource.router()),
            None => router,
        };
        let not_found = || async { text(StatusCode::NOT_FOUND, "Not found.\n") };
        let router = router.fallback(not_found);
        match &self.shared.proxied_requests {
            Some(_) => router.layer(from_fn_with_state(self.shared.clone(), proxied::limit)),
            None => router,
        }
    }
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http")
            .field("askers", &self.shared.askers)
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn uploads(&self) -> Option<&Uploads> {
        self.pages.as_ref()?.uploads()
    }

    fn admit(&self, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Result<&Caller, Refusal> {
        let admitted = guard::admit(&self.askers, self.scheme, peer, uri, headers);
        let admitted = match admitted {
            Err(Refusal::NoKey | Refusal::UnknownKey)
                if self
                    .guess_limiter
                    .is_exceeded_by(peer.ip(), self.rpc.engine().now()) =>
            {
                Err(Refusal::TooManyGuesses)
            }
            admitted => admitted,
        };
        admitted.inspect_err(|refusal| self.warn(peer, *refusal))
    }

    /// Logs that nobody was admitted: one line per address and reason in some seconds.
    fn warn(&self, peer: SocketAddr, refusal: Refusal) {
        let reason = refusal.code();
        let key = (AddressBlock::of(peer.ip()), reason);
        let now = self.rpc.engine().now();
        if tracing::enabled!(tracing::Level::WARN)
            && let Some(count) = self.refusals.count(key, now)
        {
            tracing::warn!(address = %peer.ip(), reason, count, "a request was refused");
        }
    }
}

/// Needs no key and no rate limit: the document is constant.
async fn document() -> Response {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| openrpc::document(None).to_string().into());
    json(StatusCode::OK, DOCUMENT.clone())
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.shutdown.closing.is_cancelled() {
        return text(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n");
    }
    // Needs no key and no rate limit, so only one request at a time queries the store.
    let _turn = shared.readiness.lock().await;
    match shared.rpc.engine().check().await {
        Ok(()) => text(StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready: the store does not respond");
            text(
                StatusCode::SERVICE_UNAVAILABLE,
                "the store does not respond\n",
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

fn text(status: StatusCode, body: &'static str) -> Response {
    let mut response = Response::new(Body::from(body));
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
