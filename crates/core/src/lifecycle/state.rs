//! The states and outcomes of an elicitation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::UnixTime;

/// The state of an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum State {
    /// Asked; nobody has started to answer.
    Pending,
    /// Somebody has started to answer.
    Active {
        /// When they started.
        since: UnixTime,
    },
    /// Answered.
    Completed {
        /// When it was answered.
        at: UnixTime,
    },
    /// The respondent decided not to answer.
    Declined {
        /// When they decided.
        at: UnixTime,
    },
    /// Ended without a decision. Distinct from a decline, because an asker may ask again.
    Cancelled {
        /// When it was cancelled.
        at: UnixTime,
        /// Why it was cancelled.
        reason: CancelReason,
    },
    /// The deadline passed.
    #[serde(rename = "timeout")]
    TimedOut {
        /// When the timeout was recorded, which may be after the deadline.
        at: UnixTime,
    },
}

/// The name of a state, without its data. Lists can be filtered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Asked; nobody has started to answer.
    Pending,
    /// Somebody has started to answer.
    Active,
    /// Answered.
    Completed,
    /// The respondent decided not to answer.
    Declined,
    /// Ended without a decision.
    Cancelled,
    /// The deadline passed.
    Timeout,
}

/// How an elicitation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was answered.
    Completed,
    /// The respondent decided not to answer.
    Declined,
    /// It ended without a decision.
    Cancelled(CancelReason),
    /// The deadline passed.
    TimedOut,
}

/// Why an elicitation was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// The respondent dismissed it.
    UserCancelled,
    /// The asker's connection ended.
    ClientDisconnected,
    /// The asker's MCP session ended.
    SessionExpired,
    /// The form was withdrawn.
    FormInvalidated,
    /// The last allowed answer was not valid.
    MaxRetriesExceeded,
    /// The asker withdrew it.
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

/// Whether the question was shown to a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presented {
    /// Not known.
    #[default]
    Unknown,
    /// It was shown on a screen.
    Yes,
    /// It was answered faster than a person can read, or by a client without a screen.
    No,
}

impl State {
    /// The name of the state.
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

    /// The reason reported for a later command, such as `already_completed`.
    pub fn settled_code(self) -> &'static str {
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
