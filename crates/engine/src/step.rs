//! Loads, decides, commits, performs: the one way in which an elicitation changes.
//!
//! The store's version check is the only mutual exclusion. Who loses a race loads again and
//! decides anew, which ends, because every won race brings the elicitation nearer to its end
//! or is another person's key stroke.

use std::sync::Arc;

use entreat_core::{Command, Effect, ElicitationId, Lifecycle, Rejection, State, Step, UnixTime};

use tokio::task::JoinError;

use crate::elicitation::Access;
use crate::engine::Inner;
use crate::error::ActError;
use crate::limits::Account;
use crate::observe::StoreCall;
use crate::record::{Held, Record};
use crate::store::{Created, Reply, StoreError};
use crate::vault::VaultError;

impl Inner {
    /// Awaits a store's answer and notes how long it took.
    pub(crate) async fn called<T: Unpin>(
        &self,
        call: StoreCall,
        reply: Reply<T>,
    ) -> Result<T, StoreError> {
        // An answer from memory is there before it could be timed.
        let reply = match reply.at_once() {
            Ok(answer) => return answer,
            Err(reply) => reply,
        };
        let began = self.clock.elapsed();
        let answer = reply.await;
        let took = self.clock.elapsed().saturating_sub(began);
        self.observer.store_called(call, took);
        answer
    }

    /// Looks an elicitation up. Who may not see it learns nothing by how long that takes.
    pub(crate) fn find(&self, access: &Access, id: ElicitationId) -> Reply<Option<Record>> {
        match access {
            Access::Asker(account) => self.store.load_for(id, account.name()),
            Access::Host | Access::Engine => self.store.load(id),
        }
    }

    /// An elicitation that the caller may see.
    pub(crate) async fn load(
        &self,
        access: &Access,
        id: ElicitationId,
    ) -> Result<Record, ActError> {
        let record = match self.find(access, id).at_once() {
            Ok(found) => found?,
            Err(found) => self.called(StoreCall::Load, found).await?,
        };
        record
            .filter(|record| access.admits(record))
            .ok_or(ActError::NotFound)
    }

    /// An elicitation that the caller may see, expired if its time is over.
    pub(crate) async fn load_current(
        self: &Arc<Self>,
        access: &Access,
        id: ElicitationId,
    ) -> Result<Record, ActError> {
        let record = self.load(access, id).await?;
        let now = self.now();
        if !record.lifecycle.is_overdue(now) {
            return Ok(record);
        }
        match self
            .step(access, record, Command::Expire, now, keep_held)
            .await
        {
            // Somebody else settled it meanwhile.
            Err(ActError::Settled { .. }) => self.load(access, id).await,
            other => other,
        }
    }

    /// Carries a command out on a record that was just loaded, and on what it has become since.
    ///
    /// `now` is when it was loaded, or later. `keep` says what is to be held of the answers after the change.
    pub(crate) async fn step(
        self: &Arc<Self>,
        access: &Access,
        mut record: Record,
        command: Command,
        mut now: UnixTime,
        mut keep: impl FnMut(&Record, &Step) -> Result<Option<Arc<Held>>, ActError>,
    ) -> Result<Record, ActError> {
        let id = record.id;
        loop {
            let step = match record.lifecycle.decide(&command, now) {
                Ok(step) => step,
                Err(Rejection::Late) if record.lifecycle.is_live() => {
                    let error = late(&record.lifecycle, now);
                    // It loses whether or not a timer has fired; so it settles now.
                    let expired =
                        Box::pin(self.step(access, record, Command::Expire, now, keep_held));
                    return match expired.await {
                        Ok(_) | Err(ActError::Settled { .. }) => Err(error),
                        Err(other) => Err(other),
                    };
                }
                Err(rejection) => return Err(refused(rejection, &record.lifecycle, now)),
            };
            let held = keep(&record, &step)?;
            self.room.take(&record, held.as_ref())?;
            let next = record.to_mut();
            next.version = next.version.next();
            next.lifecycle.apply(&step);
            next.held = self.addressed(next, held, now);
            match self.commit(access, &record, step).await {
                Ok(()) => return Ok(record),
                Err(StoreError::Conflict { .. }) => {
                    record = self.load(access, id).await?;
                    now = self.now();
                }
                Err(StoreError::Missing(_)) => return Err(ActError::NotFound),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Replaces what is held of the answers, in any state and without a step; false if there
    /// is nothing to replace.
    pub(crate) async fn replace_held(
        &self,
        mut record: Record,
        mut replacement: impl FnMut(&Record) -> Result<Option<Held>, VaultError>,
    ) -> Result<bool, ActError> {
        loop {
            let Some(mut held) = replacement(&record)? else {
                return Ok(false);
            };
            if let Some(before) = &record.held {
                // The answers are the same or fewer.
                held.place = before.place.clone();
            }
            let id = record.id;
            let next = record.to_mut();
            next.version = next.version.next();
            next.held = Some(Arc::new(held));
            match self.store.commit(record).await {
                Ok(()) => return Ok(true),
                Err(StoreError::Missing(_)) => return Ok(false),
                Err(StoreError::Conflict { .. }) => record = self.load(&Access::Host, id).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Commits a change and performs what it demands, even if the caller goes away meanwhile:
    /// a change that is kept without its effects would leave others waiting for ever.
    async fn commit(
        self: &Arc<Self>,
        access: &Access,
        record: &Record,
        step: Step,
    ) -> Result<(), StoreError> {
        let done =
            move |inner: &Self, record: &Record, answer: &Result<(), StoreError>| match answer {
                Ok(()) => inner.perform(record, step),
                Err(StoreError::Unavailable { .. }) => inner.doubt(record.clone(), Some(step)),
                Err(_) => {}
            };
        let is_unhurried = matches!(access, Access::Engine);
        let reply = if is_unhurried {
            self.store.commit_unhurried(record.clone())
        } else {
            self.store.commit(record.clone())
        };
        let reply = match reply.at_once() {
            Ok(answer) => {
                done(self, record, &answer);
                return answer;
            }
            Err(reply) => reply,
        };
        if is_unhurried {
            let answer = self.called(StoreCall::Commit, reply).await;
            done(self, record, &answer);
            return answer;
        }
        let (inner, record) = (self.clone(), record.clone());
        self.see_through(async move {
            let answer = inner.called(StoreCall::Commit, reply).await;
            done(&inner, &record, &answer);
            answer
        })
        .await
    }

    /// Keeps a new elicitation and tells the world, even if the caller goes away meanwhile.
    pub(crate) async fn create(
        self: &Arc<Self>,
        record: Record,
        account: &Account,
    ) -> Result<Created, StoreError> {
        let done = |inner: &Self, record: Record, account: &Account, answer: &_| match answer {
            Ok(Created::Fresh) => inner.has_created(&record),
            Ok(Created::Before(_)) | Err(_) => {
                inner.ledgers.refund(account);
                inner.waiters.settle(record.id);
                if let Err(StoreError::Unavailable { .. }) = answer {
                    inner.doubt(record, None);
                }
            }
        };
        match self.store.create(record.clone()).at_once() {
            Ok(answer) => {
                done(self, record, account, &answer);
                answer
            }
            Err(reply) => {
                let (inner, account) = (self.clone(), account.clone());
                self.see_through(async move {
                    let answer = inner.called(StoreCall::Create, reply).await;
                    done(&inner, record, &account, &answer);
                    answer
                })
                .await
            }
        }
    }

    /// Runs to its end whether or not anybody waits for it; a shutdown does.
    async fn see_through<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = self.in_flight.spawn(work);
        work.await.unwrap_or_else(|gone| Err(given_up(gone)))
    }

    /// Tells the world of a new elicitation.
    pub(crate) fn has_created(&self, record: &Record) {
        self.observer.created(record, self.ledgers.live());
        self.events.tell(record, None);
        self.rearm(record);
    }

    /// Carries out what a change that is kept demands.
    pub(crate) fn perform(&self, record: &Record, step: Step) {
        if record.lifecycle.state() == (State::Active { since: step.at }) {
            let after = step.at.since(record.lifecycle.created());
            self.observer.opened(record, after);
        }
        for effect in step.change.effects() {
            match effect {
                Effect::Rearm => self.rearm(record),
                Effect::Announce => self.events.tell(record, Some(step)),
                Effect::Warn => {
                    tracing::debug!(elicitation.id = %record.id, "elicitation is about to time out");
                    self.events.tell(record, Some(step));
                }
                Effect::Settle => self.has_settled(record, step),
            }
        }
    }

    fn has_settled(&self, record: &Record, step: Step) {
        if !self.chores.may_end(record.id, step.at) {
            return;
        }
        self.ledgers.release(&record.request);
        if let Some(outcome) = record.lifecycle.outcome() {
            self.observer.settled(record, outcome, self.ledgers.live());
        }
        self.events.tell(record, Some(step));
        self.waiters.settle(record.id);
        self.rearm(record);
    }

    fn rearm(&self, record: &Record) {
        if let Some(at) = record.alarm() {
            self.alarms.expect(at);
        }
    }
}

/// A task that was to see something through is gone, with its runtime.
pub(crate) fn given_up(gone: JoinError) -> StoreError {
    StoreError::Unavailable {
        attempt: "finish what was begun",
        source: gone.into(),
    }
}

/// What is held stays as it is.
#[expect(
    clippy::unnecessary_wraps,
    reason = "one of several ways to hold answers"
)]
pub(crate) fn keep_held(record: &Record, _: &Step) -> Result<Option<Arc<Held>>, ActError> {
    Ok(record.held.clone())
}

fn late(lifecycle: &Lifecycle, now: UnixTime) -> ActError {
    ActError::TimedOut {
        elapsed: now.since(lifecycle.created()),
        timeout: lifecycle.timeout(),
    }
}

fn refused(rejection: Rejection, lifecycle: &Lifecycle, now: UnixTime) -> ActError {
    match rejection {
        Rejection::Settled { outcome } => ActError::Settled { outcome },
        Rejection::Extension(why) => ActError::Extension(why),
        // Not due: time's own commands are not refused to a caller, only found to be early.
        _ => late(lifecycle, now),
    }
}
