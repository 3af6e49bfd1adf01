//! The envelope around answers: `{"form_id", "responses", "metadata"}`.
//!
//! Tells an envelope from bare answers, for parsed JSON and for text alike.

use serde_json::{Map, Value};

use super::{AnswerParser, Raw, Source as _};
use crate::form::Form;

pub(super) const FORM_ID: &str = "form_id";
pub(super) const RESPONSES: &str = "responses";
const METADATA: &str = "metadata";

/// Whether the key is a member of an envelope.
pub(super) fn is_envelope_key(key: &str) -> bool {
    matches!(key, RESPONSES | FORM_ID | METADATA)
}

impl Form {
    /// Returns the answers of a submission, unwrapped from the envelope if there is one, or
    /// `None` if the submission is not an object.
    ///
    /// ```
    /// use entreat_core::Form;
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "name", "type": "text", "label": "Name"},
    /// ]}))?;
    /// let submission = json!({"form_id": "f", "responses": {"name": "Ada"}});
    /// assert_eq!(form.answers_in(&submission), json!({"name": "Ada"}).as_object());
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn answers_in<'v>(&self, submission: &'v Value) -> Option<&'v Map<String, Value>> {
        let members = submission.as_object()?;
        Some(self.enveloped(members).unwrap_or(members))
    }

    /// Returns the answers inside the envelope, or `None` if the members are not an envelope.
    pub(super) fn enveloped<'v>(
        &self,
        members: &'v Map<String, Value>,
    ) -> Option<&'v Map<String, Value>> {
        // A scan, not a lookup: there are few members, and hashing the key costs a quarter of the
        // time of a check.
        let (_, responses) = members.iter().find(|(key, _)| *key == RESPONSES)?;
        let responses = responses.as_object();
        responses.filter(|_| self.is_content(responses.is_some()))
    }

    /// Whether the value under `responses` is the content of an envelope: an object, unless a
    /// field of that name can have an object as its answer.
    pub(super) fn is_content(&self, is_object: bool) -> bool {
        let field = self.field(RESPONSES);
        is_object && !field.is_some_and(|field| field.kind().takes_objects())
    }
}

impl AnswerParser<'_, '_> {
    /// Checks a member of an envelope other than the answers.
    pub(super) fn envelope_key(&mut self, key: &str, value: &Raw<'_>) {
        match (key, value) {
            (RESPONSES | METADATA, _) => {}
            (FORM_ID, Raw::Text(id)) if *id == self.form.id() => {}
            (FORM_ID, other) => self.other_form = Some(other.to_json()),
            (other, _) => self.unknown.push(other.into()),
        }
    }
}
