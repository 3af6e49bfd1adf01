//! Engine, store and service, combined for use in a program.
//!
//! Starts the parts and shuts them down, in the right order; has no logic of its own.

mod builder;
mod error;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(any(feature = "gateway", feature = "mcp"))]
mod long_waits;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "remote")]
mod question_service;

use std::net::SocketAddr;

use entreat_engine::{Asker, Engine};
use entreat_service::TemplateFolder;
use entreat_service::page::Pages;
use entreat_service::rpc::Rpc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use builder::Builder;
pub use error::EntreatError;
#[cfg(feature = "gateway")]
pub use gateway::{GATEWAY_ASKER, GatewayOptions};

/// Entreat embedded in a program: engine, store and service. Created by [`Entreat::builder`].
///
/// ```
/// use entreat::{Ask, Entreat, Form, TypedForm};
/// use serde_json::json;
///
/// #[derive(Form)]
/// struct Person {
///     name: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let entreat = Entreat::builder().listen(([127, 0, 0, 1], 0)).start().await?;
/// // Programs in any language ask at this address; this one asks directly.
/// println!("listening on {}", entreat.url().unwrap_or_default());
/// let question = entreat.asker("my-program").ask(Ask::form(Person::form().clone())).await?;
///
/// entreat.engine().elicitation(question.id()).submit(&json!({"name": "Ada"})).await?;
/// assert_eq!(question.outcome().await?.result(), Some(json!({"name": "Ada"})));
/// entreat.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub struct Entreat {
    rpc: Rpc,
    pages: Option<Pages>,
    server: Option<Server>,
    public_url: Option<String>,
    folder: Option<TemplateFolder>,
    #[cfg(feature = "mcp")]
    mcp: entreat_mcp::Mcp,
    /// The limits of HTTP clients.
    #[cfg(feature = "mcp")]
    http: entreat_service::http::HttpSettings,
    /// What clients of MCP servers need a token for.
    #[cfg(feature = "tokens")]
    resource: Option<entreat_service::resource::ProtectedResource>,
    #[cfg(feature = "remote")]
    remote: Option<entreat_service::RemotePages>,
    #[cfg(feature = "gateway")]
    front: Option<entreat_gateway::front::Front>,
    #[cfg(feature = "embedded")]
    embedded: Option<std::sync::Arc<entreat_stores::EmbeddedStore>>,
}

/// A running server.
#[derive(Debug)]
struct Server {
    address: SocketAddr,
    scheme: &'static str,
    /// Stops the server when sent or dropped.
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Entreat {
    /// Returns a builder. By default, everything is in memory and nothing is served.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the engine.
    pub fn engine(&self) -> &Engine {
        self.rpc.engine()
    }

    /// Returns the control API without a transport, for use with your own.
    pub fn rpc(&self) -> &Rpc {
        &self.rpc
    }

    /// Returns the pages on which people answer; `None` if nothing is served, or if the service
    /// listens on all addresses without a public URL.
    pub fn pages(&self) -> Option<&Pages> {
        self.pages.as_ref()
    }

    /// Returns an asker of this program, with the engine's default settings.
    pub fn asker(&self, name: &str) -> Asker {
        self.engine().asker(name)
    }

    /// Wraps an MCP server so that its handlers can ask the person behind any client.
    #[cfg(feature = "mcp")]
    pub fn wrap<S: entreat_mcp::rmcp::ServerHandler>(&self, server: S) -> entreat_mcp::Wrapped<S> {
        self.mcp.wrap(server)
    }

    /// Returns Entreat as an MCP server, for agents that need to ask their user.
    #[cfg(feature = "mcp")]
    pub fn ask_server(&self) -> entreat_mcp::Wrapped<entreat_mcp::AskServer> {
        self.mcp.ask_server()
    }

    /// Returns Entreat as an MCP server for an agent on this machine, whose secrets and files are
    /// saved below a folder.
    #[cfg(feature = "workspace")]
    pub fn ask_server_in(
        &self,
        folder: impl Into<std::path::PathBuf>,
    ) -> entreat_mcp::Wrapped<entreat_mcp::AskServer> {
        let workspace = entreat_mcp::workspace::FolderWorkspace::new(folder);
        self.mcp.ask_server_in(workspace)
    }

    /// Serves MCP clients on this machine over Streamable HTTP under `/mcp`, until `end` completes.
    /// [`Builder::http`] sets the limits of connections.
    ///
    /// Without [`Builder::mcp_tokens`], the listener must be on loopback: only loopback hosts and
    /// origins are allowed. With it, clients anywhere are served that have a token. To serve others,
    /// mount [`Wrapped::http`](entreat_mcp::Wrapped::http) in your own server.
    #[cfg(feature = "mcp")]
    pub fn serve_mcp<S, E>(
        &self,
        server: entreat_mcp::Wrapped<S>,
        listener: tokio::net::TcpListener,
        end: E,
    ) -> impl Future<Output = ()> + Send + use<S, E>
    where
        S: entreat_mcp::rmcp::ServerHandler,
        E: Future<Output = ()> + Send + 'static,
    {
        let serving = mcp::Serving {
            settings: self.http.clone(),
            #[cfg(feature = "tokens")]
            tokens: self.token_check(),
        };
        mcp::serve(server, serving, listener, end)
    }

    /// Returns the state of [`require_token`](entreat_service::resource::require_token) for the
    /// resource of [`Builder::mcp_tokens`].
    #[cfg(feature = "tokens")]
    pub fn token_check(&self) -> Option<entreat_service::resource::TokenCheck> {
        let resource = self.resource.clone()?;
        Some(entreat_service::resource::TokenCheck {
            resource,
            engine: self.engine().clone(),
        })
    }

    /// Returns the address that the service listens on; `None` if it does not listen.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(|server| server.address)
    }

    /// Returns the URL that the service listens on, with scheme `https` if it uses TLS.
    pub fn listening_url(&self) -> Option<String> {
        let server = self.server.as_ref()?;
        Some(format!("{}://{}", server.scheme, server.address))
    }

    /// Returns the URL of the service: the public URL if set, else the one it listens on.
    pub fn url(&self) -> Option<String> {
        self.public_url.clone().or_else(|| self.listening_url())
    }

    /// Shuts everything down: finishes requests in flight, tells waiting clients to retry, and
    /// flushes the store before it returns.
    pub async fn shutdown(self) {
        #[cfg(feature = "mcp")]
        self.mcp.shutdown().await;
        // Before the server, whose streams end with the sessions.
        #[cfg(feature = "gateway")]
        if let Some(front) = self.front {
            front.close().await;
        }
        if let Some(server) = self.server {
            // Fails only if the server has already ended.
            let _ = server.end.send(());
            if let Err(error) = server.task.await {
                tracing::error!(%error, "the server failed");
            }
        }
        if let Some(folder) = self.folder {
            folder.close().await;
        }
        self.rpc.engine().shutdown().await;
        #[cfg(feature = "remote")]
        if let Some(remote) = self.remote {
            remote.close().await;
        }
        #[cfg(feature = "embedded")]
        if let Some(store) = self.embedded {
            store.close().await;
        }
    }
}

impl std::fmt::Debug for Entreat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entreat")
            .field("rpc", &self.rpc)
            .field("server", &self.server)
            .field("public_url", &self.public_url)
            .finish_non_exhaustive()
    }
}
