//! Events of elicitations, broadcast to subscribers.
//!
//! Subscribers share one bounded channel. A slow one learns how many events it missed and continues
//! with the oldest retained; it delays nobody else.

use std::sync::{Arc, OnceLock};

use entreat_core::{ElicitationId, Step};
use tokio::sync::broadcast;

use crate::limits::Account;
use crate::record::Record;
use crate::snapshot::Snapshot;

/// Channel capacity: a burst of a busy second, some tens of KiB.
const CAPACITY: usize = 1024;

/// Something that happened to an elicitation, here or in another process on the same store.
#[derive(Clone, Debug)]
pub struct Event {
    pub(crate) record: Record,
    pub(crate) step: Option<Step>,
}

impl Event {
    /// Returns the elicitation's id.
    pub fn id(&self) -> ElicitationId {
        self.record.id
    }

    /// Returns the asker's name.
    pub fn asker(&self) -> &str {
        &self.record.request.asker
    }

    /// Returns the change and its time; `None` for a creation.
    pub fn step(&self) -> Option<&Step> {
        self.step.as_ref()
    }

    /// Returns the record after the change, secrets sealed.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Returns a snapshot after the change, secrets sealed.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::sealed(self.record.clone())
    }
}

/// The event channel. Opened by the first subscriber, because most programs have none, and asking
/// the channel for its subscribers takes a lock that all threads would share.
#[derive(Debug, Default)]
pub(crate) struct Events(OnceLock<broadcast::Sender<Option<Arc<Event>>>>);

impl Events {
    pub(crate) fn publish(&self, record: &Record, step: Option<Step>) {
        if let Some(sender) = self.0.get()
            && sender.receiver_count() > 0
        {
            let record = record.clone();
            let _ = sender.send(Some(Arc::new(Event { record, step })));
        }
    }

    /// Tells all subscribers that they may have missed something.
    pub(crate) fn publish_missed(&self) {
        if let Some(sender) = self.0.get() {
            let _ = sender.send(None);
        }
    }

    pub(crate) fn subscribe(&self, account: Option<Account>) -> Subscription {
        Subscription {
            receiver: self
                .0
                .get_or_init(|| broadcast::Sender::new(CAPACITY))
                .subscribe(),
            account,
        }
    }
}

/// A stream of events; created by [`Engine::subscribe`](crate::Engine::subscribe) and
/// [`Asker::subscribe`](crate::Asker::subscribe).
#[derive(Debug)]
pub struct Subscription {
    /// `None` where events may be missing.
    receiver: broadcast::Receiver<Option<Arc<Event>>>,
    account: Option<Account>,
}

/// An item received from a [`Subscription`].
#[derive(Clone, Debug)]
pub enum SubscriptionItem {
    /// An event.
    Event(Arc<Event>),
    /// The subscriber was too slow and missed this many events.
    Lagged(u64),
    /// Changes that others made in the same store may be missing here.
    Missed,
}

impl Subscription {
    /// Waits for the next event; `None` once the engine is dropped.
    pub async fn next(&mut self) -> Option<SubscriptionItem> {
        loop {
            match self.receiver.recv().await {
                Ok(None) => return Some(SubscriptionItem::Missed),
                Ok(Some(event)) => {
                    let is_visible = |account: &Account| account.owns(&event.record.request);
                    if self.account.as_ref().is_none_or(is_visible) {
                        return Some(SubscriptionItem::Event(event));
                    }
                }
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    return Some(SubscriptionItem::Lagged(missed));
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
