//! Load, decide, commit, perform: the only way an elicitation changes.
//!
//! Optimistic concurrency: the store's compare-and-swap on the version is the only mutual
//! exclusion, and the loser of a race reloads and decides again. The loop terminates because every
//! won race either advances the elicitation or is another keystroke.

use std::sync::Arc;

use entreat_core::{Command, ElicitationId, Lifecycle, Rejection, Step, UnixTime};

use tokio::task::JoinError;

use crate::elicitation::Access;
use crate::engine::Inner;
use crate::error::ActError;
use crate::limits::Account;
use crate::observe::StoreCall;
use crate::record::{AnswerState, Record};
use crate::store::{Created, Reply, StoreError};
use crate::vault::VaultError;

impl Inner {
    /// Awaits a store's reply and records its latency.
    pub(crate) async fn timed<T: Unpin>(
        &self,
        call: StoreCall,
        reply: Reply<T>,
    ) -> Result<T, StoreError> {
        // A memory store replies at once; there is nothing to measure.
        let reply = match reply.try_ready() {
            Ok(answer) => return answer,
            Err(reply) => reply,
        };
        let began = self.clock.elapsed();
        let answer = reply.await;
        let took = self.clock.elapsed().saturating_sub(began);
        self.observer.store_called(call, took);
        answer
    }

    /// Loads a record in time that does not reveal whether another asker's record exists.
    pub(crate) fn find(&self, access: &Access, id: ElicitationId) -> Reply<Option<Record>> {
        match access {
            Access::Asker(account) => self.store.load_for(id, account.name()),
            Access::Host | Access::Respondent(_) | Access::Engine => self.store.load(id),
        }
    }

    /// Loads an elicitation that the caller may see.
    pub(crate) async fn load(
        &self,
        access: &Access,
        id: ElicitationId,
    ) -> Result<Record, ActError> {
        let record = match self.find(access, id).try_ready() {
            Ok(found) => found?,
            Err(found) => self.timed(StoreCall::Load, found).await?,
        };
        record
            .filter(|record| access.admits(record))
            .ok_or(ActError::NotFound)
    }

    /// Loads an elicitation that the caller may see, and expires it if it is past its deadline.
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
            .step(access, record, Command::Expire, now, keep_answer)
            .await
        {
            // Somebody else settled it meanwhile.
            Err(ActError::Settled { .. }) => self.load(access, id).await,
            other => other,
        }
    }

    /// Applies a command to a loaded record, reloading it on conflicts.
    ///
    /// `now` is when the record was loaded, or later. `keep` returns the answers to store with the
    /// change.
    pub(crate) async fn step(
        self: &Arc<Self>,
        access: &Access,
        mut record: Record,
        command: Command,
        mut now: UnixTime,
        mut keep: impl FnMut(&Record, &Step) -> Result<Option<Arc<AnswerState>>, ActError>,
    ) -> Result<Record, ActError> {
        let id = record.id;
        loop {
            let step = match record.lifecycle.decide(&command, now) {
                Ok(step) => step,
                Err(Rejection::Late) if record.lifecycle.is_live() => {
                    let error = late(&record.lifecycle, now);
                    // Late, whether or not the timer has fired: settle it now.
                    let expired =
                        Box::pin(self.step(access, record, Command::Expire, now, keep_answer));
                    return match expired.await {
                        Ok(_) | Err(ActError::Settled { .. }) => Err(error),
                        Err(other) => Err(other),
                    };
                }
                Err(rejection) => return Err(rejected(rejection, &record.lifecycle, now)),
            };
            let held = keep(&record, &step)?;
            let reserved = self.memory_budget.reserve(&record, held.as_ref());
            reserved.inspect_err(|_| {
                let asker = &record.request.asker;
                self.refusals.limit(asker, "answer_bytes", now);
            })?;
            let next = record.to_mut();
            next.version = next.version.next();
            next.lifecycle.apply(&step);
            next.author = self.author;
            next.answer_state = self.with_delivery(next, held, now);
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

    /// Replaces the stored answers in any state, without a lifecycle step; false if there is
    /// nothing to replace.
    pub(crate) async fn replace_answer(
        &self,
        mut record: Record,
        mut replacement: impl FnMut(&Record) -> Result<Option<AnswerState>, VaultError>,
    ) -> Result<bool, ActError> {
        loop {
            let Some(mut held) = replacement(&record)? else {
                return Ok(false);
            };
            if let Some(before) = &record.answer_state {
                // The answers have not grown, so the reservation still covers them.
                held.memory = before.memory.clone();
            }
            let id = record.id;
            let next = record.to_mut();
            next.version = next.version.next();
            next.answer_state = Some(Arc::new(held));
            match self.store.commit(record).await {
                Ok(()) => return Ok(true),
                Err(StoreError::Missing(_)) => return Ok(false),
                Err(StoreError::Conflict { .. }) => record = self.load(&Access::Host, id).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes a live elicitation one for another respondent, without a lifecycle step: deadline and
    /// attempts stay.
    pub(crate) async fn reassign(
        self: &Arc<Self>,
        access: &Access,
        id: ElicitationId,
        respondent: &str,
    ) -> Result<Record, ActError> {
        loop {
            let mut record = self.load_current(access, id).await?;
            if let Some(outcome) = record.lifecycle.outcome() {
                return Err(ActError::Settled { outcome });
            }
            if record.request.respondent() == Some(respondent) {
                return Ok(record);
            }
            let next = record.to_mut();
            next.version = next.version.next();
            next.request.reassign(respondent);
            next.answer_state = None;
            let reply = self.store.commit(record.clone());
            match self.timed(StoreCall::Commit, reply).await {
                Ok(()) => return Ok(record),
                Err(StoreError::Conflict { .. }) => {}
                Err(StoreError::Missing(_)) => return Err(ActError::NotFound),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Commits a change and performs its effects, even if the caller's future is dropped: a change
    /// stored without its effects would leave waiters hanging.
    async fn commit(
        self: &Arc<Self>,
        access: &Access,
        record: &Record,
        step: Step,
    ) -> Result<(), StoreError> {
        let done =
            move |inner: &Self, record: &Record, answer: &Result<(), StoreError>| match answer {
                Ok(()) => inner.stepped_here(record, step),
                Err(StoreError::Unavailable { .. }) => {
                    inner.resolve_later(record.clone(), Some(step));
                }
                Err(_) => {}
            };
        let is_low_priority = matches!(access, Access::Engine);
        let reply = if is_low_priority {
            self.store.commit_low_priority(record.clone())
        } else {
            self.store.commit(record.clone())
        };
        let reply = match reply.try_ready() {
            Ok(answer) => {
                done(self, record, &answer);
                return answer;
            }
            Err(reply) => reply,
        };
        if is_low_priority {
            let answer = self.timed(StoreCall::Commit, reply).await;
            done(self, record, &answer);
            return answer;
        }
        let (inner, record) = (self.clone(), record.clone());
        self.run_detached(async move {
            let answer = inner.timed(StoreCall::Commit, reply).await;
            done(&inner, &record, &answer);
            answer
        })
        .await
    }

    /// Stores a new elicitation and announces it, even if the caller's future is dropped.
    pub(crate) async fn create(
        self: &Arc<Self>,
        record: Record,
        account: &Account,
    ) -> Result<Created, StoreError> {
        let done = |inner: &Self, record: Record, account: &Account, answer: &_| match answer {
            Ok(Created::New) => inner.created_here(&record, inner.ledgers.counters_of(account)),
            Ok(Created::Existing(_)) | Err(_) => {
                inner.ledgers.refund(account);
                inner.waiters.settle(record.id);
                if let Err(StoreError::Unavailable { .. }) = answer {
                    inner.resolve_later(record, None);
                }
            }
        };
        match self.store.create(record.clone()).try_ready() {
            Ok(answer) => {
                done(self, record, account, &answer);
                answer
            }
            Err(reply) => {
                let (inner, account) = (self.clone(), account.clone());
                self.run_detached(async move {
                    let answer = inner.timed(StoreCall::Create, reply).await;
                    done(&inner, record, &account, &answer);
                    answer
                })
                .await
            }
        }
    }

    /// Runs to completion even if the caller's future is dropped; joined by a shutdown.
    async fn run_detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = self.in_flight.spawn(work);
        work.await.unwrap_or_else(|error| Err(task_lost(error)))
    }
}

/// The error for a detached task that was cancelled with its runtime.
pub(crate) fn task_lost(error: JoinError) -> StoreError {
    StoreError::Unavailable {
        attempt: "finish a call in flight",
        source: error.into(),
    }
}

/// Keeps the stored answers unchanged.
#[expect(
    clippy::unnecessary_wraps,
    reason = "has the signature of `step`'s `keep`"
)]
pub(crate) fn keep_answer(record: &Record, _: &Step) -> Result<Option<Arc<AnswerState>>, ActError> {
    Ok(record.answer_state.clone())
}

fn late(lifecycle: &Lifecycle, now: UnixTime) -> ActError {
    ActError::TimedOut {
        elapsed: now.since(lifecycle.created()),
        timeout: lifecycle.timeout(),
    }
}

fn rejected(rejection: Rejection, lifecycle: &Lifecycle, now: UnixTime) -> ActError {
    match rejection {
        Rejection::Settled { outcome } => ActError::Settled { outcome },
        Rejection::Extension(why) => ActError::Extension(why),
        // `NotDue` concerns timer commands only, which no caller sends.
        _ => late(lifecycle, now),
    }
}
