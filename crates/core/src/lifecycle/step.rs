//! What is wanted, what changed, what follows from that, and why it may not happen.

use std::time::Duration;

use super::state::{CancelReason, Outcome, Presented};
use crate::time::UnixTime;

/// What somebody wants to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The question was on a screen; that alone begins nothing.
    Show,
    /// A person began: the first key stroke, POST or consent.
    Open,
    /// Part of an answer is to be kept.
    Draft,
    /// A whole answer came, and was checked.
    Submit(Verdict),
    /// A result came from elsewhere.
    Complete,
    /// The respondent decides not to answer.
    Decline {
        /// Whether it was shown, as far as the channel can tell.
        presented: Presented,
    },
    /// It is to end without a decision.
    Cancel {
        /// Why.
        reason: CancelReason,
        /// Whether it was shown, as far as the channel can tell.
        presented: Presented,
    },
    /// More time is wanted: so much, or as much as the terms grant at once.
    Extend(Option<Duration>),
    /// Time: the moment of the warning has come.
    Warn,
    /// Time: the deadline has come.
    Expire,
}

/// What the form said to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fits.
    Valid,
    /// It breaks rules.
    Invalid,
}

/// A fact about an elicitation: what changed, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: UnixTime,
    /// What.
    pub change: Change,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is known to have been shown.
    Shown,
    /// It became active.
    Opened,
    /// A draft was kept.
    Drafted,
    /// An answer was refused, and another may come.
    Refused,
    /// The last answer that was allowed was refused.
    Exhausted,
    /// An answer was accepted.
    Answered,
    /// A result came from elsewhere.
    Completed,
    /// It was declined.
    Declined {
        /// Whether it was shown, as far as the channel could tell.
        presented: Presented,
    },
    /// It was cancelled.
    Cancelled {
        /// Why.
        reason: CancelReason,
        /// Whether it was shown, as far as the channel could tell.
        presented: Presented,
    },
    /// The deadline moved.
    Extended {
        /// To this.
        deadline: UnixTime,
    },
    /// The warning went out.
    Warned,
    /// The deadline passed.
    TimedOut,
}

/// What the caller has to perform once a change is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Move the alarm to [`Lifecycle::alarm`](super::Lifecycle::alarm).
    Rearm,
    /// Tell whoever follows this elicitation.
    Announce,
    /// Warn the asker that time runs out.
    Warn,
    /// It is over: wake who waits, tell the asker, give back its place under the limits.
    Settle,
}

impl Change {
    /// What has to be performed.
    pub fn effects(&self) -> &'static [Effect] {
        match self {
            Self::Shown | Self::Drafted | Self::Refused | Self::Opened => &[Effect::Announce],
            Self::Extended { .. } => &[Effect::Rearm, Effect::Announce],
            Self::Warned => &[Effect::Rearm, Effect::Warn],
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
    /// It is over already.
    #[error("the elicitation is already {}", .outcome.status().as_str())]
    Settled {
        /// How it ended.
        outcome: Outcome,
    },
    /// The deadline has passed, whether or not a timer has fired.
    #[error("the elicitation timed out")]
    Late,
    /// Time cannot be extended like that.
    #[error("the extension is refused: {}", .0.as_str())]
    Extension(ExtensionRefusal),
    /// Time's own command came before its time.
    #[error("that is not due yet")]
    NotDue,
}

/// Why time is not extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionRefusal {
    /// This question's time cannot be extended.
    NotAllowed,
    /// It was extended as often as it can be.
    NoneLeft,
    /// More was wanted than is granted at once.
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
