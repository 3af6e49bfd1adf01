//! Where messages for a client go: its connection, or one of its streams over HTTP.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::envelope::RawId;
use crate::front::Stream;
use crate::observe::{CallWatch, TraceParent};
use crate::reply::Reply;
use crate::side::lines::Outbox;
use crate::trace::{Side, Trace};
use crate::union::MemberSender;

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
    Member(MemberSender),
    /// Any of them, and who looks on.
    Watched(Arc<Watched>),
}

/// A sender whose messages somebody looks at.
#[derive(Debug)]
pub(crate) struct Watched {
    to: ClientSender,
    by: Watcher,
}

/// Who looks at messages for a client.
#[derive(Debug)]
pub(crate) enum Watcher {
    /// A trace of all messages.
    Trace(Trace),
    /// The metrics of one call.
    Call(CallWatch),
    /// Nobody yet: the trace that an HTTP request is part of.
    Parent(TraceParent),
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
    fn new(outbox: Outbox, requests: usize) -> Self {
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
    /// Has somebody look at what is sent.
    pub(crate) fn watched(self, by: Watcher) -> Self {
        Self::Watched(Arc::new(Watched { to: self, by }))
    }

    /// Sends a message. On a connection, waits while the client reads too slowly; a stream keeps
    /// what has to arrive and drops what need not, since others depend on the sender too.
    pub(crate) async fn send(&self, message: Vec<u8>) {
        match self.seen(&message) {
            Self::Lines(outbox) | Self::Batch(Batch { outbox, .. }) => outbox.send(message).await,
            Self::Stream(stream) => stream.push(message),
            Self::Member(member) => {
                if let Some(message) = member.translated(message) {
                    Box::pin(member.client().send(message)).await;
                }
            }
            Self::Watched(_) => {}
        }
    }

    /// Sends a request of the upstream. On a stream that is not read, it overtakes what need not
    /// arrive; on a connection, messages keep their order.
    pub(crate) async fn send_request(&self, message: Vec<u8>) {
        match self.seen(&message) {
            Self::Lines(outbox) | Self::Batch(Batch { outbox, .. }) => outbox.send(message).await,
            Self::Stream(stream) => stream.push_first(message),
            Self::Member(member) => {
                if let Some(message) = member.translated(message) {
                    Box::pin(member.client().send_request(message)).await;
                }
            }
            Self::Watched(_) => {}
        }
    }

    /// Sends a message without waiting.
    pub(crate) fn push(&self, message: Vec<u8>) {
        match self.seen(&message) {
            Self::Lines(outbox) | Self::Batch(Batch { outbox, .. }) => outbox.push(message),
            Self::Stream(stream) => stream.push(message),
            Self::Member(member) => {
                if let Some(message) = member.translated(message) {
                    member.client().push(message);
                }
            }
            Self::Watched(_) => {}
        }
    }

    /// Sends a message without waiting, before all others that have not left.
    pub(crate) fn push_first(&self, message: Vec<u8>) {
        match self.seen(&message) {
            Self::Lines(outbox) | Self::Batch(Batch { outbox, .. }) => outbox.push_first(message),
            Self::Stream(stream) => stream.push_first(message),
            Self::Member(member) => {
                if let Some(message) = member.translated(message) {
                    member.client().push_first(message);
                }
            }
            Self::Watched(_) => {}
        }
    }

    /// Answers the request with this id.
    pub(crate) fn reply(&self, id: &RawId, reply: &Reply) {
        self.respond(reply.to_message(id));
    }

    /// Sends the response to a request, after which the stream of its POST ends.
    pub(crate) fn respond(&self, response: Vec<u8>) {
        self.note_response(&response);
        match self.seen(&response) {
            Self::Lines(outbox) => outbox.push(response),
            Self::Stream(stream) => stream.respond(response),
            Self::Batch(batch) => batch.add(Some(response)),
            Self::Member(member) => {
                if let Some(response) = member.response(response) {
                    member.client().respond(response);
                }
            }
            Self::Watched(_) => {}
        }
    }

    /// Notes that a request gets no response, since the client has cancelled it.
    pub(crate) fn forgo(&self) {
        match self.innermost() {
            Self::Lines(_) | Self::Stream(_) | Self::Watched(_) => {}
            Self::Batch(batch) => batch.add(None),
            Self::Member(member) => member.forgo(),
        }
    }

    /// Sends a response as [`respond`](Self::respond) does, and waits as [`send`](Self::send) does.
    pub(crate) async fn send_response(&self, response: Vec<u8>) {
        self.note_response(&response);
        match self.seen(&response) {
            Self::Lines(outbox) => outbox.send(response).await,
            Self::Stream(stream) => stream.respond(response),
            Self::Batch(batch) => batch.add(Some(response)),
            Self::Member(member) => {
                if let Some(response) = member.response(response) {
                    Box::pin(member.client().send_response(response)).await;
                }
            }
            Self::Watched(_) => {}
        }
    }

    /// Whether it is the only client, on a connection of its own.
    pub(crate) fn is_alone(&self) -> bool {
        match self.innermost() {
            Self::Lines(_) | Self::Batch(_) | Self::Watched(_) => true,
            Self::Stream(_) => false,
            Self::Member(member) => member.client().is_alone(),
        }
    }

    /// Whether somebody reads, or may.
    pub(crate) fn is_read(&self) -> bool {
        match self.innermost() {
            Self::Lines(_) | Self::Batch(_) | Self::Watched(_) => true,
            Self::Stream(stream) => stream.is_read(),
            Self::Member(member) => member.client().is_read(),
        }
    }

    /// Resolves when somebody reads.
    pub(crate) async fn begins_to_read(&self) {
        let mut client = self.innermost();
        while let Self::Member(member) = client {
            client = member.client().innermost();
        }
        if let Self::Stream(stream) = client {
            stream.begins_to_be_read().await;
        }
    }

    /// Resolves when the client has closed a stream whose end cancels its call.
    pub(crate) fn abandoned(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        self.cancelling()?.abandoned()
    }

    /// Does something when the client closes a stream whose end cancels its call. It must not block.
    pub(crate) fn when_abandoned(&self, then: impl FnOnce() + Send + 'static) {
        if let Some(stream) = self.cancelling() {
            stream.when_abandoned(then);
        }
    }

    /// The stream whose end cancels the call.
    pub(crate) fn cancelling(&self) -> Option<&Stream> {
        let mut client = self.innermost();
        while let Self::Member(member) = client {
            // What the union itself asks, it cancels itself.
            client = member.is_of_call().then(|| member.client().innermost())?;
        }
        match client {
            Self::Lines(_) | Self::Batch(_) | Self::Member(_) | Self::Watched(_) => None,
            Self::Stream(stream) => Some(stream).filter(|stream| stream.is_cancelling()),
        }
    }

    /// The metrics of the call whose messages these are, if anybody wants them.
    pub(crate) fn call(&self) -> Option<&CallWatch> {
        self.watchers().find_map(|watcher| match watcher {
            Watcher::Call(call) => Some(call),
            Watcher::Trace(_) | Watcher::Parent(_) => None,
        })
    }

    /// The trace that the HTTP request is part of.
    pub(crate) fn trace_parent(&self) -> Option<&TraceParent> {
        let parent = self.watchers().find_map(|watcher| match watcher {
            Watcher::Parent(parent) => Some(parent),
            Watcher::Trace(_) | Watcher::Call(_) => None,
        });
        match self.innermost() {
            Self::Member(member) => parent.or_else(|| member.client().trace_parent()),
            Self::Lines(_) | Self::Stream(_) | Self::Batch(_) | Self::Watched(_) => parent,
        }
    }

    /// The same sender for the requests of one batch: their responses come together on a
    /// connection; a stream ends after them anyway.
    pub(crate) fn for_batch(&self, requests: usize) -> Self {
        match self {
            Self::Lines(outbox) => Self::Batch(Batch::new(outbox.clone(), requests)),
            Self::Stream(_) | Self::Batch(_) | Self::Member(_) => self.clone(),
            Self::Watched(watched) => match &watched.by {
                Watcher::Trace(trace) => {
                    let to = watched.to.for_batch(requests);
                    to.watched(Watcher::Trace(trace.clone()))
                }
                // They are of one request, or of a stream.
                Watcher::Call(_) | Watcher::Parent(_) => self.clone(),
            },
        }
    }

    /// Notes that a call leaves the gateway: what happens next is up to the server, or a person.
    pub(crate) fn leave(&self) {
        if let Some(call) = self.call() {
            call.leave();
        }
    }

    /// Notes that a call is back in the gateway.
    pub(crate) fn come_back(&self) {
        if let Some(call) = self.call() {
            call.come_back();
        }
    }

    fn note_response(&self, response: &[u8]) {
        if let Some(call) = self.call() {
            call.responded(response);
        }
    }

    /// Shows a message to whoever traces; returns where it goes.
    fn seen(&self, message: &[u8]) -> &Self {
        for watcher in self.watchers() {
            if let Watcher::Trace(trace) = watcher {
                trace.sent(Side::Client, message);
            }
        }
        self.innermost()
    }

    /// Where messages go, which is never `Watched`.
    fn innermost(&self) -> &Self {
        let mut sender = self;
        while let Self::Watched(watched) = sender {
            sender = &watched.to;
        }
        sender
    }

    fn watchers(&self) -> impl Iterator<Item = &Watcher> {
        let mut sender = self;
        std::iter::from_fn(move || match sender {
            Self::Watched(watched) => {
                sender = &watched.to;
                Some(&watched.by)
            }
            Self::Lines(_) | Self::Stream(_) | Self::Batch(_) | Self::Member(_) => None,
        })
    }
}
