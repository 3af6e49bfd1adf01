//! Connections: accepting them, bounding them, sharing them fairly, and ending them well.
//!
//! Serves any router, so that whatever listens has the same bounds. What a request means, and who
//! sent it, is the router's to say; a handler finds the peer's address in the request's extensions,
//! as a [`SocketAddr`].

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
use super::counted::Counted;
use super::refusal::Refusal;
use crate::identity::ProxyRange;
use crate::local::Neighbourhood;
use crate::tls::Tls;

/// The largest head of a request, in bytes.
const HEAD_LIMIT: usize = 64 << 10;
/// How long to wait when the system has no more connections to give.
const PAUSE: Duration = Duration::from_millis(50);

/// A listener that takes crowds: so many may come before one of them is seen to.
const BACKLOG: u32 = 4096;

/// What whoever is beyond its share is told.
const SHARE_USED_UP: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain; charset=utf-8\r\ncontent-length: 87\r\nretry-after: 1\r\n\
    connection: close\r\n\r\n\
    Too many connections from your address: close some, or reuse those that you have open.\n";
/// So many are told at once; others hear it by being hung up on.
const TOLD_AT_ONCE: usize = 64;
/// How long it may take to be told.
const TELLING: Duration = Duration::from_secs(1);

/// Listens at an address, with room for many who come at once.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Connections of an earlier run may still be about to end. Elsewhere this would let two
    // programs listen at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves a router over HTTP/1.1 within bounds: the number of connections, in all and for each
/// address; the size of heads and the time they take; the time that a client may leave what it was
/// sent unread.
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
///     // Whatever tells the program to stop.
/// };
/// Server::new(HttpSettings::default()).serve(router, listener, end).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    settings: Arc<HttpSettings>,
    tls: Option<Tls>,
    without_share: Vec<ProxyRange>,
    ending: Ending,
}

/// How far the end of a server has come, for those whose work has to end with it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// Set when the server is to end.
    pub(super) closing: CancellationToken,
    /// Set when those who are left have had their time.
    cut: CancellationToken,
    /// Connections, and whatever else has to be over when the server is.
    pub(super) tasks: TaskTracker,
}

impl Server {
    /// A server that allows its clients this, without TLS.
    pub fn new(settings: HttpSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            tls: None,
            without_share: Vec::new(),
            ending: Ending::default(),
        }
    }

    /// Speaks TLS, and nothing else.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Proxies behind which there are many: their addresses have no share of their own, so that
    /// the router has to see to it that each client behind them has one.
    #[must_use]
    pub fn with_proxies(mut self, proxies: Vec<ProxyRange>) -> Self {
        self.without_share = proxies;
        self
    }

    pub(super) fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Serves until told to end; then lets requests that are under way finish, for a while.
    pub async fn serve(self, router: Router, listener: TcpListener, end: impl Future<Output = ()>) {
        self.serve_until(router, listener, end).await;
        self.close();
        self.finish().await;
    }

    /// Accepts connections until told to stop; those that are open go on.
    pub(super) async fn serve_until(
        &self,
        router: Router,
        listener: TcpListener,
        end: impl Future<Output = ()>,
    ) {
        tokio::select! {
            () = end => {}
            never = self.accept(&router, &listener) => match never {},
        }
    }

    /// Tells connections to end when they have answered what is under way.
    pub(super) fn close(&self) {
        self.ending.closing.cancel();
        self.ending.tasks.close();
    }

    /// Waits until everything is over, and cuts off who takes too long.
    pub(super) async fn finish(&self) {
        let Ending { cut, tasks, .. } = &self.ending;
        let grace = self.settings.grace;
        if tokio::time::timeout(grace, tasks.wait()).await.is_err() {
            tracing::warn!(left = tasks.len(), "cutting off clients that take too long");
            cut.cancel();
            tasks.wait().await;
        }
    }

    async fn accept(&self, router: &Router, listener: &TcpListener) -> Infallible {
        let connections = self.settings.connections;
        let shares = Shares::new(connections, self.settings.share_of_connections());
        // Waits where shares would refuse: a moment later there may be a place again.
        let places = Arc::new(Semaphore::new(connections));
        let told = Arc::new(Semaphore::new(TOLD_AT_ONCE));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else {
                // Nobody closes it.
                std::future::pending::<()>().await;
                continue;
            };
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let has_share = !self.is_proxy(peer);
            let share = has_share.then(|| shares.take(Neighbourhood::of(peer.ip())));
            let Ok(share) = share.transpose() else {
                drop(place);
                tracing::debug!(%peer, "an address has its whole share of connections");
                if let (None, Ok(place)) = (&self.tls, told.clone().try_acquire_owned()) {
                    self.ending.tasks.spawn(async move {
                        // Whether or not it hears that: it is over.
                        drop(tokio::time::timeout(TELLING, turn_away(stream)).await);
                        drop(place);
                    });
                }
                continue;
            };
            // Answers are small, and somebody waits for each.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "the connection was gone before it was served");
                continue;
            }
            let stream = Counted {
                stream,
                _place: (place, share),
            };
            let connection = Connection {
                settings: self.settings.clone(),
                tls: self.tls.clone(),
                ending: self.ending.clone(),
                peer,
            };
            let serving = connection.serve(router.clone(), stream);
            self.ending.tasks.spawn(serving);
        }
    }

    fn is_proxy(&self, peer: SocketAddr) -> bool {
        let mut ranges = self.without_share.iter();
        ranges.any(|range| range.contains(peer.ip()))
    }
}

/// Tells a client that it has too many connections. Some of what it sends is read first: if
/// something was left unread, the system would drop the answer.
async fn turn_away(mut stream: TcpStream) -> io::Result<()> {
    let mut scrap = [0; 4096];
    // How much of it does not matter.
    let _ = stream.read(&mut scrap).await?;
    stream.write_all(SHARE_USED_UP).await?;
    stream.shutdown().await?;
    while stream.read(&mut scrap).await? > 0 {}
    Ok(())
}

/// Headers that say who sends what to whom. If one stood twice, two programs on its way could read
/// it differently.
static ONCE: [HeaderName; 10] = [
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

/// A header that may stand once and stands twice.
fn stands_twice(headers: &HeaderMap) -> Option<&'static HeaderName> {
    // Mostly no header does.
    if headers.len() == headers.keys_len() {
        return None;
    }
    let is_twice = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    ONCE.iter().find(is_twice)
}

/// What one connection needs to know.
struct Connection {
    settings: Arc<HttpSettings>,
    tls: Option<Tls>,
    ending: Ending,
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
            return self.converse(router, stream).await;
        };
        let handshake = tls.acceptor().accept(stream);
        let handshake = tokio::time::timeout(self.settings.head_timeout, handshake);
        match self.ending.closing.run_until_cancelled(handshake).await {
            Some(Ok(Ok(stream))) => self.converse(router, stream).await,
            Some(Ok(Err(error))) => tracing::debug!(%error, "a handshake failed"),
            Some(Err(_)) => tracing::debug!("a handshake took too long"),
            None => {}
        }
    }

    /// Answers what comes over a connection, until it ends or the server does.
    async fn converse(
        &self,
        router: Router,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) {
        let peer = self.peer;
        let service = tower::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let twice = stands_twice(request.headers()).map(Refusal::Twice);
            let mut router = router.clone();
            async move {
                match twice {
                    Some(refusal) => Ok(refusal.into_response()),
                    None => router.call(request.map(Body::new)).await,
                }
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.head_timeout)
            .max_buf_size(HEAD_LIMIT)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.ending.closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = self.ending.cut.cancelled() => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection broke");
        }
    }
}
