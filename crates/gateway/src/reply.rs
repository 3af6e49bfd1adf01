//! What a request is answered with.

use serde_json::{Value, json};

use crate::envelope::{self, RawId};
use crate::json::{RawObject, quoted};
use crate::side::Failure;

/// The error codes that the gateway itself uses.
pub(crate) mod code {
    pub(crate) const PARSE_ERROR: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL: i32 = -32603;
    pub(crate) const SESSION_NOT_FOUND: i32 = -32001;
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    pub(crate) const MISSING_CAPABILITY: i32 = -32021;
    pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;
    pub(crate) const RESOURCE_NOT_FOUND: i32 = -32002;
    pub(crate) const URL_REQUIRED: i32 = -32042;
}

const UPSTREAM_EXITED: (&str, &str) = ("the server has exited", "upstream_exited");

/// The end of a request, as raw JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Result(String),
    Error(String),
}

impl Reply {
    /// An error with a code and a message.
    pub(crate) fn error(code: i32, message: &str) -> Self {
        Self::Error(json!({"code": code, "message": message}).to_string())
    }

    /// An error that names its reason for programs.
    pub(crate) fn failed(message: &str, reason: &str) -> Self {
        Self::failed_with(message, &json!({"reason": reason}))
    }

    /// An error of something that the upstream may have done, so that nobody repeats it unseen.
    pub(crate) fn may_have_run(message: &str, reason: &str) -> Self {
        Self::failed_with(message, &json!({"reason": reason, "mayHaveRun": true}))
    }

    /// The end of a request that a response brings: its result or its error.
    pub(crate) fn of_response(result: Option<&str>, error: Option<&str>) -> Self {
        match result {
            Some(result) => Self::Result(result.to_owned()),
            None => Self::Error(error.unwrap_or("{}").to_owned()),
        }
    }

    // ---- what many requests end with

    pub(crate) fn empty() -> Self {
        Self::Result("{}".to_owned())
    }

    /// What a server gets for a question that nobody answers any more.
    pub(crate) fn cancel_action() -> Self {
        Self::Result(r#"{"action":"cancel"}"#.to_owned())
    }

    pub(crate) fn invalid_request(message: &str) -> Self {
        Self::error(code::INVALID_REQUEST, message)
    }

    pub(crate) fn invalid_params(message: &str) -> Self {
        Self::error(code::INVALID_PARAMS, message)
    }

    pub(crate) fn not_an_object() -> Self {
        Self::invalid_params("params: is not an object")
    }

    /// For a state that was not sealed here, or not for this call of this principal.
    pub(crate) fn invalid_state() -> Self {
        Self::invalid_params("the request state is not valid")
    }

    pub(crate) fn question_too_large() -> Self {
        Self::invalid_params("params: larger than 1 MiB")
    }

    pub(crate) fn unknown_method() -> Self {
        Self::error(code::METHOD_NOT_FOUND, "Method not found")
    }

    /// There is no memory or no place for it now.
    pub(crate) fn busy(message: &str) -> Self {
        Self::failed(message, "busy")
    }

    pub(crate) fn too_many_requests() -> Self {
        Self::busy("too many requests are open")
    }

    pub(crate) fn too_many_calls() -> Self {
        Self::busy("too many calls are open")
    }

    pub(crate) fn too_many_waiting() -> Self {
        Self::busy("too many calls are waiting")
    }

    pub(crate) fn call_cancelled() -> Self {
        Self::failed("the call was cancelled", "cancelled")
    }

    pub(crate) fn session_ended() -> Self {
        Self::failed("the session has ended", "ended")
    }

    pub(crate) fn client_gone() -> Self {
        Self::failed("the client is gone", "client_gone")
    }

    /// For a request that the server has not got.
    pub(crate) fn upstream_exited() -> Self {
        Self::failed(UPSTREAM_EXITED.0, UPSTREAM_EXITED.1)
    }

    /// For a request that the server had.
    pub(crate) fn upstream_exited_meanwhile() -> Self {
        Self::may_have_run(UPSTREAM_EXITED.0, UPSTREAM_EXITED.1)
    }

    /// What becomes of a request to a client that reads nothing.
    pub(crate) fn unread() -> Self {
        Self::failed("the client reads no stream", "unread")
    }

    /// Whether a client has not even read the request.
    pub(crate) fn is_unread(&self) -> bool {
        self.reason().is_some_and(|reason| reason == "unread")
    }

    fn failed_with(message: &str, data: &Value) -> Self {
        let error = json!({"code": code::INTERNAL, "message": message, "data": data});
        Self::Error(error.to_string())
    }

    /// Whether the upstream was lost, or never reached, before it could end the request.
    pub(crate) fn is_lost(&self) -> bool {
        self.reason()
            .is_some_and(|reason| reason.starts_with("upstream_"))
    }

    /// The reason that an error names for programs.
    fn reason(&self) -> Option<String> {
        let Self::Error(error) = self else {
            return None;
        };
        RawObject::parse(error)?.object("data")?.string("reason")
    }

    /// The response to the request with this id.
    pub(crate) fn to_message(&self, id: &RawId) -> Vec<u8> {
        match self {
            Self::Result(result) => envelope::result(id, result),
            Self::Error(error) => envelope::error(id, error),
        }
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        let message = failure.to_string();
        if failure.may_have_run() {
            Self::may_have_run(&message, failure.reason())
        } else {
            Self::failed(&message, failure.reason())
        }
    }
}

/// The code of an error, as raw JSON.
pub(crate) fn error_code(error: &str) -> Option<i64> {
    serde_json::from_str(RawObject::parse(error)?.get("code")?).ok()
}

/// What was done with a question, in the result of a client.
pub(crate) fn action_in(result: &str) -> Option<String> {
    RawObject::parse(result)?.string("action")
}

/// A tool result that a model reads. Since 2026-07-28, results name their type.
pub(crate) fn tool_text(text: &str, is_error: bool, is_modern: bool) -> String {
    let kind = if is_modern {
        r#""resultType":"complete","#
    } else {
        ""
    };
    let error = if is_error { r#","isError":true"# } else { "" };
    let text = quoted(text);
    format!(r#"{{{kind}"content":[{{"type":"text","text":{text}}}]{error}}}"#)
}
