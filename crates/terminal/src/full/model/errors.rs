//! The errors to show, with the form's own messages.

use entreat_core::{CheckSettings, Constraint, FieldError, ReferenceKind};
use serde_json::Value;

use super::{FileError, Model};
use crate::plain::dialogue::{is_across_fields, lists_field};

impl Model {
    /// Returns the errors to show now.
    ///
    /// Before the first attempt to send, leaves out fields that were not visited, and missing
    /// answers.
    pub(crate) fn errors(&self) -> Vec<FieldError> {
        let mut errors = if self.tried_to_send {
            match self.form.check(&self.answers) {
                Ok(_) => Vec::new(),
                Err(violations) => violations.errors(&self.messages),
            }
        } else {
            let mut errors = self.progress().errors(&self.messages);
            errors.retain(|error| {
                let fields = self.form.fields().iter();
                let index = fields
                    .zip(&self.visited)
                    .find(|(f, _)| f.id() == error.field);
                index.is_some_and(|(_, left)| *left)
            });
            errors
        };
        for refused in &self.refused {
            let is_known = |error: &FieldError| {
                error.field == refused.field && error.message == refused.message
            };
            if !errors.iter().any(is_known) {
                errors.push(refused.clone());
            }
        }
        errors
    }

    /// Returns why a field's file was not accepted.
    pub(crate) fn file_errors(&self, index: usize) -> Option<&FileError> {
        self.file_errors[index].as_ref()
    }

    /// Returns the first question that has an error.
    pub(super) fn first_invalid(&self) -> Option<usize> {
        let errors = self.errors();
        let questions = self.questions();
        let is_about = |index: &usize| {
            let id = self.form.fields()[*index].id();
            errors.iter().any(|error| error.field == id)
        };
        let named = |index: &usize| {
            let id = self.form.fields()[*index].id();
            let mut across = errors.iter().filter(|error| is_across_fields(error));
            across.any(|error| lists_field(&error.expected, id))
        };
        let first = questions.iter().copied().find(is_about);
        first.or_else(|| questions.iter().copied().find(named))
    }

    /// Drops the submission errors of a field whose answer changed.
    pub(super) fn clear_refusals(&mut self, index: usize) {
        let id = self.form.fields()[index].id();
        self.refused.retain(|error| {
            error.field != id && !(is_across_fields(error) && lists_field(&error.expected, id))
        });
    }

    /// Returns the form's message that a file is too large.
    pub(super) fn too_large(&self, index: usize, placeholder: Value) -> String {
        let field = &self.form.fields()[index];
        let settings = CheckSettings {
            references: vec![ReferenceKind::Local],
            ..CheckSettings::default()
        };
        let answer = if field.takes_many() {
            vec![placeholder].into()
        } else {
            placeholder
        };
        let mut answers = self.answers.clone();
        answers[field.id()] = answer;
        let mut errors = self
            .form
            .progress(&answers, &settings)
            .errors(&self.messages);
        errors.retain(|error| {
            error.field == field.id() && error.constraint == Constraint::MaxSize.key()
        });
        // The rule may not be active now; it still bounds what is read.
        errors.into_iter().next().map_or_else(
            || self.texts.refusals.file_too_large.to_owned(),
            |error| error.message,
        )
    }
}
