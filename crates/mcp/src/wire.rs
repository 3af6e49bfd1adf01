//! The JSON of elicitation in every era, as it is on the wire.
//!
//! Each type is the JSON object itself with a way to read it: what is not understood here, or
//! came in another order, is still there when it is written again. rmcp's own types drop such
//! things, or refuse the whole message over one of them.

use entreat_core::schema::Era;
use serde_json::{Map, Value};

/// The method by which a server asks.
pub const CREATE: &str = "elicitation/create";
/// The notification that what a URL asked for is done.
pub const COMPLETE: &str = "notifications/elicitation/complete";
/// The method by which a server asks the client's model.
pub const SAMPLE: &str = "sampling/createMessage";
/// The method by which a server asks which folders it may work in.
pub const ROOTS: &str = "roots/list";
/// The error code of a call that wants URLs to be visited first.
pub const URL_REQUIRED: i32 = -32042;
/// The extension that brings whole forms, and the key of `_meta` under which they lie.
pub const FORMS: &str = "dev.entreat/forms";

/// A message that is not what its method says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {wrong}")]
pub struct WireError {
    /// Where in the message.
    pub place: &'static str,
    /// What is wrong there.
    pub wrong: &'static str,
}

/// The parameters of `elicitation/create`.
#[derive(Clone, Debug, PartialEq)]
pub struct ElicitRequest(Map<String, Value>);

/// What an [`ElicitRequest`] wants of the person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted<'a> {
    /// Answers that fit a schema.
    Form {
        /// The schema.
        schema: &'a Value,
    },
    /// A visit to a URL.
    Url {
        /// The URL.
        url: &'a str,
        /// Its id, which 2026-07-28 does not have.
        id: Option<&'a str>,
    },
}

impl ElicitRequest {
    /// A form, as an era says it.
    pub fn form(era: Era, message: &str, schema: Value) -> Self {
        let mut params = Map::new();
        if era != Era::V2025_06_18 {
            params.insert("mode".into(), "form".into());
        }
        params.insert("message".into(), message.into());
        params.insert("requestedSchema".into(), schema);
        Self(params)
    }

    /// A URL; the id is for the eras that have one.
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

    /// Reads parameters; nothing of them is lost.
    pub fn from_params(params: Value) -> Result<Self, WireError> {
        let Value::Object(params) = params else {
            return Err(wrong("params", "is not an object"));
        };
        let request = Self(params);
        request.text("message", "params.message")?;
        request.wanted()?;
        Ok(request)
    }

    /// What the person is told.
    pub fn message(&self) -> &str {
        self.0
            .get("message")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// What is wanted of the person.
    pub fn wanted(&self) -> Result<Wanted<'_>, WireError> {
        match self.0.get("mode").map_or(Some("form"), Value::as_str) {
            Some("form") => match self.0.get("requestedSchema") {
                Some(schema @ Value::Object(_)) => Ok(Wanted::Form { schema }),
                _ => Err(wrong("params.requestedSchema", "is not an object")),
            },
            Some("url") => Ok(Wanted::Url {
                url: self.text("url", "params.url")?,
                id: self.0.get("elicitationId").and_then(Value::as_str),
            }),
            _ => Err(wrong("params.mode", "is neither `form` nor `url`")),
        }
    }

    /// A member of `_meta`.
    pub fn meta(&self, key: &str) -> Option<&Value> {
        self.0.get("_meta")?.get(key)
    }

    /// The parameters.
    pub fn into_params(self) -> Value {
        self.0.into()
    }

    fn text(&self, member: &str, place: &'static str) -> Result<&str, WireError> {
        let text = self.0.get(member).and_then(Value::as_str);
        text.ok_or(wrong(place, "is not a text"))
    }
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// It was answered.
    Accept,
    /// The person decided against it.
    Decline,
    /// The person decided nothing.
    Cancel,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Accept, Self::Decline, Self::Cancel];

    /// Its name on the wire.
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
    /// A result without answers.
    pub fn of(action: Action) -> Self {
        let mut result = Map::new();
        result.insert("action".into(), action.as_str().into());
        Self(result)
    }

    /// The answers to a form.
    pub fn accept(content: Map<String, Value>) -> Self {
        let mut result = Self::of(Action::Accept);
        result.0.insert("content".into(), content.into());
        result
    }

    /// Reads a result; nothing of it is lost.
    pub fn from_value(value: Value) -> Result<Self, WireError> {
        let Value::Object(result) = value else {
            return Err(wrong("result", "is not an object"));
        };
        let action = result.get("action").and_then(Value::as_str);
        if !Action::ALL.iter().any(|it| Some(it.as_str()) == action) {
            let wrong_action = "is none of `accept`, `decline` and `cancel`";
            return Err(wrong("result.action", wrong_action));
        }
        Ok(Self(result))
    }

    /// What became of the question.
    pub fn action(&self) -> Action {
        let name = self.0.get("action").and_then(Value::as_str);
        let action = Action::ALL.into_iter().find(|it| Some(it.as_str()) == name);
        // Read and made only with one of them.
        action.unwrap_or(Action::Cancel)
    }

    /// The answers to a form.
    pub fn content(&self) -> Option<&Value> {
        self.0.get("content")
    }

    /// The answers to a form, of which nothing else is wanted.
    pub(crate) fn into_content(mut self) -> Option<Value> {
        self.0.shift_remove("content")
    }

    /// The result.
    pub fn into_value(self) -> Value {
        self.0.into()
    }
}

/// The result of a call that goes on once its questions are answered, since 2026-07-28.
#[derive(Clone, Debug, PartialEq)]
pub struct InputRequired(Map<String, Value>);

impl InputRequired {
    /// Requests by their keys, in the order in which they were asked, and the state to send back.
    pub fn new(requests: Map<String, Value>, state: &str) -> Self {
        let mut result = Map::new();
        result.insert("resultType".into(), "input_required".into());
        if !requests.is_empty() {
            result.insert("inputRequests".into(), requests.into());
        }
        result.insert("requestState".into(), state.into());
        Self(result)
    }

    /// Reads a result; `None` if it is of another type.
    pub fn from_value(value: &Value) -> Option<Self> {
        let result = value.as_object()?;
        let is_one = result.get("resultType")?.as_str()? == "input_required";
        is_one.then(|| Self(result.clone()))
    }

    /// The requests by their keys.
    pub fn requests(&self) -> impl Iterator<Item = (&str, &Value)> {
        let requests = self.0.get("inputRequests").and_then(Value::as_object);
        let requests = requests.into_iter().flatten();
        requests.map(|(key, request)| (key.as_str(), request))
    }

    /// The state to send back, to the byte.
    pub fn state(&self) -> Option<&str> {
        self.0.get("requestState")?.as_str()
    }

    /// The result.
    pub fn into_value(self) -> Value {
        self.0.into()
    }
}

/// A request within [`InputRequired`].
pub fn input_request(method: &str, params: Value) -> Value {
    let mut request = Map::new();
    request.insert("method".into(), method.into());
    request.insert("params".into(), params);
    request.into()
}

fn wrong(place: &'static str, wrong: &'static str) -> WireError {
    WireError { place, wrong }
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
        let wanted = Wanted::Url {
            url: "https://example.com/",
            id: None,
        };
        assert_eq!(request.wanted(), Ok(wanted));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let place = |params| ElicitRequest::from_params(params).unwrap_err().place;
        assert_eq!(place(json!([])), "params");
        assert_eq!(place(json!({"requestedSchema": {}})), "params.message");
        assert_eq!(place(json!({"message": "m"})), "params.requestedSchema");
        let odd = json!({"message": "m", "mode": "video"});
        assert_eq!(place(odd), "params.mode");
        let error = ElicitResult::from_value(json!({"action": "yes"})).unwrap_err();
        assert_eq!(error.place, "result.action");
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
