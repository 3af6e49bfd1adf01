//! A memory quota for answers and question metadata, shared fairly among askers.
//!
//! Live records are in memory, with their drafts and results. Files in them do not count against
//! the size limit, and neither does what an asker attaches to a question. Each large payload
//! therefore holds a permit for its bytes, released when its last owner (store, caller or queue)
//! drops it. Nothing has to be released by hand, and shared payloads count once.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::engine::Inner;
use crate::error::{ActError, AskError};
use crate::record::{AnswerState, Entry, Extras, Payload, Record};
use crate::shares::{Permit, Shares};
use crate::store::StoreError;

/// Smaller payloads are not counted: the limit on live questions bounds them.
const MIN_COUNTED: usize = 4096;

/// How many bytes of memory answers and question metadata may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerMemory {
    /// For all askers together.
    pub all: usize,
    /// For one asker.
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

/// The bytes reserved by all askers.
pub(crate) struct MemoryBudget(Shares<Arc<str>>);

impl MemoryBudget {
    pub(crate) fn new(limits: AnswerMemory) -> Self {
        Self(Shares::new(limits.all, limits.each))
    }

    /// Reserves memory for `next`, which replaces the record's answers. Never fails if `next` is
    /// not larger.
    pub(crate) fn reserve(
        &self,
        record: &Record,
        next: Option<&Arc<AnswerState>>,
    ) -> Result<(), ActError> {
        let Some(next) = next.filter(|next| next.memory.0.get().is_none()) else {
            return Ok(());
        };
        let size = next.weight();
        let before = record.answer_state.as_ref().map_or(0, |held| held.weight());
        self.reserve_bytes(&record.request.asker, &next.memory, size, before)
            .map_err(|limit| ActError::TooLarge { size, limit })
    }

    /// Reserves memory for the metadata of a question.
    pub(crate) fn reserve_extras(&self, asker: &Arc<str>, extras: &Extras) -> Result<(), AskError> {
        let size = extras.weight();
        self.reserve_bytes(asker, &extras.memory, size, 0)
            .map_err(|limit| AskError::TooLarge { size, limit })
    }

    /// Counts a record that is already in memory, even above the limits.
    fn add_resident(&self, record: &Record) {
        let asker = &record.request.asker;
        // It replaces itself, and so is never refused.
        let count = |memory, size| {
            self.reserve_bytes(asker, memory, size, size)
                .unwrap_or_default();
        };
        if let Some(held) = &record.answer_state {
            count(&held.memory, held.weight());
        }
        if let Some(extras) = &record.request.extras {
            count(&extras.memory, extras.weight());
        }
    }

    /// The error is how many bytes would be accepted.
    fn reserve_bytes(
        &self,
        asker: &Arc<str>,
        permit: &MemoryPermit,
        size: usize,
        returning: usize,
    ) -> Result<(), usize> {
        if size < MIN_COUNTED || permit.0.get().is_some() {
            return Ok(());
        }
        match self.0.take_many(asker.clone(), size, returning) {
            Ok(taken) => {
                // If another thread reserved first, its permit is as good.
                let _ = permit.0.set(Arc::new(taken));
                Ok(())
            }
            Err(_) => Err(returning + self.0.left(asker)),
        }
    }
}

impl Inner {
    /// Counts the records that the store loaded before the engine started.
    pub(crate) async fn count_resident(&self) -> Result<(), StoreError> {
        for record in self.store.resident_records(MIN_COUNTED).await? {
            self.memory_budget.add_resident(&record);
        }
        Ok(())
    }
}

impl Entry {
    /// Returns the approximate memory size of answers and metadata, in bytes.
    pub fn weight(&self) -> usize {
        let held = self.answer_state.as_ref().map_or(0, |held| held.weight());
        let extras = self.request.extras.as_ref();
        held + extras.map_or(0, |extras| extras.weight())
    }
}

impl Extras {
    fn weight(&self) -> usize {
        let trees = [&self.metadata, &self.script].into_iter().flatten();
        let message = self.message().map_or(0, str::len);
        trees.map(weight).sum::<usize>() + message
    }
}

impl AnswerState {
    /// Returns the approximate memory size, in bytes.
    pub fn weight(&self) -> usize {
        let of = |payload: &Option<Payload>| payload.as_ref().map_or(0, Payload::weight);
        let text = self.errors.as_ref().map_or(0, |text| text.len());
        let aside = self.set_aside.iter();
        let aside = aside.map(|of| {
            let errors = of.errors.as_ref().map_or(0, |text| text.len());
            of.draft.weight() + errors
        });
        of(&self.draft)
            + of(&self.result)
            + aside.sum::<usize>()
            + text
            + self.submission.as_deref().map_or(0, weight)
    }
}

impl Payload {
    fn weight(&self) -> usize {
        self.text.len() + self.sealed.as_ref().map_or(0, |sealed| sealed.size())
    }
}

/// Returns the approximate memory size of a value, as opposed to the length of its text.
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

/// A permit for the memory that a payload takes. Ignored by comparisons; opaque to `Debug`.
#[derive(Clone, Default)]
pub struct MemoryPermit(OnceLock<Arc<Permit<Arc<str>>>>);

impl PartialEq for MemoryPermit {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for MemoryPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryPermit")
    }
}
