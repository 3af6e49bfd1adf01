//! The JSON messages of elicitation, for all protocol versions.
//!
//! Each type wraps the JSON object itself, so that unknown members and the order of members survive
//! a round trip. rmcp's own types drop them, or reject the whole message.

use entreat_core::schema::Era;
use serde_json::{Map, Value};

/// The method by which a server asks.
pub const CREATE: &str = "elicitation/create";
/// The notification that a URL elicitation is complete.
pub const COMPLETE: &str = "notifications/elicitation/complete";
/// The method by which a server asks the client's model.
pub const SAMPLE: &str = "sampling/createMessage";
/// The method by which a server lists the client's roots.
pub const ROOTS: &str = "roots/list";
/// The error code of a call that requires URLs to be visited first.
pub const URL_REQUIRED: i32 = -32042;
/// The extension for complete forms, and its key in `_meta`.
pub const FORMS: &str = "dev.entreat/forms";

/// A malformed message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct WireError {
    /// The path of the offending member.
    pub path: &'static str,
    /// The problem with it.
    pub problem: &'static str,
}

/// The parameters of `elicitation/create`.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitRequest(Map<String, Value>);

/// The mode of an [`ElicitRequest`], with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ElicitMode<'a> {
    /// Asks for answers that match a schema.
    Form {
        /// The requested schema.
        schema: &'a Value,
    },
    /// Asks to visit a URL.
    Url {
        /// The URL.
        url: &'a str,
        /// The elicitation id, which 2026-07-28 does not have.
        id: Option<&'a str>,
    },
}

impl ElicitRequest {
    /// Creates a request in form mode, as the protocol version defines it.
    pub fn form(era: Era, message: &str, schema: Value) -> Self {
        let mut params = Map::new();
        if era != Era::V2025_06_18 {
            params.insert("mode".into(), "form".into());
        }
        params.insert("message".into(), message.into());
        params.insert("requestedSchema".into(), schema);
        Self(params)
    }

    /// Creates a request in URL mode; `id` is for protocol versions that have one.
    pub fn url(message: &str, url: &str, id: Option<&str>) -> Self {
        let mut params = Map::new();
        params.insert("mode".into(), "url".into());
        params.insert("message".into(), message.into());
        params.insert("url".into(), url.into());
        if let Some(id) = id {
            params.insert("elicitationId".into(), id.into());
        }
        Self(params)
    }

    /// Adds a member to `_meta`.
    #[must_use]
    pub fn with_meta(mut self, key: &str, value: Value) -> Self {
        let meta = self.0.entry("_meta").or_insert_with(|| Map::new().into());
        if let Value::Object(meta) = meta {
            meta.insert(key.into(), value);
        }
        self
    }

    /// Parses parameters without loss.
    pub fn from_params(params: Value) -> Result<Self, WireError> {
        let Value::Object(params) = params else {
            return Err(wire_error("params", "is not an object"));
        };
        let request = Self(params);
        request.text("message", "params.message")?;
        request.mode()?;
        Ok(request)
    }

    /// Returns the message to the person.
    pub fn message(&self) -> &str {
        self.0
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Returns the mode.
    pub fn mode(&self) -> Result<ElicitMode<'_>, WireError> {
        match self.0.get("mode").map_or(Some("form"), Value::as_str) {
            Some("form") => match self.0.get("requestedSchema") {
                Some(schema @ Value::Object(_)) => Ok(ElicitMode::Form { schema }),
                _ => Err(wire_error("params.requestedSchema", "is not an object")),
            },
            Some("url") => Ok(ElicitMode::Url {
                url: self.text("url", "params.url")?,
                id: self.0.get("elicitationId").and_then(Value::as_str),
            }),
            _ => Err(wire_error("params.mode", "is neither `form` nor `url`")),
        }
    }

    /// Returns a member of `_meta`.
    pub fn meta(&self, key: &str) -> Option<&Value> {
        self.0.get("_meta")?.get(key)
    }

    /// Returns the parameters as JSON.
    pub fn into_params(self) -> Value {
        self.0.into()
    }

    fn text(&self, member: &str, path: &'static str) -> Result<&str, WireError> {
        let text = self.0.get(member).and_then(Value::as_str);
        text.ok_or(wire_error(path, "is not a string"))
    }
}

/// The action of an elicitation result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The person answered.
    Accept,
    /// The person decided not to answer.
    Decline,
    /// The person made no decision.
    Cancel,
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 3] = [Self::Accept, Self::Decline, Self::Cancel];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

/// The result of `elicitation/create`.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitResult(Map<String, Value>);

impl ElicitResult {
    /// Creates a result without content.
    pub fn of(action: Action) -> Self {
        let mut result = Map::new();
        result.insert("action".into(), action.as_str().into());
        Self(result)
    }

    /// Creates an accepting result with the answers to a form.
    pub fn accept(content: Map<String, Value>) -> Self {
        let mut result = Self::of(Action::Accept);
        result.0.insert("content".into(), content.into());
        result
    }

    /// Parses a result without loss.
    pub fn from_value(value: Value) -> Result<Self, WireError> {
        let Value::Object(result) = value else {
            return Err(wire_error("result", "is not an object"));
        };
        let action = result.get("action").and_then(Value::as_str);
        if !Action::ALL.iter().any(|it| Some(it.as_str()) == action) {
            let wrong_action = "is none of `accept`, `decline` and `cancel`";
            return Err(wire_error("result.action", wrong_action));
        }
        Ok(Self(result))
    }

    /// Returns the action.
    pub fn action(&self) -> Action {
        let name = self.0.get("action").and_then(Value::as_str);
        let action = Action::ALL.into_iter().find(|it| Some(it.as_str()) == name);
        // Guaranteed by the constructors.
        action.unwrap_or(Action::Cancel)
    }

    /// Returns the answers to a form.
    pub fn content(&self) -> Option<&Value> {
        self.0.get("content")
    }

    /// Returns the answers to a form, discarding the rest.
    pub fn into_content(mut self) -> Option<Value> {
        self.0.shift_remove("content")
    }

    /// Returns the result as JSON.
    pub fn into_value(self) -> Value {
        self.0.into()
    }
}

/// The result of a call that needs answers to continue, since 2026-07-28.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRequired(Map<String, Value>);

impl InputRequired {
    /// Creates a result from requests by key, in the order they were asked, and the state to send
    /// back.
    pub fn new(requests: Map<String, Value>, state: &str) -> Self {
        let mut result = Map::new();
        result.insert("resultType".into(), "input_required".into());
        if !requests.is_empty() {
            result.insert("inputRequests".into(), requests.into());
        }
        result.insert("requestState".into(), state.into());
        Self(result)
    }

    /// Parses a result; `None` if it has another type.
    pub fn from_value(value: &Value) -> Option<Self> {
        let result = value.as_object()?;
        let is_one = result.get("resultType")?.as_str()? == "input_required";
        is_one.then(|| Self(result.clone()))
    }

    /// Iterates over the requests and their keys.
    pub fn requests(&self) -> impl Iterator<Item = (&str, &Value)> {
        let requests = self.0.get("inputRequests").and_then(Value::as_object);
        let requests = requests.into_iter().flatten();
        requests.map(|(key, request)| (key.as_str(), request))
    }

    /// Returns the state to send back unmodified.
    pub fn state(&self) -> Option<&str> {
        self.0.get("requestState")?.as_str()
    }

    /// Returns the result as JSON.
    pub fn into_value(self) -> Value {
        self.0.into()
    }
}

/// Creates a request for [`InputRequired`].
pub fn input_request(method: &str, params: Value) -> Value {
    let mut request = Map::new();
    request.insert("method".into(), method.into());
    request.insert("params".into(), params);
    request.into()
}

fn wire_error(path: &'static str, problem: &'static str) -> WireError {
    WireError { path, problem }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_understood_comes_back_as_it_was() {
        let text = r#"{"message":"Who?","x-first":1,"requestedSchema":{"type":"object","properties":{"z":{"type":"string","pattern":"^a","format":"x-odd"},"a":{"type":"integer","x-unit":"m"}}},"_meta":{"k":[1]}}"#;
        let params: Value = serde_json::from_str(text).unwrap();
        let request = ElicitRequest::from_params(params).unwrap();
        assert_eq!(request.message(), "Who?");
        assert_eq!(request.meta("k"), Some(&json!([1])));
        assert_eq!(request.into_params().to_string(), text);
    }

    #[test]
    fn a_url_needs_no_id() {
        let params = json!({"mode": "url", "message": "Sign in", "url": "https://example.com/"});
        let request = ElicitRequest::from_params(params).unwrap();
        let wanted = ElicitMode::Url {
            url: "https://example.com/",
            id: None,
        };
        assert_eq!(request.mode(), Ok(wanted));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let path = |params| ElicitRequest::from_params(params).unwrap_err().path;
        assert_eq!(path(json!([])), "params");
        assert_eq!(path(json!({"requestedSchema": {}})), "params.message");
        assert_eq!(path(json!({"message": "m"})), "params.requestedSchema");
        let odd = json!({"message": "m", "mode": "video"});
        assert_eq!(path(odd), "params.mode");
        let error = ElicitResult::from_value(json!({"action": "yes"})).unwrap_err();
        assert_eq!(error.path, "result.action");
    }

    #[test]
    fn an_input_required_result_is_read_in_its_own_order() {
        let text = r#"{"resultType":"input_required","inputRequests":{"b":{"method":"elicitation/create","params":{}},"a":{"method":"roots/list","params":{}}},"requestState":"s"}"#;
        let result = InputRequired::from_value(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(result.state(), Some("s"));
        let keys: Vec<_> = result.requests().map(|(key, _)| key).collect();
        assert_eq!(keys, ["b", "a"]);
        assert_eq!(result.into_value().to_string(), text);
        assert_eq!(InputRequired::from_value(&json!({"content": []})), None);
    }
}
