//! Why a handler got no answer, and the error that the client receives.

use entreat_core::{CancelReason, Presented, Problems, TimeoutError};
use entreat_engine::{ActError, AskError as EngineError, NoPage, UrlError};
use entreat_wire::message::URL_REQUIRED;
use entreat_wire::seal::RejectReason;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode};
use serde_json::{Value, json};

/// Why a question has no answer.
///
/// Converts into rmcp's error, so that `?` does the right thing in a handler: a tool whose question
/// was declined returns an error result that the model can read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The person decided not to answer.
    #[error("the person declined to answer `{key}`")]
    Declined {
        /// The question's key.
        key: String,
        /// Whether a person saw the question.
        shown: Presented,
    },
    /// The question ended without a decision.
    #[error("`{key}` was cancelled: {}", describe(*reason))]
    Cancelled {
        /// The question's key.
        key: String,
        /// Why it was cancelled.
        reason: CancelReason,
        /// Whether a person saw the question.
        shown: Presented,
    },
    /// Nobody answered before the deadline.
    #[error("nobody answered `{key}` in time")]
    TimedOut {
        /// The question's key.
        key: String,
    },
    /// The client has to visit a URL and then call again.
    #[error("`{key}` has to be answered on a page first")]
    UrlRequired {
        /// The question's key.
        key: String,
        /// The parameters of the URL request.
        request: Value,
    },
    /// No route leads to the person: the client lacks a capability, and no page is available.
    #[error("the client cannot ask `{key}`: {needs}")]
    NoRoute {
        /// The question's key.
        key: String,
        /// What is missing.
        needs: &'static str,
        /// The capabilities that the client would have to declare.
        required: Value,
    },
    /// Two questions or effects of one run have the same key.
    #[error("the key `{0}` is used twice in one call; give each question and effect its own")]
    KeyUsedTwice(String),
    /// A question was asked inside a `once` effect.
    #[error("`{0}` is asked within `once`, which may not be interrupted; ask before or after")]
    WithinOnce(String),
    /// A question differs each time the handler runs.
    #[error(
        "`{0}` is another question each time the handler runs; leave times and random values out \
         of its message and form"
    )]
    UnstableQuestion(String),
    /// The form definition is invalid.
    #[error("the form is not valid")]
    Form(#[from] Problems),
    /// No template has this name.
    #[error("there is no template `{0}`")]
    NoTemplate(String),
    /// The answers do not convert to the requested type.
    #[error("the answer is invalid: {0}")]
    Mismatch(String),
    /// The result of an effect cannot be stored.
    #[error("the result of `{key}` cannot be stored")]
    Once {
        /// The effect's key.
        key: String,
        /// The serialization error.
        #[source]
        source: serde_json::Error,
    },
    /// The timeout is out of bounds.
    #[error(transparent)]
    Timeout(#[from] TimeoutError),
    /// The URL guard rejected the URL.
    #[error("the URL is not safe")]
    UnsafeUrl(#[source] UrlError),
    /// No page could be opened for the question.
    #[error("the question has no page: {0}")]
    NoPage(NoPage),
    /// The service that keeps the questions refused one; in its words.
    #[error("{0}")]
    Service(String),
    /// The client responded with an error.
    #[error("the client answered with an error: {0}")]
    Client(String),
    /// The connection to the client is closed.
    #[error("the client disconnected")]
    Disconnected,
    /// The call ended before the question was asked.
    #[error("the call has ended")]
    CallEnded,
    /// The server is not wrapped.
    #[error("the server is not wrapped; serve `Mcp::wrap(server)`")]
    NotWrapped,
    /// The engine refused the question.
    #[error("the question could not be asked")]
    Ask(#[source] EngineError),
    /// The engine could not settle the question.
    #[error("the question could not be settled")]
    Act(#[source] ActError),
}

impl AskError {
    /// What a model should read that asked for its user; `None` if it can do nothing about it.
    pub(crate) fn for_model(&self) -> Option<String> {
        match self {
            Self::UrlRequired { .. }
            | Self::NoRoute { .. }
            | Self::KeyUsedTwice(_)
            | Self::WithinOnce(_)
            | Self::UnstableQuestion(_)
            | Self::Once { .. }
            | Self::Disconnected
            | Self::CallEnded
            | Self::NotWrapped => None,
            Self::Client(message) => Some(format!(
                "The client answered with an error: {message}. Call again with `wait: false` to \
                 ask on a page instead."
            )),
            Self::Declined { .. }
            | Self::Cancelled { .. }
            | Self::TimedOut { .. }
            | Self::Form(_)
            | Self::NoTemplate(_)
            | Self::Mismatch(_)
            | Self::Timeout(_)
            | Self::UnsafeUrl(_)
            | Self::NoPage(_)
            | Self::Service(_)
            | Self::Ask(_)
            | Self::Act(_) => Some(sentence(self)),
        }
    }
}

impl From<EngineError> for AskError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Timeout(error) => Self::Timeout(error),
            EngineError::UnsafeUrl(error) => Self::UnsafeUrl(error),
            error => Self::Ask(error),
        }
    }
}

impl From<ActError> for AskError {
    fn from(error: ActError) -> Self {
        Self::Act(error)
    }
}

/// The member of `data` that marks errors of unanswered questions.
const UNANSWERED: &str = "dev.entreat/unanswered";

impl From<AskError> for ErrorData {
    fn from(error: AskError) -> Self {
        let message = sentence(&error);
        match error {
            AskError::UrlRequired { request, .. } => Self::new(
                ErrorCode(URL_REQUIRED),
                "this call needs something that is asked on a page",
                Some(json!({"elicitations": [request]})),
            ),
            AskError::NoRoute { required, .. } => Self::new(
                ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
                message,
                Some(json!({"requiredCapabilities": required})),
            ),
            AskError::Declined { .. } => unanswered(message, "declined"),
            AskError::Cancelled { .. } => unanswered(message, "cancelled"),
            AskError::TimedOut { .. } => unanswered(message, "timed_out"),
            _ => Self::internal_error(message, None),
        }
    }
}

fn unanswered(message: String, outcome: &str) -> ErrorData {
    ErrorData::invalid_request(message, Some(json!({ UNANSWERED: outcome })))
}

/// Converts errors that the model should read into a tool result.
pub(crate) fn tool_result(error: &ErrorData, is_legacy: bool) -> Option<CallToolResult> {
    let is_unanswered = || error.data.as_ref()?.get(UNANSWERED);
    let is_missing = error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    // Legacy clients do not know this code, so the model gets the text.
    let is_ours = is_unanswered().is_some() || (is_legacy && is_missing);
    let text = ContentBlock::text(error.message.to_string());
    is_ours.then(|| CallToolResult::error(vec![text]))
}

/// The error with its chain of sources, in one line.
fn sentence(error: &AskError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

fn describe(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::UserCancelled => "the person closed it without a decision",
        CancelReason::ClientDisconnected => "the client disconnected",
        CancelReason::SessionExpired => "the session ended",
        CancelReason::FormInvalidated => "the form was withdrawn",
        CancelReason::MaxRetriesExceeded => "no answer was valid",
        CancelReason::AskerCancelled => "it is no longer needed",
    }
}

/// Logs why a request state is rejected; the client gets the same error for all reasons.
pub(crate) fn reject_state(reason: &RejectReason, name: &str) -> ErrorData {
    tracing::warn!(%reason, name, "a request state was refused");
    ErrorData::invalid_params("requestState is not valid for this request", None)
}
