//! What has settled and still lies among the live records.
//!
//! To move a record to the settled ones touches three times as many pages as to write its end
//! where it lies. So an end that nobody waits for is written there, for a hundred thousand
//! deadlines may come at once and others are not to notice; the record is moved when there is
//! time. Until then its row in `live` is the record, and here is who lingers there.

use std::collections::BTreeMap;
use std::ops::Bound;

use entreat_core::{ElicitationId, Status, UnixTime};
use entreat_engine::store::{Query, Which};
use entreat_engine::{Record, Version};
use parking_lot::Mutex;

/// When so many linger, no more may: it takes time to look through them, and some memory.
const MOST: usize = 1 << 17;

/// How a record ended with which all is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) version: Version,
    pub(super) status: Status,
    pub(super) at: UnixTime,
}

impl Ended {
    /// `None` if the record is live, or its outcome is still to be delivered.
    pub(super) fn of(record: &Record) -> Option<Self> {
        let at = record.lifecycle.settled_at()?;
        let is_over = record.alarm().is_none();
        is_over.then(|| Self {
            version: record.version,
            status: record.lifecycle.state().status(),
            at,
        })
    }
}

/// Those that linger, oldest first. The writer alone changes it, once a step is on disk.
#[derive(Default)]
pub(super) struct Lingering(Mutex<BTreeMap<ElicitationId, Ended>>);

impl Lingering {
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Whether one more may linger.
    pub(super) fn has_room(&self) -> bool {
        self.0.lock().len() < MOST
    }

    pub(super) fn insert(&self, id: ElicitationId, ended: Ended) {
        self.0.lock().insert(id, ended);
    }

    /// It lingers no more, whatever its version.
    pub(super) fn remove(&self, id: ElicitationId) {
        self.0.lock().remove(&id);
    }

    /// What ended so was moved, unless a later step has made it linger anew.
    pub(super) fn moved(&self, id: ElicitationId, ended: Ended) {
        let mut lingering = self.0.lock();
        if lingering
            .get(&id)
            .is_some_and(|known| known.version == ended.version)
        {
            lingering.remove(&id);
        }
    }

    pub(super) fn get(&self, id: ElicitationId) -> Option<Ended> {
        self.0.lock().get(&id).copied()
    }

    /// The oldest of those after the one that is named.
    pub(super) fn next(&self, after: Option<ElicitationId>) -> Option<(ElicitationId, Ended)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let lingering = self.0.lock();
        let (id, ended) = lingering.range((from, Bound::Unbounded)).next()?;
        Some((*id, *ended))
    }

    /// Those that may be on this page, whoever asked them, newest first.
    pub(super) fn listed(&self, query: &Query) -> Vec<ElicitationId> {
        let end = query.before.map_or(Bound::Unbounded, Bound::Excluded);
        let is_wanted = |ended: &Ended| match query.which {
            Which::All => true,
            Which::Live => false,
            Which::Only(status) => ended.status == status,
        };
        let lingering = self.0.lock();
        let page = lingering.range((Bound::Unbounded, end)).rev();
        page.filter(|(_, ended)| is_wanted(ended))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Some of those that settled before that moment.
    pub(super) fn settled_before(&self, moment: UnixTime, most: usize) -> Vec<ElicitationId> {
        let lingering = self.0.lock();
        let past = lingering.iter().filter(|(_, ended)| ended.at < moment);
        past.map(|(id, _)| *id).take(most).collect()
    }
}
