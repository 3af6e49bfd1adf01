//! Rate limits and quotas of askers, their principals, and the engine as a whole.
//!
//! Only live elicitations count. A ledger exists while its asker is active, and is dropped once it
//! has been idle long enough for its rate limits to have recovered, so that memory stays bounded.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use entreat_core::UnixTime;
use parking_lot::RwLock;

use crate::error::AskError;
use crate::observe::{AskerCounters, AskerLabels};
use crate::padded::Padded;
use crate::rate::{Rate, RateLimiter};
use crate::record::Request;

mod principals;

use principals::Principals;

/// Rate limits and quotas of one asker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Questions per minute; rejected ones do not count. `None` is unlimited.
    pub creations_per_minute: Option<NonZeroU32>,
    /// Requests of any kind per second, rejected ones included. `None` is unlimited.
    pub requests_per_second: Option<NonZeroU32>,
    /// Live elicitations at once.
    pub live: usize,
    /// The share of these limits that one principal may use, in percent, so that it cannot starve
    /// others. Its share of `live` is capped by the engine's own limit. See
    /// [`Asker::on_behalf_of`](crate::Asker::on_behalf_of).
    pub principal_share: u8,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            creations_per_minute: NonZeroU32::new(10),
            requests_per_second: NonZeroU32::new(100),
            live: 100,
            principal_share: 25,
        }
    }
}

impl Limits {
    /// No limits: for a program that asks on its own behalf, and for benchmarks. The engine's own
    /// limit is still shared among principals.
    pub fn none() -> Self {
        Self {
            creations_per_minute: None,
            requests_per_second: None,
            live: usize::MAX,
            ..Self::default()
        }
    }
}

/// After this long without calls every rate limit has recovered, and a ledger can be dropped.
const IDLE: Duration = Duration::from_secs(60);

/// The time of the latest call, in milliseconds since 1970.
#[derive(Default)]
struct LatestCall(AtomicU64);

impl LatestCall {
    fn set(&self, now: UnixTime) {
        self.0.store(now.as_millis(), Ordering::Relaxed);
    }

    fn is_before(&self, moment: UnixTime) -> bool {
        self.0.load(Ordering::Relaxed) < moment.as_millis()
    }
}

/// The usage of one asker.
pub(crate) struct Ledger {
    name: Arc<str>,
    live: AtomicUsize,
    /// Refunded creations.
    credit: AtomicUsize,
    rates: RwLock<Rates>,
    latest: LatestCall,
    principals: Principals,
    /// The asker's metrics, once it has asked.
    counters: OnceLock<Arc<AskerCounters>>,
}

/// Who is charged: an asker, or a principal it acts for. A single pointer, because every waiter has
/// one.
#[derive(Clone)]
pub(crate) struct Account(Arc<Owner>);

struct Owner {
    ledger: Arc<Ledger>,
    acting_for: ActingFor,
}

/// On whose behalf an asker acts, which determines what it sees.
enum ActingFor {
    /// The host program, which also sees the questions of all principals.
    Program,
    /// The asker itself, without its principals' questions.
    Itself,
    /// One principal, and only its questions.
    Principal(Box<str>),
}

impl Account {
    pub(crate) fn of(ledger: Arc<Ledger>) -> Self {
        let acting_for = ActingFor::Program;
        Self(Arc::new(Owner { ledger, acting_for }))
    }

    pub(crate) fn on_its_own_behalf(&self) -> Self {
        self.with(ActingFor::Itself)
    }

    pub(crate) fn on_behalf_of(&self, principal: &str) -> Self {
        self.with(ActingFor::Principal(principal.into()))
    }

    fn with(&self, acting_for: ActingFor) -> Self {
        let ledger = self.ledger().clone();
        Self(Arc::new(Owner { ledger, acting_for }))
    }

    fn ledger(&self) -> &Arc<Ledger> {
        &self.0.ledger
    }

    /// The asker's name.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.ledger().name
    }

    pub(crate) fn principal(&self) -> Option<&str> {
        match &self.0.acting_for {
            ActingFor::Program | ActingFor::Itself => None,
            ActingFor::Principal(principal) => Some(principal),
        }
    }

    /// Whether it may see this question.
    pub(crate) fn owns(&self, request: &Request) -> bool {
        let sees_all = matches!(self.0.acting_for, ActingFor::Program);
        *self.name() == request.asker && (sees_all || self.principal() == request.principal())
    }

    /// Charges a request of any kind; the error is when to retry.
    pub(crate) fn charge_request(&self, now: UnixTime) -> Result<(), Duration> {
        let ledger = self.ledger();
        ledger.latest.set(now);
        let charge = || charge(ledger.rates.read().requests.as_ref(), now);
        match self.principal() {
            Some(principal) => {
                let limits = ledger.rates.read().limits.clone();
                ledger
                    .principals
                    .charge_request(principal, &limits, now, charge)
            }
            None => charge(),
        }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Account").field(self.name()).finish()
    }
}

struct Rates {
    limits: Limits,
    creations: Option<RateLimiter>,
    requests: Option<RateLimiter>,
}

impl Rates {
    fn new(limits: &Limits) -> Self {
        let creations = limits.creations_per_minute.map(Rate::per_minute);
        let requests = limits.requests_per_second.map(Rate::per_second);
        Self {
            limits: limits.clone(),
            creations: creations.map(RateLimiter::new),
            requests: requests.map(RateLimiter::new),
        }
    }
}

impl Ledger {
    fn charge_creation(&self, now: UnixTime) -> Result<(), Duration> {
        let order = Ordering::Relaxed;
        let spend = |credit: usize| credit.checked_sub(1);
        let has_credit = self.credit.load(order) > 0;
        if has_credit && self.credit.fetch_update(order, order, spend).is_ok() {
            return Ok(());
        }
        charge(self.rates.read().creations.as_ref(), now)
    }
}

fn charge(limiter: Option<&RateLimiter>, now: UnixTime) -> Result<(), Duration> {
    limiter.map_or(Ok(()), |limiter| limiter.check(now))
}

/// The ledgers of all askers.
pub(crate) struct Ledgers {
    /// Sharded by name, so that askers on different cores rarely write the same lock.
    open: [Padded<RwLock<OpenLedgers>>; SHARDS],
    live: Padded<AtomicUsize>,
    limit: usize,
    labels: AskerLabels,
}

type OpenLedgers = HashMap<Arc<str>, Arc<Ledger>>;

const SHARDS: usize = 16;

impl Ledgers {
    /// `limit` is the maximum number of live elicitations, `labelled` that of askers with a label
    /// in metrics.
    pub(crate) fn new(limit: usize, labelled: usize) -> Self {
        Self {
            open: Default::default(),
            live: Padded::default(),
            limit,
            labels: AskerLabels::new(labelled),
        }
    }

    fn shard(&self, name: &str) -> &RwLock<OpenLedgers> {
        // FNV-1a: short, and whoever makes names collide only shares a lock.
        let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        &self.open[(hash >> 16) as usize % SHARDS]
    }

    /// Returns the ledger of an asker and applies these limits to it.
    pub(crate) fn open(&self, name: &str, limits: &Limits) -> Arc<Ledger> {
        let mut open = self.shard(name).write();
        if let Some(ledger) = open.get(name) {
            let mut rates = ledger.rates.write();
            if rates.limits != *limits {
                *rates = Rates::new(limits);
            }
            drop(rates);
            return ledger.clone();
        }
        let name: Arc<str> = name.into();
        let ledger = Arc::new(Ledger {
            name: name.clone(),
            live: AtomicUsize::new(0),
            credit: AtomicUsize::new(0),
            rates: RwLock::new(Rates::new(limits)),
            latest: LatestCall::default(),
            principals: Principals::default(),
            counters: OnceLock::new(),
        });
        open.insert(name, ledger.clone());
        ledger
    }

    /// Counts a live elicitation and charges a creation, or neither.
    pub(crate) fn admit(&self, account: &Account, now: UnixTime) -> Result<(), AskError> {
        let ledger = account.ledger();
        ledger.latest.set(now);
        let limits = ledger.rates.read().limits.clone();
        match account.principal() {
            Some(principal) => {
                let principals = &ledger.principals;
                principals.admit(principal, &limits, self.limit, now, || {
                    self.admit_asker(ledger, limits.live, now)
                })
            }
            None => self.admit_asker(ledger, limits.live, now),
        }
    }

    fn admit_asker(
        &self,
        ledger: &Ledger,
        own_limit: usize,
        now: UnixTime,
    ) -> Result<(), AskError> {
        increment(&ledger.live, own_limit)?;
        if let Err(error) = increment(&self.live, self.limit) {
            decrement(&ledger.live);
            return Err(error);
        }
        // Last, because rejected questions are not charged.
        ledger.charge_creation(now).map_err(|retry_after| {
            decrement(&ledger.live);
            decrement(&self.live);
            AskError::RateLimited { retry_after }
        })
    }

    /// Reverts an admission whose creation failed.
    pub(crate) fn refund(&self, account: &Account) {
        let ledger = account.ledger();
        ledger.credit.fetch_add(1, Ordering::Relaxed);
        decrement(&ledger.live);
        decrement(&self.live);
        if let Some(principal) = account.principal() {
            ledger.principals.refund(principal);
        }
    }

    /// Counts a live elicitation that was not admitted here, whatever the limits.
    pub(crate) fn count(&self, request: &Request, limits: &Limits) {
        self.add_live(&request.asker, 1, limits);
        if let Some(principal) = request.principal() {
            self.add_live_of_principal(&request.asker, principal, 1);
        }
    }

    /// Uncounts an elicitation that has settled, and returns its asker's metrics.
    pub(crate) fn uncount(&self, asker: &Arc<str>, principal: Option<&str>) -> Arc<AskerCounters> {
        decrement(&self.live);
        let open = self.shard(asker).read();
        let Some(ledger) = open.get(asker) else {
            return self.counters(asker);
        };
        decrement(&ledger.live);
        if let Some(principal) = principal {
            ledger.principals.release(principal);
        }
        self.counters_in(ledger).clone()
    }

    /// Returns the metrics of the account's asker.
    pub(crate) fn counters_of<'a>(&self, account: &'a Account) -> &'a AskerCounters {
        self.counters_in(account.ledger())
    }

    /// Kept in the ledger, so that counting looks nothing up.
    fn counters_in<'a>(&self, ledger: &'a Ledger) -> &'a Arc<AskerCounters> {
        ledger.counters.get_or_init(|| self.counters(&ledger.name))
    }

    /// Returns the metrics of an asker.
    pub(crate) fn counters(&self, asker: &Arc<str>) -> Arc<AskerCounters> {
        self.labels.of(asker)
    }

    /// Counts elicitations of an asker that were not admitted here. If its ledger is not open yet,
    /// it gets these limits.
    pub(crate) fn add_live(&self, asker: &str, live: usize, limits: &Limits) {
        self.open(asker, limits)
            .live
            .fetch_add(live, Ordering::Relaxed);
        self.live.fetch_add(live, Ordering::Relaxed);
    }

    /// Counts a principal's elicitations, which are already counted for its asker.
    pub(crate) fn add_live_of_principal(&self, asker: &str, principal: &str, live: usize) {
        if let Some(ledger) = self.shard(asker).read().get(asker) {
            ledger.principals.add_live(principal, live);
        }
    }

    /// How many elicitations are live.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// How many askers are known.
    pub(crate) fn askers(&self) -> usize {
        self.open.iter().map(|open| open.read().len()).sum()
    }

    /// Drops the ledgers of idle askers.
    pub(crate) fn drop_idle(&self, now: UnixTime) {
        let recently = now.before(IDLE);
        for open in &self.open {
            open.write().retain(|_, ledger| {
                ledger.principals.drop_idle(recently);
                Arc::strong_count(ledger) > 1
                    || ledger.live.load(Ordering::Relaxed) > 0
                    || !ledger.latest.is_before(recently)
            });
        }
    }
}

fn increment(live: &AtomicUsize, limit: usize) -> Result<(), AskError> {
    let more = |live| (live < limit).then_some(live + 1);
    live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        .map_err(|_| AskError::TooManyLive { limit })?;
    Ok(())
}

/// Saturating, because a count that wrapped would lock everybody out.
fn decrement(live: &AtomicUsize) {
    let less = |live: usize| live.checked_sub(1);
    let order = Ordering::Relaxed;
    let _ = live.fetch_update(order, order, less);
}
