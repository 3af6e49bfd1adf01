//! Where messages for a client go: its connection, or one of its streams over HTTP.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::front::Stream;
use crate::side::lines::Outbox;
use crate::union::PartSender;

/// Sends messages to a client. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum ClientSender {
    /// A connection, for all messages.
    Lines(Outbox),
    /// A stream over HTTP: that of one POST, or the general one of a session.
    Stream(Stream),
    /// A connection, for the requests of one batch: their responses come together.
    Batch(Batch),
    /// Any of them, for one upstream of several.
    Part(PartSender),
}

/// Gathers the responses to the requests of one batch. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    outbox: Outbox,
    responses: Arc<Mutex<Responses>>,
}

#[derive(Debug)]
struct Responses {
    /// How many are still to come.
    missing: usize,
    messages: Vec<Vec<u8>>,
}

impl Batch {
    /// Gathers this many responses.
    pub(crate) fn new(outbox: Outbox, requests: usize) -> Self {
        Self {
            outbox,
            responses: Arc::new(Mutex::new(Responses {
                missing: requests,
                messages: Vec::new(),
            })),
        }
    }

    /// Adds the end of a request, which has no response if it was cancelled.
    fn add(&self, response: Option<Vec<u8>>) {
        let mut responses = self.responses.lock();
        responses.messages.extend(response);
        responses.missing = responses.missing.saturating_sub(1);
        if responses.missing == 0 && !responses.messages.is_empty() {
            let messages = std::mem::take(&mut responses.messages);
            let mut all = b"[".to_vec();
            all.extend_from_slice(&messages.join(&b','));
            all.push(b']');
            self.outbox.push(all);
        }
    }
}

impl ClientSender {
    /// Sends a message. On a connection, waits while the client reads too slowly; a stream keeps
    /// what has to arrive and drops what need not, since others depend on the sender too.
    pub(crate) async fn send(&self, message: Vec<u8>) {
        match self {
            Self::Lines(outbox) | Self::Batch(Batch { outbox, .. }) => outbox.send(message).await,
            Self::Stream(stream) => stream.push(message),
            Self::Part(part) => {
                if let Some(message) = part.translated(message) {
                    Box::pin(part.client().send(message)).await;
                }
            }
        }
    }

    /// Sends a request of the upstream. On a stream that is not read, it overtakes what need not
    /// arrive; on a connection, messages keep their order.
    pub(crate) async fn send_request(&self, message: Vec<u8>) {
        match self {
            Self::Lines(outbox) | Self::Batch(Batch { outbox, .. }) => outbox.send(message).await,
            Self::Stream(stream) => stream.push_first(message),
            Self::Part(part) => {
                if let Some(message) = part.translated(message) {
                    Box::pin(part.client().send_request(message)).await;
                }
            }
        }
    }

    /// Sends a message without waiting.
    pub(crate) fn push(&self, message: Vec<u8>) {
        match self {
            Self::Lines(outbox) | Self::Batch(Batch { outbox, .. }) => outbox.push(message),
            Self::Stream(stream) => stream.push(message),
            Self::Part(part) => {
                if let Some(message) = part.translated(message) {
                    part.client().push(message);
                }
            }
        }
    }

    /// Sends a message without waiting, before all others that have not left.
    pub(crate) fn push_first(&self, message: Vec<u8>) {
        match self {
            Self::Lines(outbox) | Self::Batch(Batch { outbox, .. }) => outbox.push_first(message),
            Self::Stream(stream) => stream.push_first(message),
            Self::Part(part) => {
                if let Some(message) = part.translated(message) {
                    part.client().push_first(message);
                }
            }
        }
    }

    /// Sends the response to a request, after which the stream of its POST ends.
    pub(crate) fn respond(&self, response: Vec<u8>) {
        match self {
            Self::Lines(outbox) => outbox.push(response),
            Self::Stream(stream) => stream.respond(response),
            Self::Batch(batch) => batch.add(Some(response)),
            Self::Part(part) => {
                if let Some(response) = part.response(response) {
                    part.client().respond(response);
                }
            }
        }
    }

    /// Notes that a request gets no response, since the client has cancelled it.
    pub(crate) fn forgo(&self) {
        match self {
            Self::Lines(_) | Self::Stream(_) => {}
            Self::Batch(batch) => batch.add(None),
            Self::Part(part) => {
                if part.is_of_call() {
                    part.client().forgo();
                }
            }
        }
    }

    /// Sends a response as [`respond`](Self::respond) does, and waits as [`send`](Self::send) does.
    pub(crate) async fn send_response(&self, response: Vec<u8>) {
        match self {
            Self::Lines(outbox) => outbox.send(response).await,
            Self::Stream(stream) => stream.respond(response),
            Self::Batch(batch) => batch.add(Some(response)),
            Self::Part(part) => {
                if let Some(response) = part.response(response) {
                    Box::pin(part.client().send_response(response)).await;
                }
            }
        }
    }

    /// Whether it is the only client, on a connection of its own.
    pub(crate) fn is_alone(&self) -> bool {
        match self {
            Self::Lines(_) | Self::Batch(_) => true,
            Self::Stream(_) => false,
            Self::Part(part) => part.client().is_alone(),
        }
    }

    /// Whether somebody reads, or may.
    pub(crate) fn is_read(&self) -> bool {
        match self {
            Self::Lines(_) | Self::Batch(_) => true,
            Self::Stream(stream) => stream.is_read(),
            Self::Part(part) => part.client().is_read(),
        }
    }

    /// Resolves when the client has closed a stream whose end cancels its call.
    pub(crate) fn abandoned(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut client = self;
        while let Self::Part(part) = client {
            // What the union itself asks, it cancels itself.
            client = part.is_of_call().then(|| part.client())?;
        }
        match client {
            Self::Lines(_) | Self::Batch(_) | Self::Part(_) => None,
            Self::Stream(stream) => stream.abandoned(),
        }
    }
}
