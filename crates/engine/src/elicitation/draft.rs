//! What a person has typed so far: kept, changed, told again.

use std::sync::Arc;

use entreat_core::{Command, FieldError, Form, Status};
use serde_json::{Map, Value};

use super::{Elicitation, check_size, form_of};
use crate::error::ActError;
use crate::payload::{editable, known_answers};
use crate::record::{Payload, Record};

/// What became of a part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Drafted {
    /// Where the elicitation stands.
    pub status: Status,
    /// Required fields that have no answer yet.
    pub missing: Vec<String>,
    /// What is wrong with this part.
    pub errors: Vec<FieldError>,
}

impl Elicitation {
    /// Keeps a part of an answer, merged into what was kept before. Uses up no attempt; what is
    /// wrong with it is told, and kept all the same.
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
        // Names of no field are not kept, but told.
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

    /// Changes what was typed so far, and tells what it is now, secrets included.
    ///
    /// `edit` is given the draft as it is when the change is kept: if somebody else's step came
    /// between, it is called again with what that made of it, so that of changes at the same time
    /// none is lost. Only what its last call did is kept.
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
            let mut held = editable(record.held.as_ref());
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

    /// Whether this is still what was typed.
    pub(super) fn check_draft(
        &self,
        record: &Record,
        draft: &Map<String, Value>,
    ) -> Result<(), ActError> {
        let now = match &record.held {
            Some(held) => held.draft(&self.inner().vault, self.id)?,
            None => Map::new(),
        };
        if now == *draft {
            Ok(())
        } else {
            Err(ActError::DraftChanged)
        }
    }

    /// What was typed so far, secrets included: for the person who typed it.
    pub async fn drafted(&self) -> Result<Map<String, Value>, ActError> {
        let inner = self.inner();
        let record = inner.load(&self.access, self.id).await?;
        match &record.held {
            Some(held) => Ok(held.draft(&inner.vault, self.id)?),
            None => Ok(Map::new()),
        }
    }
}
