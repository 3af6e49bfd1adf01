//! A cheap newline-delimited transport for a server.
//!
//! rmcp's own transport parses each message into a tree and then tries its message types one by
//! one, and it copies what it writes. This one parses the two most common messages, tool calls and
//! answers to questions, directly by method, and serializes questions without a copy. Everything
//! else goes through rmcp's types.
//!
//! This exists for speed alone: it saves 6 to 8 µs of a call, more than a tenth of one in process
//! (`docs/performance.md`).

use std::io;

use entreat_wire::values::ValueCounter;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult,
    ElicitResult, ErrorData, JsonRpcMessage, JsonRpcVersion2_0, MetaObject, Request, RequestId,
    RequestMetaObject, ServerJsonRpcMessage, ServerRequest,
};
use rmcp::transport::async_rw::{TransportAdapterAsyncCombinedRW, TransportAdapterAsyncRW};
use rmcp::transport::{Transport, TransportAdapterIdentity};
use serde::de::IgnoredAny;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};

use crate::line_connection::{Admission, LineConnection};

/// What a wrapped server can be [served](crate::Wrapped::serve) on: byte streams with one message
/// per line, and rmcp transports.
///
/// `A` is the marker by which rmcp distinguishes transport kinds; it is inferred.
pub trait Connect<E, A>: Send + 'static {
    /// Turns this into a transport.
    fn connect(self) -> impl Transport<RoleServer, Error = E> + 'static;
}

impl<R, W> Connect<io::Error, TransportAdapterAsyncRW> for (R, W)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn connect(self) -> impl Transport<RoleServer, Error = io::Error> + 'static {
        LineTransport::new(self.0, self.1)
    }
}

impl<S> Connect<io::Error, TransportAdapterAsyncCombinedRW> for S
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    fn connect(self) -> impl Transport<RoleServer, Error = io::Error> + 'static {
        let (reader, writer): (ReadHalf<S>, WriteHalf<S>) = tokio::io::split(self);
        LineTransport::new(reader, writer)
    }
}

impl<T, E> Connect<E, TransportAdapterIdentity> for T
where
    T: Transport<RoleServer, Error = E> + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    fn connect(self) -> impl Transport<RoleServer, Error = E> + 'static {
        self
    }
}

struct LineTransport<R, W>(LineConnection<R, W>);

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn new(reader: R, writer: W) -> Self {
        Self(LineConnection::new(reader, writer))
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.0.send(message, to_line)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let line = match self.0.next().await {
                Ok(line) => line?,
                Err(error) => {
                    tracing::warn!(%error, "reading from the client failed");
                    return None;
                }
            };
            let (error, id) = match read(line) {
                Ok(Some(mut message)) => match self.0.admit(&mut message, cancelled) {
                    Admission::Admitted => return Some(message),
                    Admission::Dropped => continue,
                    Admission::Rejected(rejection) => *rejection,
                },
                Ok(None) => continue,
                Err(error) => (error, None),
            };
            if let Ok(line) = to_line(&ServerJsonRpcMessage::error(error, id)) {
                self.0.reject(line);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.0.close().await
    }
}

fn cancelled(notification: &ClientNotification) -> Option<&RequestId> {
    match notification {
        ClientNotification::CancelledNotification(it) => it.params.request_id.as_ref(),
        _ => None,
    }
}

/// The members that decide how the rest of a message is parsed.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[expect(dead_code, reason = "required to be present")]
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<IgnoredAny>,
}

/// Parses a line. Returns `None` for lines to ignore, or the error to respond with.
pub(crate) fn read(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, ErrorData> {
    if let Err(error) = ValueCounter::check(line) {
        tracing::debug!(%error, "rejected a line from the client");
        return Err(ErrorData::invalid_request(error.to_string(), None));
    }
    // A UTF-8 byte order mark carries no meaning.
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if let Some(message) = read_common(line) {
        return Ok(Some(message));
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Ok(Some(message)),
        Err(error) => error,
    };
    // Responding to non-JSON could cause an echo loop; notifications never get a response.
    let is_text = matches!(error.classify(), Category::Syntax | Category::Eof);
    if is_text || is_notification(line) {
        tracing::debug!(column = error.column(), "skipped a line from the client");
        return Ok(None);
    }
    // Without serde's message, which may quote parts of the input.
    tracing::debug!(
        column = error.column(),
        "a line from the client is not a message"
    );
    Err(ErrorData::invalid_request("Invalid request", None))
}

/// Parses a tool call or an answer to a question.
fn read_common(line: &[u8]) -> Option<ClientJsonRpcMessage> {
    let envelope: Envelope<'_> = serde_json::from_slice(line).ok()?;
    if envelope.error.is_some() {
        return None;
    }
    match (envelope.method, envelope.params, envelope.result) {
        (Some("tools/call"), Some(params), None) => {
            let mut params: CallToolRequestParams = serde_json::from_str(params.get()).ok()?;
            let meta = params.meta.take();
            let mut request = Request::new(params);
            if let Some(meta) = meta {
                request.extensions.insert(meta);
            }
            let request = ClientRequest::CallToolRequest(request);
            Some(ClientJsonRpcMessage::request(request, envelope.id))
        }
        (None, None, Some(result)) => {
            let result: ElicitResult = serde_json::from_str(result.get()).ok()?;
            let result = ClientResult::ElicitResult(result);
            Some(ClientJsonRpcMessage::response(result, envelope.id))
        }
        _ => None,
    }
}

fn is_notification(line: &[u8]) -> bool {
    let message: Map<String, Value> = serde_json::from_slice(line).unwrap_or_default();
    message.contains_key("method") && !message.contains_key("id")
}

/// A request to the client as serialized.
#[derive(Serialize)]
struct RequestMessage<'a> {
    jsonrpc: JsonRpcVersion2_0,
    id: &'a RequestId,
    method: &'a str,
    params: Params<'a>,
}

struct Params<'a> {
    meta: Option<&'a RequestMetaObject>,
    members: &'a Map<String, Value>,
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(meta) = self.meta {
            map.serialize_entry("_meta", meta)?;
        }
        for (key, value) in self.members {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Serializes a message, without the newline.
fn to_line(message: &ServerJsonRpcMessage) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(1024);
    match custom_request(message) {
        Some(request) => serde_json::to_writer(&mut line, &request)?,
        None => serde_json::to_writer(&mut line, message)?,
    }
    Ok(line)
}

/// Returns a request of ours, unless its `_meta` has to be merged from two sources.
fn custom_request(message: &ServerJsonRpcMessage) -> Option<RequestMessage<'_>> {
    let JsonRpcMessage::Request(message) = message else {
        return None;
    };
    let ServerRequest::CustomRequest(request) = &message.request else {
        return None;
    };
    let members = request.params.as_ref()?.as_object()?;
    let is_plain =
        !members.contains_key("_meta") && request.extensions.get::<MetaObject>().is_none();
    is_plain.then(|| RequestMessage {
        jsonrpc: JsonRpcVersion2_0,
        id: &message.id,
        method: &request.method,
        params: Params {
            meta: request.extensions.get(),
            members,
        },
    })
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CustomRequest, GetExtensions as _};
    use serde_json::json;

    use super::*;

    fn by_rmcp(line: &str) -> Option<String> {
        let message = serde_json::from_str::<ClientJsonRpcMessage>(line).ok()?;
        Some(describe(&message))
    }

    fn by_us(line: &str) -> Option<String> {
        let message = read(line.as_bytes()).unwrap_or_default()?;
        Some(describe(&message))
    }

    /// The message's type and contents.
    fn describe(message: &ClientJsonRpcMessage) -> String {
        format!("{message:?} {}", serde_json::to_string(message).unwrap())
    }

    #[test]
    fn what_is_read_is_what_rmcp_reads() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"_meta":{"progressToken":1,"y":[1]},"name":"a","arguments":{"b":1.5,"c":null}}}"#,
            r#"{"id":1,"params":{"requestState":"s","name":"a","inputResponses":{"k":{"action":"accept"}}},"method":"tools/call","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"a","odd":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"odd/method","params":{"x":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"z":1,"a":2},"_meta":{"k":1}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"action":"odd"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            r#"{"jsonrpc":"2.0","method":"$/odd","params":[1]}"#,
            "[]",
            "{",
            "",
        ] {
            assert_eq!(by_us(line), by_rmcp(line), "{line}");
        }
    }

    #[test]
    fn lines_that_are_no_messages_are_passed_over_and_odd_requests_refused() {
        for line in [
            "",
            "hello",
            "{",
            r#"{"jsonrpc":"2.0","method":7}"#,
            "\u{feff}",
        ] {
            assert!(matches!(read(line.as_bytes()), Ok(None)), "{line}");
        }
        assert!(matches!(read(b"\xff\xfe"), Ok(None)));
        for line in [
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"id":1}"#,
            "7",
        ] {
            assert!(read(line.as_bytes()).is_err(), "{line}");
        }
    }

    #[test]
    fn what_is_written_is_what_rmcp_writes() {
        let meta = RequestMetaObject::from(Map::from_iter([("k".to_owned(), json!(1))]));
        for params in [
            None,
            Some(json!({})),
            Some(json!([1])),
            Some(
                json!({"mode": "form", "message": "\u{e9}\"\n", "requestedSchema": {"z": {}, "a": 1.0}}),
            ),
            Some(json!({"message": "m", "_meta": {"dev.entreat/forms": {}}})),
        ] {
            for meta in [None, Some(meta.clone())] {
                let mut request = CustomRequest::new("elicitation/create", params.clone());
                if let Some(meta) = meta {
                    request.extensions_mut().insert(meta);
                }
                let request = ServerRequest::CustomRequest(request);
                let message = ServerJsonRpcMessage::request(request, RequestId::Number(3));
                let line = String::from_utf8(to_line(&message).unwrap()).unwrap();
                assert_eq!(line, serde_json::to_string(&message).unwrap());
            }
        }
    }
}
