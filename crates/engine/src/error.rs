//! Errors of the engine. None contains an answer.

use std::time::Duration;

use entreat_core::{ExtensionRefusal, FieldError, Mode, Outcome, TimeoutError};

use crate::resolver::UrlError;
use crate::store::StoreError;
use crate::vault::VaultError;

/// Why a question was not asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The timeout is out of bounds.
    #[error(transparent)]
    Timeout(#[from] TimeoutError),
    /// The size limit is out of bounds.
    #[error("a size limit is 1 to {maximum} bytes, not {requested}")]
    SizeLimit {
        /// The requested limit.
        requested: u64,
        /// The maximum.
        maximum: u64,
    },
    /// The URL or the callback URL is blocked.
    #[error("the URL is not safe")]
    UnsafeUrl(#[source] UrlError),
    /// A callback is requested, but the engine has no sender for callbacks.
    #[error("callbacks are not set up here")]
    NoCallbacks,
    /// The asker exceeds its rate limit.
    #[error("too many requests; try again in {} ms", retry_after.as_millis())]
    RateLimited {
        /// When to try again.
        retry_after: Duration,
    },
    /// The asker or the engine has too many live questions.
    #[error("{limit} elicitations are live, which is the limit")]
    TooManyLive {
        /// The limit that was reached.
        limit: usize,
    },
    /// The question exceeds the asker's remaining memory quota.
    #[error("the question needs {size} bytes of memory, but only {limit} are left")]
    TooLarge {
        /// Approximate size in bytes.
        size: usize,
        /// Bytes left.
        limit: usize,
    },
    /// The store failed.
    #[error("the question could not be stored")]
    Store(#[from] StoreError),
}

/// Why a call on an elicitation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActError {
    /// It does not exist, or belongs to another asker.
    #[error("no such elicitation")]
    NotFound,
    /// It has already settled.
    #[error("the elicitation is {}", outcome.settled_code())]
    Settled {
        /// How it ended.
        outcome: Outcome,
    },
    /// The answer came too late.
    #[error("timed out after {} of {} ms", elapsed.as_millis(), timeout.as_millis())]
    TimedOut {
        /// How long after the question the answer came.
        elapsed: Duration,
        /// The timeout.
        timeout: Duration,
    },
    /// The answers are invalid.
    #[error("the answers are not valid")]
    Invalid(Box<Refusal>),
    /// The result is too large; the elicitation stays open.
    #[error("the result has {size} bytes, more than {limit}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The draft has changed since it was read; derive the answers again.
    #[error("the draft has changed meanwhile")]
    DraftChanged,
    /// The extension was rejected.
    #[error("the extension was rejected: {}", .0.as_str())]
    Extension(ExtensionRefusal),
    /// The operation does not apply to this mode.
    #[error("the operation does not apply in {0} mode")]
    WrongMode(Mode),
    /// The asker exceeds its rate limit.
    #[error("too many requests; try again in {} ms", retry_after.as_millis())]
    RateLimited {
        /// When to try again.
        retry_after: Duration,
    },
    /// The engine is shutting down; a durable elicitation can be awaited after the next start.
    #[error("the engine is shutting down")]
    ShuttingDown,
    /// The store failed.
    #[error("the elicitation could not be changed")]
    Store(#[from] StoreError),
    /// A secret could not be decrypted.
    #[error("a sealed answer could not be opened")]
    Vault(#[from] VaultError),
}

/// Why answers were rejected, and whether a retry is allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// All errors, in field order.
    pub errors: Vec<FieldError>,
    /// Whether another submission is allowed.
    pub retry_allowed: bool,
    /// Maximum number of submissions.
    pub retry_limit: u8,
    /// Number of submissions so far.
    pub retry_count: u8,
}

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store could not be read.
    #[error("the store cannot be read")]
    Store(#[from] StoreError),
    /// The store's secrets are sealed with other keys.
    #[error("the keys do not match this store")]
    Keys(#[from] VaultError),
    /// The store's key proof cannot be parsed.
    #[error("the store's proof of its keys cannot be read")]
    Proof(#[from] serde_json::Error),
    /// The system's random number generator failed.
    #[error("cannot get random bytes from the system")]
    Entropy(#[source] std::io::Error),
}
