//! One store with several handles, as several processes have on one database.
//!
//! Wraps any store. Each handle tells the others what it has changed, or does not, when a test says
//! so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::{
    ChangeElsewhere, ChangeFeed, ChangeSender, Claim, ClaimKey, Created, Due, Holder,
    PrincipalCount, Promise, Query, Reply,
};
use entreat_engine::{Record, Store, Version};
use parking_lot::Mutex;

/// A handle on a store that others have handles on too.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use entreat_core::UnixTime;
/// use entreat_engine::store::ChangeElsewhere;
/// use entreat_engine::{MemoryStore, Store};
/// use entreat_testkit::{SharedStore, records};
///
/// let one = SharedStore::new(MemoryStore::new());
/// let other = one.another();
/// let mut feed = other.changes_elsewhere().expect("there are other handles");
///
/// let record = records::pending("asker", UnixTime::from_millis(1_706_889_000_000), 1);
/// one.create(record.clone()).await?;
/// let told = ChangeElsewhere::Records([(record.id, record.version)].into());
/// assert_eq!(feed.next().await, Some(told));
/// assert!(other.load(record.id).await?.is_some());
/// # Ok(())
/// # }
/// ```
pub struct SharedStore<S> {
    shared: Arc<Shared<S>>,
    own: Arc<Handle>,
}

struct Shared<S> {
    store: S,
    handles: Mutex<Vec<Arc<Handle>>>,
}

#[derive(Default)]
struct Handle {
    holder: Holder,
    /// Whether its process has ended, and everybody knows.
    is_gone: AtomicBool,
    changes: ChangeSender,
    /// Whether nothing reaches it, without its knowing.
    is_deaf: AtomicBool,
    loads: AtomicUsize,
}

impl Handle {
    fn new(number: usize) -> Arc<Self> {
        let node = number as u64;
        let holder = Holder { node, epoch: 1 };
        Arc::new(Self {
            holder,
            ..Self::default()
        })
    }

    fn hear(&self, id: ElicitationId, version: Version) {
        if !self.is_deaf.load(Ordering::Relaxed) {
            let records = [(id, version)].into();
            self.changes.send(ChangeElsewhere::Records(records));
        }
    }
}

impl<S: Store> SharedStore<S> {
    /// Wraps a store and returns its first handle.
    pub fn new(store: S) -> Self {
        let own = Handle::new(1);
        let handles = Mutex::new(vec![own.clone()]);
        let shared = Arc::new(Shared { store, handles });
        Self { shared, own }
    }

    /// Opens another handle.
    #[must_use]
    pub fn another(&self) -> Self {
        let mut handles = self.shared.handles.lock();
        let own = Handle::new(handles.len() + 1);
        handles.push(own.clone());
        drop(handles);
        let shared = self.shared.clone();
        Self { shared, own }
    }

    /// Sets whether this handle is told nothing, as if its connection was lost unnoticed.
    pub fn set_deaf(&self, is_deaf: bool) {
        self.own.is_deaf.store(is_deaf, Ordering::Relaxed);
    }

    /// Tells this handle that it may have missed changes.
    pub fn tell_missed(&self) {
        self.own.changes.send(ChangeElsewhere::Missed);
    }

    /// Lets everybody know that the process with this handle has ended.
    pub fn set_gone(&self) {
        self.own.is_gone.store(true, Ordering::Relaxed);
    }

    /// Returns how many records were loaded through this handle.
    pub fn loads(&self) -> usize {
        self.own.loads.load(Ordering::Relaxed)
    }

    /// Returns the store itself.
    pub fn inner(&self) -> &S {
        &self.shared.store
    }

    /// Tells the other handles of a write once it is acknowledged.
    fn told<T: Send + Unpin + 'static>(
        &self,
        id: ElicitationId,
        version: Version,
        reply: Reply<T>,
        is_change: impl Fn(&T) -> bool + Send + 'static,
    ) -> Reply<T> {
        let (shared, own) = (self.shared.clone(), self.own.clone());
        let tell = move |done: &Result<T, _>| {
            if done.as_ref().is_ok_and(is_change) {
                for handle in shared.handles.lock().iter() {
                    if !Arc::ptr_eq(handle, &own) {
                        handle.hear(id, version);
                    }
                }
            }
        };
        match reply {
            Promise::Ready(Some(done)) => {
                tell(&done);
                Promise::ready(done)
            }
            reply => Promise::later(async move {
                let done = reply.await;
                tell(&done);
                done
            }),
        }
    }
}

impl<S: Store> Store for SharedStore<S> {
    fn create(&self, record: Record) -> Reply<Created> {
        let (id, version) = (record.id, record.version);
        let done = self.shared.store.create(record);
        self.told(id, version, done, |created| *created == Created::New)
    }

    fn load(&self, id: ElicitationId) -> Reply<Option<Record>> {
        self.own.loads.fetch_add(1, Ordering::Relaxed);
        self.shared.store.load(id)
    }

    fn load_for(&self, id: ElicitationId, asker: &Arc<str>) -> Reply<Option<Record>> {
        self.own.loads.fetch_add(1, Ordering::Relaxed);
        self.shared.store.load_for(id, asker)
    }

    fn commit(&self, record: Record) -> Reply<()> {
        let (id, version) = (record.id, record.version);
        let done = self.shared.store.commit(record);
        self.told(id, version, done, |()| true)
    }

    fn commit_low_priority(&self, record: Record) -> Reply<()> {
        let (id, version) = (record.id, record.version);
        let done = self.shared.store.commit_low_priority(record);
        self.told(id, version, done, |()| true)
    }

    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due> {
        self.shared.store.due(now, limit)
    }

    fn list(&self, query: Query) -> Reply<Vec<Record>> {
        self.shared.store.list(query)
    }

    fn live_counts(&self) -> Reply<Vec<(Arc<str>, usize)>> {
        self.shared.store.live_counts()
    }

    fn live_counts_by_principal(&self) -> Reply<Vec<PrincipalCount>> {
        self.shared.store.live_counts_by_principal()
    }

    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize> {
        self.shared.store.purge(settled_before, limit)
    }

    fn load_note(&self, name: &'static str) -> Reply<Option<String>> {
        self.shared.store.load_note(name)
    }

    fn save_note(&self, name: &'static str, text: String) -> Reply<()> {
        self.shared.store.save_note(name, text)
    }

    fn replace_note(
        &self,
        name: &'static str,
        expected: Option<String>,
        text: String,
    ) -> Reply<bool> {
        self.shared.store.replace_note(name, expected, text)
    }

    fn claim(&self, claim: Claim) -> Reply<Option<Claim>> {
        self.shared.store.claim(claim)
    }

    fn find_claim(&self, key: ClaimKey) -> Reply<Option<Claim>> {
        self.shared.store.find_claim(key)
    }

    fn take_over_claim(&self, claim: Claim, from: Option<Holder>) -> Reply<bool> {
        self.shared.store.take_over_claim(claim, from)
    }

    fn end_claim(&self, key: ClaimKey, holder: Option<Holder>, outcome: Vec<u8>) -> Reply<bool> {
        self.shared.store.end_claim(key, holder, outcome)
    }

    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16], holder: Option<Holder>) -> Reply<()> {
        self.shared.store.release_claim(key, inputs, holder)
    }

    fn holder(&self) -> Holder {
        self.own.holder
    }

    fn is_gone(&self, holder: Holder) -> Reply<bool> {
        let handles = self.shared.handles.lock();
        let found = handles.iter().find(|handle| handle.holder == holder);
        let is_gone = found.is_none_or(|handle| handle.is_gone.load(Ordering::Relaxed));
        Promise::ready(Ok(is_gone))
    }

    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize> {
        self.shared.store.purge_claims(expired_by, limit)
    }

    fn check(&self, now: UnixTime) -> Reply<()> {
        self.shared.store.check(now)
    }

    fn resident_records(&self, min_weight: usize) -> Reply<Vec<Record>> {
        self.shared.store.resident_records(min_weight)
    }

    /// It outlives each of its handles.
    fn is_durable(&self) -> bool {
        true
    }

    fn changes_elsewhere(&self) -> Option<ChangeFeed> {
        Some(self.own.changes.subscribe())
    }
}

#[cfg(test)]
mod tests {
    use entreat_engine::MemoryStore;

    use super::*;

    // Each handle fulfils the whole contract.
    crate::store_contract!((SharedStore::new(MemoryStore::new()), ()));

    fn handles<S: Store>(store: S) -> (SharedStore<S>, SharedStore<S>, ()) {
        let one = SharedStore::new(store);
        let other = one.another();
        (one, other, ())
    }

    crate::store_contract_of_handles!(handles(MemoryStore::new()));

    mod slow {
        use entreat_engine::MemoryStore;

        use super::handles;
        use crate::FaultyStore;

        crate::store_contract_of_handles!(handles(FaultyStore::new(MemoryStore::new()).slow()));
    }
}
