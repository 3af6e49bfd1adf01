//! A gateway between a scripted client and a scripted server, on a virtual clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::{Elicitation, Engine, Links};
use entreat_gateway::side::pipe;
use entreat_gateway::{Builder, Gateway, GatewaySettings, Policy, Upstream, UpstreamEra};
use entreat_testkit::VirtualClock;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::io::{ReadHalf, WriteHalf, split};

/// What a client of 2026-07-28 says in each request, beside its capabilities.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Pages that are not served; their questions are answered through the engine.
struct Pages;

impl Links for Pages {
    fn page(&self, id: ElicitationId) -> Option<String> {
        Some(format!("https://ask.example/e/{id}"))
    }
}

/// Which ways to a person there are besides the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ways {
    None,
    Pages,
    Browser,
}

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: VirtualClock,
    pub(crate) gateway: Arc<Gateway>,
    /// Addresses that were opened in the browser.
    opened: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub(crate) async fn new(ways: Ways) -> Self {
        Self::with(ways, GatewaySettings::default()).await
    }

    pub(crate) async fn with(ways: Ways, settings: GatewaySettings) -> Self {
        Self::built(ways, |gateway| gateway.settings(settings)).await
    }

    pub(crate) async fn built(ways: Ways, build: impl FnOnce(Builder) -> Builder) -> Self {
        Self::on(ways, Engine::builder(), build).await
    }

    /// A gateway on an engine of its own kind, such as one with a durable store.
    pub(crate) async fn on(
        ways: Ways,
        engine: entreat_engine::Builder,
        build: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        let clock = VirtualClock::new(UnixTime::from_millis(1_800_000_000_000));
        let engine = engine.clock(clock.clone());
        let engine = engine.start().await.expect("the engine starts");
        let mut asker = engine.asker_settings().clone();
        asker.limits.creations_per_minute = None;
        asker.limits.requests_per_second = None;
        let mut gateway = Gateway::builder(engine.asker_with("gateway", asker));
        let opened: Arc<Mutex<Vec<String>>> = Arc::default();
        if ways != Ways::None {
            gateway = gateway.pages(Arc::new(Pages));
        }
        if ways == Ways::Browser {
            let urls = opened.clone();
            gateway = gateway.browser(move |url| urls.lock().push(url.to_owned()));
        }
        Self {
            engine,
            clock,
            gateway: build(gateway).build(),
            opened,
        }
    }

    /// Connects a client and a server through the gateway.
    pub(crate) fn connect(&self) -> Pair {
        self.connect_with(Policy::default())
    }

    /// Connects a client and a server that may offer what a policy says. Without one that depends on
    /// lists, the server lists no tools when the gateway itself asks for them.
    pub(crate) fn connect_with(&self, policy: Policy) -> Pair {
        let (server, theirs) = tokio::io::duplex(1 << 20);
        let lists = Arc::new(AtomicUsize::new(0));
        let theirs = if policy.pins.is_some() {
            theirs
        } else {
            listing_nothing(theirs, lists.clone())
        };
        let mut pair = self.connect_to(server, theirs, |upstream| upstream.policy = policy);
        pair.client.lists = lists;
        pair
    }

    /// Connects a client and a server that has to list its tools itself.
    pub(crate) fn connect_listing(&self) -> Pair {
        self.connect_changed(|_| {})
    }

    /// Connects a client and a server of which the gateway knows something else than usual.
    pub(crate) fn connect_changed(&self, change: impl FnOnce(&mut Upstream)) -> Pair {
        let (server, theirs) = tokio::io::duplex(1 << 20);
        self.connect_to(server, theirs, change)
    }

    fn connect_to(
        &self,
        server: DuplexStream,
        theirs: DuplexStream,
        change: impl FnOnce(&mut Upstream),
    ) -> Pair {
        let (client, ours) = tokio::io::duplex(1 << 20);
        let (reader, writer) = split(theirs);
        let (sender, receiver) = pipe::connect(reader, writer);
        let mut upstream = Upstream {
            is_named: false,
            sender,
            receiver,
            name: "server".to_owned(),
            url: None,
            policy: Policy::default(),
            era: UpstreamEra::Auto,
        };
        change(&mut upstream);
        let gateway = self.gateway.clone();
        tokio::spawn(async move {
            let (reader, writer) = split(ours);
            gateway.wrap(reader, writer, upstream).await;
        });
        Pair {
            client: Peer::new(client),
            server: Peer::new(server),
        }
    }

    /// Lets time pass, and what is due run.
    pub(crate) async fn pass(&self, time: Duration) {
        settle().await;
        self.clock.advance(time);
        settle().await;
    }

    /// The address that was opened in the browser since the last time; panics unless it is one.
    pub(crate) async fn opened(&self) -> String {
        settle().await;
        let mut opened = self.opened.lock();
        assert_eq!(opened.len(), 1, "{opened:?}");
        opened.pop().unwrap_or_default()
    }

    /// All addresses that were opened since the last time.
    pub(crate) async fn all_opened(&self) -> Vec<String> {
        settle().await;
        std::mem::take(&mut *self.opened.lock())
    }

    pub(crate) async fn nothing_opened(&self) {
        settle().await;
        assert_eq!(*self.opened.lock(), Vec::<String>::new());
    }

    /// The question behind the address of a page.
    pub(crate) fn question(&self, url: &str) -> Elicitation {
        let (_, id) = url.rsplit_once('/').expect("an address");
        self.engine.elicitation(id.parse().expect("an id"))
    }

    /// Answers on a page.
    pub(crate) async fn answer(&self, url: &str, answers: Value) {
        let question = self.question(url);
        question.submit(&answers).await.expect("a valid answer");
        settle().await;
    }
}

/// A server's stream on which the gateway's own requests for its tools get an empty list, without
/// the server; `lists` counts the client's.
fn listing_nothing(server: DuplexStream, lists: Arc<AtomicUsize>) -> DuplexStream {
    let (ours, gateways) = tokio::io::duplex(1 << 20);
    let (from_server, mut to_server) = split(server);
    let (from_gateway, to_gateway) = split(ours);
    let to_gateway = Arc::new(tokio::sync::Mutex::new(to_gateway));
    let gateway = to_gateway.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::new(from_gateway);
        let mut line = Vec::new();
        while lines
            .read_until(b'\n', &mut line)
            .await
            .is_ok_and(|length| length > 0)
        {
            let is_list = memchr::memmem::find(&line, b"\"method\":\"tools/list\"").is_some();
            let is_own = is_list
                && lists
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                        count.checked_sub(1)
                    })
                    .is_err();
            let written = if is_own {
                let request: Value = serde_json::from_slice(&line).expect("JSON");
                let result = json!({"jsonrpc": "2.0", "id": request["id"],
                    "result": {"resultType": "complete", "tools": []}});
                let text = format!("{result}\n");
                gateway.lock().await.write_all(text.as_bytes()).await
            } else {
                to_server.write_all(&line).await
            };
            if written.is_err() {
                break;
            }
            line.clear();
        }
        let _ = to_server.shutdown().await;
    });
    tokio::spawn(async move {
        let mut lines = BufReader::new(from_server);
        let mut line = Vec::new();
        while lines
            .read_until(b'\n', &mut line)
            .await
            .is_ok_and(|length| length > 0)
        {
            if to_gateway.lock().await.write_all(&line).await.is_err() {
                break;
            }
            line.clear();
        }
        let _ = to_gateway.lock().await.shutdown().await;
    });
    gateways
}

/// A client and a server with the gateway between them.
pub(crate) struct Pair {
    pub(crate) client: Peer,
    pub(crate) server: Peer,
}

impl Pair {
    /// Has the client call a tool; returns the call that the server gets.
    pub(crate) async fn called(
        &mut self,
        id: impl Into<Value>,
        tool: &str,
        arguments: Value,
    ) -> Value {
        self.client.call(id, tool, arguments).await;
        self.server.next().await
    }

    /// Has the server ask for an answer to a form; returns the question that the client gets.
    pub(crate) async fn asked(&mut self, id: impl Into<Value>, form: Value) -> Value {
        self.server.ask(id, form).await;
        self.client.next().await
    }

    /// The handshake of 2025, with both in one version.
    pub(crate) async fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        self.initialize_as(version, version, capabilities).await
    }

    /// The handshake of 2025; returns what the server was told.
    pub(crate) async fn initialize_as(
        &mut self,
        client: &str,
        server: &str,
        capabilities: Value,
    ) -> Value {
        let params = json!({"protocolVersion": client, "capabilities": capabilities,
            "clientInfo": {"name": "client", "version": "1"}});
        self.client.request(0, "initialize", params).await;
        let told = self.server.next().await;
        assert_eq!(told["method"], "initialize");
        let result = json!({"protocolVersion": server,
            "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true},
                "logging": {}},
            "serverInfo": {"name": "files", "version": "1"}});
        self.server.reply(&told, result).await;
        let answer = self.client.next().await;
        assert_eq!(answer["result"]["protocolVersion"], client, "{answer}");
        self.client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        let initialized = self.server.next().await;
        assert_eq!(initialized["method"], "notifications/initialized");
        told["params"].clone()
    }

    /// Has the server of 2026-07-28 say what it is, when it is asked.
    pub(crate) async fn discover(&mut self) -> Value {
        let asked = self.server.next().await;
        assert_eq!(asked["method"], "server/discover", "{asked}");
        self.server.reply(&asked, discovered()).await;
        asked["params"].clone()
    }

    /// The handshake of a client of 2025 with a server of 2026-07-28.
    /// Returns the request with which the gateway listens for changes.
    pub(crate) async fn initialize_raised(&mut self, version: &str, capabilities: Value) -> Value {
        self.initialize_raised_only(version, capabilities).await;
        let listen = self.server.next().await;
        assert_eq!(listen["method"], "subscriptions/listen");
        listen
    }

    /// The handshake of a client of 2025 with a server of 2026-07-28, after which the gateway
    /// listens for changes.
    pub(crate) async fn initialize_raised_only(&mut self, version: &str, capabilities: Value) {
        let params = json!({"protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "client", "version": "1"}});
        self.client.request(0, "initialize", params).await;
        let told = self.server.next().await;
        assert_eq!(told["method"], "initialize");
        self.server
            .fail(
                &told,
                json!({"code": -32601, "message": "Method not found"}),
            )
            .await;
        self.discover().await;
        let answer = self.client.next().await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        assert_eq!(answer["result"]["serverInfo"]["name"], "files");
        self.client
            .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
    }

    /// Makes the server one of 2025 for a client of 2026-07-28, whose first request has gone out.
    pub(crate) async fn lower(&mut self) -> Value {
        let asked = self.server.next().await;
        assert_eq!(asked["method"], "server/discover", "{asked}");
        self.server
            .fail(
                &asked,
                json!({"code": -32601, "message": "Method not found"}),
            )
            .await;
        let told = self.server.next().await;
        assert_eq!(told["method"], "initialize", "{told}");
        let result = json!({"protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true},
                "logging": {}},
            "serverInfo": {"name": "files", "version": "1"}});
        self.server.reply(&told, result).await;
        let initialized = self.server.next().await;
        assert_eq!(initialized["method"], "notifications/initialized");
        told["params"].clone()
    }

    /// Has the server agree to log what a call asked for; returns the call's own request.
    pub(crate) async fn set_level(&mut self) -> Value {
        let told = self.server.next().await;
        assert_eq!(told["method"], "logging/setLevel", "{told}");
        self.server.reply(&told, json!({})).await;
        self.server.next().await
    }
}

/// What a server of 2026-07-28 says of itself.
pub(crate) fn discovered() -> Value {
    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true},
            "logging": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "files", "version": "1"}},
        "ttlMs": 0, "cacheScope": "private"})
}

/// Parameters as a client of 2026-07-28 sends them.
pub(crate) fn modern(params: Value, capabilities: Value) -> Value {
    let mut params = params;
    params["_meta"][VERSION] = json!("2026-07-28");
    params["_meta"][INFO] = json!({"name": "client", "version": "1"});
    params["_meta"][CAPABILITIES] = capabilities;
    params
}

/// What a client declares that shows everything.
pub(crate) fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

/// A result of 2026-07-28 that ends its call.
pub(crate) fn complete(mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result
}

/// Settings with so many bytes of memory.
pub(crate) fn with_memory(memory: usize) -> GatewaySettings {
    GatewaySettings {
        memory,
        ..GatewaySettings::default()
    }
}

/// The page that a result has the link to, and the handle to go on with.
pub(crate) fn page_and_handle(message: &Value) -> (String, String) {
    let said = message["result"]["content"][0]["text"].as_str();
    let said = said.unwrap_or_else(|| panic!("there is no link: {message}"));
    let mut words = said.split_whitespace();
    let page = words.find(|word| word.starts_with("https://"));
    let (_, rest) = said.split_once(r#""question": ""#).expect("a handle");
    let handle = rest.split('"').next().expect("its end");
    (page.expect("a page").to_owned(), handle.to_owned())
}

/// Panics unless a request was refused because there was no memory for it.
pub(crate) fn is_busy(refused: &Value, id: u64) {
    assert_eq!(
        (&refused["id"], &refused["error"]["data"]["reason"]),
        (&json!(id), &json!("busy")),
        "{refused}"
    );
}

/// One end of a connection that speaks in lines.
pub(crate) struct Peer {
    reader: BufReader<ReadHalf<DuplexStream>>,
    pub(crate) writer: WriteHalf<DuplexStream>,
    /// Counts requests for lists of tools.
    lists: Arc<AtomicUsize>,
}

impl Peer {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = split(stream);
        Self {
            reader: BufReader::new(reader),
            writer,
            lists: Arc::default(),
        }
    }

    pub(crate) async fn raw(&mut self, line: &str) {
        let lists = line.matches("\"tools/list\"").count();
        self.lists.fetch_add(lists, Ordering::Relaxed);
        let line = format!("{line}\n");
        self.writer.write_all(line.as_bytes()).await.expect("open");
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.raw(&message.to_string()).await;
    }

    pub(crate) async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Calls a tool.
    pub(crate) async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        self.request(
            id,
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        )
        .await;
    }

    /// Asks for an answer to a form.
    pub(crate) async fn ask(&mut self, id: impl Into<Value>, form: Value) {
        self.request(id, "elicitation/create", form).await;
    }

    /// Answers a request that came with [`next`](Self::next).
    pub(crate) async fn reply(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
    }

    pub(crate) async fn fail(&mut self, request: &Value, error: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
            .await;
    }

    /// The next message, as it was written.
    pub(crate) async fn line(&mut self) -> String {
        let mut line = String::new();
        // A test that waits for nothing fails at once rather than hang.
        for _ in 0..2_000 {
            tokio::select! {
                biased;
                read = self.reader.read_line(&mut line) => {
                    read.expect("UTF-8");
                    line.truncate(line.trim_end().len());
                    return line;
                }
                () = tokio::task::yield_now() => {}
            }
        }
        panic!("there is no message; the line begins with {line:?}");
    }

    /// The next message, as it was written, however many turns it takes to arrive.
    pub(crate) async fn whole_line(&mut self) -> String {
        let mut line = String::new();
        let reading = self.reader.read_line(&mut line);
        let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
        read.expect("it takes too long").expect("UTF-8");
        line
    }

    /// The next message. Panics at the end of the connection.
    pub(crate) async fn next(&mut self) -> Value {
        let line = self.line().await;
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The next message, if there is one after everything has run.
    pub(crate) async fn next_if_any(&mut self) -> Option<Value> {
        settle().await;
        tokio::select! {
            biased;
            message = self.next() => Some(message),
            () = tokio::task::yield_now() => None,
        }
    }

    /// Panics if there is a message.
    pub(crate) async fn nothing(&mut self) {
        settle().await;
        let mut line = String::new();
        tokio::select! {
            biased;
            _ = self.reader.read_line(&mut line) => panic!("unexpected: {line}"),
            () = tokio::task::yield_now() => {}
        }
    }
}

/// Lets everything run that does not wait for time.
pub(crate) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A result of a tool.
pub(crate) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A form with one field.
pub(crate) fn name_form() -> Value {
    json!({"message": "What is your name?", "requestedSchema": {"type": "object",
        "properties": {"name": {"type": "string", "title": "Name", "minLength": 2}},
        "required": ["name"]}})
}
