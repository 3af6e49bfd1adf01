//! Keeping what was sent as a draft, and removing the files that no draft has any more.

use std::collections::HashSet;

use entreat_core::Form;
use entreat_engine::ActError;
use serde_json::{Map, Value};

use super::file_view::{kept, location};
use super::posted::{Posted, too_many_files, with_files};
use super::visit::Asked;

impl Asked {
    /// Keeps what was sent, and tells what the draft is now. Files that found no place in it are
    /// refused, and removed.
    pub(super) async fn keep(&self, posted: &mut Posted) -> Result<Map<String, Value>, ActError> {
        let form = self.form();
        let mut before = Map::new();
        let mut overfull = Vec::new();
        let elicitation = self.elicitation();
        let edited = elicitation.edit_draft(|draft| {
            before.clone_from(draft);
            draft.extend(posted.answers(form, &before));
            overfull.clear();
            for (place, files) in &posted.files {
                let field = &form.fields()[*place];
                let (files, fits) = with_files(field, draft.get(field.id()), files);
                draft.insert(field.id().to_owned(), files);
                if !fits {
                    overfull.push(*place);
                }
            }
            amend(form, draft, posted.action());
        });
        let edited = edited.await;
        let files = std::mem::take(&mut posted.files);
        let mut unsure: Vec<&str> = files.values().flatten().filter_map(location).collect();
        match &edited {
            Ok(after) => {
                unsure.extend(files_of(form, &before));
                self.let_go(unsure, after).await;
            }
            Err(
                ActError::NotFound
                | ActError::Settled { .. }
                | ActError::TimedOut { .. }
                | ActError::TooLarge { .. },
            ) => self.let_go(unsure, &Map::new()).await,
            // A store that failed may have kept the draft all the same.
            Err(_) => {}
        }
        for place in overfull {
            let message = too_many_files(self, &form.fields()[place]);
            posted.refused.push((place, message));
        }
        edited
    }

    /// Removes those of some files that a draft has not.
    async fn let_go(&self, mut files: Vec<&str>, draft: &Map<String, Value>) {
        let Some(uploads) = &self.visit.site.uploads else {
            return;
        };
        let needed: HashSet<&str> = files_of(self.form(), draft).collect();
        files.retain(|location| !needed.contains(location));
        for location in files {
            uploads.remove(self.id, location).await;
        }
    }

    /// Removes all files: nobody will get them.
    pub(super) async fn forget_files(&self) {
        if let Some(uploads) = &self.visit.site.uploads {
            uploads.remove_all(self.id).await;
        }
    }
}

/// The locations of the files that a draft has.
fn files_of<'d>(form: &Form, draft: &'d Map<String, Value>) -> impl Iterator<Item = &'d str> {
    let fields = form.fields().iter();
    fields.flat_map(|field| kept(draft.get(field.id())).filter_map(location))
}

/// Takes out what a button says is to go.
fn amend(form: &Form, draft: &mut Map<String, Value>, (word, argument): (&str, &str)) {
    let field = place_of(argument).and_then(|place| form.fields().get(place));
    let Some(field) = field else {
        return;
    };
    let (_, rest) = argument.split_once('.').unwrap_or_default();
    match word {
        "forget" => {
            draft.insert(field.id().to_owned(), Value::Null);
        }
        "remove" => {
            let others = kept(draft.get(field.id())).filter(|file| location(file) != Some(rest));
            let others: Vec<Value> = others.cloned().collect();
            draft.insert(field.id().to_owned(), others.into());
        }
        _ => {}
    }
}

/// The place of the field that a button is about, which stands before what it is about there.
pub(super) fn place_of(argument: &str) -> Option<usize> {
    argument.split('.').next()?.parse().ok()
}
