//! Background work: warnings, deadlines, callback deliveries, purging and cleanup.
//!
//! One task serves all elicitations. It sleeps until the store's next timer is due, or until it is
//! woken for an earlier one.

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
use crate::step::{keep_answer, task_lost};
use crate::store::{Due, Query, StatusFilter, StoreError};

/// Maximum sleep of the task: timers stop while a machine is suspended.
const MAX_SLEEP: Duration = Duration::from_secs(5);
/// Delay before a failed store is retried.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Work items between yields to other tasks.
const BATCH: usize = 128;
/// Maximum number of due records per query.
const DUE_LIMIT: usize = 4096;
/// Maximum number of due records processed concurrently. A durable store groups their commits.
const MAX_IN_FLIGHT: usize = 256;
/// Longest interval between purges while there are records to purge.
const MAX_PURGE_INTERVAL: Duration = Duration::from_secs(1);
/// Shortest interval between purges. Frequent small purges are faster: the freed memory is still in
/// the CPU's cache.
const MIN_PURGE_INTERVAL: Duration = Duration::from_millis(2);
/// Shortest interval after a purge that found nothing.
const IDLE_PURGE_INTERVAL: Duration = Duration::from_millis(50);
/// Store calls that started longer ago have ended.
const MAX_CALL_AGE: Duration = Duration::from_secs(60);
/// Interval between looks for elicitations whose connection ended while they were created.
const UNBORN_INTERVAL: Duration = Duration::from_secs(1);

/// Wakes the timer task when something is due earlier than planned.
#[derive(Debug, Default)]
pub(crate) struct TimerSignal {
    /// When the task plans to wake, in milliseconds since 1970.
    planned: AtomicU64,
    wake: Notify,
    /// Ends the task, even while it waits to retry a failed store.
    shutdown: Notify,
}

impl TimerSignal {
    /// Announces a timer that is due at this time.
    pub(crate) fn schedule(&self, at: UnixTime) {
        if at.as_millis() < self.planned.load(Ordering::Acquire) {
            self.wake.notify_one();
        }
    }

    /// Wakes the task now.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Ends the task.
    pub(crate) fn shut_down(&self) {
        self.shutdown.notify_one();
    }
}

/// Work queued for the timer task.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    /// Elicitations of dropped connections. Bounded by the limit on live ones.
    abandoned: Mutex<Vec<(Vec<ElicitationId>, CancelReason)>>,
    /// Those that did not exist yet: the connection ended while they were being created.
    unborn: Mutex<Vec<Unborn>>,
    /// Commits with unknown outcome, resolved once the store answers. Bounded by the calls in
    /// flight while a store fails.
    unknown: Mutex<UnknownCommits>,
    /// Whether `unknown` is not empty; readable without the lock.
    has_unknown: AtomicBool,
    /// The time of the last purge, in milliseconds since 1970.
    last_purge: AtomicU64,
}

/// An elicitation whose connection ended before it existed, if it will exist at all.
#[derive(Debug)]
struct Unborn {
    id: ElicitationId,
    reason: CancelReason,
    /// When its connection ended.
    since: UnixTime,
}

#[derive(Debug, Default)]
struct UnknownCommits {
    open: Vec<UnknownCommit>,
    /// Elicitations that were settled while outcomes were unknown, and when. A call in flight may
    /// still report the same settlement.
    settled: HashMap<ElicitationId, UnixTime>,
}

/// A commit with unknown outcome: the record as committed, and the step that led to it.
#[derive(Debug)]
struct UnknownCommit {
    record: Record,
    step: Option<Step>,
}

impl Backlog {
    fn push(&self, commit: UnknownCommit) {
        let mut unknown = self.unknown.lock();
        unknown.open.push(commit);
        self.has_unknown.store(true, Ordering::Release);
    }

    fn pop(&self) -> Option<UnknownCommit> {
        if !self.has_unknown.load(Ordering::Acquire) {
            return None;
        }
        let mut unknown = self.unknown.lock();
        let commit = unknown.open.pop();
        self.has_unknown
            .store(!unknown.is_empty(), Ordering::Release);
        commit
    }

    /// Whether to perform the effects of settling: false if they were performed already. Only
    /// commits with unknown outcome can settle twice.
    pub(crate) fn should_settle(&self, id: ElicitationId, now: UnixTime) -> bool {
        if !self.has_unknown.load(Ordering::Acquire) {
            return true;
        }
        self.unknown.lock().settled.insert(id, now).is_none()
    }

    /// Removes settlements that no call in flight can report any more.
    fn prune_settled(&self, before: UnixTime) {
        if self.has_unknown.load(Ordering::Acquire) {
            let mut unknown = self.unknown.lock();
            unknown.settled.retain(|_, at| *at >= before);
            self.has_unknown
                .store(!unknown.is_empty(), Ordering::Release);
        }
    }
}

impl UnknownCommits {
    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.settled.is_empty()
    }
}

impl UnknownCommit {
    /// Whether the stored record contains the change.
    fn was_applied_to(&self, stored: &Record) -> bool {
        let (ours, theirs) = (&self.record.lifecycle, &stored.lifecycle);
        if self.step.is_none() {
            return true;
        }
        // Two engines may come to the same state in the same millisecond, with different answers.
        if stored.author != self.record.author {
            return false;
        }
        if ours.is_live() {
            return stored.version == self.record.version && theirs == ours;
        }
        // A final state never changes; only answers may be wiped later.
        theirs.state() == ours.state()
    }
}

impl Inner {
    /// Queues the elicitations of a dropped connection for cancellation.
    pub(crate) fn abandon(&self, ids: Vec<ElicitationId>, reason: CancelReason) {
        // On shutdown askers did not leave: they reconnect after the restart.
        if self.is_stopped() {
            return;
        }
        self.backlog.abandoned.lock().push((ids, reason));
        self.timer_signal.wake();
    }

    /// Queues a commit with unknown outcome: its effects are performed if it turns out stored.
    pub(crate) fn resolve_later(&self, record: Record, step: Option<Step>) {
        self.waiters.wake(record.id);
        self.backlog.push(UnknownCommit { record, step });
        self.timer_signal.wake();
    }

    /// Runs timers until the engine is shut down or dropped.
    pub(crate) async fn run_timers(engine: Weak<Self>) {
        loop {
            let Some(inner) = engine.upgrade() else {
                return;
            };
            if inner.is_stopped() {
                return;
            }
            let now = inner.now();
            // Every timer set meanwhile wakes the task: the store may have been queried already.
            inner
                .timer_signal
                .planned
                .store(u64::MAX, Ordering::Release);
            let result = inner.run_due().await;
            let (timeline, signal) = (inner.timeline.clone(), inner.timer_signal.clone());
            let next = match &result {
                Ok(next) => (*next).min(now.after(MAX_SLEEP)),
                Err(error) => {
                    tracing::warn!(error = %Causes(error), "the store failed; retrying");
                    inner.now().after(RETRY_DELAY)
                }
            };
            signal.planned.store(next.as_millis(), Ordering::Release);
            // Not held while asleep, so that the engine can be dropped.
            drop(inner);
            tokio::select! {
                () = timeline.sleep_until(next) => {}
                () = signal.shutdown.notified() => {}
                // Not while the store fails: each failure wakes, and would cause a busy loop.
                () = signal.wake.notified(), if result.is_ok() => {}
            }
        }
    }

    /// Performs all due work; returns when the next is due.
    pub(crate) async fn run_due(self: &Arc<Self>) -> Result<UnixTime, StoreError> {
        self.resolve_unknown().await?;
        self.cancel_abandoned().await?;
        let next_unborn = self.cancel_unborn().await?;
        loop {
            let Due { ids, next } = self.store.due(self.now(), DUE_LIMIT).await?;
            let is_done = ids.is_empty();
            if !is_done {
                self.fire_timers(ids).await?;
            }
            // Also while there are timers: on a busy machine the next are due before these are done.
            let next_purge = self.purge().await?;
            if is_done {
                let next = next.into_iter().chain(next_unborn).min();
                return Ok(next.map_or(next_purge, |next| next.min(next_purge)));
            }
            tokio::task::yield_now().await;
        }
    }

    /// Processes due records concurrently.
    async fn fire_timers(self: &Arc<Self>, mut ids: Vec<ElicitationId>) -> Result<(), StoreError> {
        // By creation time, which is the row order of a durable store.
        ids.sort_unstable();
        let mut firing = stream::iter(ids)
            .map(|id| self.fire_timer(id))
            .buffer_unordered(MAX_IN_FLIGHT);
        let mut done = 0;
        while let Some(result) = firing.next().await {
            result?;
            done += 1;
            if done % BATCH == 0 {
                // A memory store never suspends this task; yield to others.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn fire_timer(self: &Arc<Self>, id: ElicitationId) -> Result<(), StoreError> {
        let Some(record) = self.store.load(id).await? else {
            return Ok(());
        };
        if !record.lifecycle.is_live() {
            return self.start_delivery(record).await;
        }
        // Past the deadline, expire instead of warning.
        let now = self.now();
        let command = if record.lifecycle.is_overdue(now) {
            Command::Expire
        } else {
            Command::Warn
        };
        let done = self.step(&Access::Engine, record, command, now, keep_answer);
        let done = done.await;
        ignore_races(done)
    }

    /// Cancels the elicitations of connections dropped before the shutdown, in case the timer task
    /// has not.
    pub(crate) async fn drain_abandoned(self: &Arc<Self>) {
        if let Err(error) = self.cancel_abandoned().await {
            tracing::warn!(
                error = %Causes(&error),
                "questions of dropped connections were not cancelled"
            );
        }
    }

    async fn cancel_abandoned(self: &Arc<Self>) -> Result<(), StoreError> {
        loop {
            let Some((ids, reason)) = self.backlog.abandoned.lock().pop() else {
                return Ok(());
            };
            for (done, id) in ids.iter().enumerate() {
                match self.cancel_one(*id, reason).await {
                    Ok(true) => {}
                    Ok(false) => self.backlog.unborn.lock().push(Unborn {
                        id: *id,
                        reason,
                        since: self.now(),
                    }),
                    Err(error) => {
                        let rest = ids[done..].to_vec();
                        self.backlog.abandoned.lock().push((rest, reason));
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Cancels what was created after its connection had ended; returns when to look again.
    async fn cancel_unborn(self: &Arc<Self>) -> Result<Option<UnixTime>, StoreError> {
        let unborn = std::mem::take(&mut *self.backlog.unborn.lock());
        let now = self.now();
        let mut failure = None;
        for it in unborn {
            let may_come = now.since(it.since) < MAX_CALL_AGE;
            let is_open = match self.cancel_one(it.id, it.reason).await {
                Ok(is_found) => !is_found && may_come,
                Err(error) => {
                    failure = Some(error);
                    true
                }
            };
            if is_open {
                self.backlog.unborn.lock().push(it);
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        let is_done = self.backlog.unborn.lock().is_empty();
        Ok((!is_done).then(|| now.after(UNBORN_INTERVAL)))
    }

    /// Cancels an elicitation; returns whether it exists.
    pub(crate) async fn cancel_one(
        self: &Arc<Self>,
        id: ElicitationId,
        reason: CancelReason,
    ) -> Result<bool, StoreError> {
        let Some(record) = self.store.load(id).await? else {
            return Ok(false);
        };
        let presented = Presented::Unknown;
        let command = Command::Cancel { reason, presented };
        let now = self.now();
        let done = self.step(&Access::Host, record, command, now, keep_answer);
        let done = done.await;
        ignore_races(done).map(|()| true)
    }

    async fn resolve_unknown(&self) -> Result<(), StoreError> {
        loop {
            let Some(commit) = self.backlog.pop() else {
                return Ok(());
            };
            match self.store.load(commit.record.id).await {
                Ok(stored) => {
                    // Stays set until the effects are performed; see `should_settle`.
                    self.backlog.has_unknown.store(true, Ordering::Release);
                    let applied = stored.is_some_and(|stored| commit.was_applied_to(&stored));
                    match commit.step {
                        Some(step) if applied => self.stepped_here(&commit.record, step),
                        None if applied => {
                            let limits = &self.settings.asker.limits;
                            let request = &commit.record.request;
                            self.ledgers.count(request, limits);
                            let counters = self.ledgers.counters(&request.asker);
                            self.created_here(&commit.record, &counters);
                        }
                        Some(_) | None => {}
                    }
                }
                Err(error) => {
                    self.backlog.push(commit);
                    return Err(error);
                }
            }
        }
    }

    /// Deletes records past retention in small batches; returns when to run again.
    async fn purge(&self) -> Result<UnixTime, StoreError> {
        let now = self.now();
        let retention = self.settings.retention;
        let interval = (retention / 8).clamp(MIN_PURGE_INTERVAL, MAX_PURGE_INTERVAL);
        let last = UnixTime::from_millis(self.backlog.last_purge.load(Ordering::Relaxed));
        if now.since(last) < interval {
            return Ok(last.after(interval));
        }
        let before = now.before(retention);
        let mut pause = retention.clamp(IDLE_PURGE_INTERVAL, MAX_SLEEP);
        loop {
            let purged = self.store.purge(before, BATCH).await?;
            if purged > 0 {
                pause = interval;
            }
            if purged < BATCH {
                break;
            }
            tokio::task::yield_now().await;
        }
        while self.store.purge_claims(now, BATCH).await? == BATCH {
            tokio::task::yield_now().await;
        }
        self.ledgers.drop_idle(now);
        self.backlog.prune_settled(now.before(MAX_CALL_AGE));
        self.backlog
            .last_purge
            .store(now.as_millis(), Ordering::Relaxed);
        Ok(now.after(pause))
    }
}

impl Engine {
    /// Performs all due work now: warnings, deadlines, purging. The engine does so by itself; a
    /// test with a virtual clock calls this instead of waiting.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        let inner = self.inner.clone();
        // Detached: committed changes must have their effects even if the caller is dropped.
        let caught_up = self
            .inner
            .in_flight
            .spawn(async move { inner.run_due().await });
        caught_up
            .await
            .unwrap_or_else(|gone| Err(task_lost(gone)))?;
        Ok(())
    }

    /// Withdraws a form: cancels live elicitations that use it, as `form_invalidated`. Returns how
    /// many.
    pub async fn withdraw(&self, form_id: &str) -> Result<usize, StoreError> {
        let mut withdrawn = 0;
        let mut before = None;
        loop {
            let query = Query {
                asker: None,
                respondents: None,
                which: StatusFilter::Live,
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

/// Drops errors that mean another caller changed or settled it first.
fn ignore_races(done: Result<Record, ActError>) -> Result<(), StoreError> {
    match done {
        Err(ActError::Store(error)) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Displays an error with its sources.
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
