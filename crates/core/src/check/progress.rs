//! How far answers have come while a person is still giving them.

use serde_json::{Map, Value};

use super::{CheckSettings, examine};
use crate::answer::Answer;
use crate::condition::{Condition, Seen};
use crate::form::rules::CrossCheck;
use crate::form::{Field, Form};
use crate::message::Messages;
use crate::parse::Intake;
use crate::violation::{Constraint, FieldError, Violation, Violations};

/// Answers on their way: which fields take part, what is wrong with what was said, and what
/// is still missing. Made by [`Form::progress`].
pub struct Progress<'a> {
    form: Form,
    values: Vec<Option<Answer<'a>>>,
    /// The fields whose answers cannot be read as their type.
    unreadable: Vec<usize>,
    inactive: Vec<usize>,
    missing: Vec<usize>,
    wrong: Vec<Violation>,
}

impl Form {
    /// Looks at answers that may not be all there yet.
    ///
    /// What is not said is not wrong: a required field without an answer is missing, a rule
    /// across fields that more answers could still satisfy is not broken. The host's
    /// validators are not asked; they judge whole answers.
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
    /// let begun = json!({"kind": "b"});
    /// let progress = form.progress(&begun, &Default::default());
    /// assert!(progress.is_active("why"));
    /// let missing: Vec<_> = progress.missing().map(|field| field.id()).collect();
    /// assert_eq!(missing, ["why"]);
    /// # Ok::<(), entreat_core::Problems>(())
    /// ```
    pub fn progress<'a>(&self, answers: &'a Value, settings: &CheckSettings) -> Progress<'a> {
        let mut intake = Intake::new(self, settings);
        intake.take_value(answers);
        let (state, violations, mut missing) = examine(self, intake);
        let mut wrong = Vec::with_capacity(violations.len());
        for violation in violations {
            match violation.field {
                Some(place) if is_absence(&violation) => missing.push(place),
                _ if !awaits_more(self, &violation, &|place| state.has_answer(place)) => {
                    wrong.push(violation);
                }
                _ => {}
            }
        }
        missing.sort_unstable();
        Progress {
            form: self.clone(),
            unreadable: state.unreadable.iter().map(|(place, _)| *place).collect(),
            values: state.values,
            inactive: state.inactive.into_vec(),
            missing,
            wrong,
        }
    }
}

/// Whether the whole answer to a field is what is missing.
fn is_absence(violation: &Violation) -> bool {
    violation.constraint == Constraint::Required
        && violation.item.is_none()
        && violation.part.is_none()
}

/// Whether more answers could still make it good.
fn awaits_more(form: &Form, violation: &Violation, has_answer: &impl Fn(usize) -> bool) -> bool {
    match violation.constraint {
        Constraint::Dependencies | Constraint::AtLeastOne | Constraint::AllOrNone => true,
        Constraint::ExactlyOne => form.rules().iter().any(|rule| match &rule.check {
            CrossCheck::ExactlyOne(places) => {
                violation.field == Some(rule.anchor) && !places.iter().any(|p| has_answer(*p))
            }
            CrossCheck::Compare(..) | CrossCheck::AtLeastOne(_) | CrossCheck::AllOrNone(_) => false,
        }),
        _ => false,
    }
}

impl Progress<'_> {
    /// Whether a field takes part: conditions have not hidden or disabled it.
    pub fn is_active(&self, field: &str) -> bool {
        self.form
            .position(field)
            .is_some_and(|place| !self.inactive.contains(&place))
    }

    /// Whether a field is on a screen: not hidden for good, nor by a condition. One that is and
    /// takes no part is disabled.
    pub fn is_shown(&self, field: &Field) -> bool {
        !field.rendering().hidden && field.shown_when().iter().all(|when| self.holds(when))
    }

    /// The fields that take part and are shown, in field order.
    pub fn active(&self) -> impl Iterator<Item = &Field> {
        let fields = self.form.fields().iter().enumerate();
        fields
            .filter(|(place, field)| !self.inactive.contains(place) && !field.rendering().hidden)
            .map(|(_, field)| field)
    }

    /// Whether a condition of this form holds.
    pub(crate) fn holds(&self, condition: &Condition) -> bool {
        condition.holds(&|place| match &self.values[place] {
            Some(answer) => Seen::Answer(answer),
            None if self.unreadable.contains(&place) => Seen::Unreadable,
            None => Seen::Empty,
        })
    }

    /// The answer to a field, as far as it could be read.
    pub fn answer(&self, field: &str) -> Option<&Answer<'_>> {
        self.values.get(self.form.position(field)?)?.as_ref()
    }

    /// The required fields that have no answer yet.
    pub fn missing(&self) -> impl Iterator<Item = &Field> {
        self.missing.iter().map(|place| &self.form.fields()[*place])
    }

    /// What is wrong with what was said so far.
    pub fn errors(&self, messages: &Messages) -> Vec<FieldError> {
        let violations = Violations {
            form: self.form.clone(),
            list: self.wrong.clone(),
        };
        violations.errors(messages)
    }

    /// What is wrong with what was said in the last of several parts.
    pub fn errors_in(&self, part: &Map<String, Value>, messages: &Messages) -> Vec<FieldError> {
        let mut errors = self.errors(messages);
        errors.retain(|error| part.contains_key(&error.field));
        errors
    }
}
