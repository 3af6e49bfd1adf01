//! Drafts: what a person has typed so far.

use std::sync::Arc;

use entreat_core::{Command, FieldError, Form, Status};
use serde_json::{Map, Value};

use super::{Elicitation, check_size, form_of};
use crate::error::ActError;
use crate::payload::known_answers;
use crate::record::{Payload, Record};

/// The result of storing a partial answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Drafted {
    /// The status of the elicitation.
    pub status: Status,
    /// Required fields without an answer.
    pub missing: Vec<String>,
    /// Validation errors in this part.
    pub errors: Vec<FieldError>,
}

impl Elicitation {
    /// Merges a partial answer into the draft. Uses up no attempt; invalid values are reported and
    /// stored nevertheless, except secrets.
    pub async fn draft(&self, part: &Value) -> Result<Drafted, ActError> {
        self.charge()?;
        let inner = self.inner();
        let record = inner.load(&self.access, self.id).await?;
        let form = form_of(&record)?.clone();
        let nothing = Map::new();
        let sent = form.answers_in(part).unwrap_or(&nothing);
        let part = known_answers(&form, part);
        let mut merged = Map::new();
        let merge = |draft: &mut Map<String, Value>| {
            draft.extend(part.clone());
            merged.clone_from(draft);
        };
        let (record, _) = self.redraft(record, &form, merge).await?;
        // Unknown fields are reported, but not stored.
        for name in sent.keys().filter(|name| form.field(name).is_none()) {
            merged.insert(name.clone(), Value::Null);
        }
        let merged = Value::Object(merged);
        let progress = form.progress(&merged, &self.check_settings(&record));
        Ok(Drafted {
            status: record.lifecycle.state().status(),
            missing: progress
                .missing()
                .map(|field| field.id().to_owned())
                .collect(),
            errors: progress.errors_in(sent, &inner.settings.messages),
        })
    }

    /// Edits the draft and returns the new one, secrets included. Secrets that are not valid are
    /// dropped ([`Form::take_invalid_secrets`]).
    ///
    /// `edit` runs inside a compare-and-swap loop: on a conflict it is called again with the latest
    /// draft, so that no concurrent edit is lost. Only the last call's changes are stored.
    pub async fn edit_draft(
        &self,
        edit: impl FnMut(&mut Map<String, Value>),
    ) -> Result<Map<String, Value>, ActError> {
        self.charge()?;
        let record = self.inner().load(&self.access, self.id).await?;
        let form = form_of(&record)?.clone();
        let (_, draft) = self.redraft(record, &form, edit).await?;
        Ok(draft)
    }

    async fn redraft(
        &self,
        record: Record,
        form: &Form,
        mut edit: impl FnMut(&mut Map<String, Value>),
    ) -> Result<(Record, Map<String, Value>), ActError> {
        let inner = self.inner();
        let settings = self.check_settings(&record);
        let mut edited = Map::new();
        let keep = |record: &Record, _: &_| {
            let mut held = self.own_state(record);
            edited = held.draft(&inner.vault, record.id)?;
            let tried = held.errors.take().map(|errors| (errors, edited.clone()));
            edit(&mut edited);
            form.take_invalid_secrets(&mut edited, &settings);
            let draft = Payload::of_draft(&inner.vault, record.id, form, &edited);
            check_size(record, Some(form), &draft)?;
            held.draft = Some(draft);
            held.errors = tried.and_then(|(errors, before)| errors_left(&errors, &before, &edited));
            if let Some(typist) = &self.typist {
                held.typist = Some((**typist).into());
            }
            Ok(Some(Arc::new(held)))
        };
        let record = inner
            .step(&self.access, record, Command::Draft, inner.now(), keep)
            .await?;
        Ok((record, edited))
    }

    /// Fails if the draft has changed.
    pub(super) fn check_draft(
        &self,
        record: &Record,
        draft: &Map<String, Value>,
    ) -> Result<(), ActError> {
        if self.own_draft(record)? == *draft {
            Ok(())
        } else {
            Err(ActError::DraftChanged)
        }
    }

    /// Returns the draft, secrets included, for the person who typed it.
    pub async fn read_draft(&self) -> Result<Map<String, Value>, ActError> {
        let record = self.inner().load(&self.access, self.id).await?;
        self.own_draft(&record)
    }

    /// The draft of the person who types, secrets included.
    fn own_draft(&self, record: &Record) -> Result<Map<String, Value>, ActError> {
        let vault = &self.inner().vault;
        match &record.answer_state {
            Some(_) if self.typist.is_some() => Ok(self.own_state(record).draft(vault, self.id)?),
            Some(held) => Ok(held.draft(vault, self.id)?),
            None => Ok(Map::new()),
        }
    }
}

/// The errors of the last attempt, without those about answers that have changed since. `None` if
/// none is left.
fn errors_left(
    errors: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Option<Box<str>> {
    let mut errors: Vec<Value> = serde_json::from_str(errors).ok()?;
    errors.retain(|error| {
        let field = error["field"].as_str().unwrap_or_default();
        answer(before, field) == answer(after, field)
    });
    let errors = serde_json::to_string(&errors)
        .ok()
        .filter(|_| !errors.is_empty());
    errors.map(String::into_boxed_str)
}

/// The answer to a field; an empty one is none.
fn answer<'d>(draft: &'d Map<String, Value>, field: &str) -> Option<&'d Value> {
    draft.get(field).filter(|value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    })
}
