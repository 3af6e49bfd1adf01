//! Why a handler did not get an answer, and what the client is told of it.

use entreat_core::{CancelReason, Presented, Problems, TimeoutError};
use entreat_engine::{ActError, AskError as EngineError, UrlError};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode};
use serde_json::{Value, json};

use crate::wire::URL_REQUIRED;

/// Why there is no answer.
///
/// It turns into rmcp's error, so that `?` does the right thing in a handler: a tool whose
/// question was declined ends with a result that says so, which the model can read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The person decided not to answer.
    #[error("the person declined to answer `{key}`")]
    Declined {
        /// The question.
        key: String,
        /// Whether it was on a screen at all.
        shown: Presented,
    },
    /// It ended without a decision.
    #[error("`{key}` was cancelled: {}", why(*reason))]
    Cancelled {
        /// The question.
        key: String,
        /// Why.
        reason: CancelReason,
        /// Whether it was on a screen at all.
        shown: Presented,
    },
    /// Nobody answered in time.
    #[error("nobody answered `{key}` in time")]
    TimedOut {
        /// The question.
        key: String,
    },
    /// The client visits URLs first and then calls again.
    #[error("`{key}` has to be answered on a page first")]
    UrlRequired {
        /// The question.
        key: String,
        /// The URL request, as the client is told it.
        request: Value,
    },
    /// The client cannot ask this, and nobody else can.
    #[error("the client cannot ask `{key}`: {needs}")]
    NoWay {
        /// The question.
        key: String,
        /// What it would need.
        needs: &'static str,
        /// The capabilities that the client would have to declare.
        required: Value,
    },
    /// Two questions or effects of one run have the same key.
    #[error("the key `{0}` is used twice in one call; give each question and effect its own")]
    KeyUsedTwice(String),
    /// A question was asked within an effect that runs once.
    #[error("`{0}` is asked within `once`, which may not be interrupted; ask before or after")]
    WithinOnce(String),
    /// A question keeps changing under its key.
    #[error(
        "`{0}` is another question each time the handler runs; leave times and random values out \
         of its message and form"
    )]
    KeepsChanging(String),
    /// The definition of a form is not sound.
    #[error("the form is not sound")]
    Form(#[from] Problems),
    /// There is no form of that name.
    #[error("there is no template `{0}`")]
    NoTemplate(String),
    /// The answers do not become the type that was asked for.
    #[error("the answer does not fit: {0}")]
    Misfit(String),
    /// The result of an effect cannot be kept.
    #[error("the result of `{key}` cannot be kept")]
    Once {
        /// The effect.
        key: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The timeout lies outside its bounds.
    #[error(transparent)]
    Timeout(#[from] TimeoutError),
    /// The URL is not safe.
    #[error("the URL is not safe")]
    UnsafeUrl(#[source] UrlError),
    /// Nobody could be sent to the page; the log may say why.
    #[error("the page cannot be reached")]
    NoPage,
    /// The client answered with an error.
    #[error("the client answered with an error: {0}")]
    Client(String),
    /// The client is gone.
    #[error("the client is gone")]
    Disconnected,
    /// The call is over, and this question came too late for it.
    #[error("the call is over")]
    CallEnded,
    /// The handler was not called through the wrapper.
    #[error("the server is not wrapped; serve `Mcp::wrap(server)`")]
    NotWrapped,
    /// The engine did not ask.
    #[error("the question could not be asked")]
    Ask(#[source] EngineError),
    /// The engine did not act.
    #[error("the question could not be settled")]
    Act(#[source] ActError),
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

/// The member of an error's data by which the wrapper knows its own.
const MARK: &str = "dev.entreat/unanswered";

impl From<AskError> for ErrorData {
    fn from(error: AskError) -> Self {
        let message = sentence(&error);
        match error {
            AskError::UrlRequired { request, .. } => Self::new(
                ErrorCode(URL_REQUIRED),
                "this call needs something that is asked on a page",
                Some(json!({"elicitations": [request]})),
            ),
            AskError::NoWay { required, .. } => Self::new(
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
    ErrorData::invalid_request(message, Some(json!({ MARK: outcome })))
}

/// The result of a tool that ended with one of our errors which its caller should read.
pub(crate) fn tool_result(error: &ErrorData, is_legacy: bool) -> Option<CallToolResult> {
    let is_unanswered = || error.data.as_ref()?.get(MARK);
    let is_missing = error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    // A legacy client does not know that code; what it says is for a person then.
    let is_ours = is_unanswered().is_some() || (is_legacy && is_missing);
    let text = ContentBlock::text(error.message.to_string());
    is_ours.then(|| CallToolResult::error(vec![text]))
}

/// The error and what it comes from, in one line.
fn sentence(error: &AskError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

fn why(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::UserCancelled => "the person closed it without a decision",
        CancelReason::ClientDisconnected => "the client went away",
        CancelReason::SessionExpired => "the session ended",
        CancelReason::FormInvalidated => "the form was withdrawn",
        CancelReason::MaxRetriesExceeded => "no answer was valid",
        CancelReason::AskerCancelled => "it is not needed any more",
    }
}
