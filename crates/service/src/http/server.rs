//! Connections: accepting them, bounding them, and ending them well.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

use super::{Http, Shared};

/// The largest head of a request, in bytes.
const HEAD_LIMIT: usize = 64 << 10;
/// How long to wait when the system has no more connections to give.
const PAUSE: Duration = Duration::from_millis(50);

/// A listener that takes crowds: so many may come before one of them is seen to.
const BACKLOG: u32 = 4096;

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

impl Http {
    /// Serves until told to end; then lets requests that are under way finish, for a while.
    ///
    /// Whoever waits for an outcome is told how the question stands, and comes back. The engine
    /// is shut down with that: nothing else could answer any more.
    pub async fn serve(self, listener: TcpListener, end: impl Future<Output = ()>) {
        let shared = &self.0;
        let follow = shared.told.clone().follow();
        let closing = shared.closing.clone();
        shared.tasks.spawn(async move {
            closing.run_until_cancelled(follow).await;
        });
        if let Some(uploads) = shared.uploads.clone() {
            let end = shared.closing.clone().cancelled_owned();
            shared.tasks.spawn(async move { uploads.tend(end).await });
        }
        tokio::select! {
            () = end => {}
            () = self.accept(&listener) => {}
        }
        drop(listener);
        // Before sockets are closed: a restart of the service is not a disconnect of its askers.
        shared.rpc.engine().stop();
        shared.closing.cancel();
        shared.tasks.close();
        // Lets go of those who wait.
        shared.rpc.engine().shutdown().await;
        let grace = shared.settings.grace;
        if tokio::time::timeout(grace, shared.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                left = shared.tasks.len(),
                "cutting off clients that take too long"
            );
            shared.cut.cancel();
            shared.tasks.wait().await;
        }
    }

    async fn accept(&self, listener: &TcpListener) {
        let shared = &self.0;
        let router = self.router();
        let places = Arc::new(Semaphore::new(shared.settings.connections));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else {
                return;
            };
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let serving = serve_one(shared.clone(), router.clone(), stream, peer);
                    shared.tasks.spawn(async move {
                        serving.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

async fn serve_one(shared: Arc<Shared>, router: Router, stream: TcpStream, peer: SocketAddr) {
    // Answers are small, and somebody waits for each.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection was gone before it was served");
        return;
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(shared.settings.write_timeout));
    let stream = Box::pin(stream);
    let Some(tls) = &shared.tls else {
        return converse(&shared, router, stream, peer).await;
    };
    let handshake = tls.acceptor().accept(stream);
    let handshake = tokio::time::timeout(shared.settings.head_timeout, handshake);
    match shared.closing.run_until_cancelled(handshake).await {
        Some(Ok(Ok(stream))) => converse(&shared, router, stream, peer).await,
        Some(Ok(Err(error))) => tracing::debug!(%error, "a handshake failed"),
        Some(Err(_)) => tracing::debug!("a handshake took too long"),
        None => {}
    }
}

/// Answers what comes over a connection, until it ends or the server does.
async fn converse(
    shared: &Shared,
    router: Router,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
) {
    let service = tower::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        tower::Service::call(&mut router.clone(), request.map(axum::body::Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.settings.head_timeout)
        .max_buf_size(HEAD_LIMIT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shared.closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection => ended,
                () = shared.cut.cancelled() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}
