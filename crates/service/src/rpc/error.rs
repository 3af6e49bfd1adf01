//! The errors of the control API: code, message, and data for programs.
//!
//! The only place that maps errors of the engine and the core to the API. Details of internal
//! errors are logged and not sent.

use std::error::Error;
use std::time::Duration;

use entreat_core::{ExtensionRefusal, Outcome, Problems, TimeoutError};
use entreat_engine::{ActError, AskError, Refusal, UrlError};
use serde::Serialize;
use serde_json::{Map, Value, json};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $meaning:literal;)*) => {
        /// Error codes of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant = $code,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// A short description.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }
        }
    };
}

codes! {
    /// The message is not valid JSON.
    ParseError = -32700, "The message cannot be parsed";
    /// The message is JSON, but not a JSON-RPC call.
    InvalidRequest = -32600, "The message is not a call";
    /// The method does not exist.
    MethodNotFound = -32601, "There is no such method";
    /// The parameters are invalid.
    InvalidParams = -32602, "The parameters are invalid";
    /// An internal error.
    Internal = -32603, "Internal error";
    /// The answers violate rules of the form.
    Invalid = -32007, "The answers are invalid";
    /// The elicitation has already settled.
    Settled = -32009, "The elicitation has settled";
    /// The asker exceeded its rate limit.
    RateLimited = -32010, "Too many requests";
    /// Too many elicitations are live.
    TooManyLive = -32011, "Too many live elicitations";
    /// The elicitation does not exist, or belongs to another asker.
    NotFound = -32012, "There is no such elicitation";
    /// The result is too large.
    TooLarge = -32013, "The result is too large";
    /// A URL is not safe.
    UnsafeUrl = -32014, "The URL is not safe";
    /// The answers violate rules of the form, and no attempts are left.
    LastAttempt = -32015, "That was the last attempt";
    /// The deadline has passed.
    TimedOut = -32016, "The elicitation timed out";
    /// The deadline cannot be extended.
    ExtensionRefused = -32017, "The extension was rejected";
}

impl Code {
    /// Returns the code of an error received over the wire, if it is known.
    pub fn from_wire(code: i64) -> Option<Self> {
        let is_it = |known: &&Self| i64::from(known.as_i32()) == code;
        Self::ALL.iter().find(is_it).copied()
    }

    /// Returns the code on the wire.
    pub fn as_i32(self) -> i32 {
        self as i32
    }
}

/// An error as sent over the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    code: Code,
    message: String,
    data: Map<String, Value>,
}

impl Serialize for RpcError {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wire = json!({"code": self.code.as_i32(), "message": self.message, "data": self.data});
        wire.serialize(serializer)
    }
}

/// Values of `type` in the error data.
const VALIDATION: &str = "validation";
const TIMEOUT: &str = "timeout";
const SUBMISSION: &str = "submission";
const SYSTEM: &str = "system";

impl RpcError {
    /// Returns the code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// Returns the message, for the developer of the caller.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the details, for programs.
    pub fn data(&self) -> &Map<String, Value> {
        &self.data
    }

    fn new(code: Code, kind: &'static str, message: impl Into<String>) -> Self {
        let mut data = Map::new();
        data.insert("type".to_owned(), kind.into());
        Self {
            code,
            message: message.into(),
            data,
        }
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }

    pub(super) fn unreadable(why: String) -> Self {
        let message = format!("The message is not valid JSON: {why}.");
        Self::new(Code::ParseError, SYSTEM, message).with("details", why)
    }

    pub(super) fn invalid_request(why: &str) -> Self {
        let message = format!("The message is not a JSON-RPC 2.0 call: {why}.");
        Self::new(Code::InvalidRequest, SYSTEM, message).with("details", why)
    }

    pub(super) fn unknown_method(method: &str, suggestion: Option<&str>) -> Self {
        let method = shortened(method);
        let message = format!("There is no method `{method}`{}", did_you_mean(suggestion));
        Self::new(Code::MethodNotFound, SYSTEM, message)
            .with("details", "unknown_method")
            .suggesting(suggestion)
    }

    /// The result does not fit into the response of its batch.
    pub(super) fn batch_too_large(size: usize, limit: usize) -> Self {
        let message = format!(
            "The responses of the batch have more than {limit} bytes: send this call on its own."
        );
        Self::new(Code::TooLarge, SUBMISSION, message)
            .with("reason", "too_large")
            .with("size", size)
            .with("limit", limit)
    }

    /// An invalid parameter.
    pub(super) fn param(param: &str, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParams, VALIDATION, message)
            .with("reason", reason)
            .with("param", shortened(param))
    }

    /// An invalid combination of parameters.
    pub(super) fn params(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidParams, VALIDATION, message).with("reason", reason)
    }

    pub(super) fn unknown_param(param: &str, suggestion: Option<&str>, known: &str) -> Self {
        let name = shortened(param);
        let end = match suggestion {
            Some(_) => did_you_mean(suggestion),
            None => format!("; it takes {known}."),
        };
        let message = format!("The method has no parameter `{name}`{end}");
        Self::param(param, "unknown_param", message).suggesting(suggestion)
    }

    pub(super) fn unknown_template(name: &str, suggestion: Option<&str>) -> Self {
        let end = match suggestion {
            Some(_) => did_you_mean(suggestion),
            None => "; call `forms/list` to see them.".to_owned(),
        };
        let message = format!("There is no template `{}`{end}", shortened(name));
        Self::param("template", "unknown_template", message).suggesting(suggestion)
    }

    pub(super) fn unknown_value(id: &str, suggestion: Option<&str>) -> Self {
        let id = shortened(id);
        let end = did_you_mean(suggestion);
        let message = format!("`values` contains `{id}`, but the form has no such field{end}");
        Self::param("values", "unknown_field", message)
            .with("field", id)
            .suggesting(suggestion)
    }

    /// A definition, script or prompt with problems.
    pub(super) fn problems(param: &'static str, problems: &Problems) -> Self {
        let count = problems.iter().len();
        let first = problems.iter().next();
        let first = first.map(ToString::to_string).unwrap_or_default();
        let others = match count {
            0 | 1 => String::new(),
            2 => " (and 1 more problem)".to_owned(),
            _ => format!(" (and {} more problems)", count - 1),
        };
        let message = format!("`{param}` has problems: {first}{others}");
        let list = serde_json::to_value(problems).unwrap_or_default();
        Self::param(param, "invalid_definition", message).with("problems", list)
    }

    pub(super) fn other_form(expected: Option<&str>, actual: &str) -> Self {
        let message = match expected {
            Some(id) => format!(
                "`form_id` is `{}`, but the form that was asked is `{id}`.",
                shortened(actual)
            ),
            None => "`form_id` was given, but no form was asked.".to_owned(),
        };
        Self::new(Code::InvalidParams, SUBMISSION, message)
            .with("reason", "form_id_mismatch")
            .with("param", "form_id")
            .with("expected", expected)
            .with("actual", shortened(actual))
    }

    /// One error for unknown ids, ids of other askers, and malformed ids.
    pub(super) fn not_found() -> Self {
        let message = "There is no such elicitation; its id may be wrong, or it was deleted.";
        Self::new(Code::NotFound, SUBMISSION, message).with("reason", "not_found")
    }

    /// Operators may not call this method.
    pub(super) fn not_for_operators(method: &str) -> Self {
        let message = format!(
            "A key with the role `operator` cannot call `{method}`: it lists, shows, cancels and \
             extends questions; to ask and answer, use the key of an asker."
        );
        Self::new(Code::NotFound, SYSTEM, message).with("reason", "not_for_operators")
    }

    /// This service shows people no inbox.
    pub(super) fn no_inbox() -> Self {
        let message = "This service has no inbox that people can reach; set `public_url`.";
        Self::new(Code::NotFound, SYSTEM, message).with("reason", "no_inbox")
    }

    /// The link to the inbox is for the person at the service's machine.
    pub(super) fn not_your_inbox() -> Self {
        let message = "The link to the inbox is for the person at the service's machine: on that \
                       machine, run `entreat inbox` as the service's user.";
        Self::new(Code::NotFound, SYSTEM, message).with("reason", "not_your_inbox")
    }

    /// An internal error, logged here; the caller learns only its kind.
    pub(super) fn internal(details: &'static str, error: &(dyn Error + 'static)) -> Self {
        tracing::error!(error, details, "request failed");
        let message = "Internal error; see the service's log. Try again later.";
        Self::new(Code::Internal, SYSTEM, message).with("details", details)
    }

    fn rate_limited(retry_after: Duration) -> Self {
        let wait = millis(retry_after);
        let message = format!("Too many requests; try again in {wait} ms.");
        Self::new(Code::RateLimited, SYSTEM, message)
            .with("details", "rate_limited")
            .with("retry_after_ms", wait)
    }

    fn settled(outcome: Outcome) -> Self {
        let state = outcome.status().as_str();
        let message = format!("The elicitation has settled: it is {state}.");
        Self::new(Code::Settled, SUBMISSION, message)
            .with("state", state)
            .with("reason", outcome.settled_code())
    }

    fn refused(refusal: &Refusal) -> Self {
        let count = refusal.errors.len();
        let answers = match count {
            1 => "1 answer is".to_owned(),
            _ => format!("{count} answers are"),
        };
        let (code, end) = if refusal.retry_allowed {
            (Code::Invalid, "correct and submit again")
        } else {
            (Code::LastAttempt, "that was the last attempt")
        };
        let errors = serde_json::to_value(&refusal.errors).unwrap_or_default();
        Self::new(code, VALIDATION, format!("{answers} not valid; {end}."))
            .with("errors", errors)
            .with("retry_allowed", refusal.retry_allowed)
            .with("retry_limit", refusal.retry_limit)
            .with("retry_count", refusal.retry_count)
    }

    fn unsafe_url(error: &UrlError) -> Self {
        let message = format!("The URL is not safe: {error}.");
        Self::new(Code::UnsafeUrl, VALIDATION, message).with("reason", error.code())
    }

    fn suggesting(self, suggestion: Option<&str>) -> Self {
        match suggestion {
            Some(word) => self.with("suggestion", word),
            None => self,
        }
    }
}

impl From<TimeoutError> for RpcError {
    fn from(error: TimeoutError) -> Self {
        let setting = error.setting();
        let message = match &setting {
            Some(setting) => format!(
                "{error}; the service's setting `{setting}`, for all askers or for this one, \
                 changes that."
            ),
            None => format!("{error}."),
        };
        let mut error_data = Self::new(Code::InvalidParams, TIMEOUT, message)
            .with("reason", error.kind())
            .with("param", "timeout");
        if let Some(setting) = setting {
            error_data = error_data.with("setting", setting);
        }
        match error {
            TimeoutError::TooSmall {
                key,
                requested,
                minimum,
                ..
            } => error_data
                .with("key", key)
                .with("requested", requested)
                .with("minimum", minimum),
            TimeoutError::TooLarge {
                key,
                requested,
                maximum,
                ..
            } => error_data
                .with("key", key)
                .with("requested", requested)
                .with("maximum", maximum),
            TimeoutError::Invalid { key, requested, .. } => {
                error_data.with("key", key).with("requested", requested)
            }
            // `TimeoutError` is non-exhaustive; kind and message suffice for new variants.
            _ => error_data,
        }
    }
}

impl From<AskError> for RpcError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Timeout(error) => error.into(),
            AskError::SizeLimit { requested, maximum } => {
                let message =
                    format!("`size_limit` is {requested}; it can be 1 to {maximum} bytes.");
                Self::param("size_limit", "size_limit", message)
                    .with("requested", requested)
                    .with("minimum", 1)
                    .with("maximum", maximum)
            }
            AskError::UnsafeUrl(error) => Self::unsafe_url(&error),
            AskError::NoCallbacks => {
                let message = "This service does not support callbacks: leave out `callback` and \
                               use `elicitation/await`, or configure a signing secret.";
                Self::param("callback", "no_callbacks", message)
            }
            AskError::RateLimited { retry_after } => Self::rate_limited(retry_after),
            AskError::TooManyLive { limit } => {
                let message = format!(
                    "{limit} elicitations are live, which is the limit; wait until one settles."
                );
                Self::new(Code::TooManyLive, SYSTEM, message)
                    .with("details", "too_many_live")
                    .with("limit", limit)
            }
            AskError::TooLarge { size, limit } => {
                let message = format!(
                    "The question needs {size} bytes of memory in addition to its form, but only \
                     {limit} are left; ask with less, or wait until others settle."
                );
                Self::new(Code::TooManyLive, SYSTEM, message)
                    .with("details", "too_much_live")
                    .with("size", size)
                    .with("limit", limit)
            }
            AskError::Store(error) => Self::internal("store", &error),
            // Non-exhaustive; new variants are treated as internal errors.
            other => Self::internal("unknown", &other),
        }
    }
}

impl From<ActError> for RpcError {
    fn from(error: ActError) -> Self {
        match error {
            ActError::NotFound => Self::not_found(),
            ActError::Settled { outcome } => Self::settled(outcome),
            ActError::TimedOut { elapsed, timeout } => {
                let (elapsed, timeout) = (millis(elapsed), millis(timeout));
                let message = format!(
                    "The elicitation timed out: {elapsed} ms have passed, and its timeout was \
                     {timeout} ms."
                );
                Self::new(Code::TimedOut, TIMEOUT, message)
                    .with("elapsed_ms", elapsed)
                    .with("timeout_ms", timeout)
            }
            ActError::Invalid(refusal) => Self::refused(&refusal),
            ActError::TooLarge { size, limit } => {
                let message = format!(
                    "The result has {size} bytes; the limit is {limit}. The elicitation stays \
                     open."
                );
                Self::new(Code::TooLarge, SUBMISSION, message)
                    .with("reason", "too_large")
                    .with("size", size)
                    .with("limit", limit)
            }
            ActError::Extension(why) => {
                let message = match why {
                    ExtensionRefusal::NotAllowed => {
                        "This question cannot be extended: `extension_allowed` in its `timeout`, \
                         or the service's setting `timeouts.MODE.extension_allowed`, is false."
                    }
                    ExtensionRefusal::NoneLeft => {
                        "This question cannot be extended any further: `max_extensions` in its \
                         `timeout`, or the service's setting `timeouts.MODE.max_extensions`, \
                         allows more."
                    }
                    ExtensionRefusal::TooLong => {
                        "`extensionDuration` is too long; leave it out to get the longest \
                         extension. `extension_duration` in the question's `timeout`, or the \
                         service's setting `timeouts.MODE.extension_duration`, allows more."
                    }
                };
                Self::new(Code::ExtensionRefused, TIMEOUT, message).with("reason", why.as_str())
            }
            ActError::WrongMode(mode) => {
                let message = format!("This method does not apply to a question in {mode} mode.");
                Self::new(Code::InvalidParams, SUBMISSION, message)
                    .with("reason", "wrong_mode")
                    .with("mode", mode.as_str())
            }
            ActError::RateLimited { retry_after } => Self::rate_limited(retry_after),
            ActError::ShuttingDown => {
                let message = "The service is shutting down; try again later.";
                Self::new(Code::Internal, SYSTEM, message).with("details", "shutting_down")
            }
            ActError::Store(error) => Self::internal("store", &error),
            ActError::Vault(error) => Self::internal("vault", &error),
            // Non-exhaustive; new variants are treated as internal errors.
            other => Self::internal("unknown", &other),
        }
    }
}

/// Truncates input that a message quotes.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(word) => format!("; did you mean `{word}`?"),
        None => ".".to_owned(),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
