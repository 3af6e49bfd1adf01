//! Waiters by elicitation, and the connection each elicitation was asked on.
//!
//! An entry exists only while it has a waiter or a connection. A waiter registers first and reads
//! the store after, so that it cannot miss an outcome. Waking carries no data; waiters read the
//! store again.

use std::sync::Arc;
use std::task::Waker;

use entreat_core::ElicitationId;
use hashbrown::HashTable;
use parking_lot::Mutex;
use slab::Slab;

use crate::connection::OpenQuestions;
use crate::padded::Padded;

/// All waiters, sharded by id.
pub(crate) struct Waiters {
    shards: Box<[Padded<Mutex<Shard>>]>,
}

#[derive(Default)]
struct Shard {
    /// Indices into `entries`, by id. Four bytes each, so that a half-empty table wastes little.
    table: HashTable<u32>,
    entries: Slab<Entry>,
    /// The number of the last registration.
    last: u32,
}

struct Entry {
    id: ElicitationId,
    first: Option<Waiter>,
    rest: Option<Box<Rest>>,
}

/// Rarely used parts of an entry: further waiters and a connection.
#[derive(Default)]
struct Rest {
    waiters: Vec<Waiter>,
    open_questions: Option<Arc<OpenQuestions>>,
}

struct Waiter {
    number: u32,
    waker: Waker,
}

const SHARDS: usize = 16;

impl Waiters {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Padded::default()).collect(),
        }
    }

    fn shard(&self, id: ElicitationId) -> &Mutex<Shard> {
        &self.shards[id.shard(SHARDS)]
    }

    /// Registers a waiter and returns its number.
    pub(crate) fn register(&self, id: ElicitationId, waker: &Waker) -> u32 {
        let mut shard = self.shard(id).lock();
        shard.last = shard.last.wrapping_add(1);
        let number = shard.last;
        let waker = waker.clone();
        shard.entry(id).add(Waiter { number, waker });
        number
    }

    /// Updates a registration with the waker of the latest poll; false if it was woken.
    pub(crate) fn refresh(&self, id: ElicitationId, number: u32, waker: &Waker) -> bool {
        let mut shard = self.shard(id).lock();
        let waiting = shard
            .find(id)
            .and_then(|entry| entry.waiters().find(|waiting| waiting.number == number));
        match waiting {
            Some(waiting) => {
                waiting.waker.clone_from(waker);
                true
            }
            None => false,
        }
    }

    /// Removes a registration.
    pub(crate) fn deregister(&self, id: ElicitationId, number: u32) {
        let mut shard = self.shard(id).lock();
        if let Some(entry) = shard.find(id) {
            entry.remove(number);
            if entry.is_idle() {
                shard.remove(id);
            }
        }
    }

    /// Sets the connection that the elicitation was asked on.
    pub(crate) fn set_connection(&self, id: ElicitationId, open_questions: &Arc<OpenQuestions>) {
        let mut shard = self.shard(id).lock();
        shard.entry(id).rest.get_or_insert_default().open_questions = Some(open_questions.clone());
    }

    /// Wakes and removes all waiters of a settled elicitation.
    pub(crate) fn settle(&self, id: ElicitationId) {
        let entry = self.shard(id).lock().remove(id);
        if let Some(mut entry) = entry {
            if let Some(open_questions) = entry
                .rest
                .as_ref()
                .and_then(|rest| rest.open_questions.as_ref())
            {
                open_questions.remove(id);
            }
            // Outside the lock: a waker may run arbitrary code.
            entry
                .take_waiters()
                .for_each(|waiting| waiting.waker.wake());
        }
    }

    /// Wakes waiters to read the store again, after a commit with unknown outcome.
    pub(crate) fn wake(&self, id: ElicitationId) {
        let waiting: Vec<_> = match self.shard(id).lock().find(id) {
            Some(entry) => entry.take_waiters().collect(),
            None => return,
        };
        for waiting in waiting {
            waiting.waker.wake();
        }
    }

    /// Returns the elicitations that have a waiter or a connection.
    pub(crate) fn ids(&self) -> Vec<ElicitationId> {
        let mut ids = Vec::new();
        for shard in &self.shards {
            ids.extend(shard.lock().entries.iter().map(|(_, entry)| entry.id));
        }
        ids
    }

    /// Wakes all waiters, on shutdown.
    pub(crate) fn wake_all(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let entries = shard.entries.iter_mut();
            let waiting: Vec<_> = entries
                .flat_map(|(_, entry)| entry.take_waiters())
                .collect();
            drop(shard);
            for waiting in waiting {
                waiting.waker.wake();
            }
        }
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.shards
            .iter()
            .all(|shard| shard.lock().table.is_empty())
    }
}

impl Shard {
    fn find(&mut self, id: ElicitationId) -> Option<&mut Entry> {
        let is_it = |index: &u32| self.entries[*index as usize].id == id;
        let index = *self.table.find(id.hash_bits(), is_it)?;
        Some(&mut self.entries[index as usize])
    }

    fn entry(&mut self, id: ElicitationId) -> &mut Entry {
        let entries = &mut self.entries;
        let is_it = |index: &u32| entries[*index as usize].id == id;
        if let Some(index) = self.table.find(id.hash_bits(), is_it) {
            return &mut entries[*index as usize];
        }
        let index = entries.insert(Entry {
            id,
            first: None,
            rest: None,
        });
        let number = u32::try_from(index).expect("there are fewer than 2^32 entries");
        self.table.insert_unique(id.hash_bits(), number, |index| {
            entries[*index as usize].id.hash_bits()
        });
        &mut entries[index]
    }

    fn remove(&mut self, id: ElicitationId) -> Option<Entry> {
        let is_it = |index: &u32| self.entries[*index as usize].id == id;
        let index = self
            .table
            .find_entry(id.hash_bits(), is_it)
            .ok()?
            .remove()
            .0;
        Some(self.entries.remove(index as usize))
    }
}

impl Entry {
    fn add(&mut self, waiter: Waiter) {
        match &self.first {
            None => self.first = Some(waiter),
            Some(_) => self.rest.get_or_insert_default().waiters.push(waiter),
        }
    }

    fn waiters(&mut self) -> impl Iterator<Item = &mut Waiter> {
        let rest = self.rest.iter_mut().flat_map(|rest| &mut rest.waiters);
        self.first.iter_mut().chain(rest)
    }

    fn take_waiters(&mut self) -> impl Iterator<Item = Waiter> {
        let rest = self
            .rest
            .as_mut()
            .map(|rest| std::mem::take(&mut rest.waiters));
        self.first
            .take()
            .into_iter()
            .chain(rest.into_iter().flatten())
    }

    fn remove(&mut self, number: u32) {
        self.first.take_if(|waiting| waiting.number == number);
        if let Some(rest) = &mut self.rest {
            rest.waiters.retain(|waiting| waiting.number != number);
        }
    }

    /// Whether it has neither a waiter nor a connection.
    fn is_idle(&self) -> bool {
        let rest_is_idle = |rest: &Rest| rest.waiters.is_empty() && rest.open_questions.is_none();
        self.first.is_none() && self.rest.as_deref().is_none_or(rest_is_idle)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use entreat_core::UnixTime;

    use super::*;

    #[test]
    fn nothing_is_left_when_waiters_come_and_go() {
        let waiters = Waiters::new();
        for i in 0..100 {
            let id = ElicitationId::new(UnixTime::from_millis(1), [i; 10]);
            let first = waiters.register(id, Waker::noop());
            let second = waiters.register(id, Waker::noop());
            assert!(waiters.refresh(id, first, Waker::noop()));
            waiters.deregister(id, first);
            assert!(waiters.refresh(id, second, Waker::noop()));
            if i % 2 == 0 {
                waiters.settle(id);
                assert!(!waiters.refresh(id, second, Waker::noop()));
            } else {
                waiters.deregister(id, second);
            }
        }
        assert!(waiters.is_empty());
    }
}
