//! Messages on their way to a client over HTTP, which may stop reading or come back later.
//!
//! A stream belongs to one POST, or is the general one of a session. It keeps what the client has
//! not read, so that a response body that breaks can be resumed after the last event that arrived.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::envelope::{Envelope, Kind};
use crate::json::RawObject;
use crate::memory::{Account, Growing};

/// How many messages wait before those that need not arrive give way.
const MANY: usize = 256;
/// How many bytes wait before the stream is given up: nobody reads it, and what is left has to
/// arrive whole or not at all.
const MAX_BYTES: usize = 24 << 20;
/// How much of what was read is kept, for a body that broke in between.
const KEPT_BYTES: usize = 256 << 10;
const KEPT_MESSAGES: usize = 64;

type Message = Arc<Vec<u8>>;

/// A queue of messages that one response body at a time reads. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Notified when there is something to read, or the stream has ended.
    changed: Notify,
    /// Fires when the client closes the stream, where that is how it cancels.
    abandoned: Option<CancellationToken>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The number of the first message in `kept`.
    first: u64,
    /// Messages that were read already.
    kept: VecDeque<Message>,
    kept_bytes: usize,
    waiting: VecDeque<Message>,
    waiting_bytes: usize,
    /// How many responses are still to come; the general stream of a session never ends by itself.
    open: Option<usize>,
    is_closed: bool,
    /// The number of the body that reads now: older ones end.
    reader: u64,
    /// Messages that gave way.
    dropped: u64,
    /// The memory of what is kept and what waits.
    memory: Growing,
}

/// What a response body gets next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A message, and its number in the stream.
    Message(u64, Message),
    /// The stream has ended.
    End,
    /// Another body reads the stream now.
    Replaced,
}

impl Stream {
    /// A stream that ends after this many responses.
    pub(crate) fn new(responses: usize) -> Self {
        Self::with(Some(responses), None)
    }

    /// A stream that takes nothing: a client without sessions has no general one.
    pub(crate) fn closed() -> Self {
        let stream = Self::new(0);
        stream.change(|queue| queue.is_closed = true);
        stream
    }

    /// A stream for one response, whose call is cancelled when the client closes it.
    pub(crate) fn cancelling() -> Self {
        Self::with(Some(1), Some(CancellationToken::new()))
    }

    /// The general stream of a session.
    pub(crate) fn general() -> Self {
        Self::with(None, None)
    }

    /// Counts what the stream holds towards the memory of a principal.
    pub(crate) fn counted(self, memory: &Account) -> Self {
        self.change(|queue| queue.memory = Growing::of(memory.clone()));
        self
    }

    fn with(open: Option<usize>, abandoned: Option<CancellationToken>) -> Self {
        Self(Arc::new(Shared {
            queue: Mutex::new(Queue {
                open,
                ..Queue::default()
            }),
            changed: Notify::new(),
            abandoned,
        }))
    }

    pub(crate) fn push(&self, message: Vec<u8>) {
        self.change(|queue| queue.add(message, VecDeque::push_back));
    }

    pub(crate) fn push_first(&self, message: Vec<u8>) {
        self.change(|queue| queue.add(message, VecDeque::push_front));
    }

    /// Adds a response. The stream ends with the last one.
    pub(crate) fn respond(&self, message: Vec<u8>) {
        self.change(|queue| {
            queue.add(message, VecDeque::push_back);
            if let Some(open) = &mut queue.open {
                *open = open.saturating_sub(1);
            }
        });
    }

    /// Ends the stream; what waits can still be read.
    pub(crate) fn end(&self) {
        self.change(|queue| queue.open = Some(0));
    }

    /// Whether everything was read, and nothing will come.
    pub(crate) fn is_over(&self) -> bool {
        let queue = self.0.queue.lock();
        queue.is_closed || queue.open == Some(0) && queue.waiting.is_empty()
    }

    /// Whether nothing will come that nobody reads.
    pub(crate) fn is_left(&self) -> bool {
        let queue = self.0.queue.lock();
        queue.reader.is_multiple_of(2) && (queue.is_closed || queue.open == Some(0))
    }

    /// Resolves when a body stops reading before the stream has ended, if that cancels.
    pub(crate) fn abandoned(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let abandoned = self.0.abandoned.clone()?;
        Some(async move { abandoned.cancelled().await })
    }

    /// Whether a body reads it.
    pub(crate) fn is_read(&self) -> bool {
        self.0.queue.lock().reader % 2 == 1
    }

    /// Resolves when a body reads it.
    pub(crate) async fn begins_to_be_read(&self) {
        loop {
            let changed = self.0.changed.notified();
            if self.is_read() {
                return;
            }
            changed.await;
        }
    }

    /// Begins to read: from the message of this number on if it is known, else with what nobody has
    /// read. Whoever reads now ends.
    pub(crate) fn read(&self, from: Option<u64>) -> Reader {
        let mut number = 0;
        self.change(|queue| {
            // Odd while somebody reads.
            queue.reader = (queue.reader | 1) + if queue.reader % 2 == 1 { 2 } else { 0 };
            number = queue.reader;
            if let Some(from) = from {
                queue.rewind(from);
            }
        });
        Reader {
            stream: self.clone(),
            number,
        }
    }

    fn change(&self, change: impl FnOnce(&mut Queue)) {
        change(&mut self.0.queue.lock());
        self.0.changed.notify_waiters();
    }
}

impl Queue {
    fn add(&mut self, message: Vec<u8>, add: fn(&mut VecDeque<Message>, Message)) {
        if self.is_closed {
            return;
        }
        if self.waiting.len() >= MANY && self.gives_way(&message) {
            return;
        }
        let bytes = self.waiting_bytes + message.len();
        if bytes > MAX_BYTES || !self.memory.resize(bytes + self.kept_bytes) {
            tracing::warn!("a client does not read its stream, which was closed");
            self.is_closed = true;
            self.waiting.clear();
            self.waiting_bytes = 0;
            self.memory.resize(self.kept_bytes);
            return;
        }
        self.waiting_bytes += message.len();
        add(&mut self.waiting, Arc::new(message));
    }

    /// Lets notifications give way: the newest progress of a call stands for all before it, and
    /// logs are dropped. Returns whether the message itself is not needed any more.
    fn gives_way(&mut self, message: &[u8]) -> bool {
        let Ok(Envelope {
            kind: Kind::Notification { method, params },
            ..
        }) = Envelope::read(message)
        else {
            return false;
        };
        match method.as_ref() {
            "notifications/message" => {}
            "notifications/progress" => {
                let Some(token) = params.and_then(progress_token) else {
                    return false;
                };
                // The last, so that what comes before it is less.
                let same = self.waiting.iter().rposition(|waiting| {
                    memchr::memmem::find(waiting, b"notifications/progress").is_some()
                        && Envelope::read(waiting).is_ok_and(|envelope| {
                            envelope.params().and_then(progress_token).as_deref() == Some(&token)
                        })
                });
                let Some(same) = same else {
                    return false;
                };
                if let Some(old) = self.waiting.get_mut(same) {
                    self.waiting_bytes = self.waiting_bytes + message.len() - old.len();
                    *old = Arc::new(message.to_vec());
                }
            }
            // Of the same change once is enough.
            _ if method.ends_with("list_changed") => {
                let is_there = self
                    .waiting
                    .iter()
                    .any(|waiting| waiting.as_slice() == message);
                if !is_there {
                    return false;
                }
            }
            _ => return false,
        }
        self.dropped += 1;
        true
    }

    /// Takes back what was read, from a message on.
    fn rewind(&mut self, from: u64) {
        while self.first + (self.kept.len() as u64) > from
            && let Some(message) = self.kept.pop_back()
        {
            self.kept_bytes -= message.len();
            self.waiting_bytes += message.len();
            self.waiting.push_front(message);
        }
    }

    fn take(&mut self) -> Option<(u64, Message)> {
        let message = self.waiting.pop_front()?;
        self.waiting_bytes -= message.len();
        let number = self.first + self.kept.len() as u64;
        self.kept_bytes += message.len();
        self.kept.push_back(message.clone());
        // The newest stays in any case: it may be the response, of which nobody knows whether it
        // arrived.
        while (self.kept.len() > KEPT_MESSAGES || self.kept_bytes > KEPT_BYTES)
            && self.kept.len() > 1
            && let Some(old) = self.kept.pop_front()
        {
            self.kept_bytes -= old.len();
            self.first += 1;
        }
        self.memory.resize(self.waiting_bytes + self.kept_bytes);
        Some((number, message))
    }
}

fn progress_token(params: &str) -> Option<String> {
    Some(RawObject::parse(params)?.get("progressToken")?.to_owned())
}

/// One response body's turn to read a stream. Dropping it leaves the rest for the next.
#[derive(Debug)]
pub(crate) struct Reader {
    stream: Stream,
    number: u64,
}

impl Reader {
    /// Returns what comes next. Cancel safe.
    pub(crate) async fn next(&self) -> Next {
        loop {
            let changed = self.stream.0.changed.notified();
            {
                let mut queue = self.stream.0.queue.lock();
                if queue.reader != self.number {
                    return Next::Replaced;
                }
                if let Some((number, message)) = queue.take() {
                    return Next::Message(number, message);
                }
                if queue.is_closed || queue.open == Some(0) {
                    return Next::End;
                }
            }
            changed.await;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut queue = self.stream.0.queue.lock();
        if queue.reader != self.number {
            return;
        }
        queue.reader += 1;
        let is_over = queue.is_closed || queue.open == Some(0);
        drop(queue);
        if let Some(abandoned) = &self.stream.0.abandoned
            && !is_over
        {
            abandoned.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(method: &str, params: &str) -> Vec<u8> {
        crate::envelope::notification(method, params)
    }

    fn progress(token: u32, value: u32) -> Vec<u8> {
        let params = format!(r#"{{"progressToken":{token},"progress":{value}}}"#);
        notification("notifications/progress", &params)
    }

    async fn text(reader: &Reader) -> String {
        match reader.next().await {
            Next::Message(_, message) => String::from_utf8(message.to_vec()).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_stream_ends_with_its_last_response() {
        let stream = Stream::new(2);
        let reader = stream.read(None);
        stream.push(b"a".to_vec());
        stream.respond(b"b".to_vec());
        stream.push_first(b"c".to_vec());
        assert!(stream.is_read() && !stream.is_over());
        stream.respond(b"d".to_vec());
        for expected in ["c", "a", "b", "d", "End"] {
            assert_eq!(text(&reader).await, expected);
        }
        assert!(stream.is_over());
        drop(reader);
        assert!(!stream.is_read());
    }

    #[tokio::test]
    async fn a_body_that_broke_is_resumed_after_the_last_event_that_arrived() {
        let stream = Stream::new(1);
        let first = stream.read(None);
        for message in ["a", "b"] {
            stream.push(message.as_bytes().to_vec());
        }
        assert_eq!(text(&first).await, "a");
        assert_eq!(text(&first).await, "b");
        stream.respond(b"c".to_vec());
        let second = stream.read(Some(1));
        assert_eq!(first.next().await, Next::Replaced);
        for expected in ["b", "c", "End"] {
            assert_eq!(text(&second).await, expected);
        }
        // Whoever asks after what has not been sent gets no more than there is.
        let third = stream.read(Some(u64::MAX));
        assert_eq!(third.next().await, Next::End);
    }

    #[tokio::test]
    async fn progress_and_logs_give_way_to_what_has_to_arrive() {
        let stream = Stream::new(1);
        for value in 0..10_000 {
            stream.push(progress(value % 2, value));
            stream.push(notification("notifications/message", "{}"));
        }
        stream.push_first(b"{\"id\":1,\"method\":\"elicitation/create\"}".to_vec());
        stream.respond(b"{\"id\":1,\"result\":{}}".to_vec());
        let reader = stream.read(None);
        let mut read = Vec::new();
        while let Next::Message(_, message) = reader.next().await {
            read.push(String::from_utf8(message.to_vec()).unwrap());
        }
        assert!(read.len() <= MANY + 2, "{}", read.len());
        assert!(read[0].contains("elicitation/create"));
        assert!(read[read.len() - 1].contains("result"));
        // The newest of both calls is there.
        let newest = [9_998, 9_999].map(|value| format!("\"progress\":{value}}}"));
        assert!(
            newest
                .iter()
                .all(|it| read.iter().any(|line| line.contains(it)))
        );
    }

    #[tokio::test]
    async fn a_stream_that_nobody_reads_is_closed_at_a_bound() {
        let stream = Stream::new(1);
        for _ in 0..64 {
            stream.push(vec![b'x'; 1 << 20]);
        }
        assert!(stream.is_over());
        assert_eq!(stream.read(None).next().await, Next::End);
    }
}
