//! Settled rows not yet moved from `live` to `settled`.
//!
//! Moving a row touches three times as many pages as updating it in place. A hundred thousand
//! deadlines may pass at once and must not slow down callers, so low-priority steps settle a row in
//! place, and it is moved when the writer is idle. Until then its row in `live` is the record, and
//! this module tracks it.

use std::collections::BTreeMap;
use std::ops::Bound;

use entreat_core::{ElicitationId, Status, UnixTime};
use entreat_engine::store::{Query, StatusFilter};
use entreat_engine::{Record, Version};
use parking_lot::Mutex;

/// Limit on unarchived rows, because listing scans them and they take memory.
const MAX_UNARCHIVED: usize = 1 << 17;

/// How a record settled that has no timer left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settlement {
    pub(super) version: Version,
    pub(super) status: Status,
    pub(super) at: UnixTime,
}

impl Settlement {
    /// Returns `None` if the record is live or its outcome is yet to be delivered.
    pub(super) fn of(record: &Record) -> Option<Self> {
        let at = record.lifecycle.settled_at()?;
        let is_done = record.timer().is_none();
        is_done.then(|| Self {
            version: record.version,
            status: record.lifecycle.state().status(),
            at,
        })
    }
}

/// Unarchived rows by id, oldest first. Only the writer changes it, after a commit.
#[derive(Default)]
pub(super) struct Unarchived(Mutex<BTreeMap<ElicitationId, Settlement>>);

impl Unarchived {
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Whether another row may settle in place.
    pub(super) fn has_room(&self) -> bool {
        self.0.lock().len() < MAX_UNARCHIVED
    }

    pub(super) fn insert(&self, id: ElicitationId, settlement: Settlement) {
        self.0.lock().insert(id, settlement);
    }

    /// Removes a row, whatever its version.
    pub(super) fn remove(&self, id: ElicitationId) {
        self.0.lock().remove(&id);
    }

    /// Removes a row that was moved, unless a later step has settled it in place again.
    pub(super) fn remove_moved(&self, id: ElicitationId, settlement: Settlement) {
        let mut unarchived = self.0.lock();
        if unarchived
            .get(&id)
            .is_some_and(|known| known.version == settlement.version)
        {
            unarchived.remove(&id);
        }
    }

    pub(super) fn get(&self, id: ElicitationId) -> Option<Settlement> {
        self.0.lock().get(&id).copied()
    }

    /// Returns the oldest row after this id.
    pub(super) fn next(&self, after: Option<ElicitationId>) -> Option<(ElicitationId, Settlement)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let unarchived = self.0.lock();
        let (id, settlement) = unarchived.range((from, Bound::Unbounded)).next()?;
        Some((*id, *settlement))
    }

    /// Returns the rows that match the query, of any asker, newest first.
    pub(super) fn matching(&self, query: &Query) -> Vec<ElicitationId> {
        let end = query.before.map_or(Bound::Unbounded, Bound::Excluded);
        let matches = |settlement: &Settlement| match query.which {
            StatusFilter::All | StatusFilter::Settled => true,
            StatusFilter::Live => false,
            StatusFilter::Only(status) => settlement.status == status,
        };
        let unarchived = self.0.lock();
        let page = unarchived.range((Bound::Unbounded, end)).rev();
        page.filter(|(_, settlement)| matches(settlement))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Returns up to `max` rows that settled before this time.
    pub(super) fn settled_before(&self, moment: UnixTime, max: usize) -> Vec<ElicitationId> {
        let unarchived = self.0.lock();
        let past = unarchived
            .iter()
            .filter(|(_, settlement)| settlement.at < moment);
        past.map(|(id, _)| *id).take(max).collect()
    }
}
