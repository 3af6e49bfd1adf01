//! At-least-once delivery of outcomes to the asker's callback.
//!
//! A settled record stores its pending delivery, and its timer is the next attempt. Before an
//! attempt starts, a later one is stored as a lease, in case the process dies; afterwards the
//! delivery is removed or rescheduled with backoff. How an outcome is sent is up to the
//! [`CallbackSender`].
//!
//! Only a delivery that is due is leased, also after a conflict, so that of several engines on one
//! store one makes the attempt. The end of a lease is its name: each lease ends later than the one
//! before. It is extended while the attempt lasts, and whoever has lost it starts nothing.
//!
//! Attempts in flight are limited in total and per asker ([`FairQueue`]), so that one asker's
//! hanging endpoints do not delay others.

use std::collections::HashMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, UnixTime};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::elicitation::Access;
use crate::engine::Inner;
use crate::error::ActError;
use crate::fair_queue::FairQueue;
use crate::payload::editable;
use crate::record::{AnswerState, Delivery, Entry, Record};
use crate::refusals::UrlUse;
use crate::resolver::{Unresolved, VettedUrl, resolve_and_check};
use crate::shares::Shares;
use crate::snapshot::Snapshot;
use crate::store::StoreError;

/// Sends outcomes to callbacks.
///
/// The engine decides when; an implementation decides how, and must apply its own timeout.
pub trait CallbackSender: Send + Sync + 'static {
    /// Makes one attempt to deliver an outcome.
    fn deliver(
        &self,
        parcel: CallbackDelivery,
    ) -> Pin<Box<dyn Future<Output = DeliveryResult> + Send>>;
}

impl<S: CallbackSender + ?Sized> CallbackSender for Arc<S> {
    fn deliver(
        &self,
        parcel: CallbackDelivery,
    ) -> Pin<Box<dyn Future<Output = DeliveryResult> + Send>> {
        (**self).deliver(parcel)
    }
}

/// An outcome to be delivered.
#[derive(Debug)]
pub struct CallbackDelivery {
    /// The target. Connect only to the addresses that were checked.
    pub to: VettedUrl,
    /// The settled elicitation, secrets sealed.
    pub settled: Snapshot,
    /// The engine's time at the attempt.
    pub now: UnixTime,
}

/// The result of a delivery attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryResult {
    /// Delivered.
    Delivered,
    /// Failed; retried with backoff.
    Failed,
    /// The endpoint is gone; not retried.
    Gone,
}

/// An attempt without a result after this long is retried, unless its lease is extended.
const ATTEMPT_LEASE: Duration = Duration::from_secs(30);
/// How long after its start or extension a lease is extended.
const EXTEND_AFTER: Duration = Duration::from_secs(15);
/// Maximum number of outcomes in memory, queued or in flight.
const MAX_QUEUED: usize = 10_000;
/// Maximum number of outcomes of one asker in memory.
const MAX_QUEUED_EACH: usize = 1000;
/// When the queue is full, an outcome stays in the store and is due again after this delay.
const FULL_DELAY: Duration = Duration::from_secs(5);
/// Delays after failed attempts, in seconds: three days in total.
const BACKOFF: [u64; 11] = [
    5,
    30,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    8 * HOUR,
    12 * HOUR,
    14 * HOUR,
    15 * HOUR,
    16 * HOUR,
];
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// How many callbacks may be in flight at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackLimits {
    /// For all askers together.
    pub all: usize,
    /// For one asker.
    pub each: usize,
}

impl Default for CallbackLimits {
    fn default() -> Self {
        Self { all: 64, each: 16 }
    }
}

/// Deliveries queued and in flight.
pub(crate) struct CallbackQueue {
    sender: Option<Arc<dyn CallbackSender>>,
    queued: Shares<Arc<str>>,
    /// Deliveries in memory, queued or in flight, with the ends of their leases.
    leases: Mutex<HashMap<ElicitationId, UnixTime>>,
    calls: FairQueue<Arc<str>>,
    shutdown: CancellationToken,
}

impl CallbackQueue {
    pub(crate) fn new(sender: Option<Arc<dyn CallbackSender>>, limits: CallbackLimits) -> Self {
        Self {
            sender,
            queued: Shares::new(MAX_QUEUED, MAX_QUEUED_EACH),
            leases: Mutex::default(),
            calls: FairQueue::new(limits.all, limits.each),
            shutdown: CancellationToken::new(),
        }
    }

    pub(crate) fn has_sender(&self) -> bool {
        self.sender.is_some()
    }

    /// Notes a new end of a lease, if the delivery is in memory.
    fn extend(&self, id: ElicitationId, lease: UnixTime) {
        if let Some(held) = self.leases.lock().get_mut(&id) {
            *held = lease;
        }
    }

    fn lease(&self, id: ElicitationId) -> Option<UnixTime> {
        self.leases.lock().get(&id).copied()
    }

    /// Aborts deliveries in flight; they are retried after the restart.
    pub(crate) fn shut_down(&self) {
        self.shutdown.cancel();
    }
}

/// What becomes of a pending delivery.
enum Edit {
    Leave,
    Remove,
    Set(Delivery),
}

impl Entry {
    /// The callback URL.
    fn callback(&self) -> Option<&str> {
        self.request.extras.as_ref()?.callback.as_deref()
    }
}

impl Inner {
    /// Adds a pending delivery to the answers if the step has settled an elicitation with a
    /// callback.
    pub(crate) fn with_delivery(
        &self,
        entry: &Entry,
        held: Option<Arc<AnswerState>>,
        now: UnixTime,
    ) -> Option<Arc<AnswerState>> {
        let is_wanted = !entry.lifecycle.is_live() && entry.callback().is_some();
        if !is_wanted || !self.callback_queue.has_sender() {
            return held;
        }
        let mut held = held.map_or_else(AnswerState::default, Arc::unwrap_or_clone);
        held.delivery = Some(Box::new(Delivery {
            attempts: 0,
            next: now,
        }));
        Some(Arc::new(held))
    }

    /// Stores a lease for the next attempt, then starts one.
    pub(crate) async fn start_delivery(self: &Arc<Self>, record: Record) -> Result<(), StoreError> {
        let (id, asker) = (record.id, record.request.asker.clone());
        let callback_queue = &self.callback_queue;
        // If it is still queued from an earlier attempt, only the lease is renewed.
        let is_in_memory = callback_queue.lease(id).is_some();
        let permit = callback_queue.queued.take(asker.clone()).ok();
        let delay = match permit {
            None if !is_in_memory => FULL_DELAY,
            _ => ATTEMPT_LEASE,
        };
        let now = self.now();
        let next = now.after(delay);
        let updated = self.update_delivery(record, |delivery| {
            if delivery.next > now {
                return Edit::Leave;
            }
            Edit::Set(Delivery { next, ..delivery })
        });
        match updated.await {
            Ok(true) => callback_queue.extend(id, next),
            Err(ActError::Store(error)) => return Err(error),
            // Another engine was faster, or the record is gone.
            Ok(false) | Err(_) => return Ok(()),
        }
        if let (Some(sender), Some(permit)) = (callback_queue.sender.clone(), permit)
            && !is_in_memory
        {
            callback_queue.leases.lock().insert(id, next);
            let inner = self.clone();
            self.in_flight.spawn(async move {
                tokio::select! {
                    () = inner.callback_queue.shutdown.cancelled() => {}
                    () = inner.attempt(&*sender, asker, id) => {}
                }
                inner.callback_queue.leases.lock().remove(&id);
                drop(permit);
            });
        }
        Ok(())
    }

    async fn attempt(
        self: &Arc<Self>,
        sender: &dyn CallbackSender,
        asker: Arc<str>,
        id: ElicitationId,
    ) {
        let _permit = self.callback_queue.calls.acquire(asker).await;
        // It has waited for its turn: the attempt begins with a lease that is its own and long
        // enough.
        let is_short = |lease: UnixTime| lease.since(self.now()) <= EXTEND_AFTER;
        if self.callback_queue.lease(id).is_some_and(is_short) && !self.extend_lease(id).await {
            return;
        }
        let Ok(record) = self.load(&Access::Host, id).await else {
            return;
        };
        if record.delivery().map(|delivery| delivery.next) != self.callback_queue.lease(id) {
            return;
        }
        let result = {
            let mut delivering = pin!(self.send_outcome(sender, &record));
            loop {
                tokio::select! {
                    biased;
                    result = &mut delivering => break result,
                    () = self.clock.sleep(EXTEND_AFTER) => {
                        // If it is lost, another engine may repeat what cannot be taken back.
                        self.extend_lease(id).await;
                    }
                }
            }
        };
        let Some(result) = result else {
            return;
        };
        let now = self.now();
        let lease = self.callback_queue.lease(id);
        let mut is_given_up = result == DeliveryResult::Gone;
        let updated = self.update_delivery(record, |delivery| match result {
            DeliveryResult::Delivered | DeliveryResult::Gone => Edit::Remove,
            // Another engine makes the next attempt.
            DeliveryResult::Failed if Some(delivery.next) != lease => Edit::Leave,
            DeliveryResult::Failed => {
                let delay = BACKOFF.get(delivery.attempts as usize);
                is_given_up = delay.is_none();
                delay.map_or(Edit::Remove, |delay| {
                    Edit::Set(Delivery {
                        attempts: delivery.attempts.saturating_add(1),
                        next: now.after(Duration::from_secs(*delay)),
                    })
                })
            }
        });
        if let Err(error) = updated.await {
            // The lease expires, and it is retried.
            tracing::warn!(
                elicitation.id = %id,
                %error,
                "the result of a callback could not be stored"
            );
        }
        let label = match result {
            DeliveryResult::Delivered => "delivered",
            DeliveryResult::Failed | DeliveryResult::Gone if is_given_up => "given_up",
            DeliveryResult::Failed | DeliveryResult::Gone => "failed",
        };
        metrics::counter!("elicitation_callbacks_total", "result" => label).increment(1);
        if is_given_up {
            tracing::warn!(elicitation.id = %id, "a callback was abandoned");
        }
    }

    /// Makes one attempt; `None` if the record has no callback.
    async fn send_outcome(
        &self,
        sender: &dyn CallbackSender,
        record: &Record,
    ) -> Option<DeliveryResult> {
        let url = record.callback()?;
        let asker = &record.request.asker;
        let resolver = self.resolver_for(asker);
        let policy = &self.settings.callbacks;
        match resolve_and_check(&resolver, url, policy, Unresolved::Refuse).await {
            Ok(to) => {
                let delivery = CallbackDelivery {
                    to,
                    settled: Snapshot::sealed(record.clone()),
                    now: self.now(),
                };
                Some(sender.deliver(delivery).await)
            }
            Err(error) => {
                let now = self.now();
                self.refusals.url(asker, UrlUse::Callback, &error, now);
                Some(DeliveryResult::Failed)
            }
        }
    }

    /// Extends the lease of an attempt; false if it is lost.
    async fn extend_lease(&self, id: ElicitationId) -> bool {
        let Ok(record) = self.load(&Access::Host, id).await else {
            return false;
        };
        let held = self.callback_queue.lease(id);
        let next = self.now().after(ATTEMPT_LEASE);
        let updated = self.update_delivery(record, |delivery| {
            if Some(delivery.next) == held {
                Edit::Set(Delivery { next, ..delivery })
            } else {
                Edit::Leave
            }
        });
        let is_extended = matches!(updated.await, Ok(true));
        if is_extended {
            self.callback_queue.extend(id, next);
        }
        is_extended
    }

    /// Updates the pending delivery; false if there is none, or it is left as it is.
    async fn update_delivery(
        &self,
        record: Record,
        mut edit: impl FnMut(Delivery) -> Edit,
    ) -> Result<bool, ActError> {
        let mut at = None;
        let updated = self
            .replace_answer(record, |record| {
                let mut held = editable(record.answer_state.as_ref());
                let Some(delivery) = held.delivery.take() else {
                    return Ok(None);
                };
                held.delivery = match edit(*delivery) {
                    Edit::Leave => return Ok(None),
                    Edit::Remove => None,
                    Edit::Set(delivery) => Some(Box::new(delivery)),
                };
                at = held.delivery.as_ref().map(|delivery| delivery.next);
                Ok(Some(held))
            })
            .await;
        if let Some(at) = at {
            self.timer_signal.schedule(at);
        }
        updated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_tried_for_three_days_with_growing_pauses() {
        assert!(BACKOFF.iter().sum::<u64>() >= 72 * HOUR);
        assert!(BACKOFF.is_sorted());
    }
}
