//! The state of a call between rounds: answers received, effects run, questions open. It travels
//! sealed through the client and never contains secret answers.

use std::collections::BTreeMap;

use entreat_core::{CancelReason, ElicitationId, Presented, UnixTime};
use entreat_wire::digest::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The journal of one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The number of rounds so far.
    pub(crate) round: u16,
    /// Settled questions, by key.
    #[serde(rename = "kept")]
    pub(crate) settled: BTreeMap<String, JournalEntry>,
    /// Questions that the client was asked in the last round, by key.
    pub(crate) open: BTreeMap<String, OpenQuestion>,
    /// Results of `once` effects, by key.
    pub(crate) once: BTreeMap<String, Value>,
}

/// A settled question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    pub(crate) question: Digest,
    #[serde(rename = "ending")]
    pub(crate) outcome: JournalOutcome,
    /// How often a different question was asked under this key.
    pub(crate) changes: u8,
}

/// The outcome of a settled question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum JournalOutcome {
    /// Answered by the client: the content of a form, or the result of another request.
    Content(Value),
    /// Answered on a page: the answer is in the engine's store only.
    Page(ElicitationId),
    Declined(Presented),
    Cancelled(CancelReason, Presented),
    TimedOut,
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenQuestion {
    pub(crate) question: Digest,
    pub(crate) asked: UnixTime,
    pub(crate) deadline: UnixTime,
    /// The number of invalid answers so far.
    pub(crate) attempts: u8,
    /// How often a different question was asked under this key.
    pub(crate) changes: u8,
    /// The engine's elicitation, if it is asked on a page or can be answered by the control API.
    pub(crate) page: Option<ElicitationId>,
    /// Whether the person agreed to visit the page: from then on, only the page can answer.
    pub(crate) is_visited: bool,
}
