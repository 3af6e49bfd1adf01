//! How much each asker, each principal on whose behalf it asks, and all together may ask.
//!
//! Only live elicitations count. A ledger is opened when an asker comes and closed when it has
//! been quiet long enough for its rates to have recovered, so that askers who come and go leave
//! nothing behind.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use entreat_core::UnixTime;
use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use parking_lot::RwLock;

use crate::error::AskError;
use crate::record::Request;

mod principals;

use principals::Principals;

/// How much one asker may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Questions a minute; what was refused does not count. `None` is no limit.
    pub creations_per_minute: Option<NonZeroU32>,
    /// Requests a second of any kind, refused ones included. `None` is no limit.
    pub requests_per_second: Option<NonZeroU32>,
    /// Live elicitations at a time.
    pub live: usize,
    /// How much of all this one principal may use on whose behalf the asker asks, in percent, so
    /// that it cannot use up what others need. Of `live`, it is a part of what the engine allows
    /// in all if that is less. See [`Asker::on_behalf_of`](crate::Asker::on_behalf_of).
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
    /// No limits: for a program that asks on its own behalf, and for measurements. What the engine
    /// allows in all is still shared among principals.
    pub fn none() -> Self {
        Self {
            creations_per_minute: None,
            requests_per_second: None,
            live: usize::MAX,
            ..Self::default()
        }
    }
}

/// A ledger that has been quiet for this long has nothing left to remember: every rate has
/// recovered.
const QUIET: Duration = Duration::from_secs(60);

type Limiter = RateLimiter<NotKeyed, InMemoryState, LatestCall, NoOpMiddleware<Nanos>>;

/// The time of the asker's latest call, as the rate limiter wants it: the caller has read the
/// clock already, and once is enough.
#[derive(Clone, Default)]
struct LatestCall(Arc<AtomicU64>);

impl LatestCall {
    fn set(&self, now: UnixTime) {
        self.0.store(now.as_millis(), Ordering::Relaxed);
    }

    fn is_before(&self, moment: UnixTime) -> bool {
        self.0.load(Ordering::Relaxed) < moment.as_millis()
    }
}

impl GovernorClock for LatestCall {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Duration::from_millis(self.0.load(Ordering::Relaxed)).into()
    }
}

/// What one asker has used up.
pub(crate) struct Ledger {
    name: Arc<str>,
    live: AtomicUsize,
    /// Creations that were charged and then came to nothing.
    credit: AtomicUsize,
    rates: RwLock<Rates>,
    latest: LatestCall,
    principals: Principals,
}

/// Whose place is taken and who is charged: an asker, or a principal on whose behalf it asks. One
/// pointer, because every waiter has it.
#[derive(Clone)]
pub(crate) struct Account(Arc<Owner>);

struct Owner {
    ledger: Arc<Ledger>,
    behalf: Behalf,
}

/// On whose behalf an asker asks, and whose elicitations it sees.
enum Behalf {
    /// The program's own, which sees those of its principals too.
    Program,
    /// The asker's own; those of its principals are others'.
    Itself,
    /// A principal's.
    Of(Box<str>),
}

impl Account {
    pub(crate) fn of(ledger: Arc<Ledger>) -> Self {
        let behalf = Behalf::Program;
        Self(Arc::new(Owner { ledger, behalf }))
    }

    pub(crate) fn on_its_own_behalf(&self) -> Self {
        self.with(Behalf::Itself)
    }

    pub(crate) fn on_behalf_of(&self, principal: &str) -> Self {
        self.with(Behalf::Of(principal.into()))
    }

    fn with(&self, behalf: Behalf) -> Self {
        let ledger = self.ledger().clone();
        Self(Arc::new(Owner { ledger, behalf }))
    }

    fn ledger(&self) -> &Arc<Ledger> {
        &self.0.ledger
    }

    /// The asker's name.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.ledger().name
    }

    pub(crate) fn principal(&self) -> Option<&str> {
        match &self.0.behalf {
            Behalf::Program | Behalf::Itself => None,
            Behalf::Of(principal) => Some(principal),
        }
    }

    /// Whether it sees what was asked.
    pub(crate) fn owns(&self, request: &Request) -> bool {
        let sees_all = matches!(self.0.behalf, Behalf::Program);
        *self.name() == request.asker && (sees_all || self.principal() == request.principal())
    }

    /// Charges a request of any kind; the error says when to come back.
    pub(crate) fn charge_request(&self, now: UnixTime) -> Result<(), Duration> {
        let ledger = self.ledger();
        ledger.latest.set(now);
        let charge = || ledger.charge(ledger.rates.read().requests.as_ref());
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
    creations: Option<Limiter>,
    requests: Option<Limiter>,
}

impl Rates {
    fn new(limits: &Limits, clock: &LatestCall) -> Self {
        let limiter = |quota| RateLimiter::direct_with_clock(quota, clock.clone());
        Self {
            limits: limits.clone(),
            creations: limits
                .creations_per_minute
                .map(|count| limiter(Quota::per_minute(count))),
            requests: limits
                .requests_per_second
                .map(|count| limiter(Quota::per_second(count))),
        }
    }
}

impl Ledger {
    fn charge_creation(&self) -> Result<(), Duration> {
        let order = Ordering::Relaxed;
        let spend = |credit: usize| credit.checked_sub(1);
        let has_credit = self.credit.load(order) > 0;
        if has_credit && self.credit.fetch_update(order, order, spend).is_ok() {
            return Ok(());
        }
        self.charge(self.rates.read().creations.as_ref())
    }

    fn charge(&self, limiter: Option<&Limiter>) -> Result<(), Duration> {
        limiter.map_or(Ok(()), |limiter| check(limiter, &self.latest))
    }
}

/// Charges a rate; the error says when to come back.
fn check(limiter: &Limiter, latest: &LatestCall) -> Result<(), Duration> {
    limiter.check().map_err(|refused| {
        // Rounded up: a client that comes back at the stroke must not be a moment early.
        let wait = refused.wait_time_from(latest.now());
        let millis = u64::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u64::MAX);
        Duration::from_millis(millis.max(1))
    })
}

/// The ledgers of all askers.
pub(crate) struct Ledgers {
    open: RwLock<HashMap<Arc<str>, Arc<Ledger>>>,
    live: AtomicUsize,
    limit: usize,
}

impl Ledgers {
    /// With room for so many live elicitations in all.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            open: RwLock::default(),
            live: AtomicUsize::new(0),
            limit,
        }
    }

    /// The ledger of an asker, under these limits from now on.
    pub(crate) fn open(&self, name: &str, limits: &Limits) -> Arc<Ledger> {
        let mut open = self.open.write();
        if let Some(ledger) = open.get(name) {
            let mut rates = ledger.rates.write();
            if rates.limits != *limits {
                *rates = Rates::new(limits, &ledger.latest);
            }
            drop(rates);
            return ledger.clone();
        }
        let name: Arc<str> = name.into();
        let latest = LatestCall::default();
        let ledger = Arc::new(Ledger {
            name: name.clone(),
            live: AtomicUsize::new(0),
            credit: AtomicUsize::new(0),
            rates: RwLock::new(Rates::new(limits, &latest)),
            latest,
            principals: Principals::default(),
        });
        open.insert(name, ledger.clone());
        ledger
    }

    /// Takes a place among the live ones and charges a creation, or neither.
    pub(crate) fn admit(&self, account: &Account, now: UnixTime) -> Result<(), AskError> {
        let ledger = account.ledger();
        ledger.latest.set(now);
        let limits = ledger.rates.read().limits.clone();
        match account.principal() {
            Some(principal) => {
                let principals = &ledger.principals;
                principals.admit(principal, &limits, self.limit, now, || {
                    self.admit_asker(ledger, limits.live)
                })
            }
            None => self.admit_asker(ledger, limits.live),
        }
    }

    fn admit_asker(&self, ledger: &Ledger, own_limit: usize) -> Result<(), AskError> {
        take_place(&ledger.live, own_limit)?;
        if let Err(error) = take_place(&self.live, self.limit) {
            give_back(&ledger.live);
            return Err(error);
        }
        // Last, because what is refused is not charged.
        ledger.charge_creation().map_err(|retry_after| {
            give_back(&ledger.live);
            give_back(&self.live);
            AskError::RateLimited { retry_after }
        })
    }

    /// Takes an admission back that came to nothing.
    pub(crate) fn refund(&self, account: &Account) {
        let ledger = account.ledger();
        ledger.credit.fetch_add(1, Ordering::Relaxed);
        give_back(&ledger.live);
        give_back(&self.live);
        if let Some(principal) = account.principal() {
            ledger.principals.refund(principal);
        }
    }

    /// Gives back the place of an elicitation that has settled.
    pub(crate) fn release(&self, request: &Request) {
        give_back(&self.live);
        if let Some(ledger) = self.open.read().get(&request.asker) {
            give_back(&ledger.live);
            if let Some(principal) = request.principal() {
                ledger.principals.release(principal);
            }
        }
    }

    /// Counts elicitations that were live before this engine was.
    pub(crate) fn count_in(&self, asker: &str, live: usize, limits: &Limits) {
        self.open(asker, limits)
            .live
            .fetch_add(live, Ordering::Relaxed);
        self.live.fetch_add(live, Ordering::Relaxed);
    }

    /// Counts elicitations of a principal that are counted as its asker's already.
    pub(crate) fn count_in_for(&self, asker: &str, principal: &str, live: usize) {
        if let Some(ledger) = self.open.read().get(asker) {
            ledger.principals.count_in(principal, live);
        }
    }

    /// How many elicitations are live.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// How many askers are known.
    pub(crate) fn askers(&self) -> usize {
        self.open.read().len()
    }

    /// Closes the ledgers of askers who are gone and whose rates have recovered.
    pub(crate) fn close_quiet(&self, now: UnixTime) {
        let recently = now.before(QUIET);
        self.open.write().retain(|_, ledger| {
            ledger.principals.close_quiet(recently);
            Arc::strong_count(ledger) > 1
                || ledger.live.load(Ordering::Relaxed) > 0
                || !ledger.latest.is_before(recently)
        });
    }
}

fn take_place(live: &AtomicUsize, limit: usize) -> Result<(), AskError> {
    let take = |live| (live < limit).then_some(live + 1);
    live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        .map_err(|_| AskError::TooManyLive { limit })?;
    Ok(())
}

/// Saturating: a place is never given back twice, but a count that wrapped would lock everybody
/// out.
fn give_back(live: &AtomicUsize) {
    let give = |live: usize| live.checked_sub(1);
    let order = Ordering::Relaxed;
    let _ = live.fetch_update(order, order, give);
}
