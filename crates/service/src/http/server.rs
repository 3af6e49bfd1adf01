//! Accepts connections, limits them in total and per address, and shuts them down gracefully.
//!
//! Serves any router, so that all listeners have the same limits. Handlers find the peer's address
//! in the request's extensions, as a [`SocketAddr`].

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Request, header};
use axum::response::IntoResponse as _;
use entreat_engine::shares::Shares;
use entreat_engine::{Clock as _, LogThrottle, SystemClock};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service as _;

use super::HttpSettings;
use super::permit_stream::PermitStream;
use super::refusal::Refusal;
use crate::identity::ProxyRange;
use crate::local::AddressBlock;
use crate::tls::Tls;

/// Maximum size of the request line and headers, in bytes.
const MAX_HEADER_SIZE: usize = 64 << 10;
/// Pause after a failed `accept`, for example when file descriptors run out.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// Length of the queue of connections that are not accepted yet.
const BACKLOG: u32 = 4096;

/// The response to a connection beyond its address's limit.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain; charset=utf-8\r\ncontent-length: 87\r\nretry-after: 1\r\n\
    connection: close\r\n\r\n\
    Too many connections from your address: close some, or reuse those that you have open.\n";
/// Maximum number of such responses in flight; beyond it, connections are closed without one.
const MAX_REJECTIONS: usize = 64;
/// Timeout of such a response.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Listens at an address, with a long backlog.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Allows a restart while old connections are in TIME_WAIT. On Windows, this option would let
    // two programs listen at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves a router over HTTP/1.1 with limits on the number of connections, in total and per
/// address, on the size and duration of request headers, and on how long writes may block.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use axum::Router;
/// use axum::routing::get;
/// use entreat_service::http::{self, HttpSettings, Server};
///
/// let router = Router::new().route("/hello", get(|| async { "hello" }));
/// let listener = http::listen(([127, 0, 0, 1], 0).into())?;
/// let end = async {
///     // Resolves when the program should stop.
/// };
/// Server::new(HttpSettings::default()).serve(router, listener, end).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    settings: Arc<HttpSettings>,
    tls: Option<Tls>,
    exempt_proxies: Vec<ProxyRange>,
    shutdown: Shutdown,
}

/// The shutdown state of a server, shared with tasks that end with it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Shutdown {
    /// Cancelled when shutdown begins.
    pub(super) closing: CancellationToken,
    /// Cancelled when the grace period is over.
    abort: CancellationToken,
    /// Connections and all other tasks that shutdown waits for.
    pub(super) tasks: TaskTracker,
}

impl Server {
    /// Creates a server with these limits, without TLS.
    pub fn new(settings: HttpSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            tls: None,
            exempt_proxies: Vec::new(),
            shutdown: Shutdown::default(),
        }
    }

    /// Accepts TLS connections only.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Exempts these proxies from the per-address limit; the router must limit each client behind
    /// them.
    #[must_use]
    pub fn with_proxies(mut self, proxies: Vec<ProxyRange>) -> Self {
        self.exempt_proxies = proxies;
        self
    }

    pub(super) fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// Serves until `end` resolves, then lets requests in flight finish within the grace period.
    pub async fn serve(self, router: Router, listener: TcpListener, end: impl Future<Output = ()>) {
        self.serve_until(router, listener, end).await;
        self.close();
        self.finish().await;
    }

    /// Accepts connections until `end` resolves; open ones stay open.
    pub(super) async fn serve_until(
        &self,
        router: Router,
        listener: TcpListener,
        end: impl Future<Output = ()>,
    ) {
        tokio::select! {
            () = end => {}
            infallible = self.accept(&router, &listener) => match infallible {},
        }
    }

    /// Starts a graceful shutdown of all connections.
    pub(super) fn close(&self) {
        self.shutdown.closing.cancel();
        self.shutdown.tasks.close();
    }

    /// Waits for all tasks, and aborts connections after the grace period.
    pub(super) async fn finish(&self) {
        let Shutdown { abort, tasks, .. } = &self.shutdown;
        let grace = self.settings.grace;
        if tokio::time::timeout(grace, tasks.wait()).await.is_err() {
            tracing::warn!(left = tasks.len(), "disconnecting slow clients");
            abort.cancel();
            tasks.wait().await;
        }
    }

    async fn accept(&self, router: &Router, listener: &TcpListener) -> Infallible {
        let connections = self.settings.connections;
        let shares = Shares::new(connections, self.settings.per_address_limit());
        // At the total limit, accepting waits instead of rejecting.
        let permits = Arc::new(Semaphore::new(connections));
        let rejections = Arc::new(Semaphore::new(MAX_REJECTIONS));
        // For the log only.
        let (clock, refusals) = (SystemClock::new(), LogThrottle::default());
        loop {
            let Ok(permit) = permits.clone().acquire_owned().await else {
                // The semaphore is never closed.
                std::future::pending::<()>().await;
                continue;
            };
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                    continue;
                }
            };
            let is_limited = !self.is_proxy(peer);
            let share = is_limited.then(|| shares.take(AddressBlock::of(peer.ip())));
            let Ok(share) = share.transpose() else {
                drop(permit);
                let block = AddressBlock::of(peer.ip());
                if let Some(count) = refusals.count(block, clock.wall()) {
                    let (address, limit) = (peer.ip(), "connections_per_address");
                    tracing::warn!(%address, limit, count, "a limit was reached");
                }
                if let (None, Ok(permit)) = (&self.tls, rejections.clone().try_acquire_owned()) {
                    self.shutdown.tasks.spawn(async move {
                        // Best effort.
                        drop(tokio::time::timeout(REJECTION_TIMEOUT, reject(stream)).await);
                        drop(permit);
                    });
                }
                continue;
            };
            // Responses are small and latency matters.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "the connection closed before it was served");
                continue;
            }
            let stream = PermitStream {
                stream,
                _permits: (permit, share),
            };
            let connection = Connection {
                settings: self.settings.clone(),
                tls: self.tls.clone(),
                shutdown: self.shutdown.clone(),
                peer,
            };
            let serving = connection.serve(router.clone(), stream);
            self.shutdown.tasks.spawn(serving);
        }
    }

    fn is_proxy(&self, peer: SocketAddr) -> bool {
        let mut ranges = self.exempt_proxies.iter();
        ranges.any(|range| range.contains(peer.ip()))
    }
}

/// Tells a client that it has too many connections. Reads its request first: closing a socket with
/// unread data makes the kernel discard the response.
async fn reject(mut stream: TcpStream) -> io::Result<()> {
    let mut discarded = [0; 4096];
    // The amount is irrelevant.
    let _ = stream.read(&mut discarded).await?;
    stream.write_all(TOO_MANY_CONNECTIONS).await?;
    stream.shutdown().await?;
    while stream.read(&mut discarded).await? > 0 {}
    Ok(())
}

/// Headers with security or framing relevance. If repeated, a proxy and this service could read
/// different values.
static SINGLE_HEADERS: [HeaderName; 10] = [
    header::HOST,
    header::AUTHORIZATION,
    header::ORIGIN,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    HeaderName::from_static("sec-fetch-site"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("x-entreat-form"),
];

/// Returns a header of [`SINGLE_HEADERS`] that is repeated.
fn repeated_header(headers: &HeaderMap) -> Option<&'static HeaderName> {
    // Fast path: no header at all is repeated.
    if headers.len() == headers.keys_len() {
        return None;
    }
    let is_repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    SINGLE_HEADERS.iter().find(is_repeated)
}

/// The state of one connection.
struct Connection {
    settings: Arc<HttpSettings>,
    tls: Option<Tls>,
    shutdown: Shutdown,
    peer: SocketAddr,
}

impl Connection {
    async fn serve(
        self,
        router: Router,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.settings.write_timeout));
        let stream = Box::pin(stream);
        let Some(tls) = &self.tls else {
            return self.serve_http(router, stream).await;
        };
        let handshake = tls.accept(stream);
        let handshake = tokio::time::timeout(self.settings.head_timeout, handshake);
        match self.shutdown.closing.run_until_cancelled(handshake).await {
            Some(Ok(Ok(stream))) => self.serve_http(router, stream).await,
            Some(Ok(Err(error))) => tracing::debug!(%error, "a handshake failed"),
            Some(Err(_)) => tracing::debug!("a handshake took too long"),
            None => {}
        }
    }

    /// Serves HTTP on a connection, until it closes or the server shuts down.
    async fn serve_http(
        &self,
        router: Router,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) {
        let peer = self.peer;
        let service = tower::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let repeated = repeated_header(request.headers()).map(Refusal::RepeatedHeader);
            let mut router = router.clone();
            async move {
                match repeated {
                    Some(refusal) => Ok(refusal.into_response()),
                    None => router.call(request.map(Body::new)).await,
                }
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.head_timeout)
            .max_buf_size(MAX_HEADER_SIZE)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.shutdown.closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = self.shutdown.abort.cancelled() => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection broke");
        }
    }
}
