//! Keeps messages from rmcp's types, which drop keywords and the order of fields.
//!
//! A question goes by a name that rmcp does not know, and the result of a request that we sent
//! as it stands comes back wrapped: rmcp hands both on as they are.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, ServerResult,
};
use serde_json::{Map, Value};

use crate::wire::CREATE;

/// The name under which questions come to the handler.
pub(super) const RAW_CREATE: &str = "dev.entreat/raw/elicitation/create";
/// The only member of a wrapped result.
const RAW: &str = "dev.entreat/raw";

/// Knows which results are to stay as they are.
#[derive(Clone, Default)]
pub(super) struct Raw {
    /// The ids of requests that rmcp has no type for.
    ours: Arc<Mutex<HashSet<String>>>,
}

impl Raw {
    /// A message goes out.
    pub(super) fn sent(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                if matches!(request.request, ClientRequest::CustomRequest(_)) {
                    self.ours.lock().insert(request.id.to_string());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.ours.lock().remove(&id.to_string());
                }
            }
            _ => {}
        }
    }

    /// A message comes in; changes it so that rmcp leaves it alone.
    pub(super) fn keep(&self, message: &mut Value) {
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
        if message.contains_key("result") && self.ours.lock().remove(&id) {
            let result = message.remove("result").unwrap_or_default();
            let wrapped: Map<_, _> = [(RAW.to_owned(), result)].into_iter().collect();
            message.insert("result".into(), wrapped.into());
        }
    }
}

/// A result as it came, or as much of it as rmcp has kept.
pub(super) fn unwrapped(result: ServerResult) -> Value {
    // A type of rmcp that cannot be written does not exist.
    let mut value = serde_json::to_value(result).unwrap_or_default();
    match value.as_object_mut().and_then(|object| object.remove(RAW)) {
        Some(raw) => raw,
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{CustomRequest, RequestId, ServerJsonRpcMessage};
    use serde_json::json;

    use super::*;

    #[test]
    fn results_of_our_own_requests_come_back_as_they_were() {
        let raw = Raw::default();
        let request = CustomRequest::new("tools/call", None);
        let request = ClientRequest::CustomRequest(request);
        raw.sent(&ClientJsonRpcMessage::request(
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
            raw.ours.lock().insert("7".into());
            let mut message = json!({"jsonrpc": "2.0", "id": 7, "result": result});
            raw.keep(&mut message);
            let JsonRpcMessage::Response(response) =
                serde_json::from_value::<ServerJsonRpcMessage>(message).unwrap()
            else {
                panic!("not a response");
            };
            assert_eq!(unwrapped(response.result).to_string(), result.to_string());
        }
        assert!(raw.ours.lock().is_empty());
    }

    #[test]
    fn what_rmcp_asked_for_itself_is_not_touched() {
        let mut message = json!({"jsonrpc": "2.0", "id": 7, "result": {"tools": []}});
        let before = message.clone();
        Raw::default().keep(&mut message);
        assert_eq!(message, before);
    }
}
