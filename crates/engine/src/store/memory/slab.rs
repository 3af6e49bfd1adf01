//! Records side by side in chunks, with links between them.
//!
//! Chunks, because a vector that grows copies all it holds, and a million records are a lot.

use std::num::NonZeroU32;

use entreat_core::UnixTime;

use crate::record::Record;

/// A slot's place, counted from one so that an absent link costs nothing.
pub(super) type Index = NonZeroU32;

/// Records side by side.
#[derive(Default)]
pub(super) struct Slab {
    chunks: Vec<Vec<Slot>>,
    /// The first of the free slots; each links to the next.
    free: Option<Index>,
}

#[derive(Default)]
struct Slot {
    record: Option<Record>,
    before: Option<Index>,
    after: Option<Index>,
}

impl Slab {
    pub(super) fn insert(&mut self, record: Record) -> Index {
        if let Some(index) = self.free {
            let slot = self.slot(index);
            let next = slot.after.take();
            slot.record = Some(record);
            self.free = next;
            return index;
        }
        let full = self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK);
        if full {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let before = (self.chunks.len() - 1) * CHUNK;
        let chunk = self.chunks.last_mut().expect("one was pushed");
        chunk.push(Slot {
            record: Some(record),
            ..Slot::default()
        });
        u32::try_from(before + chunk.len())
            .ok()
            .and_then(Index::new)
            .expect("memory ends long before the numbers of slots do")
    }

    /// Takes a record out that is in no list any more.
    pub(super) fn remove(&mut self, index: Index) -> Option<Record> {
        let free = self.free.replace(index);
        let slot = self.slot(index);
        slot.after = free;
        slot.record.take()
    }

    pub(super) fn get(&self, index: Index) -> Option<&Record> {
        self.chunks[chunk(index)][place(index)].record.as_ref()
    }

    pub(super) fn replace(&mut self, index: Index, record: Record) {
        self.slot(index).record = Some(record);
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        let slots = self.chunks.iter().flatten();
        slots.filter_map(|slot| slot.record.as_ref())
    }

    /// When a record's alarm comes; never, if it has none.
    pub(super) fn alarm(&self, index: Index) -> UnixTime {
        let alarm = self.get(index).and_then(|record| record.alarm());
        alarm.unwrap_or(UnixTime::from_millis(u64::MAX))
    }

    /// The slots of a list, in order.
    pub(super) fn follow(&self, list: List) -> impl Iterator<Item = Index> {
        let after = |index: &Index| self.chunks[chunk(*index)][place(*index)].after;
        std::iter::successors(list.first, after)
    }

    fn slot(&mut self, index: Index) -> &mut Slot {
        &mut self.chunks[chunk(index)][place(index)]
    }
}

/// How many records lie in one piece.
const CHUNK: usize = 1024;

fn chunk(index: Index) -> usize {
    (index.get() as usize - 1) / CHUNK
}

fn place(index: Index) -> usize {
    (index.get() as usize - 1) % CHUNK
}

/// A list whose links lie in the slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct List {
    pub(super) first: Option<Index>,
    last: Option<Index>,
}

impl List {
    pub(super) fn push(&mut self, slab: &mut Slab, index: Index) {
        let slot = slab.slot(index);
        slot.before = self.last;
        slot.after = None;
        match self.last {
            Some(last) => slab.slot(last).after = Some(index),
            None => self.first = Some(index),
        }
        self.last = Some(index);
    }

    pub(super) fn remove(&mut self, slab: &mut Slab, index: Index) {
        let slot = slab.slot(index);
        let (before, after) = (slot.before.take(), slot.after.take());
        match before {
            Some(before) => slab.slot(before).after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => slab.slot(after).before = before,
            None => self.last = before,
        }
    }
}
