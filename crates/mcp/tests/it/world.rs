//! A server with one tool, an engine on a virtual clock, and clients of any kind.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::schema::Era;
use entreat_core::{ElicitationId, Form, UnixTime};
use entreat_engine::{
    Builder as EngineBuilder, Engine, KeyRing, Links, Resolver, Snapshot, SystemEntropy,
};
use entreat_mcp::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ServerCapabilities, ServerConfig,
};
use entreat_mcp::rmcp::service::RequestContext;
use entreat_mcp::rmcp::transport::StreamableHttpServerConfig;
use entreat_mcp::rmcp::{ErrorData, RoleServer, ServerHandler};
use entreat_mcp::{Ask, Mcp, McpSettings, Wrapped};
use entreat_testkit::VirtualClock;
use entreat_testkit::mcp::{Client, Kind};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio::net::TcpListener;

pub(crate) type Told = Pin<Box<dyn Future<Output = Result<String, ErrorData>> + Send>>;

/// A server whose only tool is a function.
pub(crate) struct Server(Box<dyn Fn(Ask, JsonObject) -> Told + Send + Sync>);

impl ServerHandler for Server {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let ask = Ask::of(&context)?;
        // A handler need not keep it while it asks.
        drop(context);
        let text = (self.0)(ask, request.arguments.unwrap_or_default()).await?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

/// Pages that are not served; their questions are answered through the engine.
pub(crate) struct Pages;

impl Links for Pages {
    fn page(&self, id: ElicitationId) -> Option<String> {
        Some(format!("https://ask.example/e/{id}"))
    }
}

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: VirtualClock,
    pub(crate) mcp: Mcp,
    /// Pages that were opened in the browser.
    pub(crate) opened: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|mcp| mcp, McpSettings::default(), None).await
    }

    pub(crate) async fn with_pages() -> Self {
        Self::with(
            |mcp| mcp.pages(Arc::new(Pages)),
            McpSettings::default(),
            None,
        )
        .await
    }

    pub(crate) async fn built(
        build: impl FnOnce(entreat_mcp::Builder) -> entreat_mcp::Builder,
    ) -> Self {
        Self::with(build, McpSettings::default(), None).await
    }

    pub(crate) async fn with_settings(settings: McpSettings) -> Self {
        Self::with(|mcp| mcp.pages(Arc::new(Pages)), settings, None).await
    }

    pub(crate) async fn with_browser() -> Self {
        let opened: Arc<Mutex<Vec<String>>> = Arc::default();
        let urls = opened.clone();
        let open = move |url: &str| urls.lock().push(url.to_owned());
        let build = |mcp: entreat_mcp::Builder| mcp.pages(Arc::new(Pages)).browser(open);
        let mut world = Self::with(build, McpSettings::default(), None).await;
        world.opened = opened;
        world
    }

    pub(crate) async fn with_keys(keys: KeyRing) -> Self {
        Self::with(|mcp| mcp, McpSettings::default(), Some(keys)).await
    }

    pub(crate) async fn with_resolver(resolver: impl Resolver + 'static) -> Self {
        let engine = Engine::builder().resolver(resolver);
        Self::on(engine, |mcp| mcp, McpSettings::default()).await
    }

    async fn with(
        build: impl FnOnce(entreat_mcp::Builder) -> entreat_mcp::Builder,
        settings: McpSettings,
        keys: Option<KeyRing>,
    ) -> Self {
        let mut engine = Engine::builder();
        if let Some(keys) = keys {
            engine = engine.keys(keys);
        }
        Self::on(engine, build, settings).await
    }

    pub(crate) async fn on(
        engine: EngineBuilder,
        build: impl FnOnce(entreat_mcp::Builder) -> entreat_mcp::Builder,
        settings: McpSettings,
    ) -> Self {
        let clock = VirtualClock::new(UnixTime::from_millis(1_800_000_000_000));
        let engine = engine.clock(clock.clone());
        let engine = engine.start().await.expect("the engine starts");
        let mut asker = engine.asker_settings().clone();
        asker.limits.creations_per_minute = None;
        asker.limits.requests_per_second = None;
        let asker = engine.asker_with("test", asker);
        let mcp = build(Mcp::builder(asker).settings(settings)).build();
        Self {
            engine,
            clock,
            mcp,
            opened: Arc::default(),
        }
    }

    /// A client of a server with this tool.
    pub(crate) async fn client<F, T>(&self, kind: Kind, tool: F) -> Client<DuplexStream>
    where
        F: Fn(Ask, JsonObject) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, ErrorData>> + Send + 'static,
    {
        self.client_with(kind, kind.capabilities(), tool).await
    }

    /// A client that declares these capabilities.
    pub(crate) async fn client_with<F, T>(
        &self,
        kind: Kind,
        capabilities: Value,
        tool: F,
    ) -> Client<DuplexStream>
    where
        F: Fn(Ask, JsonObject) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, ErrorData>> + Send + 'static,
    {
        let connection = self.connect(tool, 1 << 20);
        Client::connect_with(kind, capabilities, connection).await
    }

    /// A new connection to a server with this tool.
    pub(crate) fn raw<F, T>(&self, tool: F) -> DuplexStream
    where
        F: Fn(Ask, JsonObject) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, ErrorData>> + Send + 'static,
    {
        self.connect(tool, 1 << 16)
    }

    fn connect<F, T>(&self, tool: F, buffer: usize) -> DuplexStream
    where
        F: Fn(Ask, JsonObject) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, ErrorData>> + Send + 'static,
    {
        let tool =
            move |ask: Ask, arguments: JsonObject| -> Told { Box::pin(tool(ask, arguments)) };
        Self::connected(self.mcp.wrap(Server(Box::new(tool))), buffer)
    }

    /// A new connection to a server, which buffers this many bytes.
    pub(crate) fn connected<S: ServerHandler>(server: Wrapped<S>, buffer: usize) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(buffer);
        tokio::spawn(async move {
            if let Ok(running) = server.serve(theirs).await {
                let _ = running.waiting().await;
            }
        });
        ours
    }

    /// Serves a server over HTTP while the test runs; returns the address.
    pub(crate) async fn listen<S: ServerHandler>(server: Wrapped<S>) -> SocketAddr {
        Self::listen_with(server, StreamableHttpServerConfig::default()).await
    }

    /// Serves a server over HTTP with these settings for as long as the test runs; where.
    pub(crate) async fn listen_with<S: ServerHandler>(
        server: Wrapped<S>,
        settings: StreamableHttpServerConfig,
    ) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it has an address");
        let service = server.http(settings);
        let app = axum::Router::new().route_service("/mcp", service);
        tokio::spawn(async move { axum::serve(listener, app).await });
        address
    }

    /// Serves a tool over HTTP while the test runs; returns the address.
    pub(crate) async fn listen_tool<F, T>(&self, tool: F) -> SocketAddr
    where
        F: Fn(Ask, JsonObject) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, ErrorData>> + Send + 'static,
    {
        let tool =
            move |ask: Ask, arguments: JsonObject| -> Told { Box::pin(tool(ask, arguments)) };
        Self::listen(self.mcp.wrap(Server(Box::new(tool)))).await
    }

    /// Answers the page under a URL.
    pub(crate) async fn answer_page(&self, url: &str, answers: Value) -> Snapshot {
        let (_, id) = url.rsplit_once('/').expect("a page");
        let id: ElicitationId = id.parse().expect("an id");
        let question = self.engine.elicitation(id);
        question
            .submit(&answers)
            .await
            .expect("the page takes the answers")
    }

    /// Advances the clock once all tasks are waiting for it.
    pub(crate) async fn pass(&self, time: Duration) {
        settle().await;
        self.clock.advance(time);
        settle().await;
    }
}

/// Lets every task run until it waits for something.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn keys() -> KeyRing {
    KeyRing::generate(&SystemEntropy::new().expect("randomness"))
}

/// Name: at least two characters.
#[derive(Debug, Form)]
pub(crate) struct Name {
    #[form(min_length = 2)]
    pub(crate) name: String,
}

/// A key that nobody else may see.
#[derive(Debug, Form)]
pub(crate) struct ApiKey {
    #[form(sensitive)]
    pub(crate) key: String,
}

pub(crate) const LEGACY: [Era; 2] = [Era::V2025_06_18, Era::V2025_11_25];
pub(crate) const ROUNDS: Era = Era::V2026_07_28;
