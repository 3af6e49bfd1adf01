//! Checks incomplete answers while a person is still filling in the form.

use serde_json::{Map, Value};

use super::{CheckSettings, evaluate};
use crate::answer::Answer;
use crate::condition::{Condition, FieldState};
use crate::form::rules::CrossCheck;
use crate::form::{Field, Form};
use crate::message::Messages;
use crate::parse::AnswerParser;
use crate::violation::{Constraint, FieldError, Violation, Violations};

/// The state of incomplete answers: which fields are active, what is wrong so far, and what is
/// still missing. Returned by [`Form::progress`].
pub struct Progress<'a> {
    form: Form,
    values: Vec<Option<Answer<'a>>>,
    /// The fields whose answers cannot be parsed as their type.
    unreadable: Vec<usize>,
    inactive: Vec<usize>,
    missing: Vec<usize>,
    violations: Vec<Violation>,
}

impl Form {
    /// Checks answers that may be incomplete.
    ///
    /// Absence is not an error: a required field without an answer is reported as missing, and a
    /// rule across fields that more answers could still satisfy is not broken. The host's
    /// validators do not run; they check complete answers only.
    ///
    /// ```
    /// use entreat_core::Form;
    /// use serde_json::json;
    ///
    /// let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
    ///     {"id": "kind", "type": "select", "label": "Kind", "options": ["a", "b"]},
    ///     {"id": "why", "type": "text", "label": "Why", "required": true, "rendering": {
    ///         "conditionalDisplay": {"operator": "equals", "field": "kind", "value": "b"}}},
    /// ]}))?;
    /// let incomplete = json!({"kind": "b"});
    /// let progress = form.progress(&incomplete, &Default::default());
    /// assert!(progress.is_active("why"));
    /// let missing: Vec<_> = progress.missing().map(|field| field.id()).collect();
    /// assert_eq!(missing, ["why"]);
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn progress<'a>(&self, answers: &'a Value, settings: &CheckSettings) -> Progress<'a> {
        let mut parser = AnswerParser::new(self, settings);
        parser.parse_value(answers);
        let (state, violations, mut missing) = evaluate(self, parser);
        let mut definite = Vec::with_capacity(violations.len());
        for violation in violations {
            match violation.field {
                Some(index) if is_absence(&violation) => missing.push(index),
                _ if !may_resolve(self, &violation, &|index| state.has_answer(index)) => {
                    definite.push(violation);
                }
                _ => {}
            }
        }
        missing.sort_unstable();
        Progress {
            form: self.clone(),
            unreadable: state.unreadable.iter().map(|(index, _)| *index).collect(),
            values: state.values,
            inactive: state.inactive.into_vec(),
            missing,
            violations: definite,
        }
    }
}

/// Whether the violation is that a field has no answer at all.
fn is_absence(violation: &Violation) -> bool {
    violation.constraint == Constraint::Required
        && violation.item.is_none()
        && violation.part.is_none()
}

/// Whether more answers could still resolve the violation.
fn may_resolve(form: &Form, violation: &Violation, has_answer: &impl Fn(usize) -> bool) -> bool {
    match violation.constraint {
        Constraint::Dependencies | Constraint::AtLeastOne | Constraint::AllOrNone => true,
        Constraint::ExactlyOne => form.rules().iter().any(|rule| match &rule.check {
            CrossCheck::ExactlyOne(indices) => {
                violation.field == Some(rule.anchor) && !indices.iter().any(|p| has_answer(*p))
            }
            CrossCheck::Compare(..) | CrossCheck::AtLeastOne(_) | CrossCheck::AllOrNone(_) => false,
        }),
        _ => false,
    }
}

impl Progress<'_> {
    /// Whether a field is active: no condition hides or disables it.
    pub fn is_active(&self, field: &str) -> bool {
        self.form
            .position(field)
            .is_some_and(|index| !self.inactive.contains(&index))
    }

    /// Whether a field is shown: hidden neither permanently nor by a condition. A field that is
    /// shown but not active is disabled.
    pub fn is_shown(&self, field: &Field) -> bool {
        !field.rendering().hidden && field.shown_when().iter().all(|when| self.holds(when))
    }

    /// Iterates over the fields that are active and shown, in field order.
    pub fn active(&self) -> impl Iterator<Item = &Field> {
        let fields = self.form.fields().iter().enumerate();
        fields
            .filter(|(index, field)| !self.inactive.contains(index) && !field.rendering().hidden)
            .map(|(_, field)| field)
    }

    /// Whether a condition of this form holds.
    pub(crate) fn holds(&self, condition: &Condition) -> bool {
        condition.holds(&|index| match &self.values[index] {
            Some(answer) => FieldState::Answer(answer),
            None if self.unreadable.contains(&index) => FieldState::Unreadable,
            None => FieldState::Empty,
        })
    }

    /// Returns the answer to a field, if it could be parsed.
    pub fn answer(&self, field: &str) -> Option<&Answer<'_>> {
        self.values.get(self.form.position(field)?)?.as_ref()
    }

    /// Iterates over the required fields that have no answer yet.
    pub fn missing(&self) -> impl Iterator<Item = &Field> {
        self.missing.iter().map(|index| &self.form.fields()[*index])
    }

    /// Returns what is wrong with the answers so far.
    pub fn errors(&self, messages: &Messages) -> Vec<FieldError> {
        let violations = Violations {
            form: self.form.clone(),
            list: self.violations.clone(),
        };
        violations.errors(messages)
    }

    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    /// Returns what is wrong with the answers to the fields in `part`.
    pub fn errors_in(&self, part: &Map<String, Value>, messages: &Messages) -> Vec<FieldError> {
        let mut errors = self.errors(messages);
        errors.retain(|error| part.contains_key(&error.field));
        errors
    }
}
