//! Shields messages from rmcp's types, which drop schema keywords and member order.
//!
//! Questions get a method name that rmcp does not know, and results of custom requests are wrapped
//! in one member: rmcp passes both through unmodified.

use std::collections::HashSet;
use std::sync::Arc;

use entreat_wire::message::CREATE;
use entreat_wire::values::{TooManyValues, ValueCounter};
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, ServerResult,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

/// The method under which questions reach the handler.
pub(super) const RAW_CREATE: &str = "dev.entreat/raw/elicitation/create";
/// The only member of a wrapped result.
const RAW: &str = "dev.entreat/raw";

/// Rewrites incoming messages.
#[derive(Clone, Default)]
pub(super) struct Raw {
    /// The ids of custom requests in flight, whose results are wrapped.
    pending: Arc<Mutex<HashSet<String>>>,
}

impl Raw {
    /// Tracks an outgoing message.
    pub(super) fn note_sent(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                if matches!(request.request, ClientRequest::CustomRequest(_)) {
                    self.pending.lock().insert(request.id.to_string());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.pending.lock().remove(&id.to_string());
                }
            }
            _ => {}
        }
    }

    /// Parses an incoming message and rewrites it so that rmcp passes it through. A response with
    /// too many values becomes an error, so that its caller does not hang.
    pub(super) fn read(&self, text: &[u8]) -> Result<Value, serde_json::Error> {
        let mut message = match ValueCounter::check(text) {
            Ok(()) => serde_json::from_slice(text)?,
            Err(error) => {
                tracing::warn!(%error, "skipped a message from the server");
                error_for(text, &error)?
            }
        };
        self.shield(&mut message);
        Ok(message)
    }

    fn shield(&self, message: &mut Value) {
        let Some(message) = message.as_object_mut() else {
            return;
        };
        if let Some(method) = message.get_mut("method") {
            if method == CREATE {
                *method = RAW_CREATE.into();
            }
            return;
        }
        let id = match message.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(id) => id.to_string(),
            None => return,
        };
        let is_pending = self.pending.lock().remove(&id);
        if is_pending && let Some(result) = message.remove("result") {
            let wrapped: Map<_, _> = [(RAW.to_owned(), result)].into_iter().collect();
            message.insert("result".into(), wrapped.into());
        }
    }
}

/// The error that replaces a response with too many values; null for other messages.
fn error_for(text: &[u8], error: &TooManyValues) -> Result<Value, serde_json::Error> {
    #[derive(Deserialize)]
    struct Envelope {
        id: Option<Value>,
        method: Option<IgnoredAny>,
    }
    let Envelope { id, method } = serde_json::from_slice(text)?;
    Ok(match (id, method) {
        (Some(id @ (Value::String(_) | Value::Number(_))), None) => {
            let error = ErrorData::internal_error(error.to_string(), None);
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
        _ => Value::Null,
    })
}

/// The original result, if it was wrapped; otherwise what rmcp preserved.
pub(super) fn unwrap_raw(result: ServerResult) -> Value {
    // rmcp's types always serialize.
    let mut value = serde_json::to_value(result).unwrap_or_default();
    match value.as_object_mut().and_then(|object| object.remove(RAW)) {
        Some(raw) => raw,
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CustomRequest, RequestId, ServerJsonRpcMessage};

    use super::*;
    use entreat_wire::values::MAX_VALUES;

    #[test]
    fn an_answer_of_too_many_values_becomes_an_error_and_a_question_nothing() {
        let many = format!("[0{}]", ",0".repeat(MAX_VALUES));
        let read = |text: String| Raw::default().read(text.as_bytes()).unwrap();
        let answer = read(format!(r#"{{"jsonrpc":"2.0","id":7,"result":{many}}}"#));
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(-32603))
        );
        let question = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{many}}}"#);
        assert_eq!(read(question), Value::Null);
    }

    #[test]
    fn results_of_our_own_requests_come_back_as_they_were() {
        let raw = Raw::default();
        let request = CustomRequest::new("tools/call", None);
        let request = ClientRequest::CustomRequest(request);
        raw.note_sent(&ClientJsonRpcMessage::request(
            request,
            RequestId::Number(7),
        ));
        for result in [
            json!({"content": [{"type": "odd", "x": 1}], "x-z": 1, "a": 2}),
            json!({"resultType": "input_required", "inputRequests": {"k": {"method": CREATE,
                "params": {"mode": "url", "message": "m", "url": "u"}}}}),
            json!({}),
            json!([1]),
        ] {
            raw.pending.lock().insert("7".into());
            let mut message = json!({"jsonrpc": "2.0", "id": 7, "result": result});
            raw.shield(&mut message);
            let JsonRpcMessage::Response(response) =
                serde_json::from_value::<ServerJsonRpcMessage>(message).unwrap()
            else {
                panic!("not a response");
            };
            assert_eq!(unwrap_raw(response.result).to_string(), result.to_string());
        }
        assert!(raw.pending.lock().is_empty());
    }

    #[test]
    fn what_rmcp_asked_for_itself_is_not_touched() {
        let mut message = json!({"jsonrpc": "2.0", "id": 7, "result": {"tools": []}});
        let before = message.clone();
        Raw::default().shield(&mut message);
        assert_eq!(message, before);
    }
}
