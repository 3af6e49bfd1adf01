//! What is kept of one elicitation.
//!
//! Answers to sensitive fields are in here only as [`Sealed`]; a store never sees them open.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use entreat_core::{ElicitationId, Form, Lifecycle, Mode, UnixTime, Unknown};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::room::HeldPlace;
use crate::vault::Sealed;

/// One elicitation as a store keeps it.
///
/// A pointer: to hand one on costs nothing, and to change one, by [`to_mut`](Self::to_mut),
/// leaves those that others hold as they are.
#[derive(Clone, Debug)]
pub struct Record(Arc<Entry>);

impl Record {
    /// The record, to be changed; copied first if others hold it.
    pub fn to_mut(&mut self) -> &mut Entry {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Entry> for Record {
    fn from(entry: Entry) -> Self {
        Self(Arc::new(entry))
    }
}

impl Deref for Record {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.0
    }
}

/// What a [`Record`] consists of.
///
/// Small, because a million of them may wait at once: what is shared or rare stands behind a
/// pointer.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub id: ElicitationId,
    /// How often it was changed; the store's check of this is the only mutual exclusion.
    pub version: Version,
    /// Where it stands.
    pub lifecycle: Lifecycle,
    /// What was asked; never changes.
    pub request: Request,
    /// What was answered so far.
    pub held: Option<Arc<Held>>,
}

impl Entry {
    /// When something is to be done about it next: a warning, the end of its time, or another
    /// attempt to deliver its outcome. `None` once all is done.
    pub fn alarm(&self) -> Option<UnixTime> {
        let delivery = || self.held.as_ref()?.delivery.as_ref();
        match self.lifecycle.alarm() {
            Some(alarm) => Some(alarm.at),
            None => delivery().map(|delivery| delivery.next),
        }
    }
}

/// How often a record was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub u32);

impl Version {
    /// The version that a change leads to.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// What was asked, by whom, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks.
    pub asker: Arc<str>,
    /// What is asked.
    pub subject: Subject,
    /// How it is put.
    pub mode: Mode,
    /// How it reaches the respondent.
    pub channel: Channel,
    /// What happens to answers that no field asked for.
    pub unknown: Unknown,
    /// It outlives the asker's connection.
    pub durable: bool,
    /// Its secrets are wiped once the asker has them.
    pub wipe: bool,
    /// How large the result may be, in bytes of JSON without files.
    pub size_limit: u32,
    /// What most questions do without.
    pub extras: Option<Arc<Extras>>,
}

impl Request {
    /// On whose behalf the asker asks, if it said so.
    pub fn principal(&self) -> Option<&str> {
        let principal = self.extras.as_ref()?.principal.as_ref()?;
        Some(&principal.0)
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A form; in inline mode one with a single field.
    Form(Form),
    /// Something that happens at a URL.
    Url(Arc<str>),
}

impl Subject {
    /// The form that answers are checked by.
    pub fn form(&self) -> Option<&Form> {
        match self {
            Self::Form(form) => Some(form),
            Self::Url(_) => None,
        }
    }
}

/// How a question reaches the respondent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// The asker's own program shows it and answers through the engine.
    #[default]
    Api,
    /// The MCP client shows a form.
    NativeForm,
    /// The MCP client shows a URL.
    NativeUrl,
    /// The hosted page.
    Page,
    /// A terminal.
    Terminal,
    /// A link in a tool's result.
    Link,
}

impl Channel {
    /// The channel's name in metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::NativeForm => "native_form",
            Self::NativeUrl => "native_url",
            Self::Page => "page",
            Self::Terminal => "terminal",
            Self::Link => "link",
        }
    }
}

/// What most questions do without.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Why it is asked, in the asker's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<str>>,
    /// Who is to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respondent: Option<Box<str>>,
    /// Where the outcome is to be posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback: Option<Box<str>>,
    /// The asker's own notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Asking again with the same key is asking once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Box<str>>,
    /// What a terminal says and asks, step by step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
    /// On whose behalf the asker asks; see [`Asker::on_behalf_of`](crate::Asker::on_behalf_of).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// The room that it takes in memory; the engine's own.
    #[serde(skip)]
    pub place: HeldPlace,
}

/// On whose behalf an asker asks. Never shown or logged: it may be the digest of a token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Principal(pub Box<str>);

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal").finish_non_exhaustive()
    }
}

/// What was answered so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Held {
    /// What the person has typed, right or wrong; gone once there is a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Payload>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Payload>,
    /// Required fields that the answer was allowed to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Box<str>>,
    /// What was wrong with the last answer, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Box<str>>,
    /// Who typed it, in the words of whoever shows the question; see
    /// [`Elicitation::typed_by`](crate::Elicitation::typed_by).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typist: Option<Box<str>>,
    /// What the respondent's program said about the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<Box<Value>>,
    /// That the outcome is still to be delivered to the asker's callback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Box<Delivery>>,
    /// The room that it takes in memory; the engine's own.
    #[serde(skip)]
    pub place: HeldPlace,
}

/// An outcome on its way to the asker's callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// How often it was tried in vain.
    pub attempts: u32,
    /// When it is tried next.
    pub next: UnixTime,
}

/// Answers as JSON text, with a placeholder where a secret was, and the secrets sealed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// The answers that anyone may see who may see the elicitation.
    pub text: Box<str>,
    /// The others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Box<Sealed>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_small_enough_for_a_million_to_wait() {
        assert!(size_of::<Entry>() <= 168, "{}", size_of::<Entry>());
    }
}
