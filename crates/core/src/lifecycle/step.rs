//! Commands, the changes they cause, the effects of changes, and rejections.

use std::time::Duration;

use super::state::{CancelReason, Outcome, Presented};
use crate::time::UnixTime;

/// A request to change an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The question was shown on a screen, which does not make it active.
    Show,
    /// A person started to answer: the first key stroke, POST or consent.
    Open,
    /// Save a draft.
    Draft,
    /// Submit an answer that was checked.
    Submit(Verdict),
    /// Complete with a result from elsewhere.
    Complete,
    /// The respondent decides not to answer.
    Decline {
        /// Whether the question was shown, as far as the channel can tell.
        presented: Presented,
    },
    /// End without a decision.
    Cancel {
        /// Why it is cancelled.
        reason: CancelReason,
        /// Whether the question was shown, as far as the channel can tell.
        presented: Presented,
    },
    /// Extend the deadline by this duration, or by the maximum of one extension.
    Extend(Option<Duration>),
    /// The timer for the warning is due.
    Warn,
    /// The deadline has passed.
    Expire,
}

/// The result of checking an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is valid.
    Valid,
    /// The answer breaks rules of the form.
    Invalid,
}

/// A change of an elicitation and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it changed.
    pub at: UnixTime,
    /// What changed.
    pub change: Change,
    /// Whether this makes a pending elicitation active.
    pub opens: bool,
}

/// A change of an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The question was shown.
    Shown,
    /// The elicitation became active.
    Opened,
    /// A draft was saved.
    Drafted,
    /// An answer was rejected; another may be submitted.
    Refused,
    /// The last allowed answer was rejected.
    Exhausted,
    /// An answer was accepted.
    Answered,
    /// A result came from elsewhere.
    Completed,
    /// The respondent declined.
    Declined {
        /// Whether the question was shown, as far as the channel could tell.
        presented: Presented,
    },
    /// The elicitation was cancelled.
    Cancelled {
        /// Why it was cancelled.
        reason: CancelReason,
        /// Whether the question was shown, as far as the channel could tell.
        presented: Presented,
    },
    /// The deadline was extended.
    Extended {
        /// The new deadline.
        deadline: UnixTime,
    },
    /// The warning was sent.
    Warned,
    /// The deadline passed.
    TimedOut,
}

/// An effect that the caller performs after the change is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Set the timer to [`Lifecycle::timer`](super::Lifecycle::timer).
    SetTimer,
    /// Notify the subscribers of this elicitation.
    Announce,
    /// Warn the asker that the deadline is near.
    Warn,
    /// The elicitation has settled: wake waiters, notify the asker, release its permits.
    Settle,
}

impl Change {
    /// The effects that the caller has to perform.
    pub fn effects(&self) -> &'static [Effect] {
        match self {
            Self::Shown | Self::Drafted | Self::Refused | Self::Opened => &[Effect::Announce],
            Self::Extended { .. } => &[Effect::SetTimer, Effect::Announce],
            Self::Warned => &[Effect::SetTimer, Effect::Warn],
            Self::Exhausted
            | Self::Answered
            | Self::Completed
            | Self::Declined { .. }
            | Self::Cancelled { .. }
            | Self::TimedOut => &[Effect::Settle],
        }
    }
}

/// Why a command cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The elicitation has settled already.
    #[error("the elicitation is already {}", .outcome.status().as_str())]
    Settled {
        /// How it ended.
        outcome: Outcome,
    },
    /// The deadline has passed, whether or not a timer has fired.
    #[error("the elicitation timed out")]
    Late,
    /// The deadline cannot be extended in this way.
    #[error("the extension was rejected: {}", .0.as_str())]
    Extension(ExtensionRefusal),
    /// A timer's command came before the timer was due.
    #[error("that is not due yet")]
    NotDue,
}

/// Why the deadline is not extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionRefusal {
    /// The terms allow no extension.
    NotAllowed,
    /// All extensions are used up.
    NoneLeft,
    /// The requested duration exceeds the maximum of one extension.
    TooLong,
}

impl ExtensionRefusal {
    /// The reason's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotAllowed => "not_allowed",
            Self::NoneLeft => "none_left",
            Self::TooLong => "too_long",
        }
    }
}
