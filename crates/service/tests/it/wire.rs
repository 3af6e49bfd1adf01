//! The methods behind real sockets and pipes, and small clients to reach them.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use entreat_service::Askers;
use entreat_service::http::{Http, HttpSettings};
use entreat_service::stdio;
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use crate::world::World;

/// Longer than any test takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap()
}

/// A server on its own port.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) end: CancellationToken,
    pub(crate) serving: JoinHandle<()>,
}

impl Server {
    /// For the world's asker without a key, and for `other` by the key `open-sesame`.
    pub(crate) async fn start(world: &World) -> Self {
        Self::with(world, |_| {}).await
    }

    pub(crate) async fn with(world: &World, change: impl FnOnce(&mut HttpSettings)) -> Self {
        let askers = Askers::none()
            .with_local(world.session.asker().clone())
            .with_key("open-sesame", world.engine.asker("other"));
        Self::for_askers(world, askers, change).await
    }

    pub(crate) async fn for_askers(
        world: &World,
        askers: Askers,
        change: impl FnOnce(&mut HttpSettings),
    ) -> Self {
        let mut settings = HttpSettings::default();
        change(&mut settings);
        let http = Http::with_settings(world.rpc.clone(), askers, settings)
            .with_metrics(|| "live 1\n".to_owned());
        Self::of(http).await
    }

    pub(crate) async fn of(http: Http) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, http)
    }

    /// For tests that need the address before the server starts.
    pub(crate) fn on(listener: TcpListener, http: Http) -> Self {
        let address = listener.local_addr().unwrap();
        let end = CancellationToken::new();
        let serving = tokio::spawn(http.serve(listener, end.clone().cancelled_owned()));
        Self {
            address,
            end,
            serving,
        }
    }

    pub(crate) async fn stop(self) {
        self.end.cancel();
        soon(self.serving).await.unwrap();
    }

    /// Sends a request on its own connection.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        Answer::of(self.open(request).await).await
    }

    /// Sends a request; the response body may still be arriving.
    pub(crate) async fn open(&self, request: Request<Full<Bytes>>) -> hyper::Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        tokio::spawn(connection);
        soon(sender.send_request(request)).await.unwrap()
    }

    /// A POST to `/rpc` as a program on this machine sends it.
    pub(crate) fn post(&self, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
        Request::post("/rpc")
            .header("host", self.address.to_string())
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
            .unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Request<Full<Bytes>> {
        Request::get(path)
            .header("host", self.address.to_string())
            .body(Full::default())
            .unwrap()
    }

    pub(crate) async fn web_socket(&self) -> WebSocketStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let url = format!("ws://{}/ws", self.address);
        let opened = soon(tokio_tungstenite::client_async(url, stream)).await;
        opened.unwrap().0
    }
}

/// A complete response.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) async fn of(response: hyper::Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        Self {
            status: parts.status,
            headers: parts.headers,
            body: soon(body.collect()).await.unwrap().to_bytes(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Pipes to the control API.
pub(crate) struct Pipes {
    pub(crate) input: Option<DuplexStream>,
    pub(crate) output: tokio::io::Lines<BufReader<DuplexStream>>,
    pub(crate) serving: JoinHandle<std::io::Result<()>>,
}

impl Pipes {
    pub(crate) fn start(world: &World) -> Self {
        let (input, theirs) = tokio::io::duplex(1 << 16);
        let (our_output, output) = tokio::io::duplex(1 << 16);
        let (rpc, asker) = (world.rpc.clone(), world.session.asker().clone());
        let serving = tokio::spawn(async move {
            let end = std::future::pending();
            stdio::serve(&rpc, asker, BufReader::new(theirs), our_output, end).await
        });
        Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
            serving,
        }
    }

    pub(crate) async fn send(&mut self, message: &str) {
        let line = format!("{message}\n");
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = soon(self.output.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

/// One of the three transports.
pub(crate) enum Wire {
    Http(Server),
    WebSocket(Box<WebSocketStream<TcpStream>>),
    Stdio(Pipes),
}

impl Wire {
    pub(crate) const NAMES: [&str; 3] = ["HTTP", "WebSocket", "stdio"];

    pub(crate) async fn open(name: &str, world: &World) -> Self {
        match name {
            "HTTP" => Self::Http(Server::start(world).await),
            "WebSocket" => {
                // It serves until its runtime ends.
                let server = Server::start(world).await;
                Self::WebSocket(Box::new(server.web_socket().await))
            }
            _ => Self::Stdio(Pipes::start(world)),
        }
    }

    /// The response to a message; skips notifications before it.
    pub(crate) async fn exchange(&mut self, message: &str) -> Value {
        match self {
            Self::Http(server) => {
                let request = server.post(message.to_owned());
                server.send(request).await.json()
            }
            Self::WebSocket(socket) => {
                socket.send(Message::text(message)).await.unwrap();
                loop {
                    let received = next_text(socket).await;
                    if received.get("id").is_some() || received.is_array() {
                        return received;
                    }
                }
            }
            Self::Stdio(pipes) => {
                pipes.send(message).await;
                loop {
                    let received = pipes.receive().await;
                    if received.get("id").is_some() || received.is_array() {
                        return received;
                    }
                }
            }
        }
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.exchange(&request.to_string()).await
    }
}

/// The next message of a WebSocket, without control frames.
pub(crate) async fn next_text(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        match soon(socket.next()).await.unwrap().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("unexpected {other:?}"),
        }
    }
}
