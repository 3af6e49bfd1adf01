//! Outcomes on their way to the asker's callback: at least once, whatever breaks in between.
//!
//! Which outcomes are to be delivered stands in their records, and when: the alarm of a settled
//! record. Before an attempt begins, a later one is noted, in case this one is lost with the
//! process; when it ends, the note is taken away or moved. How an outcome travels is the
//! courier's business.
//!
//! Attempts under way are limited for all, and each asker has a share of them ([`FairQueue`]), so
//! that hooks that hang hold up nobody else's.

use std::collections::HashSet;
use std::pin::Pin;
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
use crate::record::{Delivery, Entry, Held, Record};
use crate::resolver::{Cleared, Unresolved, judge_resolved};
use crate::shares::Shares;
use crate::snapshot::Snapshot;
use crate::store::StoreError;

/// Carries outcomes to askers.
///
/// A seam: the engine knows when, the courier knows how. It has to end in bounded time by itself.
pub trait Courier: Send + Sync + 'static {
    /// Carries one outcome to where its asker wants it.
    fn deliver(&self, parcel: Parcel) -> Pin<Box<dyn Future<Output = Receipt> + Send>>;
}

/// An outcome to be delivered.
#[derive(Debug)]
pub struct Parcel {
    /// Where to: connect to the addresses that were judged, and to nothing else.
    pub to: Cleared,
    /// What came of the elicitation, secrets sealed.
    pub settled: Snapshot,
    /// The engine's time, in which the attempt is made.
    pub now: UnixTime,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It has arrived.
    Taken,
    /// It has not; it is tried again.
    Failed,
    /// Nobody wants it there any more; it is given up.
    Gone,
}

/// An attempt that nothing was heard of for so long was lost.
const LOST: Duration = Duration::from_secs(30);
/// So many outcomes of all askers are in memory, under way or waiting for that.
const WAITING: usize = 10_000;
/// And so many of one.
const WAITING_EACH: usize = 1000;
/// What comes then waits in the store, and comes again after this.
const CROWDED: Duration = Duration::from_secs(5);
/// What follows an attempt that failed, in seconds: three days in all.
const PAUSES: [u64; 11] = [
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

/// How many callbacks are called at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackLimits {
    /// Of all askers.
    pub all: usize,
    /// Of one asker.
    pub each: usize,
}

impl Default for CallbackLimits {
    fn default() -> Self {
        Self { all: 64, each: 16 }
    }
}

/// The courier, and how much it has to do.
pub(crate) struct Dispatch {
    courier: Option<Arc<dyn Courier>>,
    waiting: Shares<Arc<str>>,
    /// Whose outcomes are in memory, under way or waiting for that.
    known: Mutex<HashSet<ElicitationId>>,
    calls: FairQueue<Arc<str>>,
    end: CancellationToken,
}

impl Dispatch {
    pub(crate) fn new(courier: Option<Arc<dyn Courier>>, limits: CallbackLimits) -> Self {
        Self {
            courier,
            waiting: Shares::new(WAITING, WAITING_EACH),
            known: Mutex::default(),
            calls: FairQueue::new(limits.all, limits.each),
            end: CancellationToken::new(),
        }
    }

    pub(crate) fn has_courier(&self) -> bool {
        self.courier.is_some()
    }

    /// Breaks off what is under way; the next start takes it up.
    pub(crate) fn end(&self) {
        self.end.cancel();
    }
}

impl Entry {
    /// Where its outcome is to be delivered.
    fn callback(&self) -> Option<&str> {
        self.request.extras.as_ref()?.callback.as_deref()
    }
}

impl Inner {
    /// What is held of an elicitation after a step, with a note that its outcome is to be
    /// delivered if the step was its last.
    pub(crate) fn addressed(
        &self,
        entry: &Entry,
        held: Option<Arc<Held>>,
        now: UnixTime,
    ) -> Option<Arc<Held>> {
        let is_wanted = !entry.lifecycle.is_live() && entry.callback().is_some();
        if !is_wanted || !self.dispatch.has_courier() {
            return held;
        }
        let mut held = held.map_or_else(Held::default, Arc::unwrap_or_clone);
        held.delivery = Some(Box::new(Delivery {
            attempts: 0,
            next: now,
        }));
        Some(Arc::new(held))
    }

    /// Begins an attempt to deliver the outcome of a record, once a later one is noted.
    pub(crate) async fn send_off(self: &Arc<Self>, record: Record) -> Result<(), StoreError> {
        let (id, asker) = (record.id, record.request.asker.clone());
        let dispatch = &self.dispatch;
        // It may have waited for its turn until now: then it is not lost, and goes on waiting.
        let is_known = dispatch.known.lock().contains(&id);
        let place = dispatch.waiting.take(asker.clone()).ok();
        let again = match place {
            None if !is_known => CROWDED,
            _ => LOST,
        };
        let next = self.now().after(again);
        let noted = self.note_delivery(record, |delivery| Some(Delivery { next, ..delivery }));
        match noted.await {
            Ok(true) => {}
            Err(ActError::Store(error)) => return Err(error),
            // Somebody else was faster, or it is gone.
            Ok(false) | Err(_) => return Ok(()),
        }
        if let (Some(courier), Some(place)) = (dispatch.courier.clone(), place)
            && dispatch.known.lock().insert(id)
        {
            let inner = self.clone();
            self.in_flight.spawn(async move {
                tokio::select! {
                    () = inner.dispatch.end.cancelled() => {}
                    () = inner.attempt(&*courier, asker, id) => {}
                }
                inner.dispatch.known.lock().remove(&id);
                drop(place);
            });
        }
        Ok(())
    }

    async fn attempt(self: &Arc<Self>, courier: &dyn Courier, asker: Arc<str>, id: ElicitationId) {
        let _permit = self.dispatch.calls.acquire(asker).await;
        let Ok(record) = self.load(&Access::Host, id).await else {
            return;
        };
        let due = record.held.as_ref().and_then(|held| held.delivery.as_ref());
        let (Some(_), Some(url)) = (due, record.callback()) else {
            return;
        };
        let policy = &self.settings.callbacks;
        let resolver = self.resolver_for(&record.request.asker);
        let judged = judge_resolved(&resolver, url, policy, Unresolved::Refuse).await;
        let receipt = match judged {
            Ok(to) => {
                let parcel = Parcel {
                    to,
                    settled: Snapshot::sealed(record.clone()),
                    now: self.now(),
                };
                courier.deliver(parcel).await
            }
            Err(_) => Receipt::Failed,
        };
        let now = self.now();
        let mut is_given_up = receipt == Receipt::Gone;
        let noted = self.note_delivery(record, |delivery| match receipt {
            Receipt::Taken | Receipt::Gone => None,
            Receipt::Failed => {
                let pause = PAUSES.get(delivery.attempts as usize);
                is_given_up = pause.is_none();
                Some(Delivery {
                    attempts: delivery.attempts.saturating_add(1),
                    next: now.after(Duration::from_secs(*pause?)),
                })
            }
        });
        if let Err(error) = noted.await {
            // Then it counts as lost, and is tried again.
            tracing::warn!(elicitation.id = %id, %error, "what became of a callback is not noted");
        }
        let result = match receipt {
            Receipt::Taken => "delivered",
            Receipt::Failed | Receipt::Gone if is_given_up => "given_up",
            Receipt::Failed | Receipt::Gone => "failed",
        };
        metrics::counter!("elicitation_callbacks_total", "result" => result).increment(1);
        if is_given_up {
            tracing::warn!(elicitation.id = %id, "a callback was given up");
        }
    }

    /// Replaces the note about a delivery; false if there is none.
    async fn note_delivery(
        &self,
        record: Record,
        mut next: impl FnMut(Delivery) -> Option<Delivery>,
    ) -> Result<bool, ActError> {
        let mut at = None;
        let noted = self
            .replace_held(record, |record| {
                let mut held = editable(record.held.as_ref());
                let Some(delivery) = held.delivery.take() else {
                    return Ok(None);
                };
                held.delivery = next(*delivery).map(Box::new);
                at = held.delivery.as_ref().map(|delivery| delivery.next);
                Ok(Some(held))
            })
            .await;
        if let Some(at) = at {
            self.alarms.expect(at);
        }
        noted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_tried_for_three_days_with_growing_pauses() {
        assert!(PAUSES.iter().sum::<u64>() >= 72 * HOUR);
        assert!(PAUSES.is_sorted());
    }
}
