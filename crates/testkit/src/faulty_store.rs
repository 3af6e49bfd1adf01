//! A store that fails when it is told to.
//!
//! Wraps any store. A call that is to fail is either not made at all, as when the disk is full,
//! or made and then reported as failed, as when a connection breaks before the answer is
//! through. Which calls fail is counted or drawn from a seed: the same calls in the same order
//! fail alike. It does not damage what is kept.

use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::{Claim, ClaimKey, Created, Due, Promise, Query, Reply};
use entreat_engine::{Record, Store, StoreError};
use parking_lot::Mutex;

/// A store that fails when it is told to.
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
/// // The step is kept, but its acknowledgement is lost: trying again is a conflict.
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
    /// [`Store::census`]
    Census,
    /// [`Store::purge`]
    Purge,
    /// [`Store::note`]
    Note,
    /// [`Store::keep_note`]
    KeepNote,
    /// [`Store::claim`]
    Claim,
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
    pub const ALL: [Self; 14] = [
        Self::Create,
        Self::Load,
        Self::Commit,
        Self::Due,
        Self::List,
        Self::Census,
        Self::Purge,
        Self::Note,
        Self::KeepNote,
        Self::Claim,
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
    /// Every call of one method fails, until the store is healed.
    pub fn of(call: Call) -> Self {
        Self::of_any(&[call])
    }

    /// Every call of these methods fails, until the store is healed.
    pub fn of_any(calls: &[Call]) -> Self {
        Self {
            calls: calls.to_owned(),
            skip: 0,
            left: usize::MAX,
            chance: None,
            moment: Moment::Before,
        }
    }

    /// So many calls go well before.
    #[must_use]
    pub fn skip(mut self, calls: usize) -> Self {
        self.skip = calls;
        self
    }

    /// So many calls fail, and no more.
    #[must_use]
    pub fn times(mut self, failures: usize) -> Self {
        self.left = failures;
        self
    }

    /// A call fails with this probability, from 0 to 1.
    #[must_use]
    pub fn with_chance(mut self, probability: f64, seed: u64) -> Self {
        self.chance = Some((probability, fastrand::Rng::with_seed(seed)));
        self
    }

    /// The store does what was asked, and only then fails: the acknowledgement is lost.
    #[must_use]
    pub fn after_it_was_done(mut self) -> Self {
        self.moment = Moment::After;
        self
    }

    /// Whether this call is one that fails.
    fn strikes(&mut self, call: Call) -> bool {
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
    /// A store that works as the given one does, until a fault is injected.
    pub fn new(store: S) -> Self {
        Self {
            store,
            plan: Mutex::default(),
            is_slow: false,
        }
    }

    /// Delays every answer until all other tasks had a turn, so that read-modify-write races show.
    #[must_use]
    pub fn slow(mut self) -> Self {
        self.is_slow = true;
        self
    }

    /// Adds a fault. Of several that strike the same call, the first counts.
    pub fn inject(&self, fault: Fault) {
        self.plan.lock().faults.push(fault);
    }

    /// Takes all faults away.
    pub fn heal(&self) {
        self.plan.lock().faults.clear();
    }

    /// How many calls have failed.
    pub fn failures(&self) -> usize {
        self.plan.lock().failures
    }

    /// The store within.
    pub fn inner(&self) -> &S {
        &self.store
    }

    fn strike(&self, call: Call) -> Option<Moment> {
        let mut plan = self.plan.lock();
        let mut faults = plan.faults.iter_mut();
        let moment = faults.find_map(|fault| fault.strikes(call).then_some(fault.moment));
        plan.failures += usize::from(moment.is_some());
        moment
    }

    fn call<T: Send + Unpin + 'static>(
        &self,
        call: Call,
        make: impl FnOnce(&S) -> Reply<T>,
    ) -> Reply<T> {
        match self.strike(call) {
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
                    // What the store itself refuses was not done, and is told as it is.
                    done.await?;
                    Err(failure())
                })
            }
        }
    }
}

/// How often a slow store lets others go first.
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

    fn commit_unhurried(&self, record: Record) -> Reply<()> {
        self.call(Call::Commit, |store| store.commit_unhurried(record))
    }

    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due> {
        self.call(Call::Due, |store| store.due(now, limit))
    }

    fn list(&self, query: Query) -> Reply<Vec<Record>> {
        self.call(Call::List, |store| store.list(query))
    }

    fn census(&self) -> Reply<Vec<(Arc<str>, usize)>> {
        self.call(Call::Census, Store::census)
    }

    fn census_of_principals(&self) -> Reply<Vec<entreat_engine::store::PrincipalCount>> {
        self.call(Call::Census, Store::census_of_principals)
    }

    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize> {
        self.call(Call::Purge, |store| store.purge(settled_before, limit))
    }

    fn note(&self, name: &'static str) -> Reply<Option<String>> {
        self.call(Call::Note, |store| store.note(name))
    }

    fn keep_note(&self, name: &'static str, text: String) -> Reply<()> {
        self.call(Call::KeepNote, |store| store.keep_note(name, text))
    }

    fn claim(&self, claim: Claim) -> Reply<Option<Claim>> {
        self.call(Call::Claim, |store| store.claim(claim))
    }

    fn end_claim(&self, key: ClaimKey, outcome: Vec<u8>) -> Reply<()> {
        self.call(Call::EndClaim, |store| store.end_claim(key, outcome))
    }

    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16]) -> Reply<()> {
        self.call(Call::ReleaseClaim, |store| store.release_claim(key, inputs))
    }

    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize> {
        self.call(Call::PurgeClaims, |store| {
            store.purge_claims(expired_by, limit)
        })
    }

    fn check(&self, now: UnixTime) -> Reply<()> {
        self.call(Call::Check, |store| store.check(now))
    }

    fn held_in_memory(&self, at_least: usize) -> Reply<Vec<Record>> {
        self.store.held_in_memory(at_least)
    }

    fn outlives_process(&self) -> bool {
        self.store.outlives_process()
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
            let failed = store.census().await.is_err();
            pattern.push(if failed { 'x' } else { '.' });
            assert!(store.note("note").await.is_ok(), "another method fails");
        }
        pattern
    }

    #[tokio::test]
    async fn calls_fail_by_count() {
        let fault = Fault::of(Call::Census);
        assert_eq!(pattern(fault.clone()).await, "xxxxxxxxxxxx");
        assert_eq!(pattern(fault.clone().times(2)).await, "xx..........");
        assert_eq!(pattern(fault.skip(3).times(2)).await, "...xx.......");
    }

    #[tokio::test]
    async fn calls_fail_by_chance_and_alike_for_one_seed() {
        let fault = |seed| Fault::of(Call::Census).with_chance(0.5, seed);
        let first = pattern(fault(1)).await;
        assert_eq!(pattern(fault(1)).await, first);
        assert_ne!(pattern(fault(2)).await, first);
        assert!(first.contains('x') && first.contains('.'));
    }

    #[tokio::test]
    async fn a_healed_store_works_and_what_it_lost_before_was_never_there() {
        let store = FaultyStore::new(MemoryStore::new());
        store.inject(Fault::of_any(&Call::ALL));
        assert!(store.keep_note("note", "a".into()).await.is_err());
        store.heal();
        assert_eq!(store.note("note").await.unwrap(), None);
        store.inject(Fault::of(Call::KeepNote).after_it_was_done());
        assert!(store.keep_note("note", "b".into()).await.is_err());
        assert_eq!(store.note("note").await.unwrap().as_deref(), Some("b"));
        assert_eq!(store.failures(), 2);
    }

    // Without a fault it keeps every promise of the store within.
    mod without_faults {
        crate::store_contract!((
            crate::FaultyStore::new(entreat_engine::MemoryStore::new()),
            ()
        ));
    }
}
