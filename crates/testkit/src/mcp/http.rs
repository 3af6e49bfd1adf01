//! Clients over Streamable HTTP, for tests of headers, sessions, and several servers behind one
//! address.

use std::net::SocketAddr;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;

use super::{Kind, Reply};

/// A client over Streamable HTTP. Each request uses a new connection.
///
/// Connection errors fail the test.
#[derive(Clone, Debug)]
pub struct HttpClient {
    /// The address of the next request, with the path `/mcp`.
    pub address: SocketAddr,
    kind: Kind,
    capabilities: Value,
    headers: String,
    session: Option<String>,
}

/// A streamed HTTP response.
#[derive(Debug)]
pub struct HttpAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    lines: Lines<BufReader<TcpStream>>,
}

#[expect(
    clippy::missing_panics_doc,
    reason = "whatever goes wrong fails the test"
)]
impl HttpClient {
    /// Creates a client that is not connected.
    pub fn new(kind: Kind, address: SocketAddr) -> Self {
        Self {
            address,
            kind,
            capabilities: kind.capabilities(),
            headers: String::new(),
            session: None,
        }
    }

    /// Declares other capabilities.
    #[must_use]
    pub fn declaring(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sends a header with every request from now on.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.extend([name, ": ", value, "\r\n"]);
        self
    }

    /// Starts a session, if the era has one.
    pub async fn begin(mut self) -> Self {
        if self.kind.has_rounds() {
            return self;
        }
        let info = json!({"name": "entreat-testkit", "version": "1"});
        let params = json!({"protocolVersion": self.kind.era.version(),
            "capabilities": self.capabilities, "clientInfo": info});
        let mut answer = self.send("initialize", params).await;
        let greeted = answer.reply().await;
        assert_eq!(
            greeted.result()["protocolVersion"],
            self.kind.era.version(),
            "{greeted:?}"
        );
        self.session = answer.header("mcp-session-id").map(str::to_owned);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post(&ready, "").await;
        self
    }

    /// Joins the session of another client.
    #[must_use]
    pub fn in_session_of(mut self, other: &Self) -> Self {
        self.session.clone_from(&other.session);
        self
    }

    /// Joins the session of this id.
    #[must_use]
    pub fn in_session(mut self, id: &str) -> Self {
        self.session = Some(id.to_owned());
        self
    }

    /// Sends a request without a body, such as `GET` or `DELETE`.
    pub async fn bare(&self, method: &str) -> HttpAnswer {
        self.request(method, "", "").await
    }

    /// Makes one round of a call, with additional parameters; answers nothing.
    pub async fn round(&self, tool: &str, arguments: Value, extra: Value) -> Reply {
        self.call(tool, arguments, extra).await.reply().await
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value, extra: Value) -> HttpAnswer {
        let mut params = json!({"name": tool, "arguments": arguments});
        if let (Some(params), Value::Object(extra)) = (params.as_object_mut(), extra) {
            params.extend(extra);
        }
        self.send("tools/call", params).await
    }

    /// Calls a tool with this request id.
    pub async fn call_as(&self, id: u64, tool: &str, arguments: Value) -> HttpAnswer {
        let params = json!({"name": tool, "arguments": arguments});
        self.send_as(id, "tools/call", params).await
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) -> HttpAnswer {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.post(&message, "").await
    }

    /// Sends a request.
    pub async fn send(&self, method: &str, params: Value) -> HttpAnswer {
        self.send_as(1, method, params).await
    }

    async fn send_as(&self, id: u64, method: &str, mut params: Value) -> HttpAnswer {
        let mut headers = String::new();
        if self.kind.has_rounds() {
            let about = |name| format!("io.modelcontextprotocol/{name}");
            let mut meta = Map::new();
            meta.insert(about("protocolVersion"), self.kind.era.version().into());
            let info = json!({"name": "entreat-testkit", "version": "1"});
            meta.insert(about("clientInfo"), info);
            meta.insert(about("clientCapabilities"), self.capabilities.clone());
            params["_meta"] = meta.into();
            headers.extend(["mcp-method: ", method, "\r\n"]);
            if let Some(name) = params["name"].as_str() {
                headers.extend(["mcp-name: ", name, "\r\n"]);
            }
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.post(&message, &headers).await
    }

    /// Answers a question that was sent as a request.
    pub async fn answer(&self, id: &Value, result: &Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.post(&message, "").await;
    }

    async fn post(&self, message: &Value, headers: &str) -> HttpAnswer {
        self.request("POST", &message.to_string(), headers).await
    }

    async fn request(&self, method: &str, body: &str, headers: &str) -> HttpAnswer {
        let session = match &self.session {
            Some(session) => format!("mcp-session-id: {session}\r\n"),
            None => String::new(),
        };
        // HTTP/1.0, which has no chunked encoding to decode.
        let head = format!(
            "{method} /mcp HTTP/1.0\r\nhost: {}\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{session}{headers}{}\r\n",
            self.address,
            self.kind.era.version(),
            body.len(),
            self.headers,
        );
        let stream = TcpStream::connect(self.address).await;
        let mut stream = stream.expect("the server listens");
        let written = stream.write_all(format!("{head}{body}").as_bytes()).await;
        written.expect("the server reads");
        let mut lines = BufReader::new(stream).lines();
        let first = lines.next_line().await.ok().flatten().unwrap_or_default();
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut headers = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await
            && !line.is_empty()
        {
            if let Some((name, value)) = line.split_once(": ") {
                headers.push((name.to_ascii_lowercase(), value.to_owned()));
            }
        }
        HttpAnswer {
            status: status.unwrap_or_default(),
            headers,
            lines,
        }
    }
}

#[expect(
    clippy::missing_panics_doc,
    reason = "whatever goes wrong fails the test"
)]
impl HttpAnswer {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Reads the rest of the body.
    pub async fn text(&mut self) -> String {
        let mut text = String::new();
        while let Ok(Some(line)) = self.lines.next_line().await {
            text.extend([&line, "\n"]);
        }
        text
    }

    /// Reads the next message; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.lines.next_line().await.expect("the server writes")?;
            let text = line.strip_prefix("data:").unwrap_or(&line).trim();
            if text.starts_with('{') {
                return Some(serde_json::from_str(text).expect("messages are JSON"));
            }
        }
    }

    /// Reads until the JSON-RPC response; skips other messages.
    #[expect(clippy::panic, reason = "whatever goes wrong fails the test")]
    pub async fn reply(&mut self) -> Reply {
        while let Some(mut message) = self.next().await {
            if message.get("method").is_some() {
                continue;
            }
            return match message.get_mut("error") {
                Some(error) => Reply::Error(error.take()),
                None => Reply::Result(message["result"].take()),
            };
        }
        panic!("no reply, status {}", self.status)
    }
}
