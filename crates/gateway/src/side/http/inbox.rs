//! The queue of events towards the relay, bounded by their number and their length.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::side::UpstreamEvent;
use crate::side::lines::{QUEUED_BYTES, QUEUED_MESSAGES};

/// Where streams put events.
#[derive(Debug)]
pub(super) struct Inbox {
    events: mpsc::Sender<Queued>,
    room: Arc<Semaphore>,
}

/// Where the relay takes them.
#[derive(Debug)]
pub(super) struct Outlet(mpsc::Receiver<Queued>);

#[derive(Debug)]
struct Queued {
    event: UpstreamEvent,
    _room: Option<OwnedSemaphorePermit>,
}

pub(super) fn inbox() -> (Inbox, Outlet) {
    let (sender, receiver) = mpsc::channel(QUEUED_MESSAGES);
    let inbox = Inbox {
        events: sender,
        room: Arc::new(Semaphore::new(QUEUED_BYTES)),
    };
    (inbox, Outlet(receiver))
}

impl Inbox {
    /// Queues an event. Waits while too many are queued, in the order of those who wait.
    pub(super) async fn push(&self, event: UpstreamEvent) {
        let length = match &event {
            UpstreamEvent::Message { text, .. } => text.len().min(QUEUED_BYTES),
            UpstreamEvent::Failed { .. } | UpstreamEvent::Renewed | UpstreamEvent::Closed(_) => 0,
        };
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        // Never closed.
        let room = self.room.clone().acquire_many_owned(length).await.ok();
        // Without a receiver, nobody misses it.
        let _ = self.events.send(Queued { event, _room: room }).await;
    }
}

impl Outlet {
    /// Returns the next event. Cancel safe. `None` says that there are no more.
    pub(super) async fn next(&mut self) -> Option<UpstreamEvent> {
        Some(self.0.recv().await?.event)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use tokio::task::unconstrained;

    use super::*;

    fn message(length: usize) -> UpstreamEvent {
        UpstreamEvent::Message {
            text: Bytes::from(vec![b' '; length]),
            via: None,
        }
    }

    #[tokio::test]
    async fn both_many_events_and_long_ones_wait_for_the_relay() {
        for length in [1, QUEUED_BYTES / 4, 2 * QUEUED_BYTES] {
            let (inbox, mut outlet) = inbox();
            let mut queued = 0;
            // Beyond Tokio's budget for a task.
            while unconstrained(inbox.push(message(length)))
                .now_or_never()
                .is_some()
            {
                queued += 1;
            }
            let expected = QUEUED_MESSAGES.min((QUEUED_BYTES / length).max(1));
            assert_eq!(queued, expected, "{length}");
            outlet.next().await.unwrap();
            let push = unconstrained(inbox.push(message(length)));
            assert!(push.now_or_never().is_some());
        }
    }
}
