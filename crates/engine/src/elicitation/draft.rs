//! Drafts: what a person has typed so far.

use std::sync::Arc;

use entreat_core::{Command, FieldError, Form, Status};
use serde_json::{Map, Value};

use super::{Elicitation, check_size, form_of};
use crate::error::ActError;
use crate::payload::{editable, known_answers};
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
    /// stored nevertheless.
    pub async fn draft(&self, part: &Value) -> Result<Drafted, ActError> {
        self.charge()?;
        let inner = self.inner();
        let record = inner.load(&self.access, self.id).await?;
        let form = form_of(&record)?.clone();
        let nothing = Map::new();
        let sent = form.answers_in(part).unwrap_or(&nothing);
        let part = known_answers(&form, part);
        let merge = |draft: &mut Map<String, Value>| draft.extend(part.clone());
        let (record, mut merged) = self.redraft(record, &form, merge).await?;
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

    /// Edits the draft and returns the new one, secrets included.
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
        let mut edited = Map::new();
        let keep = |record: &Record, _: &_| {
            let mut held = editable(record.answer_state.as_ref());
            edited = held.draft(&inner.vault, record.id)?;
            edit(&mut edited);
            let draft = Payload::of_draft(&inner.vault, record.id, form, &edited);
            check_size(record, Some(form), &draft)?;
            held.draft = Some(draft);
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
        let current = match &record.answer_state {
            Some(held) => held.draft(&self.inner().vault, self.id)?,
            None => Map::new(),
        };
        if current == *draft {
            Ok(())
        } else {
            Err(ActError::DraftChanged)
        }
    }

    /// Returns the draft, secrets included, for the person who typed it.
    pub async fn read_draft(&self) -> Result<Map<String, Value>, ActError> {
        let inner = self.inner();
        let record = inner.load(&self.access, self.id).await?;
        match &record.answer_state {
            Some(held) => Ok(held.draft(&inner.vault, self.id)?),
            None => Ok(Map::new()),
        }
    }
}
