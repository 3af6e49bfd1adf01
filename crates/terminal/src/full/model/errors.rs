//! What is wrong, beside its field and in the form's own sentences.

use entreat_core::{CheckSettings, Constraint, FieldError, ReferenceKind};
use serde_json::Value;

use super::{Model, Untaken};
use crate::plain::dialogue::{is_across_fields, names};

impl Model {
    /// What is wrong as things stand, as far as the person should know it already.
    ///
    /// Before the answers were to be sent, nothing is said of fields that the person has not
    /// left, nor of what is missing.
    pub(in crate::full) fn errors(&self) -> Vec<FieldError> {
        let mut errors = if self.attempted {
            match self.form.check(&self.answers) {
                Ok(_) => Vec::new(),
                Err(violations) => violations.errors(&self.messages),
            }
        } else {
            let mut errors = self.progress().errors(&self.messages);
            errors.retain(|error| {
                let fields = self.form.fields().iter();
                let place = fields.zip(&self.left).find(|(f, _)| f.id() == error.field);
                place.is_some_and(|(_, left)| *left)
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

    /// Why the file that was named for a field was not taken.
    pub(in crate::full) fn untaken(&self, place: usize) -> Option<&Untaken> {
        self.untaken[place].as_ref()
    }

    /// The first question that an error is about.
    pub(super) fn first_wrong(&self) -> Option<usize> {
        let errors = self.errors();
        let questions = self.questions();
        let is_about = |place: &usize| {
            let id = self.form.fields()[*place].id();
            errors.iter().any(|error| error.field == id)
        };
        let named = |place: &usize| {
            let id = self.form.fields()[*place].id();
            let mut across = errors.iter().filter(|error| is_across_fields(error));
            across.any(|error| names(&error.expected, id))
        };
        let first = questions.iter().copied().find(is_about);
        first.or_else(|| questions.iter().copied().find(named))
    }

    /// What was refused about a field counts no more once it is another answer.
    pub(super) fn forgive(&mut self, place: usize) {
        let id = self.form.fields()[place].id();
        self.refused.retain(|error| {
            error.field != id && !(is_across_fields(error) && names(&error.expected, id))
        });
    }

    /// That a file is too large, in the form's own sentence.
    pub(super) fn too_large(&self, place: usize, stand_in: Value) -> String {
        let field = &self.form.fields()[place];
        let settings = CheckSettings {
            references: vec![ReferenceKind::Local],
            ..CheckSettings::default()
        };
        let answer = if field.takes_many() {
            vec![stand_in].into()
        } else {
            stand_in
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
        // The rule may not hold just now; it still bounds what we read.
        errors.into_iter().next().map_or_else(
            || "The file is larger than this question takes.".to_owned(),
            |error| error.message,
        )
    }
}
