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
