//! Time's own part: warnings, deadlines, and what else has to be done without being asked.
//!
//! One task tends to all elicitations. It sleeps until the next alarm that the store knows of,
//! or until something is asked whose alarm comes earlier.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use entreat_core::{CancelReason, Command, ElicitationId, Presented, Step, UnixTime};
use futures_util::stream::{self, StreamExt as _};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::elicitation::Access;
use crate::engine::{Engine, Inner};
use crate::error::ActError;
use crate::record::Record;
use crate::step::{given_up, keep_held};
use crate::store::{Due, Query, StoreError, Which};

/// The task looks up at least this often: clocks stop while a machine sleeps.
const LOOK_UP: Duration = Duration::from_secs(5);
/// It asks a store that failed again after this.
const PAUSE: Duration = Duration::from_secs(1);
/// So many things are done before others get a turn.
const BATCH: usize = 128;
/// The store is asked for so many alarms at a time.
const ALARMS: usize = 4096;
/// So many alarms are under way at once. A durable store writes them together, as many as it
/// sees fit while somebody else waits.
const UNDER_WAY: usize = 256;
/// While there are settled records to forget, that is done at least this often, and ledgers are
/// closed.
const CLEANING: Duration = Duration::from_secs(1);
/// And no more often than this, however short the retention. Little by little is faster: what is
/// forgotten soon leaves memory that is still at hand.
const SWIFT_CLEANING: Duration = Duration::from_millis(2);
/// Where there was nothing to forget, it is not looked for more often than this.
const LULL: Duration = Duration::from_millis(50);
/// A call of the store that is older has ended.
const IN_FLIGHT: Duration = Duration::from_secs(60);

/// Wakes the task when something comes earlier than it planned for.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    /// When it plans to look up, in milliseconds since 1970.
    planned: AtomicU64,
    bell: Notify,
    /// The engine is to end; heard even while a failing store is given a rest.
    end: Notify,
}

impl Alarms {
    /// An alarm comes at this time.
    pub(crate) fn expect(&self, at: UnixTime) {
        if at.as_millis() < self.planned.load(Ordering::Acquire) {
            self.bell.notify_one();
        }
    }

    /// There is something to do at once.
    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    /// The engine ends.
    pub(crate) fn end(&self) {
        self.end.notify_one();
    }
}

/// What was left to be done in the background.
#[derive(Debug, Default)]
pub(crate) struct Chores {
    /// What was asked on connections that are gone. Bounded by the limit on live ones.
    abandoned: Mutex<Vec<(Vec<ElicitationId>, CancelReason)>>,
    /// Changes of which the store did not say whether they happened. Bounded by the calls in
    /// flight while a store fails; looked at again until it answers.
    doubts: Mutex<Doubts>,
    /// Whether there are any, to be read without the lock.
    in_doubt: AtomicBool,
    /// When records were last forgotten, in milliseconds since 1970.
    cleaned: AtomicU64,
}

#[derive(Debug, Default)]
struct Doubts {
    open: Vec<Doubt>,
    /// Elicitations whose end was performed while there were doubts, and when. Another doubt
    /// about the same end may still come, from a call that was under way.
    performed: HashMap<ElicitationId, UnixTime>,
}

/// A change that may have happened: the record as it would be, and how it came to that.
#[derive(Debug)]
struct Doubt {
    record: Record,
    step: Option<Step>,
}

impl Chores {
    fn push(&self, doubt: Doubt) {
        let mut doubts = self.doubts.lock();
        doubts.open.push(doubt);
        self.in_doubt.store(true, Ordering::Release);
    }

    fn pop(&self) -> Option<Doubt> {
        if !self.in_doubt.load(Ordering::Acquire) {
            return None;
        }
        let mut doubts = self.doubts.lock();
        let doubt = doubts.open.pop();
        self.in_doubt.store(!doubts.is_empty(), Ordering::Release);
        doubt
    }

    /// Whether the end of this elicitation is to be performed: it is, unless that was done
    /// while there were doubts. Without any, no two calls can believe to have ended it.
    pub(crate) fn may_end(&self, id: ElicitationId, now: UnixTime) -> bool {
        if !self.in_doubt.load(Ordering::Acquire) {
            return true;
        }
        self.doubts.lock().performed.insert(id, now).is_none()
    }

    /// Forgets ends that no call under way can be about any more.
    fn forget_ends(&self, before: UnixTime) {
        if self.in_doubt.load(Ordering::Acquire) {
            let mut doubts = self.doubts.lock();
            doubts.performed.retain(|_, at| *at >= before);
            self.in_doubt.store(!doubts.is_empty(), Ordering::Release);
        }
    }
}

impl Doubts {
    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.performed.is_empty()
    }
}

impl Doubt {
    /// Whether the change is in what is kept.
    fn is_in(&self, kept: &Record) -> bool {
        let (ours, theirs) = (&self.record.lifecycle, &kept.lifecycle);
        if self.step.is_none() {
            return true;
        }
        if ours.is_live() {
            return kept.version == self.record.version && theirs == ours;
        }
        // What is final stays, whatever is wiped from the record later.
        theirs.state() == ours.state()
    }
}

impl Inner {
    /// Cancels in the background what a connection left.
    pub(crate) fn abandon(&self, left: Vec<ElicitationId>, reason: CancelReason) {
        // Connections that go because the engine ends are no askers who left: they come back.
        if self.is_stopped() {
            return;
        }
        self.chores.abandoned.lock().push((left, reason));
        self.alarms.ring();
    }

    /// Finds out in the background whether a change happened, and performs its effects if so.
    pub(crate) fn doubt(&self, record: Record, step: Option<Step>) {
        self.waiters.nudge(record.id);
        self.chores.push(Doubt { record, step });
        self.alarms.ring();
    }

    /// Tends to deadlines until the engine is shut down or gone.
    pub(crate) async fn keep(engine: Weak<Self>) {
        loop {
            let Some(inner) = engine.upgrade() else {
                return;
            };
            if inner.is_stopped() {
                return;
            }
            let now = inner.now();
            // Whatever is asked meanwhile rings: the store may already have been looked at.
            inner.alarms.planned.store(u64::MAX, Ordering::Release);
            let tended = inner.tend().await;
            let (timeline, alarms) = (inner.timeline.clone(), inner.alarms.clone());
            let next = match &tended {
                Ok(next) => (*next).min(now.after(LOOK_UP)),
                Err(error) => {
                    tracing::warn!(error = %Causes(error), "the store failed; trying again");
                    inner.now().after(PAUSE)
                }
            };
            alarms.planned.store(next.as_millis(), Ordering::Release);
            // The engine is not held while asleep, so that it can go.
            drop(inner);
            tokio::select! {
                () = timeline.sleep_until(next) => {}
                () = alarms.end.notified() => {}
                // Not while the store fails: each failure rings, and would be followed by the next.
                () = alarms.bell.notified(), if tended.is_ok() => {}
            }
        }
    }

    /// Does everything that is due; returns when something will be.
    pub(crate) async fn tend(self: &Arc<Self>) -> Result<UnixTime, StoreError> {
        self.settle_doubts().await?;
        self.cancel_abandoned().await?;
        let next = loop {
            let Due { ids, next } = self.store.due(self.now(), ALARMS).await?;
            if ids.is_empty() {
                break next;
            }
            self.sound(ids).await?;
            tokio::task::yield_now().await;
        };
        let cleaning = self.clean().await?;
        Ok(next.map_or(cleaning, |next| next.min(cleaning)))
    }

    /// Lets the alarms of these elicitations go off, many at a time.
    async fn sound(self: &Arc<Self>, mut ids: Vec<ElicitationId>) -> Result<(), StoreError> {
        // In the order of creation, in which a durable store has them side by side.
        ids.sort_unstable();
        let mut sounding = stream::iter(ids)
            .map(|id| self.sound_one(id))
            .buffer_unordered(UNDER_WAY);
        let mut done = 0;
        while let Some(result) = sounding.next().await {
            result?;
            done += 1;
            if done % BATCH == 0 {
                // A store in memory never lets this task wait; others must get a turn anyway.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn sound_one(self: &Arc<Self>, id: ElicitationId) -> Result<(), StoreError> {
        let Some(record) = self.store.load(id).await? else {
            return Ok(());
        };
        if !record.lifecycle.is_live() {
            return self.send_off(record).await;
        }
        // Past the deadline a warning would be a mockery.
        let now = self.now();
        let command = if record.lifecycle.is_overdue(now) {
            Command::Expire
        } else {
            Command::Warn
        };
        let done = self.step(&Access::Engine, record, command, now, keep_held);
        let done = done.await;
        ignore_races(done)
    }

    /// Cancels what dropped connections left before the engine was to end: the keeper may not have
    /// got to it.
    pub(crate) async fn last_chores(self: &Arc<Self>) {
        if let Err(error) = self.cancel_abandoned().await {
            tracing::warn!(error = %Causes(&error), "what was asked on dropped connections stays");
        }
    }

    async fn cancel_abandoned(self: &Arc<Self>) -> Result<(), StoreError> {
        loop {
            let Some((left, reason)) = self.chores.abandoned.lock().pop() else {
                return Ok(());
            };
            for (done, id) in left.iter().enumerate() {
                if let Err(error) = self.cancel_one(*id, reason).await {
                    let rest = left[done..].to_vec();
                    self.chores.abandoned.lock().push((rest, reason));
                    return Err(error);
                }
            }
        }
    }

    pub(crate) async fn cancel_one(
        self: &Arc<Self>,
        id: ElicitationId,
        reason: CancelReason,
    ) -> Result<(), StoreError> {
        let Some(record) = self.store.load(id).await? else {
            return Ok(());
        };
        let presented = Presented::Unknown;
        let command = Command::Cancel { reason, presented };
        let now = self.now();
        let done = self.step(&Access::Host, record, command, now, keep_held);
        let done = done.await;
        ignore_races(done)
    }

    async fn settle_doubts(&self) -> Result<(), StoreError> {
        loop {
            let Some(doubt) = self.chores.pop() else {
                return Ok(());
            };
            match self.store.load(doubt.record.id).await {
                Ok(kept) => {
                    // Until its end is performed, no call may believe that there are none.
                    self.chores.in_doubt.store(true, Ordering::Release);
                    let happened = kept.is_some_and(|kept| doubt.is_in(&kept));
                    match doubt.step {
                        Some(step) if happened => self.perform(&doubt.record, step),
                        None if happened => {
                            let limits = &self.settings.asker.limits;
                            let request = &doubt.record.request;
                            self.ledgers.count_in(&request.asker, 1, limits);
                            if let Some(principal) = request.principal() {
                                self.ledgers.count_in_for(&request.asker, principal, 1);
                            }
                            self.has_created(&doubt.record);
                        }
                        Some(_) | None => {}
                    }
                }
                Err(error) => {
                    self.chores.push(doubt);
                    return Err(error);
                }
            }
        }
    }

    /// Forgets what is past retention, a little at a time; returns when to do so again.
    async fn clean(&self) -> Result<UnixTime, StoreError> {
        let now = self.now();
        let retention = self.settings.retention;
        let swift = (retention / 8).clamp(SWIFT_CLEANING, CLEANING);
        let cleaned = UnixTime::from_millis(self.chores.cleaned.load(Ordering::Relaxed));
        if now.since(cleaned) < swift {
            return Ok(cleaned.after(swift));
        }
        let before = now.before(retention);
        let mut pause = retention.clamp(LULL, LOOK_UP);
        loop {
            let purged = self.store.purge(before, BATCH).await?;
            if purged > 0 {
                pause = swift;
            }
            if purged < BATCH {
                break;
            }
            tokio::task::yield_now().await;
        }
        while self.store.purge_claims(now, BATCH).await? == BATCH {
            tokio::task::yield_now().await;
        }
        self.ledgers.close_quiet(now);
        self.chores.forget_ends(now.before(IN_FLIGHT));
        self.chores
            .cleaned
            .store(now.as_millis(), Ordering::Relaxed);
        Ok(now.after(pause))
    }
}

impl Engine {
    /// Does at once what time has made due: warnings, deadlines, forgetting what is past
    /// retention. The engine does so by itself; a test on a virtual clock need not wait for it.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        let inner = self.inner.clone();
        // Seen through even if the caller goes away: what is kept must have its effects.
        let caught_up = self
            .inner
            .in_flight
            .spawn(async move { inner.tend().await });
        caught_up.await.unwrap_or_else(|gone| Err(given_up(gone)))?;
        Ok(())
    }

    /// Withdraws a form: live elicitations that ask it are cancelled as `form_invalidated`.
    /// Returns how many.
    pub async fn withdraw(&self, form_id: &str) -> Result<usize, StoreError> {
        let mut withdrawn = 0;
        let mut before = None;
        loop {
            let query = Query {
                asker: None,
                which: Which::Live,
                before,
                limit: BATCH,
            };
            let page = self.inner.store.list(query).await?;
            let Some(last) = page.last() else {
                return Ok(withdrawn);
            };
            before = Some(last.id);
            for record in page {
                let form = record.request.subject.form();
                if form.is_some_and(|form| form.id() == form_id) {
                    let reason = CancelReason::FormInvalidated;
                    self.inner.cancel_one(record.id, reason).await?;
                    withdrawn += 1;
                }
            }
        }
    }
}

/// Whoever else changed or settled it meanwhile was first; that is no failure.
fn ignore_races(done: Result<Record, ActError>) -> Result<(), StoreError> {
    match done {
        Err(ActError::Store(error)) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// An error with what caused it.
struct Causes<'e>(&'e dyn std::error::Error);

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
