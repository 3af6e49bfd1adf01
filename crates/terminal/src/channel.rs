//! The channel between an open prompt and its caller.
//!
//! Both directions are bounded and never block. A slow caller misses drafts first; other events
//! have reserved capacity.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Enough for what a person does while the caller is briefly busy.
const EVENT_CAPACITY: usize = 16;
/// Capacity reserved for events other than drafts. A dropped draft is no loss: the next is whole.
const RESERVED_FOR_ACTIONS: usize = 4;
/// Deadline changes and warnings are rare.
const NOTICE_CAPACITY: usize = 8;

/// An action of the person at the prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptEvent {
    /// The person pressed the first key or entered the first line.
    Started,
    /// A question was answered. Carries the whole draft, secrets included.
    DraftChanged(Value),
    /// The person asks for more time.
    ExtensionRequested,
}

/// A notice to show to the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptNotice {
    /// The question's deadline was set or extended.
    Deadline {
        /// When the question expires.
        at: Instant,
        /// How many extensions remain.
        extensions_left: u32,
    },
    /// The deadline is near; carries the time left.
    ExpiryWarning(Duration),
    /// The deadline was not extended, for this reason (Entreat's own text).
    ExtensionRefused(String),
}

/// The prompt's end of the channel. Reusable for consecutive questions.
#[derive(Debug)]
pub struct PromptChannel {
    events: Option<mpsc::Sender<PromptEvent>>,
    notices: Option<mpsc::Receiver<PromptNotice>>,
}

/// The caller's end of the channel.
#[derive(Debug)]
pub struct PromptHandle {
    events: mpsc::Receiver<PromptEvent>,
    notices: mpsc::Sender<PromptNotice>,
}

impl PromptChannel {
    /// Creates both ends of a channel.
    pub fn pair() -> (PromptHandle, Self) {
        let (sender, events) = mpsc::channel(EVENT_CAPACITY);
        let (notifier, notices) = mpsc::channel(NOTICE_CAPACITY);
        let channel = Self {
            events: Some(sender),
            notices: Some(notices),
        };
        (
            PromptHandle {
                events,
                notices: notifier,
            },
            channel,
        )
    }

    /// Creates a channel without a caller: events are discarded and no notices arrive.
    pub fn disconnected() -> Self {
        Self {
            events: None,
            notices: None,
        }
    }

    pub(crate) fn send(&self, event: PromptEvent) {
        let Some(sender) = &self.events else {
            return;
        };
        if matches!(event, PromptEvent::DraftChanged(_))
            && sender.capacity() <= RESERVED_FOR_ACTIONS
        {
            return;
        }
        // The caller is gone or does not keep up.
        let _ = sender.try_send(event);
    }

    /// Returns the next notice; pends forever if there is no caller.
    pub(crate) async fn next_notice(&mut self) -> PromptNotice {
        if let Some(notices) = &mut self.notices {
            if let Some(notice) = notices.recv().await {
                return notice;
            }
            self.notices = None;
        }
        std::future::pending().await
    }
}

impl PromptHandle {
    /// Receives the next event; `None` once the prompt's end is dropped.
    pub async fn next(&mut self) -> Option<PromptEvent> {
        self.events.recv().await
    }

    /// Shows a notice to the person. It is dropped if the prompt is closed or its queue is full.
    pub fn notify(&self, notice: PromptNotice) {
        let _ = self.notices.try_send(notice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn drafts_never_crowd_out_what_a_person_did() {
        let (mut handle, channel) = PromptChannel::pair();
        for _ in 0..100 {
            channel.send(PromptEvent::DraftChanged(Value::Null));
        }
        channel.send(PromptEvent::ExtensionRequested);
        drop(channel);
        let mut last = None;
        while let Some(event) = handle.next().await {
            last = Some(event);
        }
        assert_eq!(last, Some(PromptEvent::ExtensionRequested));
    }
}
