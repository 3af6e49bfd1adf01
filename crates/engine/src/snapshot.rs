//! An elicitation at one moment, as one caller may see it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use entreat_core::url_guard::{Policy, check_url};
use entreat_core::{
    Answers, CheckError, CheckSettings, ElicitationId, Form, Lifecycle, Mode, Outcome, Presented,
    ReferenceKind, State, Status,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ask::INLINE_FIELD;
use crate::payload::editable;
use crate::record::{Actor, AnswerState, Entry, Record, Subject, person_of};
use crate::vault::Secret;

/// An elicitation at one moment.
///
/// Serialises as the control API's record. Only the asker's snapshots contain secrets; `Debug`
/// never shows answers.
pub struct Snapshot {
    record: Record,
    secrets: Vec<(Box<str>, Secret)>,
    view: View,
}

/// How much of it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// Everything.
    Full,
    /// For lists: what is asked, without the result.
    Brief,
    /// For operators: what is asked and by whom, without answers and what the asker attached.
    Operator,
}

/// Maximum length of a question in a list, in characters.
const MAX_QUESTION: usize = 200;

impl Snapshot {
    /// With [`SEALED`](entreat_core::SEALED) in place of secrets.
    pub(crate) fn sealed(record: Record) -> Self {
        Self {
            record,
            secrets: Vec::new(),
            view: View::Full,
        }
    }

    /// With the secrets, for the asker.
    pub(crate) fn open(record: Record, secrets: Vec<(Box<str>, Secret)>) -> Self {
        Self {
            record,
            secrets,
            view: View::Full,
        }
    }

    /// Without the result, for lists.
    pub(crate) fn brief(record: Record) -> Self {
        Self {
            record,
            secrets: Vec::new(),
            view: View::Brief,
        }
    }

    /// For operators: the answers are gone from the record itself.
    pub(crate) fn for_operator(mut self) -> Self {
        let settled_by = self.settled_by().cloned();
        let settled_by = settled_by.map(|actor| AnswerState {
            settled_by: Some(Box::new(actor)),
            ..AnswerState::default()
        });
        self.record.to_mut().answer_state = settled_by.map(Arc::new);
        Self {
            record: self.record,
            secrets: Vec::new(),
            view: View::Operator,
        }
    }

    /// Shows the draft of this typist's person, and not that of another who may answer, too; see
    /// [`Elicitation::typed_by`](crate::Elicitation::typed_by).
    #[must_use]
    pub fn for_typist(mut self, typist: &str) -> Self {
        let held = self.record.answer_state.as_ref();
        let is_other = held.is_some_and(|held| held.typist.as_deref() != Some(typist));
        if is_other && person_of(typist).is_some() {
            let mut held = editable(held);
            held.turn_to(typist);
            self.record.to_mut().answer_state = Some(Arc::new(held));
        }
        self
    }

    /// Returns who settled it, if a person is known to have done so.
    pub fn settled_by(&self) -> Option<&Actor> {
        self.record.answer_state.as_ref()?.settled_by.as_deref()
    }

    /// Returns the id.
    pub fn id(&self) -> ElicitationId {
        self.record.id
    }

    /// Returns the mode.
    pub fn mode(&self) -> Mode {
        self.record.request.mode
    }

    /// Returns the state.
    pub fn state(&self) -> State {
        self.record.lifecycle.state()
    }

    /// Returns the name of the state.
    pub fn status(&self) -> Status {
        self.state().status()
    }

    /// Returns the outcome; `None` while it is live.
    pub fn outcome(&self) -> Option<Outcome> {
        self.record.lifecycle.outcome()
    }

    /// Returns the lifecycle.
    pub fn lifecycle(&self) -> &Lifecycle {
        &self.record.lifecycle
    }

    /// Returns the stored record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns the result, if any: an object of answers, the text of an inline question, or the
    /// JSON that [`Elicitation::complete`](crate::Elicitation::complete) received.
    pub fn result(&self) -> Option<Value> {
        if self.view != View::Full {
            return None;
        }
        let result = self.record.answer_state.as_ref()?.result.as_ref()?;
        let mut value = result.to_json(&self.secrets);
        Some(match self.mode() {
            Mode::Inline => value[INLINE_FIELD].take(),
            Mode::Form | Mode::Url | Mode::Terminal => value,
        })
    }

    /// Returns the result as JSON text. Large numbers keep all digits unless secrets are inserted.
    pub fn result_text(&self) -> Option<String> {
        match self.exact_result() {
            Some(text) => Some(text.get().to_owned()),
            None => self.result().map(|result| result.to_string()),
        }
    }

    /// Returns the stored text with all digits of large numbers; `None` if secrets have to be
    /// inserted or a member extracted.
    fn exact_result(&self) -> Option<&RawValue> {
        let is_whole =
            self.view == View::Full && self.secrets.is_empty() && self.mode() != Mode::Inline;
        let result = self.record.answer_state.as_ref()?.result.as_ref()?;
        is_whole.then(|| serde_json::from_str(&result.text).ok())?
    }

    /// Returns typed answers, if a form was answered.
    ///
    /// Sealed secrets appear as their placeholder, which may violate a rule of the field; hence the
    /// error.
    pub fn answers(&self) -> Option<Result<Answers<'static>, CheckError>> {
        let form = self.record.request.subject.form()?;
        let result = self.record.answer_state.as_ref()?.result.as_ref()?;
        let text = if self.secrets.is_empty() {
            Cow::Borrowed(&*result.text)
        } else {
            Cow::Owned(result.to_json(&self.secrets).to_string())
        };
        // Explicit nulls: an absent member would get the field's default.
        let text = with_nulls(form, &text);
        // References were checked on submission.
        let settings = CheckSettings {
            references: ReferenceKind::ALL.to_vec(),
            ..CheckSettings::default()
        };
        let checked = form.check_text_with(&text, &settings);
        Some(checked.map(Answers::into_owned))
    }

    /// Returns what is asked, in short: the title of the form, the prompt, or the host of the URL,
    /// whose other parts may be secret.
    pub fn question(&self) -> String {
        match &self.record.request.subject {
            Subject::Form(form) => form.title().chars().take(MAX_QUESTION).collect(),
            Subject::Url(url) => {
                let host = check_url(url, &Policy::web()).ok();
                host.map_or_else(String::new, |url| url.host().to_string())
            }
        }
    }

    /// Returns the draft, with [`SEALED`](entreat_core::SEALED) in place of secrets.
    pub fn draft(&self) -> Map<String, Value> {
        let held = self.record.answer_state.as_ref();
        let draft = held.and_then(|held| held.draft.as_ref());
        match draft.map(|draft| draft.to_json(&[])) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }

    /// Returns who typed it; see [`Elicitation::typed_by`](crate::Elicitation::typed_by).
    pub fn typist(&self) -> Option<&str> {
        self.record.answer_state.as_ref()?.typist.as_deref()
    }

    /// Returns the required fields that the answer was allowed to leave out.
    pub fn missing(&self) -> &[Box<str>] {
        self.record
            .answer_state
            .as_ref()
            .map_or(&[], |held| &held.missing)
    }
}

/// Adds a null for each field without an answer to the text of a JSON object.
fn with_nulls(form: &Form, text: &str) -> String {
    let present: HashMap<&str, &RawValue> = serde_json::from_str(text).unwrap_or_default();
    let absent = form
        .fields()
        .iter()
        .filter(|field| !present.contains_key(field.id()));
    let mut nulls: Vec<String> = absent
        .map(|field| format!("{:?}:null", field.id()))
        .collect();
    let members = text.trim().trim_start_matches('{');
    if !present.is_empty() {
        nulls.push(members.to_owned());
        return format!("{{{}", nulls.join(","));
    }
    format!("{{{}}}", nulls.join(","))
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("id", &self.record.id)
            .field("mode", &self.record.request.mode)
            .field("lifecycle", &self.record.lifecycle)
            .finish_non_exhaustive()
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Entry {
            id,
            lifecycle,
            request,
            answer_state: held,
            ..
        } = &*self.record;
        let held = held.as_deref();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("elicitationId", id)?;
        map.serialize_entry("mode", &request.mode)?;
        if self.view == View::Operator {
            map.serialize_entry("asker", &*request.asker)?;
        }
        if self.view != View::Full {
            map.serialize_entry("question", &self.question())?;
        }
        if let Some(respondent) = request.respondent() {
            map.serialize_entry("respondent", respondent)?;
        }
        map.serialize_entry("status", &self.status())?;
        if let Some(Outcome::Cancelled(reason)) = lifecycle.outcome() {
            map.serialize_entry("reason", &reason)?;
        }
        match lifecycle.presented() {
            Presented::Yes => map.serialize_entry("shown", &true)?,
            Presented::No => map.serialize_entry("shown", &false)?,
            Presented::Unknown => map.serialize_entry("shown", "unknown")?,
        }
        map.serialize_entry("createdAt", &lifecycle.created())?;
        map.serialize_entry("timeoutAt", &lifecycle.deadline())?;
        map.serialize_entry("timeoutMs", &lifecycle.timeout().as_millis())?;
        if let Some(at) = lifecycle.settled_at() {
            map.serialize_entry("settledAt", &at)?;
        }
        if let Some(actor) = self.settled_by() {
            map.serialize_entry("settledBy", actor)?;
        }
        map.serialize_entry("attempts", &lifecycle.attempts())?;
        map.serialize_entry("retryLimit", &lifecycle.attempt_limit())?;
        if let Some(errors) = held.and_then(|held| held.errors.as_deref()) {
            let errors: Option<&RawValue> = serde_json::from_str(errors).ok();
            map.serialize_entry("previousErrors", &errors)?;
        }
        map.serialize_entry("extensions", &lifecycle.extensions())?;
        map.serialize_entry("extensionsRemaining", &lifecycle.extensions_left())?;
        map.serialize_entry("sizeLimit", &request.size_limit)?;
        let metadata = request.extras.as_ref().and_then(|e| e.metadata.as_ref());
        if let Some(metadata) = metadata.filter(|_| self.view != View::Operator) {
            map.serialize_entry("metadata", metadata)?;
        }
        if let Some(submission) = held.and_then(|held| held.submission.as_ref()) {
            map.serialize_entry("submission", submission)?;
        }
        if let Some(text) = self.exact_result() {
            map.serialize_entry("result", &text)?;
        } else if let Some(result) = self.result() {
            map.serialize_entry("result", &result)?;
        }
        if !self.missing().is_empty() {
            map.serialize_entry("missing", self.missing())?;
        }
        map.end()
    }
}
