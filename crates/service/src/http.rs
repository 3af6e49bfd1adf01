//! The control API over HTTP: calls, streams of notifications, and WebSockets.
//!
//! Everything that a stranger can make this side hold is bounded: the size of heads and bodies,
//! the time they may take, the number of connections. Rules about who may ask stand in `guard.rs`.

mod behind;
mod call;
mod counted;
mod events;
mod files;
mod guard;
mod receiving;
mod refusal;
mod server;
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
use entreat_engine::Asker;
use tokio::net::TcpListener;

pub use self::server::{Server, listen};

use self::behind::BehindProxies;
use self::refusal::Refusal;
use self::server::Ending;
use crate::askers::Askers;
use crate::guesses::Guesses;
use crate::memory::Memory;
use crate::page::Pages;
use crate::rpc::{Rpc, openrpc};
use crate::tls::Tls;
use crate::told::Told;
use crate::upload::Uploads;

/// What a server allows its clients.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// The largest body of a request, and message of a WebSocket, in bytes.
    pub body_limit: usize,
    /// How much memory what is being received may take, bodies and messages together, in bytes;
    /// an asker may have half of it. The first 64 KiB of each do not count.
    pub body_memory: usize,
    /// How long the head of a request may take, and a connection may be idle; and how long the
    /// handshake of TLS may take.
    pub head_timeout: Duration,
    /// How long a body may take.
    pub body_timeout: Duration,
    /// How long a client may leave what it was sent unread.
    pub write_timeout: Duration,
    /// How many connections are served at once, WebSockets included; whoever comes then waits.
    pub connections: usize,
    /// How many of them one address may have, of IPv6 one network of 64 bits; whoever has them is
    /// refused more. Three quarters unless it is given. Proxies that are trusted to name people
    /// have no such limit; each person and each asker behind them has, for requests at once.
    pub connections_per_address: Option<usize>,
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
    /// How many connections one address may have. Less than all: one cannot shut the others out.
    pub fn share_of_connections(&self) -> usize {
        let most = self.connections / 4 * 3 + self.connections % 4 * 3 / 4;
        self.connections_per_address.unwrap_or(most).max(1)
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
pub struct Http {
    shared: Arc<Shared>,
    server: Server,
}

/// Text for whoever measures the service.
type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

struct Shared {
    rpc: Rpc,
    askers: Askers,
    settings: HttpSettings,
    metrics: Option<Metrics>,
    pages: Option<Pages>,
    uploads: Option<Uploads>,
    /// What URLs of this server begin with.
    scheme: &'static str,
    told: Told,
    guesses: Guesses,
    behind_proxies: Option<BehindProxies>,
    memory: Memory,
    readiness: tokio::sync::Mutex<()>,
    /// Its tasks are sockets too, and the one that writes down what askers were told.
    ending: Ending,
}

impl Http {
    /// A server for these askers, with default settings.
    pub fn new(rpc: Rpc, askers: Askers) -> Self {
        Self::with_settings(rpc, askers, HttpSettings::default())
    }

    /// A server for these askers.
    pub fn with_settings(rpc: Rpc, askers: Askers, settings: HttpSettings) -> Self {
        let server = Server::new(settings.clone());
        let shared = Shared {
            told: Told::new(rpc.engine().clone()),
            rpc,
            askers,
            memory: settings.memory(),
            settings,
            metrics: None,
            pages: None,
            uploads: None,
            scheme: "http",
            guesses: Guesses::new(GUESSES_PER_SECOND, GUESSES_AT_ONCE),
            behind_proxies: None,
            readiness: tokio::sync::Mutex::default(),
            ending: server.ending().clone(),
        };
        let shared = Arc::new(shared);
        Self { shared, server }
    }

    /// What `/metrics` answers with; without it there is no such page.
    #[must_use]
    pub fn with_metrics(mut self, metrics: impl Fn() -> String + Send + Sync + 'static) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.metrics = Some(Arc::new(metrics));
        }
        self
    }

    /// Serves pages on which people answer, and the files that they send there.
    #[must_use]
    pub fn with_pages(mut self, pages: Pages) -> Self {
        let identity = pages.identity();
        self.server = self.server.with_proxies(identity.proxies().to_vec());
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.behind_proxies = BehindProxies::new(identity, &shared.settings);
            shared.uploads = pages.uploads().cloned();
            shared.pages = Some(pages);
        }
        self
    }

    /// Serves files by the links that askers got, and removes those that nobody needs.
    #[must_use]
    pub fn with_uploads(mut self, uploads: Uploads) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.uploads = Some(uploads);
        }
        self
    }

    /// Speaks TLS, and nothing else.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.server = self.server.with_tls(tls);
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.scheme = "https";
        }
        self
    }

    /// Serves until told to end; then lets requests that are under way finish, for a while.
    ///
    /// Whoever waits for an outcome is told how the question stands, and comes back. The engine
    /// is shut down with that: nothing else could answer any more.
    pub async fn serve(self, listener: TcpListener, end: impl Future<Output = ()>) {
        let Ending { closing, tasks, .. } = &self.shared.ending;
        let follow = self.shared.told.clone().follow();
        let ended = closing.clone();
        tasks.spawn(async move {
            ended.run_until_cancelled(follow).await;
        });
        if let Some(uploads) = self.shared.uploads.clone() {
            let ended = closing.clone().cancelled_owned();
            tasks.spawn(async move { uploads.tend(ended).await });
        }
        let engine = self.shared.rpc.engine();
        self.server.serve_until(self.router(), listener, end).await;
        // Before sockets are closed: a restart of the service is not a disconnect of its askers.
        engine.stop();
        self.server.close();
        // Lets go of those who wait.
        engine.shutdown().await;
        self.server.finish().await;
    }

    fn router(&self) -> Router {
        let mut router = Router::new()
            .route("/rpc", post(call::rpc))
            .route("/events", get(events::events))
            .route("/ws", get(socket::open))
            .route("/openrpc.json", get(document))
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready));
        if self.shared.metrics.is_some() {
            router = router.route("/metrics", get(metrics));
        }
        if self.shared.uploads.is_some() {
            router = router.route("/files/{id}/{upload}/{token}", get(files::download));
        }
        let router = router.with_state(self.shared.clone());
        let router = match &self.shared.pages {
            Some(pages) => router.merge(pages.router()),
            None => router,
        };
        let nothing = || async { text(StatusCode::NOT_FOUND, "There is nothing here.\n") };
        let router = router.fallback(nothing);
        match &self.shared.behind_proxies {
            Some(_) => router.layer(from_fn_with_state(self.shared.clone(), behind::share)),
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
    fn admit(&self, peer: SocketAddr, uri: &Uri, headers: &HeaderMap) -> Result<&Asker, Refusal> {
        let admitted = guard::admit(&self.askers, self.scheme, peer, uri, headers);
        match admitted {
            Err(Refusal::NoKey | Refusal::UnknownKey)
                if self.guesses.is_one_too_many(peer.ip()) =>
            {
                Err(Refusal::TooManyGuesses)
            }
            admitted => admitted,
        }
    }
}

/// The document is the same for everybody: anybody may ask for it, and as often as they like.
async fn document() -> Response {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| openrpc::document(None).to_string().into());
    json(StatusCode::OK, DOCUMENT.clone())
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.ending.closing.is_cancelled() {
        return text(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n");
    }
    // Anybody may ask, and as often as they like: the store is asked by one of them at a time.
    let _turn = shared.readiness.lock().await;
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
