//! Saves posts as drafts, and removes files that no draft refers to.

use std::collections::HashSet;

use entreat_core::Form;
use entreat_engine::ActError;
use serde_json::{Map, Value};

use super::file_view::{location, uploads_in};
use super::posted::{Posted, too_many_files, with_files};
use super::question::check_settings;
use super::visit::QuestionVisit;

impl QuestionVisit {
    /// Saves a post, and returns the resulting draft. Files beyond a field's limit are rejected and
    /// removed; secrets that are not valid are not kept.
    pub(super) async fn save_draft(
        &self,
        posted: &mut Posted,
    ) -> Result<Map<String, Value>, ActError> {
        let form = self.form();
        let mut before = Map::new();
        let mut over_limit = Vec::new();
        let mut invalid_secrets = None;
        let elicitation = self.elicitation();
        let edited = elicitation.edit_draft(|draft| {
            before.clone_from(draft);
            draft.extend(posted.answers(form, &before));
            over_limit.clear();
            for (place, files) in &posted.files {
                let field = &form.fields()[*place];
                let (files, fits) = with_files(field, draft.get(field.id()), files);
                draft.insert(field.id().to_owned(), files);
                if !fits {
                    over_limit.push(*place);
                }
            }
            apply_removal(form, draft, posted.action());
            // The engine drops them, too; here it is found out what to say.
            invalid_secrets = form.take_invalid_secrets(draft, &check_settings());
        });
        let edited = edited.await;
        let files = std::mem::take(&mut posted.files);
        let mut candidates: Vec<&str> = files.values().flatten().filter_map(location).collect();
        match &edited {
            Ok(after) => {
                candidates.extend(files_of(form, &before));
                self.remove_unreferenced(candidates, after).await;
            }
            Err(
                ActError::NotFound
                | ActError::Settled { .. }
                | ActError::TimedOut { .. }
                | ActError::TooLarge { .. },
            ) => self.remove_unreferenced(candidates, &Map::new()).await,
            // The commit may have succeeded despite the error.
            Err(_) => {}
        }
        let invalid = invalid_secrets.map(|found| found.errors(&self.visit.messages));
        let invalid = invalid.into_iter().flatten();
        posted.invalid_secrets = invalid
            .filter_map(|error| Some((form.position(&error.field)?, error.message)))
            .collect();
        for place in over_limit {
            let message = too_many_files(self, &form.fields()[place]);
            posted.refused.push((place, message));
        }
        edited
    }

    /// Removes those files that the draft does not refer to.
    async fn remove_unreferenced(&self, mut files: Vec<&str>, draft: &Map<String, Value>) {
        let Some(uploads) = &self.visit.site.uploads else {
            return;
        };
        let needed: HashSet<&str> = files_of(self.form(), draft).collect();
        files.retain(|location| !needed.contains(location));
        for location in files {
            uploads.remove(self.id, location).await;
        }
    }

    /// Removes all files: the question was not answered.
    pub(super) async fn remove_files(&self) {
        if let Some(uploads) = &self.visit.site.uploads {
            uploads.remove_all(self.id).await;
        }
    }
}

/// The locations of all files in a draft.
fn files_of<'d>(form: &Form, draft: &'d Map<String, Value>) -> impl Iterator<Item = &'d str> {
    let fields = form.fields().iter();
    fields.flat_map(|field| uploads_in(draft.get(field.id())).filter_map(location))
}

/// Applies a button that removes a secret or a file.
fn apply_removal(form: &Form, draft: &mut Map<String, Value>, (word, argument): (&str, &str)) {
    let field = field_index(argument).and_then(|place| form.fields().get(place));
    let Some(field) = field else {
        return;
    };
    let (_, rest) = argument.split_once('.').unwrap_or_default();
    match word {
        "forget" => {
            draft.insert(field.id().to_owned(), Value::Null);
        }
        "remove" => {
            let others =
                uploads_in(draft.get(field.id())).filter(|file| location(file) != Some(rest));
            let others: Vec<Value> = others.cloned().collect();
            draft.insert(field.id().to_owned(), others.into());
        }
        _ => {}
    }
}

/// The field index at the start of a button's argument.
pub(super) fn field_index(argument: &str) -> Option<usize> {
    argument.split('.').next()?.parse().ok()
}
