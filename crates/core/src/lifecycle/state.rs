//! Where an elicitation stands, and how it ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::UnixTime;

/// Where an elicitation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum State {
    /// Asked; nobody has begun to answer.
    Pending,
    /// Somebody has begun.
    Active {
        /// Since when.
        since: UnixTime,
    },
    /// Answered.
    Completed {
        /// When.
        at: UnixTime,
    },
    /// The respondent decided not to answer.
    Declined {
        /// When.
        at: UnixTime,
    },
    /// Nobody decided anything; an asker may well ask again, which is why this is not
    /// the same as a decline.
    Cancelled {
        /// When.
        at: UnixTime,
        /// Why.
        reason: CancelReason,
    },
    /// The deadline passed.
    #[serde(rename = "timeout")]
    TimedOut {
        /// When that was noticed, which may be after the deadline.
        at: UnixTime,
    },
}

/// A state by its name alone: what lists are filtered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Asked; nobody has begun to answer.
    Pending,
    /// Somebody has begun.
    Active,
    /// Answered.
    Completed,
    /// The respondent decided not to answer.
    Declined,
    /// Nobody decided anything.
    Cancelled,
    /// The deadline passed.
    Timeout,
}

/// How an elicitation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// With an answer.
    Completed,
    /// By the respondent's decision.
    Declined,
    /// Without a decision.
    Cancelled(CancelReason),
    /// By its deadline.
    TimedOut,
}

/// Why an elicitation was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// The respondent went away from it.
    UserCancelled,
    /// The asker's connection ended.
    ClientDisconnected,
    /// The asker's MCP session ended.
    SessionExpired,
    /// Its form was withdrawn.
    FormInvalidated,
    /// The last attempt was not valid either.
    MaxRetriesExceeded,
    /// The asker does not need it any more.
    AskerCancelled,
}

impl CancelReason {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::UserCancelled,
        Self::ClientDisconnected,
        Self::SessionExpired,
        Self::FormInvalidated,
        Self::MaxRetriesExceeded,
        Self::AskerCancelled,
    ];

    /// The reason's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserCancelled => "user_cancelled",
            Self::ClientDisconnected => "client_disconnected",
            Self::SessionExpired => "session_expired",
            Self::FormInvalidated => "form_invalidated",
            Self::MaxRetriesExceeded => "max_retries_exceeded",
            Self::AskerCancelled => "asker_cancelled",
        }
    }
}

/// Whether a person was shown the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presented {
    /// Nobody can tell.
    #[default]
    Unknown,
    /// It was on a screen.
    Yes,
    /// It was answered faster than a person reads, or by a client without a screen.
    No,
}

impl State {
    /// Its name alone.
    pub fn status(&self) -> Status {
        match self {
            Self::Pending => Status::Pending,
            Self::Active { .. } => Status::Active,
            Self::Completed { .. } => Status::Completed,
            Self::Declined { .. } => Status::Declined,
            Self::Cancelled { .. } => Status::Cancelled,
            Self::TimedOut { .. } => Status::Timeout,
        }
    }
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Active,
        Self::Completed,
        Self::Declined,
        Self::Cancelled,
        Self::Timeout,
    ];

    /// The state's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
        }
    }
}

impl Outcome {
    /// The final state.
    pub fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Declined => Status::Declined,
            Self::Cancelled(_) => Status::Cancelled,
            Self::TimedOut => Status::Timeout,
        }
    }

    /// What is said to whoever comes after: `already_completed` and its like.
    pub fn already(self) -> &'static str {
        match self {
            Self::Completed => "already_completed",
            Self::Declined => "already_declined",
            Self::Cancelled(_) => "already_cancelled",
            Self::TimedOut => "already_timeout",
        }
    }
}

impl fmt::Display for CancelReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
