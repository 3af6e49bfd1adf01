//! The stored form of an elicitation.
//!
//! Answers to sensitive fields are only present as [`Sealed`]; a store never sees plaintext.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use entreat_core::{ElicitationId, Form, Lifecycle, Mode, TextFormat, UnixTime, Unknown};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer_memory::MemoryPermit;
use crate::vault::Sealed;

/// One elicitation as a store keeps it: a copy-on-write pointer to an [`Entry`].
#[derive(Clone, Debug)]
pub struct Record(Arc<Entry>);

impl Record {
    /// Returns the entry for mutation; clones it first if it is shared.
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

/// The contents of a [`Record`].
///
/// Kept small, because a million may be live at once: shared or rare parts are behind pointers.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The id.
    pub id: ElicitationId,
    /// The number of changes, on which the store does its compare-and-swap.
    pub version: Version,
    /// The lifecycle.
    pub lifecycle: Lifecycle,
    /// The question; immutable, except for its respondent.
    pub request: Request,
    /// Draft, result and delivery state.
    pub answer_state: Option<Arc<AnswerState>>,
    /// The engine that made the latest step of the lifecycle, by a random number; 0 if the store
    /// has one engine only.
    pub author: u64,
}

impl Entry {
    /// Returns when its timer is due: for a warning, the deadline, or the next delivery attempt.
    /// `None` if there is nothing left to do.
    pub fn timer(&self) -> Option<UnixTime> {
        match self.lifecycle.timer() {
            Some(timer) => Some(timer.at),
            None => self.delivery().map(|delivery| delivery.next),
        }
    }

    /// Returns the pending delivery to the asker's callback.
    pub(crate) fn delivery(&self) -> Option<&Delivery> {
        self.answer_state.as_ref()?.delivery.as_deref()
    }
}

/// The number of changes to a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub u32);

impl Version {
    /// Returns the next version.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

/// A question as it was asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The asker's name.
    pub asker: Arc<str>,
    /// What is asked.
    pub subject: Subject,
    /// The mode.
    pub mode: Mode,
    /// How it reaches the respondent.
    pub channel: Channel,
    /// What happens to answers to unknown fields.
    pub unknown: Unknown,
    /// Whether it outlives the asker's connection.
    pub durable: bool,
    /// Whether secrets are wiped once the asker has read them.
    pub wipe: bool,
    /// Maximum size of the result, in bytes of JSON without files.
    pub size_limit: u32,
    /// Rarely used properties.
    pub extras: Option<Arc<Extras>>,
}

impl Request {
    /// Returns the principal on whose behalf the asker asks, if any.
    pub fn principal(&self) -> Option<&str> {
        let principal = self.extras.as_ref()?.principal.as_ref()?;
        Some(&principal.0)
    }

    /// Returns who may answer, if the question names them.
    pub fn respondent(&self) -> Option<&str> {
        self.extras.as_ref()?.respondent.as_deref()
    }

    /// Returns whether it is for someone else than when it was asked.
    pub fn is_reassigned(&self) -> bool {
        let extras = self.extras.as_ref();
        extras.is_some_and(|extras| extras.is_reassigned)
    }

    /// Makes it a question for someone else.
    pub fn reassign(&mut self, respondent: &str) {
        let extras = self.extras.as_deref().cloned().unwrap_or_default();
        self.extras = Some(Arc::new(Extras {
            respondent: Some(respondent.into()),
            is_reassigned: true,
            ..extras
        }));
    }

    /// Returns how its message and the descriptions in its form are formatted.
    pub fn text_format(&self) -> TextFormat {
        let extras = self.extras.as_ref();
        extras.map_or_else(TextFormat::default, |extras| extras.text_format)
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
    /// Returns the form, if it is one.
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
    /// The asker's own program presents it and answers through the API.
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

/// Rarely used properties of a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Tells the respondent why this is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<str>>,
    /// A message that no store writes down; see
    /// [`Ask::confidential_message`](crate::Ask::confidential_message).
    #[serde(skip)]
    pub confidential_message: Option<Unwritten>,
    /// How the message and the descriptions in the form are formatted.
    #[serde(skip_serializing_if = "TextFormat::is_markdown")]
    pub text_format: TextFormat,
    /// The name that the asking program gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introduced_as: Option<Box<str>>,
    /// Who may answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respondent: Option<Box<str>>,
    /// How recently the respondent has to have signed in, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub respondent_auth: Option<RespondentAuth>,
    /// Whether the respondent is another than when the question was asked. A store that writes the
    /// request only once keeps the new respondent with the state.
    #[serde(skip)]
    pub is_reassigned: bool,
    /// The URL that the outcome is posted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback: Option<Box<str>>,
    /// The asker's opaque metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Deduplicates questions of one asker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Box<str>>,
    /// The definition of a terminal script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Value>,
    /// On whose behalf the asker asks; see [`Asker::on_behalf_of`](crate::Asker::on_behalf_of).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// Its memory permit; set by the engine.
    #[serde(skip)]
    pub memory: MemoryPermit,
}

/// What the sign-in of whoever answers has to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RespondentAuth {
    /// The longest time since the person proved who they are, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<u32>,
    /// The authentication context class that the issuer has to name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acr: Option<Box<str>>,
}

/// The member of a question's metadata whose presence says that the asker offers an answer that did
/// not arrive again, if it asks again.
pub const ANSWER_KEYS: &str = "gateway";

impl Extras {
    /// Whether what was typed is filled in if nobody waits for it any more and the question is asked
    /// again.
    pub fn keeps_typed_answer(&self) -> bool {
        let keys = self.metadata.as_ref().and_then(|it| it.get(ANSWER_KEYS));
        let keys = keys.and_then(Value::as_array);
        keys.is_some_and(|keys| !keys.is_empty())
    }

    /// Returns what tells the respondent why this is asked. A confidential message is gone after a
    /// restart.
    pub fn message(&self) -> Option<&str> {
        let confidential = self.confidential_message.as_ref();
        let message = confidential.map(Unwritten::expose);
        message.or(self.message.as_deref())
    }
}

/// A text that stays in memory: no store writes it, no log shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Unwritten(Box<str>);

impl Unwritten {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unwritten").finish_non_exhaustive()
    }
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

/// Draft, result and delivery state of an elicitation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerState {
    /// What the person has typed, valid or not; `None` once there is a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<Payload>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Payload>,
    /// Required fields that the answer was allowed to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Box<str>>,
    /// Validation errors of the last submission, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<Box<str>>,
    /// Who typed it; see [`Elicitation::typed_by`](crate::Elicitation::typed_by).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typist: Option<Box<str>>,
    /// Drafts of others who may answer, most recently set aside last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<SetAside>,
    /// Who settled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<Box<Actor>>,
    /// The client's information about the submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<Box<Value>>,
    /// The pending delivery to the asker's callback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Box<Delivery>>,
    /// Its memory permit; set by the engine.
    #[serde(skip)]
    pub memory: MemoryPermit,
}

/// A person who acts on a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The account: `issuer#subject`, or the name by which a proxy or a key knows the person.
    pub account: Box<str>,
    /// The name that is shown.
    pub name: Box<str>,
    /// Whether the person acted as an operator of the service.
    #[serde(
        default,
        rename = "operator",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_operator: bool,
}

/// What one of several people who may answer has typed, while another's draft is the current one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetAside {
    /// Who typed it; `None` if a program wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typist: Option<Box<str>>,
    /// The draft.
    pub draft: Payload,
    /// Validation errors of the author's last submission, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Box<str>>,
}

/// How many drafts are set aside; then the one that was set aside first is dropped.
const MAX_SET_ASIDE: usize = 8;

impl AnswerState {
    /// Makes the draft of this typist's person the current one, and sets aside that of another. Who
    /// has typed nothing starts with what a program filled in, if anything. Changes nothing for a
    /// typist without a person.
    pub fn turn_to(&mut self, typist: &str) {
        let Some(person) = person_of(typist) else {
            return;
        };
        let is_own =
            |typist: &Option<Box<str>>| typist.as_deref().and_then(person_of) == Some(person);
        if is_own(&self.typist) {
            return;
        }
        let own = self.set_aside.iter().position(|of| is_own(&of.typist));
        let own = own.map(|place| self.set_aside.remove(place));
        if let Some(draft) = self.draft.take() {
            if self.set_aside.len() == MAX_SET_ASIDE {
                self.set_aside.remove(0);
            }
            self.set_aside.push(SetAside {
                typist: self.typist.take(),
                draft,
                errors: self.errors.take(),
            });
        }
        let is_prefilled = |of: &&SetAside| of.typist.as_deref().and_then(person_of).is_none();
        let prefilled = || self.set_aside.iter().find(is_prefilled).cloned();
        let current = own.or_else(prefilled);
        self.typist = current.as_ref().and_then(|of| of.typist.clone());
        self.errors = current.as_ref().and_then(|of| of.errors.clone());
        self.draft = current.map(|of| of.draft);
    }
}

/// The person behind a typist, if there is one with a name.
pub(crate) fn person_of(typist: &str) -> Option<&str> {
    let (_, person) = typist.split_once('.')?;
    Some(person)
}

/// A pending delivery to the asker's callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Failed attempts.
    pub attempts: u32,
    /// When the next attempt is due.
    pub next: UnixTime,
}

/// Answers as JSON text, with a placeholder where a secret was, and the secrets sealed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// JSON text, with placeholders for secrets.
    pub text: Box<str>,
    /// The encrypted secrets.
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
