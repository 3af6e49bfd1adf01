//! A store with fault injection.
//!
//! Wraps any store. A failing call is either not executed, as with a full disk, or executed and
//! then reported as failed, as with a connection lost before the reply. Which calls fail is
//! determined by counts or a seed, so failures are reproducible. Stored data is never corrupted.

use std::collections::HashMap;
use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::{
    ChangeFeed, Claim, ClaimKey, Created, Due, Holder, Promise, Query, Reply,
};
use entreat_engine::{Record, Store, StoreError};
use parking_lot::Mutex;

/// A store with fault injection.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use entreat_core::UnixTime;
/// use entreat_engine::{MemoryStore, Store};
/// use entreat_testkit::{Call, Fault, FaultyStore, records};
///
/// let store = FaultyStore::new(MemoryStore::new());
/// let asked = UnixTime::from_millis(1_706_889_000_000);
/// let record = records::pending("asker", asked, 1);
///
/// // The disk is full, once.
/// store.inject(Fault::of(Call::Create).times(1));
/// assert!(store.create(record.clone()).await.is_err());
/// assert!(store.load(record.id).await?.is_none());
/// store.create(record.clone()).await?;
///
/// // The step is stored, but its acknowledgement is lost: a retry is a conflict.
/// store.inject(Fault::of(Call::Commit).times(1).after_it_was_done());
/// let answered = records::answered(&record, asked, "{}");
/// assert!(store.commit(answered.clone()).await.is_err());
/// assert_eq!(store.load(record.id).await?.map(|kept| kept.version), Some(answered.version));
/// assert_eq!(store.failures(), 2);
/// # Ok(())
/// # }
/// ```
pub struct FaultyStore<S> {
    store: S,
    plan: Mutex<Plan>,
    is_slow: bool,
}

#[derive(Default)]
struct Plan {
    faults: Vec<Fault>,
    failures: usize,
    calls: HashMap<Call, usize>,
}

/// A method of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// [`Store::create`]
    Create,
    /// [`Store::load`]
    Load,
    /// [`Store::commit`]
    Commit,
    /// [`Store::due`]
    Due,
    /// [`Store::list`]
    List,
    /// [`Store::live_counts`]
    LiveCounts,
    /// [`Store::purge`]
    Purge,
    /// [`Store::load_note`]
    Note,
    /// [`Store::save_note`]
    KeepNote,
    /// [`Store::claim`]
    Claim,
    /// [`Store::find_claim`]
    FindClaim,
    /// [`Store::end_claim`]
    EndClaim,
    /// [`Store::release_claim`]
    ReleaseClaim,
    /// [`Store::purge_claims`]
    PurgeClaims,
    /// [`Store::check`]
    Check,
}

impl Call {
    /// Every method.
    pub const ALL: [Self; 15] = [
        Self::Create,
        Self::Load,
        Self::Commit,
        Self::Due,
        Self::List,
        Self::LiveCounts,
        Self::Purge,
        Self::Note,
        Self::KeepNote,
        Self::Claim,
        Self::FindClaim,
        Self::EndClaim,
        Self::ReleaseClaim,
        Self::PurgeClaims,
        Self::Check,
    ];
}

/// Which calls fail, and how.
#[derive(Clone, Debug)]
pub struct Fault {
    calls: Vec<Call>,
    skip: usize,
    left: usize,
    chance: Option<(f64, fastrand::Rng)>,
    moment: Moment,
}

/// When a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

impl Fault {
    /// Fails every call of one method, until the store is healed.
    pub fn of(call: Call) -> Self {
        Self::of_any(&[call])
    }

    /// Fails every call of these methods, until the store is healed.
    pub fn of_any(calls: &[Call]) -> Self {
        Self {
            calls: calls.to_owned(),
            skip: 0,
            left: usize::MAX,
            chance: None,
            moment: Moment::Before,
        }
    }

    /// Lets this many calls succeed first.
    #[must_use]
    pub fn skip(mut self, calls: usize) -> Self {
        self.skip = calls;
        self
    }

    /// Fails at most this many calls.
    #[must_use]
    pub fn times(mut self, failures: usize) -> Self {
        self.left = failures;
        self
    }

    /// Fails calls with this probability, from 0 to 1.
    #[must_use]
    pub fn with_chance(mut self, probability: f64, seed: u64) -> Self {
        self.chance = Some((probability, fastrand::Rng::with_seed(seed)));
        self
    }

    /// Executes the call before failing it: only the acknowledgement is lost.
    #[must_use]
    pub fn after_it_was_done(mut self) -> Self {
        self.moment = Moment::After;
        self
    }

    /// Whether this call fails.
    fn applies(&mut self, call: Call) -> bool {
        if self.left == 0 || !self.calls.contains(&call) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        if let Some((probability, chance)) = &mut self.chance
            && chance.f64() >= *probability
        {
            return false;
        }
        self.left -= 1;
        true
    }
}

impl<S: Store> FaultyStore<S> {
    /// Wraps a store, which works normally until a fault is injected.
    pub fn new(store: S) -> Self {
        Self {
            store,
            plan: Mutex::default(),
            is_slow: false,
        }
    }

    /// Yields to other tasks before every reply, to expose read-modify-write races.
    #[must_use]
    pub fn slow(mut self) -> Self {
        self.is_slow = true;
        self
    }

    /// Adds a fault. If several apply to a call, the first counts.
    pub fn inject(&self, fault: Fault) {
        self.plan.lock().faults.push(fault);
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.plan.lock().faults.clear();
    }

    /// Returns the number of failed calls.
    pub fn failures(&self) -> usize {
        self.plan.lock().failures
    }

    /// Returns how often a method was called, whether it failed or not.
    pub fn calls(&self, call: Call) -> usize {
        self.plan.lock().calls.get(&call).copied().unwrap_or(0)
    }

    /// Returns the inner store.
    pub fn inner(&self) -> &S {
        &self.store
    }

    fn next_fault(&self, call: Call) -> Option<Moment> {
        let mut plan = self.plan.lock();
        *plan.calls.entry(call).or_default() += 1;
        let mut faults = plan.faults.iter_mut();
        let moment = faults.find_map(|fault| fault.applies(call).then_some(fault.moment));
        plan.failures += usize::from(moment.is_some());
        moment
    }

    fn call<T: Send + Unpin + 'static>(
        &self,
        call: Call,
        make: impl FnOnce(&S) -> Reply<T>,
    ) -> Reply<T> {
        match self.next_fault(call) {
            None if self.is_slow => {
                let done = make(&self.store);
                Promise::later(async move {
                    for _ in 0..TURNS {
                        tokio::task::yield_now().await;
                    }
                    done.await
                })
            }
            None => make(&self.store),
            Some(Moment::Before) => Promise::ready(Err(failure())),
            Some(Moment::After) => {
                let done = make(&self.store);
                Promise::later(async move {
                    // The store's own error is returned as it is.
                    done.await?;
                    Err(failure())
                })
            }
        }
    }
}

/// How often a slow store yields.
const TURNS: usize = 20;

fn failure() -> StoreError {
    StoreError::Unavailable {
        attempt: "please a test",
        source: "the fault was injected".into(),
    }
}

impl<S: Store> Store for FaultyStore<S> {
    fn create(&self, record: Record) -> Reply<Created> {
        self.call(Call::Create, |store| store.create(record))
    }

    fn load(&self, id: ElicitationId) -> Reply<Option<Record>> {
        self.call(Call::Load, |store| store.load(id))
    }

    fn load_for(&self, id: ElicitationId, asker: &Arc<str>) -> Reply<Option<Record>> {
        self.call(Call::Load, |store| store.load_for(id, asker))
    }

    fn commit(&self, record: Record) -> Reply<()> {
        self.call(Call::Commit, |store| store.commit(record))
    }

    fn commit_low_priority(&self, record: Record) -> Reply<()> {
        self.call(Call::Commit, |store| store.commit_low_priority(record))
    }

    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due> {
        self.call(Call::Due, |store| store.due(now, limit))
    }

    fn list(&self, query: Query) -> Reply<Vec<Record>> {
        self.call(Call::List, |store| store.list(query))
    }

    fn live_counts(&self) -> Reply<Vec<(Arc<str>, usize)>> {
        self.call(Call::LiveCounts, Store::live_counts)
    }

    fn live_counts_by_principal(&self) -> Reply<Vec<entreat_engine::store::PrincipalCount>> {
        self.call(Call::LiveCounts, Store::live_counts_by_principal)
    }

    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize> {
        self.call(Call::Purge, |store| store.purge(settled_before, limit))
    }

    fn load_note(&self, name: &'static str) -> Reply<Option<String>> {
        self.call(Call::Note, |store| store.load_note(name))
    }

    fn save_note(&self, name: &'static str, text: String) -> Reply<()> {
        self.call(Call::KeepNote, |store| store.save_note(name, text))
    }

    fn replace_note(
        &self,
        name: &'static str,
        expected: Option<String>,
        text: String,
    ) -> Reply<bool> {
        self.call(Call::KeepNote, |store| {
            store.replace_note(name, expected, text)
        })
    }

    fn claim(&self, claim: Claim) -> Reply<Option<Claim>> {
        self.call(Call::Claim, |store| store.claim(claim))
    }

    fn find_claim(&self, key: ClaimKey) -> Reply<Option<Claim>> {
        self.call(Call::FindClaim, |store| store.find_claim(key))
    }

    fn take_over_claim(&self, claim: Claim, from: Option<Holder>) -> Reply<bool> {
        self.call(Call::Claim, |store| store.take_over_claim(claim, from))
    }

    fn end_claim(&self, key: ClaimKey, holder: Option<Holder>, outcome: Vec<u8>) -> Reply<bool> {
        self.call(Call::EndClaim, |store| {
            store.end_claim(key, holder, outcome)
        })
    }

    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16], holder: Option<Holder>) -> Reply<()> {
        self.call(Call::ReleaseClaim, |store| {
            store.release_claim(key, inputs, holder)
        })
    }

    fn holder(&self) -> Holder {
        self.store.holder()
    }

    fn is_gone(&self, holder: Holder) -> Reply<bool> {
        self.store.is_gone(holder)
    }

    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize> {
        self.call(Call::PurgeClaims, |store| {
            store.purge_claims(expired_by, limit)
        })
    }

    fn check(&self, now: UnixTime) -> Reply<()> {
        self.call(Call::Check, |store| store.check(now))
    }

    fn resident_records(&self, min_weight: usize) -> Reply<Vec<Record>> {
        self.store.resident_records(min_weight)
    }

    fn is_durable(&self) -> bool {
        self.store.is_durable()
    }

    fn changes_elsewhere(&self) -> Option<ChangeFeed> {
        self.store.changes_elsewhere()
    }
}

#[cfg(test)]
mod tests {
    use entreat_engine::MemoryStore;

    use super::*;

    async fn pattern(fault: Fault) -> String {
        let store = FaultyStore::new(MemoryStore::new());
        store.inject(fault);
        let mut pattern = String::new();
        for _ in 0..12 {
            let failed = store.live_counts().await.is_err();
            pattern.push(if failed { 'x' } else { '.' });
            assert!(
                store.load_note("note").await.is_ok(),
                "another method fails"
            );
        }
        pattern
    }

    #[tokio::test]
    async fn calls_fail_by_count() {
        let fault = Fault::of(Call::LiveCounts);
        assert_eq!(pattern(fault.clone()).await, "xxxxxxxxxxxx");
        assert_eq!(pattern(fault.clone().times(2)).await, "xx..........");
        assert_eq!(pattern(fault.skip(3).times(2)).await, "...xx.......");
    }

    #[tokio::test]
    async fn calls_fail_by_chance_and_alike_for_one_seed() {
        let fault = |seed| Fault::of(Call::LiveCounts).with_chance(0.5, seed);
        let first = pattern(fault(1)).await;
        assert_eq!(pattern(fault(1)).await, first);
        assert_ne!(pattern(fault(2)).await, first);
        assert!(first.contains('x') && first.contains('.'));
    }

    #[tokio::test]
    async fn a_healed_store_works_and_what_it_lost_before_was_never_there() {
        let store = FaultyStore::new(MemoryStore::new());
        store.inject(Fault::of_any(&Call::ALL));
        assert!(store.save_note("note", "a".into()).await.is_err());
        store.heal();
        assert_eq!(store.load_note("note").await.unwrap(), None);
        store.inject(Fault::of(Call::KeepNote).after_it_was_done());
        assert!(store.save_note("note", "b".into()).await.is_err());
        assert_eq!(store.load_note("note").await.unwrap().as_deref(), Some("b"));
        assert_eq!(store.failures(), 2);
    }

    // Without a fault it fulfils the whole contract.
    mod without_faults {
        crate::store_contract!((
            crate::FaultyStore::new(entreat_engine::MemoryStore::new()),
            ()
        ));
    }
}
