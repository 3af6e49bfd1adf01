//! The memory that questions and answers take, shared fairly among askers.
//!
//! Records that can still change are in memory, and so are the answers in them: drafts and
//! results with files, which no size limit counts, and what an asker wrote beside its form. What
//! weighs something takes as many places as it has bytes, and holds them for as long as it is in
//! memory, whoever holds it: the store, a caller, a queue. So nothing has to be given back by
//! hand, and nothing is counted twice.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::engine::Inner;
use crate::error::{ActError, AskError};
use crate::record::{Entry, Extras, Held, Payload, Record};
use crate::shares::{Place, Shares};
use crate::store::StoreError;

/// What weighs less is not counted: it is bounded by how many questions may be live.
const LIGHT: usize = 4096;

/// How many bytes answers, and what askers note beside a form, may take in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerMemory {
    /// Those of all askers.
    pub all: usize,
    /// Those of one asker.
    pub each: usize,
}

impl Default for AnswerMemory {
    fn default() -> Self {
        Self {
            all: 256 << 20,
            each: 64 << 20,
        }
    }
}

/// The places of all askers.
pub(crate) struct Room(Shares<Arc<str>>);

impl Room {
    pub(crate) fn new(limits: AnswerMemory) -> Self {
        Self(Shares::new(limits.all, limits.each))
    }

    /// Takes the room that `next` needs in the place of what the record holds. What needs no more
    /// than that always has room.
    pub(crate) fn take(&self, record: &Record, next: Option<&Arc<Held>>) -> Result<(), ActError> {
        let Some(next) = next.filter(|next| next.place.0.get().is_none()) else {
            return Ok(());
        };
        let size = next.weight();
        let before = record.held.as_ref().map_or(0, |held| held.weight());
        self.hold(&record.request.asker, &next.place, size, before)
            .map_err(|limit| ActError::TooLarge { size, limit })
    }

    /// Takes the room of what an asker notes beside a form.
    pub(crate) fn take_asked(&self, asker: &Arc<str>, extras: &Extras) -> Result<(), AskError> {
        let size = extras.weight();
        self.hold(asker, &extras.place, size, 0)
            .map_err(|limit| AskError::TooLarge { size, limit })
    }

    /// Takes room for what is in memory already, within the limits or not.
    fn count_in(&self, record: &Record) {
        let asker = &record.request.asker;
        // It takes the place of itself, and so is never refused.
        let count = |place, size| self.hold(asker, place, size, size).unwrap_or_default();
        if let Some(held) = &record.held {
            count(&held.place, held.weight());
        }
        if let Some(extras) = &record.request.extras {
            count(&extras.place, extras.weight());
        }
    }

    /// The error is how much there would be room for.
    fn hold(
        &self,
        asker: &Arc<str>,
        place: &HeldPlace,
        size: usize,
        returning: usize,
    ) -> Result<(), usize> {
        if size < LIGHT || place.0.get().is_some() {
            return Ok(());
        }
        match self.0.take_many(asker.clone(), size, returning) {
            Ok(taken) => {
                // Whoever else takes room for the same is as right.
                let _ = place.0.set(Arc::new(taken));
                Ok(())
            }
            Err(_) => Err(returning + self.0.left(asker)),
        }
    }
}

impl Inner {
    /// Counts what was in memory before this engine was.
    pub(crate) async fn count_room(&self) -> Result<(), StoreError> {
        for record in self.store.held_in_memory(LIGHT).await? {
            self.room.count_in(&record);
        }
        Ok(())
    }
}

impl Entry {
    /// About how much memory its answers and what was noted beside its form take, in bytes.
    pub fn weight(&self) -> usize {
        let held = self.held.as_ref().map_or(0, |held| held.weight());
        let extras = self.request.extras.as_ref();
        held + extras.map_or(0, |extras| extras.weight())
    }
}

impl Extras {
    fn weight(&self) -> usize {
        let trees = [&self.metadata, &self.script].into_iter().flatten();
        let message = self.message.as_ref().map_or(0, |text| text.len());
        trees.map(weight).sum::<usize>() + message
    }
}

impl Held {
    /// About how much memory it takes, in bytes.
    pub fn weight(&self) -> usize {
        let of = |payload: &Option<Payload>| payload.as_ref().map_or(0, Payload::weight);
        let text = self.errors.as_ref().map_or(0, |text| text.len());
        of(&self.draft) + of(&self.result) + text + self.submission.as_deref().map_or(0, weight)
    }
}

impl Payload {
    fn weight(&self) -> usize {
        self.text.len() + self.sealed.as_ref().map_or(0, |sealed| sealed.size())
    }
}

/// About how much memory a tree takes: a number of one digit takes as much as any.
fn weight(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            let of = |(key, value): (&String, &Value)| key.len() + 32 + weight(value);
            members.iter().map(of).sum()
        }
    };
    size_of::<Value>() + inner
}

/// The room that answers take; nothing to those who compare or print them.
#[derive(Clone, Default)]
pub struct HeldPlace(OnceLock<Arc<Place<Arc<str>>>>);

impl PartialEq for HeldPlace {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for HeldPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeldPlace")
    }
}
