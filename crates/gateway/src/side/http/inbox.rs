//! The queue of events towards the relay, bounded by their number and their length.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::side::UpstreamEvent;
use crate::side::lines::{QUEUED_BYTES, QUEUED_MESSAGES};

/// How many events an idle queue keeps room for: a channel of Tokio's keeps some kilobytes.
const IDLE: usize = 4;

/// Where streams put events.
#[derive(Debug)]
pub(super) struct Inbox {
    queue: Arc<Queue>,
    count: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
}

/// Where the relay takes them.
#[derive(Debug)]
pub(super) struct Outlet(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<Queued>,
    /// Whether one of the two sides is gone.
    is_closed: bool,
}

#[derive(Debug)]
struct Queued {
    event: UpstreamEvent,
    _room: [Option<OwnedSemaphorePermit>; 2],
}

pub(super) fn inbox() -> (Inbox, Outlet) {
    let queue = Arc::new(Queue::default());
    let inbox = Inbox {
        queue: queue.clone(),
        count: Arc::new(Semaphore::new(QUEUED_MESSAGES)),
        bytes: Arc::new(Semaphore::new(QUEUED_BYTES)),
    };
    (inbox, Outlet(queue))
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
        let bytes = self.bytes.clone().acquire_many_owned(length).await.ok();
        let count = self.count.clone().acquire_owned().await.ok();
        let mut state = self.queue.state.lock();
        // Without a receiver, nobody misses it.
        if !state.is_closed {
            let room = [bytes, count];
            state.events.push_back(Queued { event, _room: room });
            drop(state);
            self.queue.changed.notify_one();
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.queue.state.lock().is_closed = true;
        self.queue.changed.notify_one();
    }
}

impl Outlet {
    /// Returns the next event. Cancel safe. `None` says that there are no more.
    pub(super) async fn next(&mut self) -> Option<UpstreamEvent> {
        loop {
            {
                let mut state = self.0.state.lock();
                if let Some(queued) = state.events.pop_front() {
                    if state.events.is_empty() {
                        state.events.shrink_to(IDLE);
                    }
                    return Some(queued.event);
                }
                if state.is_closed {
                    return None;
                }
            }
            // The only one that waits: what came meanwhile has left a permit.
            self.0.changed.notified().await;
        }
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.is_closed = true;
        let dropped = std::mem::take(&mut state.events);
        drop(state);
        drop(dropped);
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
