//! The messages of the benchmark.

use serde_json::{Value, json};

/// How long a call is, in bytes.
const CALL: usize = 262;
/// Ids have nine digits, so that all calls are equally long.
const FIRST_ID: u64 = 100_000_000;
/// How every message of the client begins.
const HEAD: &str = r#"{"jsonrpc":"2.0","id":"#;

pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const MODERN: &str = "2026-07-28";

/// Which version a client or a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
        }
    }

    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Legacy => LEGACY,
            Self::Modern => MODERN,
        }
    }
}

/// Calls of a tool, one like the other but for the id.
#[derive(Clone)]
pub(crate) struct Calls {
    pub(crate) era: Era,
    pub(crate) tool: String,
    /// The argument of each.
    pub(crate) text: String,
    tail: String,
    next: u64,
}

impl Calls {
    /// Calls that are as long as they have to be. Those of 2026-07-28 are longer by what they say
    /// of the client.
    pub(crate) fn of(era: Era, tool: &str) -> Self {
        let length = HEAD.len() + 9 + tail(Era::Legacy, tool, "").len();
        let text = "x".repeat(CALL.saturating_sub(length));
        Self::with(era, tool, &text)
    }

    fn with(era: Era, tool: &str, text: &str) -> Self {
        Self {
            era,
            tool: tool.to_owned(),
            text: text.to_owned(),
            tail: tail(era, tool, text),
            next: FIRST_ID,
        }
    }

    pub(crate) fn len(&self) -> usize {
        HEAD.len() + 9 + self.tail.len()
    }

    /// Adds the next call.
    pub(crate) fn add(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(HEAD.as_bytes());
        let mut digits = [0; 9];
        let mut rest = self.next;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap();
            rest /= 10;
        }
        self.next += 1;
        out.extend_from_slice(&digits);
        out.extend_from_slice(self.tail.as_bytes());
    }
}

fn tail(era: Era, tool: &str, text: &str) -> String {
    let meta = match era {
        Era::Legacy => String::new(),
        Era::Modern => format!(r#","_meta":{}"#, meta()),
    };
    format!(
        r#","method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{text}"}}{meta}}}}}"#
    )
}

pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}},
    })
}

/// The handshake of 2025.
pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "clientInfo": {"name": "bench", "version": "1"},
        "capabilities": {"elicitation": {"form": {}, "url": {}}}}})
}

pub(crate) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// A request with parameters, in an era.
pub(crate) fn request(era: Era, id: u64, method: &str, mut params: Value) -> Value {
    if era == Era::Modern {
        params["_meta"] = meta();
    }
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// What the server of the benchmark does with a message.
pub(crate) enum Action<'a> {
    /// It answers.
    Answer,
    /// It asks a person before it answers the request of this id.
    Ask(&'a str),
    /// It takes an answer to its own question of this id.
    Answered(String),
    Nothing,
}

/// The echo server: what it answers to each message.
#[derive(Clone)]
pub(crate) struct Echo {
    pub(crate) era: Era,
    result: String,
}

impl Echo {
    pub(crate) fn new(era: Era) -> Self {
        let kind = match era {
            Era::Legacy => "",
            Era::Modern => r#""resultType":"complete","#,
        };
        let text = "x".repeat(160);
        Self {
            era,
            result: format!(r#"{{{kind}"content":[{{"type":"text","text":"{text}"}}]}}"#),
        }
    }

    /// Answers a message into `out`.
    pub(crate) fn answer<'a>(&self, message: &'a [u8], out: &mut Vec<u8>) -> Action<'a> {
        // Without a tree for messages that are written as the client of the benchmark does.
        if let Some(rest) = message.strip_prefix(HEAD.as_bytes())
            && let Some(comma) = rest.iter().position(|byte| *byte == b',')
            && let Some(called) =
                rest[comma..].strip_prefix(br#","method":"tools/call","params":{"name":""#)
        {
            let id = std::str::from_utf8(&rest[..comma]).unwrap();
            if called.starts_with(b"ask") {
                return Action::Ask(id);
            }
            self.result(id, out);
            return Action::Answer;
        }
        self.answer_any(message, out)
    }

    /// Adds the result of a call.
    pub(crate) fn result(&self, id: &str, out: &mut Vec<u8>) {
        for part in [HEAD, id, r#","result":"#, &self.result, "}"] {
            out.extend_from_slice(part.as_bytes());
        }
    }

    fn answer_any<'a>(&self, message: &'a [u8], out: &mut Vec<u8>) -> Action<'a> {
        let read: Value = serde_json::from_slice(message).unwrap();
        let Some(method) = read["method"].as_str() else {
            return Action::Answered(read["id"].as_str().unwrap_or_default().to_owned());
        };
        if read.get("id").is_none() {
            return Action::Nothing;
        }
        let id = read["id"].to_string();
        let kind = json!({"type": "object"});
        let tools = [
            json!({"name": "echo", "inputSchema": kind}),
            json!({"name": "ask", "inputSchema": kind}),
        ];
        let info = json!({"name": "echo", "version": "1"});
        let capabilities = json!({"tools": {}});
        let mut answer = match (self.era, method) {
            (_, "tools/call") => {
                self.result(&id, out);
                return Action::Answer;
            }
            (Era::Legacy, "initialize") => {
                let version = &read["params"]["protocolVersion"];
                json!({"result": {"protocolVersion": version, "serverInfo": info,
                    "capabilities": capabilities}})
            }
            (Era::Modern, "server/discover") => json!({"result": {"resultType": "complete",
                "supportedVersions": [MODERN], "capabilities": capabilities,
                "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": info}}}),
            (Era::Legacy, "tools/list") => json!({"result": {"tools": tools}}),
            (Era::Modern, "tools/list") => json!({"result": {"resultType": "complete",
                "tools": tools, "ttlMs": 0, "cacheScope": "private"}}),
            (Era::Legacy, "ping") => json!({"result": {}}),
            _ => json!({"error": {"code": -32601, "message": "Method not found"}}),
        };
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = read["id"].clone();
        out.extend_from_slice(answer.to_string().as_bytes());
        Action::Answer
    }
}

/// The question of the tool `ask`.
pub(crate) fn question(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {
        "message": "Who are you?", "requestedSchema": {"type": "object",
            "properties": {"name": {"type": "string", "title": "Name"}}, "required": ["name"]}}})
}

/// The next round of a call, with the answers to all that it asks.
pub(crate) fn retry(id: u64, text: &str, asked: &Value) -> Value {
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let mut responses = json!({});
    for key in result["inputRequests"].as_object().unwrap().keys() {
        responses[key] = json!({"action": "accept", "content": {"name": "Ada"}});
    }
    let params = json!({"name": "ask", "arguments": {"text": text},
        "inputResponses": responses, "requestState": result["requestState"]});
    request(Era::Modern, id, "tools/call", params)
}
