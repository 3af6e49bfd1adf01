//! The cost of hostile clients: linear time and bounded memory.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use entreat_mcp::McpSettings;
use entreat_mcp::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject,
};
use entreat_mcp::rmcp::service::{NotificationContext, RequestContext};
use entreat_mcp::rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines,
    ReadHalf, WriteHalf,
};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::world::{World, settle};

/// CPU time of this thread, which includes the server's.
fn cpu() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("it is Linux");
    let nanos = told.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanos.expect("a number"))
}

/// Peak memory of this process, in MiB.
fn peak() -> usize {
    let told = std::fs::read_to_string("/proc/self/status").expect("it is Linux");
    let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kibibytes.map(|it: usize| it >> 10).expect("a number")
}

struct Line {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Line {
    async fn open(world: &World) -> Self {
        Self::to(world.raw(|_, _: JsonObject| async { Ok("done".to_owned()) })).await
    }

    /// Connects to a server at the other end of this stream.
    async fn to(stream: DuplexStream) -> Self {
        let (from, to) = tokio::io::split(stream);
        let from = BufReader::new(from).lines();
        let mut line = Self { to, from };
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        line.send(&hello.to_string()).await;
        line.reply().await;
        line.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        line
    }

    async fn send(&mut self, line: &str) {
        self.to
            .write_all(line.as_bytes())
            .await
            .expect("the other end is there");
        self.to
            .write_all(b"\n")
            .await
            .expect("the other end is there");
    }

    async fn reply(&mut self) -> Value {
        let line = self
            .from
            .next_line()
            .await
            .expect("the other end is there")
            .expect("a line");
        serde_json::from_str(&line).expect("the other end is there")
    }

    /// Sends a start, a part repeated up to a size, and an end.
    async fn send_long(&mut self, start: &str, part: &str, size: usize, end: &str) {
        let piece = part.repeat((1 << 16) / part.len());
        self.to
            .write_all(start.as_bytes())
            .await
            .expect("the other end is there");
        for _ in 0..size / piece.len() {
            self.to
                .write_all(piece.as_bytes())
                .await
                .expect("the other end is there");
        }
        self.send(end).await;
    }

    /// The server still responds, whatever came before.
    async fn is_well(&mut self, id: &str) {
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        self.send(&ping.to_string()).await;
        while self.reply().await["id"] != id {}
    }
}

/// Lines as a hostile client would make them: start, part, end.
const HOSTILE: [(&str, &str, &str); 8] = [
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":""#,
        "x",
        r#""}}}"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":["#,
        "0,",
        "0]}}}",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"odd","params":["#,
        "{},",
        "{}]}",
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","#,
        r#""name":"t","#,
        r#""z":1}}"#,
    ),
    (r#"{"jsonrpc":"2.0","#, r#""id":1,"#, r#""method":"ping"}"#),
    ("[", r#"{"jsonrpc":"2.0","id":1,"method":"ping"},"#, "0]"),
    (r#"{"jsonrpc":"2.0","id":1,"result":"#, "[", ""),
    ("", "\\", ""),
];

#[tokio::test]
async fn long_lines_cost_time_in_proportion_and_bounded_memory() {
    let world = World::new().await;
    for (number, (start, part, end)) in HOSTILE.into_iter().enumerate() {
        let mut line = Line::open(&world).await;
        let mut costs = [4 << 20, 16 << 20].map(|size| (size, Duration::ZERO));
        for (size, cost) in &mut costs {
            let began = cpu();
            line.send_long(start, part, *size, end).await;
            line.is_well("well").await;
            *cost = cpu().saturating_sub(began);
        }
        let [(_, once), (_, four_times)] = costs;
        assert!(
            four_times < 10 * once + Duration::from_millis(50),
            "{number}: {costs:?}"
        );
    }
    assert!(peak() < 300, "{} MiB", peak());
}

#[tokio::test]
async fn a_line_of_64_mib_is_taken_or_left_out_and_the_next_one_comes() {
    let world = World::new().await;
    let (start, part, end) = HOSTILE[0];
    let mut line = Line::open(&world).await;
    let size = (64 << 20) - (1 << 16);
    line.send_long(start, part, size, end).await;
    line.is_well("a").await;
    line.send_long(start, part, 2 * size, end).await;
    line.is_well("b").await;
    let (start, part, end) = HOSTILE[1];
    line.send_long(start, part, size, end).await;
    line.is_well("c").await;
    assert!(peak() < 600, "{} MiB", peak());
}

#[tokio::test]
async fn many_calls_at_once_cost_in_proportion() {
    let world = World::new().await;
    let mut line = Line::open(&world).await;
    let mut costs = [1000, 4000].map(|calls| (calls, Duration::ZERO));
    for (calls, cost) in &mut costs {
        let began = cpu();
        for id in 0..*calls {
            let params = json!({"name": "t", "arguments": {}});
            let call =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            line.send(&call.to_string()).await;
        }
        for _ in 0..*calls {
            assert_eq!(line.reply().await["result"]["content"][0]["text"], "done");
        }
        *cost = cpu().saturating_sub(began);
    }
    let [(_, once), (_, four_times)] = costs;
    assert!(four_times < 10 * once, "{costs:?}");
}

#[tokio::test]
async fn a_client_that_reads_no_answers_is_not_read_from() {
    const ALL: usize = 200_000;
    let world = World::new().await;
    let Line { mut to, mut from } = Line::open(&world).await;
    let (count, mut written) = tokio::sync::watch::channel(0);
    let writing = tokio::spawn(async move {
        for id in 0..ALL {
            let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
            to.write_all(format!("{ping}\n").as_bytes())
                .await
                .expect("the other end is there");
            count.send_replace(id + 1);
        }
        to
    });
    let mut before = usize::MAX;
    while *written.borrow_and_update() != before {
        before = *written.borrow();
        for _ in 0..50 {
            settle().await;
        }
    }
    assert!(before < ALL / 4, "{before} requests were taken");
    // Once the client reads, each request has a response: its result, or an error that there were
    // too many.
    for _ in 0..ALL {
        let line = from
            .next_line()
            .await
            .expect("the other end is there")
            .expect("a line");
        let answer: Value = serde_json::from_str(&line).expect("the other end is there");
        assert!(answer["id"].is_number(), "{answer}");
    }
    let to = writing.await.expect("the other end is there");
    Line { to, from }.is_well("well").await;
}

/// A server whose handlers hang until they are released or cancelled.
struct Hanging {
    notifications: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    release: Arc<Semaphore>,
}

impl Hanging {
    async fn hang(&self, running: &AtomicUsize) {
        let _running = Running::new(running);
        let _ = self.release.acquire().await;
    }
}

/// Counts a handler while it runs.
struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ServerHandler for Hanging {
    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.hang(&self.notifications).await;
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.hang(&self.calls).await;
        Ok(CallToolResult::success(Vec::new()).into())
    }
}

#[tokio::test(start_paused = true)]
async fn notifications_are_read_as_they_are_handled_and_do_not_block_the_rest() {
    let world = World::new().await;
    let server = Hanging {
        notifications: Arc::default(),
        calls: Arc::default(),
        release: Arc::new(Semaphore::new(0)),
    };
    let (notifications, calls) = (server.notifications.clone(), server.calls.clone());
    let release = server.release.clone();
    let mut line = Line::to(World::connected(world.mcp.wrap(server), 1 << 16)).await;
    line.send(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    for _ in 0..20_000 {
        line.send(changed).await;
    }
    // A handler may wait for a response that comes after further notifications, so these must not
    // keep it from being read.
    line.is_well("while they hang").await;
    let count = notifications.load(Ordering::SeqCst);
    assert!((500..=1100).contains(&count), "{count} handlers run");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    line.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#)
        .await;
    line.is_well("cancelled").await;
    settle().await;
    assert_eq!(
        calls.load(Ordering::SeqCst),
        0,
        "a cancellation is not dropped"
    );
    release.add_permits(1);
    settle().await;
    assert_eq!(notifications.load(Ordering::SeqCst), 0);
    release.forget_permits(1);
    line.send(changed).await;
    line.is_well("released").await;
    settle().await;
    assert_eq!(
        notifications.load(Ordering::SeqCst),
        1,
        "one is handled again"
    );
}

#[tokio::test]
async fn a_second_request_of_an_id_that_is_open_is_refused() {
    let world = World::new().await;
    let stream = world.raw(|_, _: JsonObject| std::future::pending());
    let mut line = Line::to(stream).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
    line.send(call).await;
    line.send(call).await;
    let refused = line.reply().await;
    assert_eq!(refused["id"], Value::Null);
    assert_eq!(
        refused["error"]["message"],
        "a request with this id is already open"
    );
    // A cancelled request is no longer open.
    line.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    line.send(call).await;
    line.is_well("well").await;
}

async fn post(address: SocketAddr, length: usize, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address)
        .await
        .expect("the other end is there");
    let head = format!(
        "POST /mcp HTTP/1.0\r\nhost: {address}\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream
        .write_all(head.as_bytes())
        .await
        .expect("the other end is there");
    // It may respond before it has read everything.
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
    (status.unwrap_or_default(), answer)
}

#[tokio::test]
async fn bodies_cost_time_in_proportion_and_bounded_memory() {
    let world = World::new().await;
    let address = world
        .listen_tool(|_, _| async { Ok("done".to_owned()) })
        .await;
    for (number, (start, part, end)) in HOSTILE.into_iter().enumerate() {
        let mut costs = [1 << 20, 4 << 20].map(|size| (size, Duration::ZERO));
        for (size, cost) in &mut costs {
            let parts = part.repeat((*size - 200) / part.len());
            let body = format!("{start}{parts}{end}");
            let began = cpu();
            let (status, _) = post(address, body.len(), body.as_bytes()).await;
            assert!((400..500).contains(&status), "{number}: {status}");
            *cost = cpu().saturating_sub(began);
        }
        let [(_, once), (_, four_times)] = costs;
        assert!(
            four_times < 10 * once + Duration::from_millis(50),
            "{number}: {costs:?}"
        );
    }
    let (start, part, end) = HOSTILE[1];
    let body = format!("{start}{}{end}", part.repeat(1 << 20));
    let (status, text) = post(address, body.len(), body.as_bytes()).await;
    assert_eq!(status, 413);
    assert!(text.contains("too many values"), "{text}");
    let (status, _) = post(address, 5 << 20, &vec![b' '; 5 << 20]).await;
    assert!(matches!(status, 413 | 0), "{status}");
    assert!(peak() < 200, "{} MiB", peak());
}

#[tokio::test]
async fn a_body_that_does_not_come_ends_the_request() {
    let settings = McpSettings {
        body_timeout: Duration::from_millis(50),
        ..McpSettings::default()
    };
    let world = World::with_settings(settings).await;
    let address = world
        .listen_tool(|_, _| async { Ok("done".to_owned()) })
        .await;
    let (status, _) = post(address, 10, b"{").await;
    assert_eq!(status, 408);
}
