//! Over HTTP/1.1: an echo server, relays to compare with, and a client. Server and client are
//! written by hand: what a library does would be measured too.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use entreat_wire::http::Client;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use memchr::memmem;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::message::{Action, Calls, Echo, Era, initialize, initialized, question};
use crate::{IN_FLIGHT, Way, resident};

const SESSION: &str = "mcp-session-id";

fn run(server: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(server);
}

/// Listens on a free port, which it prints.
fn listen() -> TcpListener {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let listener = socket.listen(4096).unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    listener
}

// ---- the echo server

/// Calls that wait for the answer to their question.
type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>;

pub(crate) fn serve(era: Era) {
    allow_files();
    run(async move {
        let listener = listen();
        let (echo, waiting) = (Echo::new(era), Waiting::default());
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, echo.clone(), waiting.clone()));
        }
    });
}

async fn connection(mut stream: TcpStream, echo: Echo, waiting: Waiting) {
    stream.set_nodelay(true).unwrap();
    let (mut buffer, mut body, mut out) = (Vec::with_capacity(2048), Vec::new(), Vec::new());
    loop {
        let (head, length) = loop {
            if let Some(found) = whole(&buffer) {
                break found;
            }
            if !matches!(stream.read_buf(&mut buffer).await, Ok(read) if read > 0) {
                return;
            }
        };
        out.clear();
        body.clear();
        if buffer.starts_with(b"POST ") {
            match echo.answer(&buffer[head..head + length], &mut body) {
                Action::Answer => respond(&mut out, "200 OK", &body),
                Action::Nothing => respond(&mut out, "202 Accepted", b""),
                Action::Answered(id) => {
                    let asking = waiting.lock().remove(&id);
                    let _ = asking.unwrap().send(());
                    respond(&mut out, "202 Accepted", b"");
                }
                Action::Ask(id) => ask(&mut stream, &echo, &waiting, id, &mut out).await,
            }
        } else {
            let status = if buffer.starts_with(b"DELETE ") {
                "200 OK"
            } else {
                "405 Not Here"
            };
            respond(&mut out, status, b"");
        }
        if stream.write_all(&out).await.is_err() {
            return;
        }
        buffer.drain(..head + length);
    }
}

/// Asks on the stream of the call, and answers it when the answer is there.
async fn ask(stream: &mut TcpStream, echo: &Echo, waiting: &Waiting, id: &str, out: &mut Vec<u8>) {
    let (sender, answered) = oneshot::channel();
    let key = {
        let mut waiting = waiting.lock();
        let key = (0..).map(|number| format!("q{number}-{id}"));
        let key = key
            .into_iter()
            .find(|key| !waiting.contains_key(key))
            .unwrap();
        waiting.insert(key.clone(), sender);
        key
    };
    let event = |message: &str| {
        let event = format!("data: {message}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len())
    };
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
        transfer-encoding: chunked\r\n\r\n";
    let asked = event(&question(&key).to_string());
    stream
        .write_all(format!("{head}{asked}").as_bytes())
        .await
        .unwrap();
    answered.await.unwrap();
    let mut result = Vec::new();
    echo.result(id, &mut result);
    let result = event(std::str::from_utf8(&result).unwrap());
    out.extend_from_slice(result.as_bytes());
    out.extend_from_slice(b"0\r\n\r\n");
}

/// Where the body of a message begins that has arrived as a whole, and how long it is.
fn whole(buffer: &[u8]) -> Option<(usize, usize)> {
    let head = memmem::find(buffer, b"\r\n\r\n")? + 4;
    let length = header(&buffer[..head], "content-length").map_or(0, |it| it.parse().unwrap());
    (buffer.len() >= head + length).then_some((head, length))
}

fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut found = lines.filter_map(|line| {
        let (key, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        key.eq_ignore_ascii_case(name.as_bytes()).then_some(value)
    });
    Some(std::str::from_utf8(found.next()?.trim_ascii()).unwrap())
}

fn respond(out: &mut Vec<u8>, status: &str, body: &[u8]) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{SESSION}: s\r\n\
         content-length: {length}\r\n\r\n"
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body);
}

/// So many files as the system allows.
fn allow_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

// ---- the pump

/// Connections to the server that nobody uses now.
type Idle = Arc<Mutex<Vec<SendRequest<Full<Bytes>>>>>;

/// The least that a relay over HTTP does: reads a request, sends it on a connection that it keeps,
/// and passes the response back. With trees, it reads each message into one and writes it again.
pub(crate) fn pump(port: u16, has_trees: bool) {
    run(async move {
        let listener = listen();
        let idle = Idle::default();
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let idle = idle.clone();
            let service = service_fn(move |request| pass(port, has_trees, idle.clone(), request));
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
}

async fn pass(
    port: u16,
    has_trees: bool,
    idle: Idle,
    request: hyper::Request<Incoming>,
) -> hyper::Result<hyper::Response<Full<Bytes>>> {
    let (mut head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    head.headers.remove("content-length");
    let request = hyper::Request::from_parts(head, Full::new(turned(body, has_trees)));
    let kept = idle.lock().pop();
    let mut connection = if let Some(connection) = kept {
        connection
    } else {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let io = TokioIo::new(stream);
        let (sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        tokio::spawn(connection);
        sender
    };
    connection.ready().await?;
    let (mut head, body) = connection.send_request(request).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    idle.lock().push(connection);
    head.headers.remove("content-length");
    Ok(hyper::Response::from_parts(
        head,
        Full::new(turned(body, has_trees)),
    ))
}

fn turned(body: Bytes, has_trees: bool) -> Bytes {
    if !has_trees || body.is_empty() {
        return body;
    }
    let tree: Value = serde_json::from_slice(&body).unwrap();
    serde_json::to_vec(&tree).unwrap().into()
}

// ---- connections alone

/// Holds so many responses open that a server has begun, by the client that the gateway uses.
/// Prints what each takes, in bytes.
pub(crate) fn hold(port: u16, count: usize) {
    allow_files();
    run(async move {
        let client = Client::builder(&format!("http://127.0.0.1:{port}/mcp"))
            .reusing_connections()
            .build()
            .unwrap();
        let mut calls = Calls::of(Era::Legacy, "ask");
        let before = resident(std::process::id());
        let mut held = Vec::with_capacity(count);
        for _ in 0..count {
            let mut body = Vec::new();
            calls.add(&mut body);
            let request = client.request(hyper::Method::POST).body(Bytes::from(body));
            held.push(request.send().await.unwrap());
        }
        println!(
            "{}",
            resident(std::process::id()).saturating_sub(before) / count
        );
    });
}

// ---- the client

/// A client with connections that are kept.
pub(crate) struct WebClient {
    head: String,
    calls: Calls,
    streams: Vec<Connection>,
    port: u16,
}

struct Connection {
    stream: std::net::TcpStream,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

impl WebClient {
    /// Connects, with further headers.
    pub(crate) fn start(port: u16, path: &str, headers: &str, calls: Calls) -> Self {
        let mut client = Self::unconnected(port, path, headers, calls);
        client.connect(1);
        client.greet();
        let answer = client.call(0);
        let answer = message_in(&answer);
        assert_eq!(answer["result"]["content"][0]["type"], "text", "{answer}");
        client.connect(IN_FLIGHT);
        client
    }

    pub(crate) fn unconnected(port: u16, path: &str, headers: &str, calls: Calls) -> Self {
        let named = match calls.era {
            Era::Legacy => String::new(),
            Era::Modern => format!("mcp-method: tools/call\r\nmcp-name: {}\r\n", calls.tool),
        };
        let version = calls.era.version();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: {version}\r\n\
             {named}{headers}"
        );
        Self {
            head,
            calls,
            streams: Vec::new(),
            port,
        }
    }

    /// Opens connections until there are so many.
    pub(crate) fn connect(&mut self, count: usize) {
        while self.streams.len() < count {
            let stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            stream.set_nodelay(true).unwrap();
            self.streams.push(Connection {
                stream,
                buffer: Vec::new(),
                out: Vec::new(),
            });
        }
    }

    pub(crate) fn disconnect(&mut self) {
        self.streams.clear();
    }

    /// The handshake, where there is one.
    pub(crate) fn greet(&mut self) {
        if self.calls.era == Era::Modern {
            return;
        }
        self.write(0, &initialize().to_string());
        let head = self.streams[0].read().0;
        if let Some(session) = header(&head, SESSION) {
            self.head.extend([SESSION, ": ", session, "\r\n"]);
        }
        self.write(0, &initialized().to_string());
        self.streams[0].read();
    }

    pub(crate) fn write(&mut self, at: usize, body: &str) {
        let length = body.len();
        let request = format!("{}content-length: {length}\r\n\r\n{body}", self.head);
        self.streams[at]
            .stream
            .write_all(request.as_bytes())
            .unwrap();
    }

    /// The body of the next response.
    pub(crate) fn read(&mut self, at: usize) -> String {
        String::from_utf8(self.streams[at].read().1).unwrap()
    }

    pub(crate) fn send_call(&mut self, at: usize) {
        let connection = &mut self.streams[at];
        let out = &mut connection.out;
        out.clear();
        out.extend_from_slice(self.head.as_bytes());
        write!(out, "content-length: {}\r\n\r\n", self.calls.len()).unwrap();
        self.calls.add(out);
        connection.stream.write_all(out).unwrap();
    }

    fn call(&mut self, at: usize) -> String {
        self.send_call(at);
        self.read(at)
    }
}

/// The message of a body, which may be an event, in chunks.
pub(crate) fn message_in(body: &str) -> Value {
    let (begin, end) = (body.find('{'), body.rfind('}'));
    let message = begin.zip(end).map(|(begin, end)| &body[begin..=end]);
    serde_json::from_str(message.unwrap_or(body)).unwrap_or_else(|_| panic!("{body}"))
}

impl Connection {
    /// Reads a response as a whole; its head and its body.
    fn read(&mut self) -> (Vec<u8>, Vec<u8>) {
        let (head, end) = self.wait();
        let mut body = self.buffer.split_off(head);
        body.truncate(end - head);
        (std::mem::take(&mut self.buffer), body)
    }

    /// Waits for a response; where its body begins and ends.
    fn wait(&mut self) -> (usize, usize) {
        self.buffer.clear();
        let mut chunk = [0; 4096];
        loop {
            let read = self.stream.read(&mut chunk).unwrap();
            assert!(read > 0, "hung up");
            self.buffer.extend_from_slice(&chunk[..read]);
            let Some(head) = memmem::find(&self.buffer, b"\r\n\r\n") else {
                continue;
            };
            let head = head + 4;
            assert!(
                self.buffer.starts_with(b"HTTP/1.1 2"),
                "{}",
                String::from_utf8_lossy(&self.buffer)
            );
            if memmem::find(&self.buffer[..head], b"chunked").is_some() {
                if self.buffer.ends_with(b"\r\n0\r\n\r\n") {
                    return (head, self.buffer.len());
                }
            } else if let Some((head, length)) = whole(&self.buffer) {
                return (head, head + length);
            }
        }
    }
}

impl Way for WebClient {
    fn one(&mut self) -> Duration {
        let began = Instant::now();
        self.send_call(0);
        self.streams[0].wait();
        began.elapsed()
    }

    fn flight(&mut self, limit: Duration) -> f64 {
        let (began, mut done) = (Instant::now(), 0_u32);
        for at in 0..IN_FLIGHT {
            self.send_call(at);
        }
        let mut open = IN_FLIGHT;
        while open > 0 {
            let goes_on = began.elapsed() < limit;
            for at in 0..IN_FLIGHT {
                self.streams[at].wait();
                done += 1;
                if goes_on {
                    self.send_call(at);
                } else {
                    open -= 1;
                }
            }
        }
        f64::from(done) / began.elapsed().as_secs_f64()
    }
}
