//! What a call in several rounds remembers: answers that came, effects that ran, questions that
//! are open. It travels sealed through the client, so no answer that must stay secret is in it.

use std::collections::BTreeMap;

use entreat_core::{CancelReason, ElicitationId, Presented, UnixTime};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;

/// The memory of one call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// How many rounds there were.
    pub(crate) round: u16,
    /// Questions that are over, by their keys.
    pub(crate) kept: BTreeMap<String, JournalEntry>,
    /// Questions that the client was asked in the last round, by their keys.
    pub(crate) open: BTreeMap<String, Open>,
    /// Results of effects that ran, by their keys.
    pub(crate) once: BTreeMap<String, Value>,
}

/// A question that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    pub(crate) question: Digest,
    pub(crate) ending: Ending,
    /// How often it was another question under the same key.
    pub(crate) changes: u8,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Ending {
    /// Answered, with what the client sent: answers to a form, or the result of another request.
    Content(Value),
    /// Answered on a page: the answer is in the engine's store and nowhere else.
    Page(ElicitationId),
    Declined(Presented),
    Cancelled(CancelReason, Presented),
    TimedOut,
}

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Open {
    pub(crate) question: Digest,
    pub(crate) asked: UnixTime,
    pub(crate) deadline: UnixTime,
    /// How many answers were not valid.
    pub(crate) attempts: u8,
    /// How often it was another question under the same key.
    pub(crate) changes: u8,
    /// The elicitation that the engine keeps of it: for a page, or for the control API.
    pub(crate) page: Option<ElicitationId>,
    /// Whether the person agreed to go there: now only the page can answer.
    pub(crate) is_visited: bool,
}
