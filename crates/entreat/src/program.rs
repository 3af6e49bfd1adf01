//! Engine, store and service, joined for one's own program.
//!
//! Puts parts together and takes them apart again, in the right order; what they do is theirs.

mod builder;
mod error;
#[cfg(feature = "mcp")]
mod mcp;

use std::net::SocketAddr;

use entreat_engine::{Asker, Engine};
use entreat_service::TemplateFolder;
use entreat_service::page::Pages;
use entreat_service::rpc::Rpc;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use builder::Builder;
pub use error::EntreatError;

/// Everything that asks, keeps and answers, in one program. Made by [`Entreat::builder`].
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
    /// What servers allow their clients.
    #[cfg(feature = "mcp")]
    http: entreat_service::http::HttpSettings,
    #[cfg(feature = "mcp")]
    remote: Option<entreat_service::RemotePages>,
    #[cfg(feature = "embedded")]
    embedded: Option<std::sync::Arc<entreat_stores::EmbeddedStore>>,
}

/// A server that runs.
#[derive(Debug)]
struct Server {
    address: SocketAddr,
    scheme: &'static str,
    /// Ends the server, also by being dropped.
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Entreat {
    /// Parts to be put together: in memory and unserved, unless told otherwise.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// What asks and settles.
    pub fn engine(&self) -> &Engine {
        self.rpc.engine()
    }

    /// The control API without a transport, for one that is not here.
    pub fn rpc(&self) -> &Rpc {
        &self.rpc
    }

    /// The pages on which people answer; `None` where nothing is served, or nobody knows under
    /// which address.
    pub fn pages(&self) -> Option<&Pages> {
        self.pages.as_ref()
    }

    /// An asker of this program, under the settings that hold for all.
    pub fn asker(&self, name: &str) -> Asker {
        self.engine().asker(name)
    }

    /// A server of MCP whose handlers can ask: whoever uses it, in whatever client.
    #[cfg(feature = "mcp")]
    pub fn wrap<S: entreat_mcp::rmcp::ServerHandler>(&self, server: S) -> entreat_mcp::Wrapped<S> {
        self.mcp.wrap(server)
    }

    /// Entreat itself as a server of MCP, for agents that need their human.
    #[cfg(feature = "mcp")]
    pub fn ask_server(&self) -> entreat_mcp::Wrapped<entreat_mcp::AskServer> {
        self.mcp.ask_server()
    }

    /// Serves clients of MCP on this machine over Streamable HTTP under `/mcp`, until told to end.
    /// Connections have the bounds that [`Builder::http`] says.
    ///
    /// For a listener on loopback: only such names and origins are let in. A program that serves
    /// others puts [`Wrapped::http`](entreat_mcp::Wrapped::http) into a server of its own.
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
        mcp::serve(server, self.http.clone(), listener, end)
    }

    /// Where the service listens; `None` if it was not told to.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(|server| server.address)
    }

    /// Where the service listens, as a URL, which begins with `https` if it speaks TLS.
    pub fn listening_url(&self) -> Option<String> {
        let server = self.server.as_ref()?;
        Some(format!("{}://{}", server.scheme, server.address))
    }

    /// Where the service is reached: the public URL if there is one, else where it listens.
    pub fn url(&self) -> Option<String> {
        self.public_url.clone().or_else(|| self.listening_url())
    }

    /// Ends everything: requests under way are answered, whoever waits is told to come back, and
    /// what a store keeps is on disk when this returns.
    pub async fn shutdown(self) {
        #[cfg(feature = "mcp")]
        self.mcp.shutdown().await;
        if let Some(server) = self.server {
            // Nobody receives it if the server has ended.
            let _ = server.end.send(());
            if let Err(error) = server.task.await {
                tracing::error!(%error, "the server did not end well");
            }
        }
        if let Some(folder) = self.folder {
            folder.close().await;
        }
        self.rpc.engine().shutdown().await;
        #[cfg(feature = "mcp")]
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
