//! Why the engine did not do what was asked of it. No error contains an answer.

use std::time::Duration;

use entreat_core::{ExtensionRefusal, FieldError, Mode, Outcome, TimeoutError};

use crate::resolver::UrlError;
use crate::store::StoreError;
use crate::vault::VaultError;

/// Why a question was not asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The timeout lies outside its bounds.
    #[error(transparent)]
    Timeout(#[from] TimeoutError),
    /// The size limit lies outside its bounds.
    #[error("a size limit is 1 to {maximum} bytes, not {requested}")]
    SizeLimit {
        /// What was asked for.
        requested: u64,
        /// The most there is.
        maximum: u64,
    },
    /// The URL, or the callback's, is blocked.
    #[error("the URL is not safe")]
    UnsafeUrl(#[source] UrlError),
    /// A callback is wanted, and there is nobody to call it.
    #[error("callbacks are not set up here")]
    NoCallbacks,
    /// The asker asks too fast.
    #[error("too many requests; try again in {} ms", retry_after.as_millis())]
    RateLimited {
        /// When to try again.
        retry_after: Duration,
    },
    /// Too many of the asker's questions, or of all, are waiting.
    #[error("{limit} elicitations are live, which is the limit")]
    TooManyLive {
        /// The limit that was met.
        limit: usize,
    },
    /// What is asked takes more memory than the asker has left.
    #[error("what is asked takes {size} bytes of memory, and there are {limit} left")]
    TooLarge {
        /// About how much it takes.
        size: usize,
        /// How much is left.
        limit: usize,
    },
    /// The store could not keep it.
    #[error("the question could not be kept")]
    Store(#[from] StoreError),
}

/// Why nothing happened to an elicitation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActError {
    /// There is none of that name, or it is not this asker's.
    #[error("no such elicitation")]
    NotFound,
    /// It is over.
    #[error("the elicitation is {}", outcome.already())]
    Settled {
        /// How it ended.
        outcome: Outcome,
    },
    /// The answer came too late.
    #[error("timed out after {} of {} ms", elapsed.as_millis(), timeout.as_millis())]
    TimedOut {
        /// How long after the question the answer came.
        elapsed: Duration,
        /// How long there was.
        timeout: Duration,
    },
    /// The answers break rules of the form.
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
    /// The draft is not the one that the answers were made of any more; make them anew.
    #[error("the draft has changed meanwhile")]
    DraftChanged,
    /// Time cannot be extended like that.
    #[error("the extension is refused: {}", .0.as_str())]
    Extension(ExtensionRefusal),
    /// This cannot be done to a question of this mode.
    #[error("that cannot be done in {0} mode")]
    WrongMode(Mode),
    /// The asker sends too much.
    #[error("too many requests; try again in {} ms", retry_after.as_millis())]
    RateLimited {
        /// When to try again.
        retry_after: Duration,
    },
    /// The engine is shutting down; a durable elicitation can be awaited after the next start.
    #[error("the engine is shutting down")]
    ShuttingDown,
    /// The store could not do its part.
    #[error("the elicitation could not be changed")]
    Store(#[from] StoreError),
    /// A secret could not be opened.
    #[error("a sealed answer could not be opened")]
    Vault(#[from] VaultError),
}

/// What is wrong with answers, and whether others may follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// All that is wrong, in field order.
    pub errors: Vec<FieldError>,
    /// Whether another try is allowed.
    pub retry_allowed: bool,
    /// How many whole answers may come.
    pub retry_limit: u8,
    /// How many have come.
    pub retry_count: u8,
}

/// Why the engine did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store could not be read.
    #[error("the store cannot be read")]
    Store(#[from] StoreError),
    /// The keys are not those that the store's secrets are sealed with.
    #[error("the keys do not fit this store")]
    Keys(#[from] VaultError),
    /// What the store keeps to tell whether keys fit cannot be read.
    #[error("the store's proof of its keys cannot be read")]
    Proof(#[from] serde_json::Error),
    /// There is no randomness.
    #[error("the system gives no randomness")]
    Entropy(#[source] std::io::Error),
}
