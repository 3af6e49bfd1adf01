//! A program that serves MCP, and its clients.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use entreat::Entreat;
use entreat::mcp::Ask;
use entreat::mcp::rmcp;
use entreat_testkit::mcp::{Client, Kind};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;

type Told = Pin<Box<dyn Future<Output = Result<String, ErrorData>> + Send>>;

/// A server whose only tool is a function.
#[derive(Clone)]
pub(crate) struct Server(Arc<dyn Fn(Ask) -> Told + Send + Sync>);

impl Server {
    pub(crate) fn new<F, T>(tool: F) -> Self
    where
        F: Fn(Ask) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, ErrorData>> + Send + 'static,
    {
        Self(Arc::new(move |ask| Box::pin(tool(ask))))
    }

    /// A client of it on a stream.
    pub(crate) async fn client(
        &self,
        entreat: &Entreat,
        kind: Kind,
        capabilities: Value,
    ) -> Client<DuplexStream> {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let server = entreat.wrap(self.clone());
        tokio::spawn(async move {
            if let Ok(running) = server.serve(theirs).await {
                let _ = running.waiting().await;
            }
        });
        Client::connect_with(kind, capabilities, ours).await
    }

    /// Serves HTTP while the test runs; returns the address.
    pub(crate) async fn listen(&self, entreat: &Entreat) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it has an address");
        let server = entreat.wrap(self.clone());
        tokio::spawn(entreat.serve_mcp(server, listener, std::future::pending()));
        address
    }
}

impl ServerHandler for Server {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = (self.0)(Ask::of(&context)?).await?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}
