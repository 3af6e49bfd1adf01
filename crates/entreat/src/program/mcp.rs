//! What a program says about the MCP servers that it wraps.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use entreat_core::Form;
use entreat_engine::{Asker, Engine};
use entreat_mcp::rmcp::ServerHandler;
use entreat_mcp::rmcp::transport::StreamableHttpServerConfig;
use entreat_mcp::{Control, Forms, Mcp, McpSettings, Parts, Wrapped};
use entreat_service::http::{HttpSettings, Server};
use entreat_service::page::Pages;
use entreat_service::rpc::{Rpc, Session, Templates};
use entreat_service::{RemoteError, RemotePages};
use serde_json::Value;
use tokio::net::TcpListener;

/// Where a server is found.
const PATH: &str = "/mcp";

/// Everything that is said, to be joined with parts that exist only later.
#[derive(Default)]
pub(super) struct McpParts {
    pub(super) settings: McpSettings,
    pub(super) asker: Option<String>,
    pub(super) principal: Option<Arc<Who>>,
    pub(super) are_local: bool,
    pub(super) browser: Option<Arc<Browser>>,
    /// Address and key of a service whose pages are used.
    pub(super) remote: Option<(String, String)>,
    pub(super) remote_pages: Option<RemotePages>,
}

type Who = dyn Fn(&Parts) -> String + Send + Sync;
type Browser = dyn Fn(&str) + Send + Sync;

impl McpParts {
    /// Makes out which pages of another service are used.
    pub(super) fn find_remote(&mut self) -> Result<Option<RemotePages>, RemoteError> {
        if let Some((url, key)) = &self.remote {
            self.remote_pages = Some(RemotePages::new(url, key)?);
        }
        Ok(self.remote_pages.clone())
    }

    pub(super) fn join(&self, rpc: &Rpc, pages: Option<&Pages>) -> Mcp {
        let asker = self.asker(rpc.engine());
        let control = ControlApi {
            rpc: rpc.clone(),
            session: Session::new(asker.clone()),
        };
        let mut mcp = Mcp::builder(asker)
            .settings(self.settings.clone())
            .local_clients(self.are_local)
            .control(control)
            .templates(ByName(rpc.templates().clone()));
        if let Some(remote) = &self.remote_pages {
            mcp = mcp.pages(Arc::new(remote.clone()));
        } else if let Some(pages) = pages {
            mcp = mcp.pages(Arc::new(pages.clone()));
        }
        if let Some(who) = self.principal.clone() {
            mcp = mcp.principal(move |parts| who(parts));
        }
        if let Some(open) = self.browser.clone() {
            mcp = mcp.browser(move |url| open(url));
        }
        mcp.build()
    }

    /// Who asks: this program itself, for any number of clients. How often each may be asked is
    /// theirs to say, so only what holds for all is a limit.
    fn asker(&self, engine: &Engine) -> Asker {
        let mut settings = engine.asker_settings().clone();
        settings.limits.creations_per_minute = None;
        settings.limits.requests_per_second = None;
        settings.limits.live = usize::MAX;
        engine.asker_with(self.asker.as_deref().unwrap_or("mcp"), settings)
    }
}

/// Serves a server of MCP under its path.
pub(super) async fn serve<S: ServerHandler>(
    server: Wrapped<S>,
    settings: HttpSettings,
    listener: TcpListener,
    end: impl Future<Output = ()> + Send,
) {
    let config = StreamableHttpServerConfig::default();
    let ended = config.cancellation_token.clone();
    let router = Router::new().route_service(PATH, server.http(config));
    let end = async {
        end.await;
        // Streams would keep it waiting for ever.
        ended.cancel();
    };
    Server::new(settings).serve(router, listener, end).await;
}

/// The service's templates, as MCP servers know them.
struct ByName(Templates);

impl Forms for ByName {
    fn find(&self, name: &str) -> Option<Form> {
        self.0.get(name)?.form
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }
}

/// The control API, as clients of MCP servers may call it.
struct ControlApi {
    rpc: Rpc,
    session: Session,
}

impl Control for ControlApi {
    fn answer(&self, request: Value) -> Pin<Box<dyn Future<Output = Value> + Send>> {
        let answering = self
            .rpc
            .answer(&self.session, request.to_string().as_bytes());
        Box::pin(async move {
            let answer = answering.await.body.unwrap_or_default();
            serde_json::from_str(&answer).unwrap_or_default()
        })
    }
}
