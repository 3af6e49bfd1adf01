//! Where messages for a client go: its connection, or one of its streams over HTTP.

use std::sync::Arc;

use crate::front::Stream;
use crate::observe::{CallWatch, TraceParent};
use crate::side::lines::Outbox;
use crate::trace::{Side, Trace};

/// Sends messages to a client. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum ClientSender {
    /// A connection, for all messages.
    Lines(Outbox),
    /// A stream over HTTP: that of one POST, or the general one of a session.
    Stream(Stream),
    /// Either of them, and who looks on.
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
    /// The figures of one call.
    Call(CallWatch),
    /// Nobody yet: the trace that an HTTP request is part of.
    Parent(TraceParent),
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
            Self::Lines(outbox) => outbox.send(message).await,
            Self::Stream(stream) => stream.push(message),
            Self::Watched(_) => {}
        }
    }

    /// Sends a message without waiting.
    pub(crate) fn push(&self, message: Vec<u8>) {
        match self.seen(&message) {
            Self::Lines(outbox) => outbox.push(message),
            Self::Stream(stream) => stream.push(message),
            Self::Watched(_) => {}
        }
    }

    /// Sends a message without waiting, before all others that have not left.
    pub(crate) fn push_first(&self, message: Vec<u8>) {
        match self.seen(&message) {
            Self::Lines(outbox) => outbox.push_first(message),
            Self::Stream(stream) => stream.push_first(message),
            Self::Watched(_) => {}
        }
    }

    /// Sends the response to a request, after which the stream of its POST ends.
    pub(crate) fn respond(&self, response: Vec<u8>) {
        self.note_response(&response);
        match self.seen(&response) {
            Self::Lines(outbox) => outbox.push(response),
            Self::Stream(stream) => stream.respond(response),
            Self::Watched(_) => {}
        }
    }

    /// Sends a response as [`respond`](Self::respond) does, and waits as [`send`](Self::send) does.
    pub(crate) async fn send_response(&self, response: Vec<u8>) {
        self.note_response(&response);
        match self.seen(&response) {
            Self::Lines(outbox) => outbox.send(response).await,
            Self::Stream(stream) => stream.respond(response),
            Self::Watched(_) => {}
        }
    }

    /// Whether somebody reads, or may.
    pub(crate) fn is_read(&self) -> bool {
        match self.innermost() {
            Self::Lines(_) | Self::Watched(_) => true,
            Self::Stream(stream) => stream.is_read(),
        }
    }

    /// Resolves when the client has closed a stream whose end cancels its call.
    pub(crate) fn abandoned(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        match self.innermost() {
            Self::Lines(_) | Self::Watched(_) => None,
            Self::Stream(stream) => stream.abandoned(),
        }
    }

    /// The figures of the call whose messages these are, if anybody wants them.
    pub(crate) fn call(&self) -> Option<&CallWatch> {
        self.watchers().find_map(|watcher| match watcher {
            Watcher::Call(call) => Some(call),
            Watcher::Trace(_) | Watcher::Parent(_) => None,
        })
    }

    /// The trace that the HTTP request is part of.
    pub(crate) fn trace_parent(&self) -> Option<&TraceParent> {
        self.watchers().find_map(|watcher| match watcher {
            Watcher::Parent(parent) => Some(parent),
            Watcher::Trace(_) | Watcher::Call(_) => None,
        })
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
            Self::Lines(_) | Self::Stream(_) => None,
        })
    }
}
