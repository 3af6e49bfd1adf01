//! Serves wrapped servers: on standard input and output, or over Streamable HTTP.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt as _;
use rmcp::ServerHandler;
use rmcp::service::ServerInitializeError;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tower::Layer as _;

use crate::raw::{RawLayer, RawService};
use crate::wrap::Wrapped;

/// A wrapped server as a service of HTTP, to be put under a path such as `/mcp`.
pub type HttpService<S> = RawService<StreamableHttpService<Wrapped<S>, LocalSessionManager>>;

/// Where a server that serves itself is found.
const PATH: &str = "/mcp";

/// A session of the eras of 2025 in which nothing is said for so long is over. rmcp's own limit
/// is as long as a person may think about one question, and less with extensions.
const IDLE: Duration = Duration::from_secs(3600);

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
    /// refused, as the protocol demands.
    pub fn http(self, settings: StreamableHttpServerConfig) -> HttpService<S> {
        let settings = settings.enforce_origin_validation();
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        let sessions = Arc::new(sessions);
        let make = move || Ok(self.clone());
        RawLayer.layer(StreamableHttpService::new(make, sessions, settings))
    }

    /// Serves clients on this machine over Streamable HTTP under `/mcp`, until told to end.
    ///
    /// For a listener on loopback: only such names and origins are let in.
    pub async fn serve_http(
        self,
        listener: TcpListener,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let settings = StreamableHttpServerConfig::default();
        let ended = settings.cancellation_token.clone();
        let end = async move {
            end.await;
            // Streams would keep it waiting for ever.
            ended.cancel();
        };
        let app = Router::new().route_service(PATH, self.http(settings));
        // Small messages would wait for company otherwise.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        axum::serve(listener, app).with_graceful_shutdown(end).await
    }
}
