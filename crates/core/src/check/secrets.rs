//! Drops secrets that are not valid from drafts.
//!
//! A secret is never shown again, so nobody could see what is wrong with one that was kept: the
//! person has to type it again anyway, and a store should hold no more secrets than it must.

use serde_json::{Map, Value};

use super::CheckSettings;
use crate::form::{Field, Form, Kind};
use crate::violation::{Constraint, Violation, Violations};

impl Form {
    /// Replaces secrets that break a rule with `null` in incomplete answers, and returns what is
    /// wrong with them. Returns `None` if no secret is invalid.
    ///
    /// ```
    /// use entreat_core::Form;
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "key", "type": "text", "label": "Key", "sensitive": true,
    ///      "validation": {"minLength": 8}}]}))?;
    /// let mut answers = serde_json::Map::from_iter([("key".to_owned(), json!("short"))]);
    /// let violations = form.take_invalid_secrets(&mut answers, &Default::default()).unwrap();
    /// assert_eq!(violations.to_string(), "`key` breaks `minLength`");
    /// assert!(answers["key"].is_null());
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn take_invalid_secrets(
        &self,
        answers: &mut Map<String, Value>,
        settings: &CheckSettings,
    ) -> Option<Violations> {
        let is_kept = |field: &Field| {
            is_secret(field)
                && answers
                    .get(field.id())
                    .is_some_and(|value| !value.is_null())
        };
        if !self.fields().iter().any(is_kept) {
            return None;
        }
        let tree = Value::Object(std::mem::take(answers));
        let mut list = self.progress(&tree, settings).into_violations();
        if let Value::Object(map) = tree {
            *answers = map;
        }
        list.retain(|violation| invalid_secret(self, violation).is_some());
        let violations = Violations {
            form: self.clone(),
            list,
        };
        violations.drop_secrets(answers);
        (!violations.list.is_empty()).then_some(violations)
    }
}

impl Violations {
    /// Replaces secrets that these violations are about with `null` in the answers.
    pub fn drop_secrets(&self, answers: &mut Map<String, Value>) {
        let invalid = self.list.iter();
        for field in invalid.filter_map(|violation| invalid_secret(&self.form, violation)) {
            if let Some(value) = answers.get_mut(field.id()) {
                *value = Value::Null;
            }
        }
    }
}

/// The secret that a violation shows to be invalid.
fn invalid_secret<'f>(form: &'f Form, violation: &Violation) -> Option<&'f Field> {
    // These are about answers to other fields.
    let is_about_others = matches!(
        violation.constraint,
        Constraint::Dependencies
            | Constraint::AtLeastOne
            | Constraint::ExactlyOne
            | Constraint::AllOrNone
    );
    let field = &form.fields()[violation.field?];
    (is_secret(field) && !is_about_others).then_some(field)
}

/// Files are checked when they arrive, one by one.
fn is_secret(field: &Field) -> bool {
    field.is_sensitive() && !matches!(field.kind(), Kind::File(_))
}
