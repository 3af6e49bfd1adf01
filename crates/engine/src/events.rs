//! What happens, told to whoever subscribes.
//!
//! Subscribers share one bounded channel. One that is too slow is told how much it missed and
//! goes on with what is still there; nobody else waits for it.

use std::sync::Arc;

use entreat_core::{ElicitationId, Step};
use tokio::sync::broadcast;

use crate::limits::Account;
use crate::record::Record;
use crate::snapshot::Snapshot;

/// How many events are kept for a slow subscriber: a burst of a busy second, some tens of KiB.
const KEPT: usize = 1024;

/// Something that happened to an elicitation.
#[derive(Clone, Debug)]
pub struct Event {
    pub(crate) record: Record,
    pub(crate) step: Option<Step>,
}

impl Event {
    /// Which elicitation.
    pub fn id(&self) -> ElicitationId {
        self.record.id
    }

    /// Whose.
    pub fn asker(&self) -> &str {
        &self.record.request.asker
    }

    /// What changed, and when; `None` when it was created.
    pub fn step(&self) -> Option<&Step> {
        self.step.as_ref()
    }

    /// The elicitation after the change, its secrets sealed.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The elicitation after the change as others than the asker see it, its secrets sealed.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::sealed(self.record.clone())
    }
}

/// Where events are told.
#[derive(Debug)]
pub(crate) struct Events(broadcast::Sender<Arc<Event>>);

impl Events {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }

    pub(crate) fn tell(&self, record: &Record, step: Option<Step>) {
        // Nobody listens in most programs; then there is nothing to copy.
        if self.0.receiver_count() > 0 {
            let record = record.clone();
            let _ = self.0.send(Arc::new(Event { record, step }));
        }
    }

    pub(crate) fn subscribe(&self, account: Option<Account>) -> Subscription {
        Subscription {
            receiver: self.0.subscribe(),
            account,
        }
    }
}

/// Events as they come; made by [`Engine::subscribe`](crate::Engine::subscribe) and
/// [`Asker::subscribe`](crate::Asker::subscribe).
#[derive(Debug)]
pub struct Subscription {
    receiver: broadcast::Receiver<Arc<Event>>,
    account: Option<Account>,
}

/// What a subscriber gets.
#[derive(Clone, Debug)]
pub enum Heard {
    /// An event.
    Event(Arc<Event>),
    /// So many events went by unheard.
    Lagged(u64),
}

impl Subscription {
    /// The next event; `None` when the engine is gone.
    pub async fn next(&mut self) -> Option<Heard> {
        loop {
            match self.receiver.recv().await {
                Ok(event) => {
                    let concerns_us = |account: &Account| account.owns(&event.record.request);
                    if self.account.as_ref().is_none_or(concerns_us) {
                        return Some(Heard::Event(event));
                    }
                }
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    return Some(Heard::Lagged(missed));
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}
