//! Who waits for which elicitation, and on which connection it was asked.
//!
//! An entry exists only while somebody waits or a connection stands behind the elicitation.
//! A waiter registers first and looks at the store then, so that an outcome that came first is
//! never missed. Waiters are only woken; what happened they read from the store.

use std::sync::Arc;
use std::task::Waker;

use entreat_core::ElicitationId;
use hashbrown::HashTable;
use parking_lot::Mutex;
use slab::Slab;

use crate::connection::Ties;

/// Who waits for what.
pub(crate) struct Waiters {
    shards: Box<[Mutex<Shard>]>,
}

#[derive(Default)]
struct Shard {
    /// Places in `entries`, by id. A table half empty then wastes little.
    table: HashTable<u32>,
    entries: Slab<Entry>,
    /// The last registration's number.
    last: u32,
}

struct Entry {
    id: ElicitationId,
    first: Option<Waiting>,
    rest: Option<Box<Rest>>,
}

/// What most entries do without: more than one waiter, and a connection.
#[derive(Default)]
struct Rest {
    waiting: Vec<Waiting>,
    ties: Option<Arc<Ties>>,
}

struct Waiting {
    number: u32,
    waker: Waker,
}

const SHARDS: usize = 16;

impl Waiters {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }

    fn shard(&self, id: ElicitationId) -> &Mutex<Shard> {
        &self.shards[id.shard(SHARDS)]
    }

    /// Registers a waiter; the number names its registration.
    pub(crate) fn register(&self, id: ElicitationId, waker: &Waker) -> u32 {
        let mut shard = self.shard(id).lock();
        shard.last = shard.last.wrapping_add(1);
        let number = shard.last;
        let waker = waker.clone();
        shard.entry(id).add(Waiting { number, waker });
        number
    }

    /// Keeps a registration, with the waker of the latest poll; false if it was woken.
    pub(crate) fn keep(&self, id: ElicitationId, number: u32, waker: &Waker) -> bool {
        let mut shard = self.shard(id).lock();
        let waiting = shard
            .find(id)
            .and_then(|entry| entry.waiting().find(|waiting| waiting.number == number));
        match waiting {
            Some(waiting) => {
                waiting.waker.clone_from(waker);
                true
            }
            None => false,
        }
    }

    /// Takes a registration back.
    pub(crate) fn forget(&self, id: ElicitationId, number: u32) {
        let mut shard = self.shard(id).lock();
        if let Some(entry) = shard.find(id) {
            entry.forget(number);
            if entry.is_idle() {
                shard.remove(id);
            }
        }
    }

    /// Remembers the connection on which an elicitation was asked.
    pub(crate) fn tie(&self, id: ElicitationId, ties: &Arc<Ties>) {
        let mut shard = self.shard(id).lock();
        shard.entry(id).rest.get_or_insert_default().ties = Some(ties.clone());
    }

    /// Wakes who waits, because the elicitation has settled.
    pub(crate) fn settle(&self, id: ElicitationId) {
        let entry = self.shard(id).lock().remove(id);
        if let Some(mut entry) = entry {
            if let Some(ties) = entry.rest.as_ref().and_then(|rest| rest.ties.as_ref()) {
                ties.loosen(id);
            }
            // Outside the lock: a waker may run anything.
            entry
                .take_waiting()
                .for_each(|waiting| waiting.waker.wake());
        }
    }

    /// Lets who waits look again, because the store left it unclear what happened.
    pub(crate) fn nudge(&self, id: ElicitationId) {
        let waiting: Vec<_> = match self.shard(id).lock().find(id) {
            Some(entry) => entry.take_waiting().collect(),
            None => return,
        };
        for waiting in waiting {
            waiting.waker.wake();
        }
    }

    /// Lets everybody look again, because nobody will wake them any more.
    pub(crate) fn nudge_all(&self) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let entries = shard.entries.iter_mut();
            let waiting: Vec<_> = entries
                .flat_map(|(_, entry)| entry.take_waiting())
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
        let is_it = |place: &u32| self.entries[*place as usize].id == id;
        let place = *self.table.find(id.spread(), is_it)?;
        Some(&mut self.entries[place as usize])
    }

    fn entry(&mut self, id: ElicitationId) -> &mut Entry {
        let entries = &mut self.entries;
        let is_it = |place: &u32| entries[*place as usize].id == id;
        if let Some(place) = self.table.find(id.spread(), is_it) {
            return &mut entries[*place as usize];
        }
        let place = entries.insert(Entry {
            id,
            first: None,
            rest: None,
        });
        let number = u32::try_from(place).expect("memory ends long before the numbers do");
        self.table.insert_unique(id.spread(), number, |place| {
            entries[*place as usize].id.spread()
        });
        &mut entries[place]
    }

    fn remove(&mut self, id: ElicitationId) -> Option<Entry> {
        let is_it = |place: &u32| self.entries[*place as usize].id == id;
        let place = self.table.find_entry(id.spread(), is_it).ok()?.remove().0;
        Some(self.entries.remove(place as usize))
    }
}

impl Entry {
    fn add(&mut self, waiting: Waiting) {
        match &self.first {
            None => self.first = Some(waiting),
            Some(_) => self.rest.get_or_insert_default().waiting.push(waiting),
        }
    }

    fn waiting(&mut self) -> impl Iterator<Item = &mut Waiting> {
        let rest = self.rest.iter_mut().flat_map(|rest| &mut rest.waiting);
        self.first.iter_mut().chain(rest)
    }

    fn take_waiting(&mut self) -> impl Iterator<Item = Waiting> {
        let rest = self
            .rest
            .as_mut()
            .map(|rest| std::mem::take(&mut rest.waiting));
        self.first
            .take()
            .into_iter()
            .chain(rest.into_iter().flatten())
    }

    fn forget(&mut self, number: u32) {
        self.first.take_if(|waiting| waiting.number == number);
        if let Some(rest) = &mut self.rest {
            rest.waiting.retain(|waiting| waiting.number != number);
        }
    }

    /// Whether nobody waits and no connection stands behind it.
    fn is_idle(&self) -> bool {
        let rest_is_idle = |rest: &Rest| rest.waiting.is_empty() && rest.ties.is_none();
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
            assert!(waiters.keep(id, first, Waker::noop()));
            waiters.forget(id, first);
            assert!(waiters.keep(id, second, Waker::noop()));
            if i % 2 == 0 {
                waiters.settle(id);
                assert!(!waiters.keep(id, second, Waker::noop()));
            } else {
                waiters.forget(id, second);
            }
        }
        assert!(waiters.is_empty());
    }
}
