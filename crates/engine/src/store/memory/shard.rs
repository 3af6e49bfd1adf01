//! One shard of the memory store: everything under one lock.

use entreat_core::{ElicitationId, UnixTime};
use hashbrown::HashTable;

use super::slab::{Index, List, Slab};
use super::wheel::Wheel;
use crate::record::{Record, Version};
use crate::store::StoreError;

/// Records with their index, timers and settled list.
#[derive(Default)]
pub(super) struct Shard {
    slab: Slab,
    /// Slots by id. The id's random bits serve as hash, since no client chooses ids.
    table: HashTable<Index>,
    wheel: Wheel,
    /// Records without a timer, in the order in which they settled.
    settled: List,
}

impl Shard {
    pub(super) fn insert(&mut self, record: Record) {
        let id = record.id;
        let index = self.slab.insert(record);
        self.link(index);
        let slab = &self.slab;
        self.table.insert_unique(id.hash_bits(), index, |index| {
            slab.get(*index).map_or(0, |record| record.id.hash_bits())
        });
    }

    pub(super) fn get(&self, id: ElicitationId) -> Option<&Record> {
        self.slab.get(self.find(id)?)
    }

    pub(super) fn replace(&mut self, record: Record) -> Result<(), StoreError> {
        let id = record.id;
        let index = self.find(id).ok_or(StoreError::Missing(id))?;
        let stored = self.slab.get(index).ok_or(StoreError::Missing(id))?;
        let (found, had_timer) = (stored.version, stored.timer().is_some());
        if found.next() != record.version {
            let expected = Version(record.version.0.wrapping_sub(1));
            return Err(StoreError::Conflict {
                id,
                expected,
                found,
            });
        }
        if had_timer {
            self.wheel.disarm(&mut self.slab, index);
            self.slab.replace(index, record);
            self.link(index);
        } else {
            // Its position in the settled list does not change.
            self.slab.replace(index, record);
        }
        Ok(())
    }

    /// Adds records whose timer is due; returns when to query again.
    pub(super) fn due(
        &mut self,
        now: UnixTime,
        limit: usize,
        ids: &mut Vec<ElicitationId>,
    ) -> Option<UnixTime> {
        let due = self
            .wheel
            .due(&self.slab, now, limit.saturating_sub(ids.len()));
        if due.is_empty() && ids.len() < limit {
            return self.wheel.next(&self.slab);
        }
        let id = |index| self.slab.get(index).map(|record| record.id);
        ids.extend(due.into_iter().filter_map(id));
        Some(now)
    }

    /// Removes the records that settled first, if they settled before this time.
    pub(super) fn take_settled(&mut self, before: UnixTime, limit: usize) -> Vec<Record> {
        // All are read before any is removed: they are cold, and independent reads overlap their
        // cache misses.
        let if_old = |index| {
            let record = self.slab.get(index)?;
            let is_old = record.lifecycle.settled_at()? < before;
            is_old.then(|| (index, record.id.hash_bits()))
        };
        let settled = self.slab.follow(self.settled).take(limit);
        let old: Vec<_> = settled.map_while(if_old).collect();
        let mut taken = Vec::with_capacity(old.len());
        for (index, hash) in old {
            self.settled.remove(&mut self.slab, index);
            if let Ok(entry) = self.table.find_entry(hash, |other| *other == index) {
                entry.remove();
            }
            taken.extend(self.slab.remove(index));
        }
        taken
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.slab.records()
    }

    fn find(&self, id: ElicitationId) -> Option<Index> {
        let is_it = |index: &Index| self.slab.get(*index).is_some_and(|record| record.id == id);
        self.table.find(id.hash_bits(), is_it).copied()
    }

    fn link(&mut self, index: Index) {
        let has_timer = |record: &Record| record.timer().is_some();
        if self.slab.get(index).is_some_and(has_timer) {
            self.wheel.arm(&mut self.slab, index);
        } else {
            self.settled.push(&mut self.slab, index);
        }
    }
}
