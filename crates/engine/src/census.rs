//! What an engine knows of the questions in a store that others change too.
//!
//! An engine hears of its own steps when they are stored and of foreign ones some time later, in
//! any order and more than once. The census decides what is news: so each question is counted once
//! and uncounted once, and each change is published once. An engine whose store has no other handle
//! needs no census.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, Lifecycle, Step, UnixTime};
use parking_lot::Mutex;

use crate::limits::Ledgers;
use crate::record::{Record, Request, Version};

/// How long a settled question is remembered, because a change that led up to it may still be told.
/// A settlement that is heard of later than this is history: its subscribers were told that they
/// missed something.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(60);

/// The questions that an engine takes for live, and those that settled a moment ago.
#[derive(Default)]
pub(crate) struct Census(Mutex<HashMap<ElicitationId, Known>>);

enum Known {
    Live {
        version: Version,
        lifecycle: Lifecycle,
        counted: Counted,
    },
    Settled {
        /// When this engine heard of it.
        heard: UnixTime,
    },
}

/// In whose ledger a question is counted.
struct Counted {
    asker: Arc<str>,
    principal: Option<Box<str>>,
}

/// What a change means to those who are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing.
    None,
    /// A question was asked.
    Created,
    /// A question has changed.
    Stepped(Step),
}

impl Counted {
    fn of(request: &Request) -> Self {
        Self {
            asker: request.asker.clone(),
            principal: request.principal().map(Into::into),
        }
    }
}

impl Known {
    fn live(record: &Record) -> Self {
        Self::Live {
            version: record.version,
            lifecycle: record.lifecycle,
            counted: Counted::of(&record.request),
        }
    }
}

impl Census {
    /// Adds a question that is counted already, because this engine has asked it. False if it was
    /// heard of before, and so has been counted twice.
    pub(crate) fn add_own(&self, record: &Record) -> bool {
        let mut known = self.0.lock();
        let is_new = !known.contains_key(&record.id);
        if is_new {
            known.insert(record.id, Known::live(record));
        }
        is_new
    }

    /// Notes a step of this engine that leaves the question live. False if a later change was heard
    /// of before: what it tells is old.
    pub(crate) fn step_own(&self, record: &Record) -> bool {
        match self.0.lock().get_mut(&record.id) {
            Some(Known::Live {
                version, lifecycle, ..
            }) if *version < record.version => {
                *version = record.version;
                *lifecycle = record.lifecycle;
                true
            }
            // Unknown: others asked it a moment ago, and its creation is still to be heard of.
            None => true,
            Some(Known::Live { .. } | Known::Settled { .. }) => false,
        }
    }

    /// Notes that a question has settled and uncounts it. False if that was known.
    pub(crate) fn settle(&self, id: ElicitationId, now: UnixTime, ledgers: &Ledgers) -> bool {
        let mut known = self.0.lock();
        match known.insert(id, Known::Settled { heard: now }) {
            Some(Known::Live { counted, .. }) => {
                // Within the lock: a count must not fall before it has risen.
                ledgers.uncount(&counted.asker, counted.principal.as_deref());
                true
            }
            None => true,
            Some(Known::Settled { .. }) => false,
        }
    }

    /// Notes a record as it was found in the store, and counts or uncounts it.
    pub(crate) fn hear(
        &self,
        record: &Record,
        now: UnixTime,
        count: impl FnOnce(&Request),
        ledgers: &Ledgers,
    ) -> News {
        let mut known = self.0.lock();
        let earlier = match known.get(&record.id) {
            Some(Known::Settled { .. }) => return News::None,
            Some(Known::Live { version, .. }) if *version >= record.version => return News::None,
            Some(Known::Live { lifecycle, .. }) => Some(*lifecycle),
            None => None,
        };
        let step = record.lifecycle.step_since(earlier.as_ref(), now);
        let Some(settled_at) = record.lifecycle.settled_at() else {
            let before = known.insert(record.id, Known::live(record));
            if before.is_some() {
                return step.map_or(News::None, News::Stepped);
            }
            count(&record.request);
            return News::Created;
        };
        if earlier.is_none() && now.since(settled_at) >= REMEMBERED {
            return News::None;
        }
        let settled = Known::Settled { heard: now };
        if let Some(Known::Live { counted, .. }) = known.insert(record.id, settled) {
            ledgers.uncount(&counted.asker, counted.principal.as_deref());
        }
        step.map_or(News::None, News::Stepped)
    }

    /// Whether this version of a question, or a later one, was heard of.
    pub(crate) fn has(&self, id: ElicitationId, told: Version) -> bool {
        match self.0.lock().get(&id) {
            Some(Known::Live { version, .. }) => *version >= told,
            Some(Known::Settled { .. }) => true,
            None => false,
        }
    }

    /// Returns the questions that are taken for live; with a time, only those whose deadline has
    /// passed by then.
    pub(crate) fn live(&self, overdue_by: Option<UnixTime>) -> Vec<ElicitationId> {
        let known = self.0.lock();
        let is_wanted = |known: &Known| match known {
            Known::Live { lifecycle, .. } => overdue_by.is_none_or(|now| lifecycle.is_overdue(now)),
            Known::Settled { .. } => false,
        };
        let wanted = known.iter().filter(|(_, known)| is_wanted(known));
        wanted.map(|(id, _)| *id).collect()
    }

    /// Forgets questions that settled long ago.
    pub(crate) fn prune(&self, now: UnixTime) {
        let mut known = self.0.lock();
        known.retain(|_, known| match known {
            Known::Live { .. } => true,
            Known::Settled { heard } => now.since(*heard) < REMEMBERED.saturating_mul(2),
        });
    }
}
