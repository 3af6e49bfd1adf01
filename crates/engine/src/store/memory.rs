//! The memory store, for tests and for programs that need no durability.
//!
//! Sharded by the random part of the id to reduce lock contention. A shard has a slab of records, a
//! hash table by id, a timer wheel, and a list of settled records in order. Wheel and list are
//! intrusive: their links are in the slab's slots.

mod shard;
mod slab;
mod wheel;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use parking_lot::Mutex;

use self::shard::Shard;
use super::claims::{Claim, ClaimKey, Claims, Holder};
use super::{Created, Due, PrincipalCount, Promise, Query, Reply, Store};
use crate::padded::Padded;
use crate::record::Record;

/// A store in memory.
pub struct MemoryStore {
    shards: Box<[Padded<Mutex<Shard>>]>,
    /// Idempotency keys by asker. Not sharded, because a repeated key comes with a different id.
    keys: Mutex<HashMap<Key, ElicitationId>>,
    notes: Mutex<HashMap<&'static str, String>>,
    claims: Mutex<Claims>,
}

type Key = (Arc<str>, Box<str>);

/// Enough for the cores of a large machine; each has its own timer wheel.
const SHARDS: usize = 16;

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Padded::default()).collect(),
            keys: Mutex::default(),
            notes: Mutex::default(),
            claims: Mutex::default(),
        }
    }

    /// Returns a record synchronously.
    pub fn get(&self, id: ElicitationId) -> Option<Record> {
        self.shard(id).lock().get(id).cloned()
    }

    fn shard(&self, id: ElicitationId) -> &Mutex<Shard> {
        &self.shards[id.shard(SHARDS)]
    }

    fn remove_key(&self, record: &Record) {
        if let Some(key) = key_of(record) {
            self.keys.lock().remove(&key);
        }
    }
}

fn key_of(record: &Record) -> Option<Key> {
    let key = record.request.extras.as_ref()?.idempotency_key.clone()?;
    Some((record.request.asker.clone(), key))
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Store for MemoryStore {
    fn create(&self, record: Record) -> Reply<Created> {
        let Some(key) = key_of(&record) else {
            self.shard(record.id).lock().insert(record);
            return Promise::ready(Ok(Created::New));
        };
        // Locked until the record is inserted: whoever finds the key must find the record.
        let mut keys = self.keys.lock();
        if let Some(first) = keys.get(&key) {
            return Promise::ready(Ok(Created::Existing(*first)));
        }
        keys.insert(key, record.id);
        self.shard(record.id).lock().insert(record);
        Promise::ready(Ok(Created::New))
    }

    fn load(&self, id: ElicitationId) -> Reply<Option<Record>> {
        Promise::ready(Ok(self.get(id)))
    }

    fn commit(&self, record: Record) -> Reply<()> {
        Promise::ready(self.shard(record.id).lock().replace(record))
    }

    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due> {
        // An equal share of each shard, so that results are roughly oldest first overall. If some
        // shards have fewer, the others get more.
        let mut share = (limit / SHARDS).max(1);
        loop {
            let mut due = Due::default();
            let mut is_cut = false;
            for shard in &self.shards {
                let before = due.ids.len();
                let up_to = limit.min(before + share);
                let next = shard.lock().due(now, up_to, &mut due.ids);
                due.next = [due.next, next].into_iter().flatten().min();
                is_cut |= due.ids.len() - before == share;
            }
            if due.ids.len() >= limit || !is_cut {
                return Promise::ready(Ok(due));
            }
            share *= 2;
        }
    }

    fn list(&self, query: Query) -> Reply<Vec<Record>> {
        // A min-heap of the newest so far.
        let mut newest: BinaryHeap<Reverse<ElicitationId>> = BinaryHeap::new();
        for shard in &self.shards {
            for record in shard.lock().records() {
                let is_newer = newest.len() < query.limit
                    || newest.peek().is_some_and(|oldest| record.id > oldest.0);
                if is_newer && query.matches(record) {
                    newest.push(Reverse(record.id));
                    if newest.len() > query.limit {
                        newest.pop();
                    }
                }
            }
        }
        let ids = newest.into_sorted_vec();
        let load = |id: &Reverse<ElicitationId>| self.shard(id.0).lock().get(id.0).cloned();
        Promise::ready(Ok(ids.iter().filter_map(load).collect()))
    }

    fn live_counts(&self) -> Reply<Vec<(Arc<str>, usize)>> {
        let mut live: HashMap<Arc<str>, usize> = HashMap::new();
        for shard in &self.shards {
            for record in shard.lock().records() {
                if record.lifecycle.is_live() {
                    *live.entry(record.request.asker.clone()).or_default() += 1;
                }
            }
        }
        Promise::ready(Ok(live.into_iter().collect()))
    }

    fn live_counts_by_principal(&self) -> Reply<Vec<PrincipalCount>> {
        let mut live: HashMap<(Arc<str>, Box<str>), usize> = HashMap::new();
        for shard in &self.shards {
            for record in shard.lock().records() {
                if let Some(principal) = record.request.principal()
                    && record.lifecycle.is_live()
                {
                    let holder = (record.request.asker.clone(), principal.into());
                    *live.entry(holder).or_default() += 1;
                }
            }
        }
        let counted = live.into_iter();
        let counted = counted.map(|((asker, principal), live)| (asker, principal, live));
        Promise::ready(Ok(counted.collect()))
    }

    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize> {
        let mut purged = 0;
        for shard in &self.shards {
            let taken = shard.lock().take_settled(settled_before, limit - purged);
            purged += taken.len();
            for record in &taken {
                self.remove_key(record);
            }
        }
        Promise::ready(Ok(purged))
    }

    fn load_note(&self, name: &'static str) -> Reply<Option<String>> {
        Promise::ready(Ok(self.notes.lock().get(name).cloned()))
    }

    fn save_note(&self, name: &'static str, text: String) -> Reply<()> {
        self.notes.lock().insert(name, text);
        Promise::ready(Ok(()))
    }

    fn replace_note(
        &self,
        name: &'static str,
        expected: Option<String>,
        text: String,
    ) -> Reply<bool> {
        let mut notes = self.notes.lock();
        let is_expected = notes.get(name) == expected.as_ref();
        if is_expected {
            notes.insert(name, text);
        }
        Promise::ready(Ok(is_expected))
    }

    fn claim(&self, claim: Claim) -> Reply<Option<Claim>> {
        Promise::ready(Ok(self.claims.lock().claim(claim)))
    }

    fn find_claim(&self, key: ClaimKey) -> Reply<Option<Claim>> {
        Promise::ready(Ok(self.claims.lock().find(key)))
    }

    fn take_over_claim(&self, claim: Claim, from: Option<Holder>) -> Reply<bool> {
        Promise::ready(Ok(self.claims.lock().take_over(&claim, from)))
    }

    fn end_claim(&self, key: ClaimKey, holder: Option<Holder>, outcome: Vec<u8>) -> Reply<bool> {
        Promise::ready(Ok(self.claims.lock().end(key, holder, outcome)))
    }

    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16], holder: Option<Holder>) -> Reply<()> {
        self.claims.lock().release(key, inputs, holder);
        Promise::ready(Ok(()))
    }

    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize> {
        Promise::ready(Ok(self.claims.lock().purge(expired_by, limit)))
    }

    fn resident_records(&self, min_weight: usize) -> Reply<Vec<Record>> {
        let is_heavy = |record: &&Record| record.weight() >= min_weight;
        let mut heavy = Vec::new();
        for shard in &self.shards {
            heavy.extend(shard.lock().records().filter(is_heavy).cloned());
        }
        Promise::ready(Ok(heavy))
    }
}
