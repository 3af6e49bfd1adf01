//! MCP clients of every era, for tests of servers that ask.
//!
//! They exchange JSON lines on a stream without an SDK, so that a test sees every raw message.
//! [`Kind::all`] covers every kind of client:
//!
//! ```
//! use entreat_testkit::mcp::{Client, Kind, accept};
//! use serde_json::json;
//! # use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! for kind in Kind::all().filter(|kind| kind.form) {
//!     let (ours, theirs) = tokio::io::duplex(1 << 16);
//!     // Serve your server on `theirs` here.
//! #   tokio::spawn(async move {
//! #       let (reader, mut writer) = tokio::io::split(theirs);
//! #       let mut lines = BufReader::new(reader).lines();
//! #       while let Ok(Some(line)) = lines.next_line().await {
//! #           let message: serde_json::Value = serde_json::from_str(&line).unwrap();
//! #           if message.get("id").is_some() {
//! #               let content = json!([{"type": "text", "text": "done"}]);
//! #               let version = &message["params"]["protocolVersion"];
//! #               let reply = json!({"jsonrpc": "2.0", "id": message["id"],
//! #                   "result": {"content": content, "protocolVersion": version}});
//! #               writer.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
//! #           }
//! #       }
//! #   });
//!     let mut client = Client::connect(kind, ours).await;
//!     let answer = |_: &_| accept(json!({"name": "Ada"}));
//!     let result = client.call("greet", json!({}), answer).await;
//!     assert_eq!(result.text(), "done", "{kind:?}");
//! }
//! # }
//! ```

mod http;

use std::fmt;

use entreat_core::schema::Era;
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, ReadHalf,
    WriteHalf, split,
};

pub use http::{HttpAnswer, HttpClient};

/// A client's protocol era and capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The protocol era.
    pub era: Era,
    /// Whether it supports forms.
    pub form: bool,
    /// Whether it supports URLs, which the oldest era lacks.
    pub url: bool,
}

impl Kind {
    /// A client with all capabilities of its era.
    pub fn whole(era: Era) -> Self {
        let url = era != Era::V2025_06_18;
        Self {
            era,
            form: true,
            url,
        }
    }

    /// A client that supports forms only.
    pub fn form(era: Era) -> Self {
        Self {
            era,
            form: true,
            url: false,
        }
    }

    /// A client that supports URLs only.
    pub fn url(era: Era) -> Self {
        Self {
            era,
            form: false,
            url: true,
        }
    }

    /// A client without elicitation.
    pub fn none(era: Era) -> Self {
        Self {
            era,
            form: false,
            url: false,
        }
    }

    /// Iterates over all kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        let abilities = [(true, false), (false, true), (true, true), (false, false)];
        let kinds = Era::ALL
            .into_iter()
            .flat_map(move |era| abilities.map(|(form, url)| Self { era, form, url }));
        kinds.filter(|kind| !(kind.url && kind.era == Era::V2025_06_18))
    }

    /// Whether questions arrive in results that require input, rather than as requests.
    pub fn has_rounds(self) -> bool {
        self.era == Era::V2026_07_28
    }

    /// Returns the capabilities that it declares.
    pub fn capabilities(self) -> Value {
        match (self.era, self.form, self.url) {
            (_, false, false) => json!({}),
            (Era::V2025_06_18, ..) => json!({"elicitation": {}}),
            (_, true, false) => json!({"elicitation": {"form": {}}}),
            (_, false, true) => json!({"elicitation": {"url": {}}}),
            (_, true, true) => json!({"elicitation": {"form": {}, "url": {}}}),
        }
    }
}

/// A question as the client received it.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenQuestion {
    /// The key, in eras that have one.
    pub key: Option<String>,
    /// The method; `elicitation/create` for questions to a person.
    pub method: String,
    /// The parameters.
    pub params: Value,
}

impl SeenQuestion {
    /// Returns the message for the person.
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }
}

/// Accepts a form with these answers.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it reads better where it is called"
)]
pub fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// Accepts a URL.
pub fn visit() -> Value {
    json!({"action": "accept"})
}

/// Declines.
pub fn decline() -> Value {
    json!({"action": "decline"})
}

/// Cancels.
pub fn cancel() -> Value {
    json!({"action": "cancel"})
}

/// The response to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A result.
    Result(Value),
    /// A JSON-RPC error.
    Error(Value),
}

impl Reply {
    /// Returns the text of a tool's result.
    ///
    /// # Panics
    ///
    /// If it is an error, or has no text.
    pub fn text(&self) -> &str {
        match self {
            Self::Result(result) => match result["content"][0]["text"].as_str() {
                Some(text) => text,
                None => panic!("no text: {result}"),
            },
            Self::Error(error) => panic!("an error: {error}"),
        }
    }

    /// Returns the code and message of an error.
    ///
    /// # Panics
    ///
    /// If it is a result.
    pub fn error(&self) -> (i64, &str) {
        match self {
            Self::Error(error) => (
                error["code"].as_i64().unwrap_or_default(),
                error["message"].as_str().unwrap_or_default(),
            ),
            Self::Result(result) => panic!("a result: {result}"),
        }
    }

    /// Returns the raw result.
    ///
    /// # Panics
    ///
    /// If it is an error.
    pub fn result(&self) -> &Value {
        match self {
            Self::Result(result) => result,
            Self::Error(error) => panic!("an error: {error}"),
        }
    }

    /// Returns the state of a result that requires input.
    ///
    /// # Panics
    ///
    /// If it requires none.
    pub fn state(&self) -> &str {
        match self.result()["requestState"].as_str() {
            Some(state) => state,
            None => panic!("no state: {self:?}"),
        }
    }

    /// Returns the questions of a result that requires input, in order.
    ///
    /// # Panics
    ///
    /// If it is an error.
    pub fn questions(&self) -> Vec<SeenQuestion> {
        let requests = self.result()["inputRequests"].as_object();
        let requests = requests.into_iter().flatten();
        requests
            .map(|(key, request)| SeenQuestion {
                key: Some(key.clone()),
                method: request["method"].as_str().unwrap_or_default().to_owned(),
                params: request["params"].clone(),
            })
            .collect()
    }
}

/// A client on a stream.
///
/// The end of the stream and messages that are not JSON fail the test.
pub struct Client<S> {
    kind: Kind,
    capabilities: Value,
    lines: tokio::io::Lines<BufReader<ReadHalf<S>>>,
    writer: WriteHalf<S>,
    next: u64,
    /// Received notifications, oldest first.
    pub heard: Vec<Value>,
    /// All received messages, as text.
    pub transcript: Vec<String>,
    /// The progress token of calls; without one, no progress is requested.
    pub progress_token: Option<Value>,
}

/// Maximum number of rounds of a call.
const ROUNDS: usize = 10;

#[expect(
    clippy::missing_panics_doc,
    reason = "whatever goes wrong fails the test"
)]
impl<S: AsyncRead + AsyncWrite> Client<S> {
    /// Connects, with a handshake if the era has one.
    pub async fn connect(kind: Kind, stream: S) -> Self {
        Self::connect_with(kind, kind.capabilities(), stream).await
    }

    /// Connects and declares these capabilities.
    pub async fn connect_with(kind: Kind, capabilities: Value, stream: S) -> Self {
        let (reader, writer) = split(stream);
        let mut client = Self {
            kind,
            capabilities,
            lines: BufReader::new(reader).lines(),
            writer,
            next: 0,
            heard: Vec::new(),
            transcript: Vec::new(),
            progress_token: None,
        };
        if !kind.has_rounds() {
            let id = client
                .send(
                    "initialize",
                    json!({
                        "protocolVersion": kind.era.version(),
                        "capabilities": client.capabilities.clone(),
                        "clientInfo": {"name": "entreat-testkit", "version": "1"},
                    }),
                )
                .await;
            let reply = client
                .reply_to(id, |_| panic!("asked before the handshake"))
                .await;
            let version = reply.result()["protocolVersion"].as_str();
            assert_eq!(version, Some(kind.era.version()));
            client.notify("notifications/initialized", json!({})).await;
        }
        client
    }

    /// Calls a tool and answers its questions until the final result.
    pub async fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        mut answer: impl FnMut(&SeenQuestion) -> Value,
    ) -> Reply {
        let mut extra = Map::new();
        for _ in 0..ROUNDS {
            let id = self
                .start_with(tool, arguments.clone(), extra.clone())
                .await;
            let reply = self.reply_to(id, &mut answer).await;
            let Reply::Result(result) = &reply else {
                return reply;
            };
            if result["resultType"] != "input_required" {
                return reply;
            }
            let answers = reply.questions().into_iter().map(|question| {
                let given = answer(&question);
                (question.key.unwrap_or_default(), given)
            });
            let answers: Map<_, _> = answers.collect();
            extra.insert("requestState".into(), reply.state().into());
            extra.insert("inputResponses".into(), answers.into());
        }
        panic!("more than {ROUNDS} rounds");
    }

    /// Makes one round of a call, with additional parameters; answers nothing.
    pub async fn round(&mut self, tool: &str, arguments: Value, extra: Value) -> Reply {
        let extra = extra.as_object().cloned().unwrap_or_default();
        let id = self.start_with(tool, arguments, extra).await;
        self.reply_to(id, |question| panic!("asked {question:?}"))
            .await
    }

    /// Sends a tool call and returns its id.
    pub async fn start(&mut self, tool: &str, arguments: Value) -> u64 {
        self.start_with(tool, arguments, Map::new()).await
    }

    /// Sends a tool call with additional parameters and returns its id.
    pub async fn start_with(
        &mut self,
        tool: &str,
        arguments: Value,
        extra: Map<String, Value>,
    ) -> u64 {
        let mut params = Map::new();
        params.insert("name".into(), tool.into());
        params.insert("arguments".into(), arguments);
        params.extend(extra);
        self.send("tools/call", params.into()).await
    }

    /// Sends a request and returns its id.
    pub async fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        let mut meta = Map::new();
        if let Some(token) = &self.progress_token {
            meta.insert("progressToken".into(), token.clone());
        }
        if self.kind.has_rounds() {
            let about = |name| format!("io.modelcontextprotocol/{name}");
            meta.insert(about("protocolVersion"), self.kind.era.version().into());
            let info = json!({"name": "entreat-testkit", "version": "1"});
            meta.insert(about("clientInfo"), info);
            meta.insert(about("clientCapabilities"), self.capabilities.clone());
        }
        if !meta.is_empty() {
            params["_meta"] = meta.into();
        }
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&message).await;
        id
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&message).await;
    }

    /// Waits for the next question that is sent as a request; returns its id and contents.
    pub async fn question(&mut self) -> (Value, SeenQuestion) {
        loop {
            let message = self.receive().await;
            if let Some(question) = question_in(&message) {
                return (message["id"].clone(), question);
            }
            assert!(message.get("id").is_none(), "no question: {message}");
            self.heard.push(message);
        }
    }

    /// Answers a question that was sent as a request.
    pub async fn answer(&mut self, id: Value, result: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.write(&message).await;
    }

    /// Answers a question with an error, as a client that fails to show it.
    pub async fn fail(&mut self, id: Value, message: &str) {
        let error = json!({"code": -32603, "message": message});
        let message = json!({"jsonrpc": "2.0", "id": id, "error": error});
        self.write(&message).await;
    }

    /// Waits for the next notification of this method and returns its parameters.
    pub async fn hear(&mut self, method: &str) -> Value {
        loop {
            if let Some(place) = self.heard.iter().position(|note| note["method"] == method) {
                return self.heard.remove(place)["params"].take();
            }
            let message = self.receive().await;
            assert!(message.get("id").is_none(), "no notification: {message}");
            self.heard.push(message);
        }
    }

    /// Waits for the response to a request, and answers questions meanwhile.
    pub async fn reply_to(
        &mut self,
        id: u64,
        mut answer: impl FnMut(&SeenQuestion) -> Value,
    ) -> Reply {
        loop {
            let mut message = self.receive().await;
            if let Some(question) = question_in(&message) {
                let result = answer(&question);
                self.answer(message["id"].clone(), result).await;
            } else if message["id"] == id {
                return match message.get_mut("error") {
                    Some(error) => Reply::Error(error.take()),
                    None => Reply::Result(message["result"].take()),
                };
            } else {
                self.heard.push(message);
            }
        }
    }

    /// Waits for the response to any request.
    pub async fn any_reply(&mut self) -> Reply {
        loop {
            let mut message = self.receive().await;
            if message.get("id").is_none() || message.get("method").is_some() {
                self.heard.push(message);
                continue;
            }
            return match message.get_mut("error") {
                Some(error) => Reply::Error(error.take()),
                None => Reply::Result(message["result"].take()),
            };
        }
    }

    async fn receive(&mut self) -> Value {
        let line = self
            .lines
            .next_line()
            .await
            .expect("the stream can be read");
        let line = line.expect("the server has not closed the stream");
        let message = serde_json::from_str(&line).expect("messages are JSON");
        self.transcript.push(line);
        message
    }

    async fn write(&mut self, message: &Value) {
        let line = format!("{message}\n");
        let written = self.writer.write_all(line.as_bytes()).await;
        written.expect("the stream can be written");
    }
}

impl<S> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

fn question_in(message: &Value) -> Option<SeenQuestion> {
    let method = message.get("method")?.as_str()?;
    message.get("id")?;
    Some(SeenQuestion {
        key: None,
        method: method.to_owned(),
        params: message["params"].clone(),
    })
}
