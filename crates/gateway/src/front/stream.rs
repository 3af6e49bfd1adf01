//! Messages on their way to a client over HTTP, which may stop reading or come back later.
//!
//! A stream belongs to one POST, or is the general one of a session. It keeps what the client has
//! not read, so that a response body that breaks can be resumed after the last event that arrived.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::envelope::{Envelope, Kind};
use crate::json::RawObject;
use crate::memory::{Account, QueueReservation};

/// How many messages wait before those that need not arrive give way.
const MANY: usize = 256;
/// How many bytes wait before the stream is given up: nobody reads it, and what is left has to
/// arrive whole or not at all.
const MAX_BYTES: usize = 24 << 20;
/// How much of what was read is kept, for a body that broke in between.
const KEPT_BYTES: usize = 256 << 10;
const KEPT_MESSAGES: usize = 64;

/// The longest token and the longest change of a list that are compared with others.
const MAX_KEY: usize = 1 << 10;

/// A queue of messages that one response body at a time reads. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Stream(Arc<Shared>);

struct Shared {
    queue: Mutex<Queue>,
    /// Notified when there is something to read, or the stream has ended.
    changed: Notify,
    /// Whether the client cancels by closing the stream.
    is_cancelling: bool,
}

#[derive(Default)]
struct Queue {
    /// The number of the first message in `kept`.
    first: u64,
    /// Messages that were read already.
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    waiting: Waiting,
    /// How many responses are still to come; the general stream of a session never ends by itself.
    open: Option<usize>,
    is_closed: bool,
    /// The number of the body that reads now: older ones end.
    reader: u64,
    /// Messages that gave way.
    dropped: u64,
    /// Whether a body stopped reading before the end, and what happens then.
    is_abandoned: bool,
    when_abandoned: Vec<Box<dyn FnOnce() + Send>>,
    /// The memory of what is kept and what waits.
    memory: QueueReservation,
}

/// What a response body gets next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A message, and its number in the stream.
    Message(u64, Bytes),
    /// The stream has ended.
    End,
    /// Another body reads the stream now.
    Replaced,
}

impl Stream {
    /// A stream that ends after this many responses.
    pub(crate) fn new(responses: usize) -> Self {
        Self::with(Some(responses), false)
    }

    /// A stream that takes nothing: a client without sessions has no general one.
    pub(crate) fn closed() -> Self {
        let stream = Self::new(0);
        stream.change(|queue| queue.is_closed = true);
        stream
    }

    /// A stream for one response, whose call is cancelled when the client closes it.
    pub(crate) fn cancelling() -> Self {
        Self::with(Some(1), true)
    }

    /// The general stream of a session.
    pub(crate) fn general() -> Self {
        Self::with(None, false)
    }

    /// Counts what the stream holds towards the memory of a principal.
    pub(crate) fn counted(self, memory: &Account) -> Self {
        self.change(|queue| queue.memory = QueueReservation::of(memory.clone()));
        self
    }

    fn with(open: Option<usize>, is_cancelling: bool) -> Self {
        Self(Arc::new(Shared {
            queue: Mutex::new(Queue {
                open,
                ..Queue::default()
            }),
            changed: Notify::new(),
            is_cancelling,
        }))
    }

    pub(crate) fn push(&self, message: Vec<u8>) {
        self.change(|queue| queue.add(message, Waiting::push_back));
    }

    pub(crate) fn push_first(&self, message: Vec<u8>) {
        self.change(|queue| queue.add(message, Waiting::push_front));
    }

    /// Adds a response. The stream ends with the last one.
    pub(crate) fn respond(&self, message: Vec<u8>) {
        self.change(|queue| {
            queue.add(message, Waiting::push_back);
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
        queue.is_closed || queue.open == Some(0) && queue.waiting.messages.is_empty()
    }

    /// Whether nothing will come that nobody reads.
    pub(crate) fn is_left(&self) -> bool {
        let queue = self.0.queue.lock();
        queue.reader.is_multiple_of(2) && (queue.is_closed || queue.open == Some(0))
    }

    /// Whether the client cancels by closing the stream.
    pub(crate) fn is_cancelling(&self) -> bool {
        self.0.is_cancelling
    }

    /// Does something when a body stops reading before the stream has ended, if that cancels. It
    /// must not block.
    pub(crate) fn when_abandoned(&self, then: impl FnOnce() + Send + 'static) {
        if !self.0.is_cancelling {
            return;
        }
        let mut queue = self.0.queue.lock();
        if !queue.is_abandoned {
            return queue.when_abandoned.push(Box::new(then));
        }
        drop(queue);
        then();
    }

    /// Resolves when a body stops reading before the stream has ended, if that cancels.
    pub(crate) fn abandoned(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        if !self.0.is_cancelling {
            return None;
        }
        let abandoned = CancellationToken::new();
        let fires = abandoned.clone();
        self.when_abandoned(move || fires.cancel());
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
    fn add(&mut self, message: Vec<u8>, add: fn(&mut Waiting, Bytes)) {
        if self.is_closed {
            return;
        }
        if self.waiting.messages.len() >= MANY && self.gives_way(&message) {
            self.dropped += 1;
            return;
        }
        let bytes = self.waiting.bytes + message.len();
        if bytes > MAX_BYTES || !self.memory.resize(bytes + self.kept_bytes) {
            self.memory.log_unread();
            self.is_closed = true;
            self.waiting = Waiting::default();
            self.memory.resize(self.kept_bytes);
            return;
        }
        add(&mut self.waiting, message.into());
    }

    /// Lets notifications give way: the newest progress of a call stands for all before it, and
    /// logs are dropped. Returns whether the message itself is not needed any more.
    fn gives_way(&mut self, message: &[u8]) -> bool {
        match About::of(message) {
            None => false,
            Some(About::Log) => true,
            Some(About::Change(key)) => self.waiting.find(&key).is_some(),
            Some(About::Progress(key)) => {
                let Some(old) = self.waiting.find(&key).map(|old| old.len()) else {
                    return false;
                };
                let bytes = self.waiting.bytes + message.len() - old;
                if bytes <= MAX_BYTES && self.memory.resize(bytes + self.kept_bytes) {
                    let message = Bytes::copy_from_slice(message);
                    self.waiting.replace(&key, message);
                }
                true
            }
        }
    }

    /// Takes back what was read, from a message on.
    fn rewind(&mut self, from: u64) {
        while self.first + (self.kept.len() as u64) > from
            && let Some(message) = self.kept.pop_back()
        {
            self.kept_bytes -= message.len();
            self.waiting.push_front(message);
        }
    }

    fn take(&mut self) -> Option<(u64, Bytes)> {
        let message = self.waiting.pop_front()?;
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
        self.memory.resize(self.waiting.bytes + self.kept_bytes);
        Some((number, message))
    }
}

/// Messages that nobody has read.
#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<Bytes>,
    bytes: usize,
    /// The place of the first message; those behind it count up.
    first: i64,
    /// The places of the messages that newer ones may make needless. There are none as long as
    /// nobody has asked: most streams are read.
    places: Option<HashMap<Key, i64>>,
}

/// What a notification is about: of two with one key, one is enough.
type Key = Box<[u8]>;

impl Waiting {
    fn push_back(&mut self, message: Bytes) {
        if let Some(places) = &mut self.places
            && let Some(key) = About::of(&message).and_then(About::key)
        {
            places.insert(key, self.first + count(&self.messages));
        }
        self.bytes += message.len();
        self.messages.push_back(message);
    }

    fn push_front(&mut self, message: Bytes) {
        self.first -= 1;
        if let Some(places) = &mut self.places
            && let Some(key) = About::of(&message).and_then(About::key)
        {
            // The last stands for those before it.
            places.entry(key).or_insert(self.first);
        }
        self.bytes += message.len();
        self.messages.push_front(message);
    }

    fn pop_front(&mut self) -> Option<Bytes> {
        let message = self.messages.pop_front()?;
        if let Some(places) = &mut self.places
            && let Some(key) = About::of(&message).and_then(About::key)
            && places.get(&key) == Some(&self.first)
        {
            places.remove(&key);
        }
        self.first += 1;
        self.bytes -= message.len();
        if self.messages.is_empty() {
            self.places = None;
        }
        Some(message)
    }

    /// The last message with a key.
    fn find(&mut self, key: &Key) -> Option<&mut Bytes> {
        let (messages, first) = (&self.messages, self.first);
        let places = self.places.get_or_insert_with(|| {
            let keyed = messages.iter().zip(first..);
            let keyed = keyed.filter_map(|(it, place)| Some((About::of(it)?.key()?, place)));
            keyed.collect()
        });
        let index = usize::try_from(places.get(key)? - self.first).ok()?;
        self.messages.get_mut(index)
    }

    fn replace(&mut self, key: &Key, message: Bytes) {
        let new = message.len();
        let old = self.find(key).map(|old| std::mem::replace(old, message));
        if let Some(old) = old {
            self.bytes = self.bytes + new - old.len();
        }
    }
}

fn count(messages: &VecDeque<Bytes>) -> i64 {
    i64::try_from(messages.len()).unwrap_or(i64::MAX)
}

/// A notification that may give way.
enum About {
    Log,
    /// How far a call is.
    Progress(Key),
    /// That a list has changed: of the same change once is enough.
    Change(Key),
}

impl About {
    fn of(message: &[u8]) -> Option<Self> {
        let Kind::Notification { method, params } = Envelope::read(message).ok()?.kind else {
            return None;
        };
        match method.as_ref() {
            "notifications/message" => Some(Self::Log),
            "notifications/progress" => {
                let token = RawObject::parse(params?)?.get("progressToken")?.to_owned();
                let is_short = token.len() <= MAX_KEY;
                is_short.then(|| Self::Progress(token.into_bytes().into()))
            }
            _ if method.ends_with("list_changed") && message.len() <= MAX_KEY => {
                Some(Self::Change(message.into()))
            }
            _ => None,
        }
    }

    fn key(self) -> Option<Key> {
        match self {
            Self::Log => None,
            // No message is a token.
            Self::Progress(key) | Self::Change(key) => Some(key),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
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
        // Nothing of what was registered is needed any more, one way or the other.
        let then = std::mem::take(&mut queue.when_abandoned);
        let is_over = queue.is_closed || queue.open == Some(0);
        queue.is_abandoned |= self.stream.0.is_cancelling && !is_over;
        drop(queue);
        if !is_over {
            for then in then {
                then();
            }
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
    async fn closing_a_stream_before_its_end_cancels_and_after_it_does_not() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = |stream: &Stream, what: &'static str| {
            let told = told.clone();
            stream.when_abandoned(move || told.lock().push(what));
        };
        let (answered, closed, legacy) =
            (Stream::cancelling(), Stream::cancelling(), Stream::new(1));
        for (stream, what) in [
            (&answered, "answered"),
            (&closed, "closed"),
            (&legacy, "legacy"),
        ] {
            tell(stream, what);
        }
        answered.respond(b"{}".to_vec());
        for stream in [&answered, &closed, &legacy] {
            drop(stream.read(None));
        }
        assert_eq!(*told.lock(), ["closed"]);
        // Whoever comes late is told as well.
        tell(&closed, "late");
        assert_eq!(*told.lock(), ["closed", "late"]);
        closed.abandoned().expect("it cancels").await;
        assert!(legacy.abandoned().is_none());
    }

    #[tokio::test]
    async fn what_gives_way_is_found_however_many_and_large_messages_wait() {
        let stream = Stream::new(1);
        let changed = || notification("notifications/tools/list_changed", "{}");
        // 16 MiB that have to arrive.
        for _ in 0..4 {
            stream.push(notification("x", &format!("\"{}\"", "x".repeat(4 << 20))));
        }
        for _ in 0..60_000 {
            stream.push(notification("x", "{}"));
        }
        stream.push(progress(1, 0));
        stream.push(changed());
        // Looking through all of them for each of these would take minutes.
        for value in 1..=60_000 {
            stream.push(progress(1, value));
            stream.push(changed());
        }
        let waiting = stream.0.queue.lock().waiting.messages.len();
        assert_eq!(waiting, 4 + 60_000 + 2);
        let reader = stream.read(None);
        for _ in 0..4 + 60_000 {
            reader.next().await;
        }
        assert!(text(&reader).await.contains("\"progress\":60000}"));
        stream.push(changed());
        // The first one waits still.
        assert!(text(&reader).await.contains("list_changed"));
        stream.push_first(progress(1, 7));
        assert!(text(&reader).await.contains("\"progress\":7}"));
    }

    #[tokio::test]
    async fn progress_in_place_of_another_takes_no_more_than_the_bound() {
        let stream = Stream::new(1);
        for token in 0..300 {
            stream.push(progress(token, 0));
        }
        for token in 0..300 {
            let message = "x".repeat(1 << 20);
            let params = format!(r#"{{"progressToken":{token},"message":"{message}"}}"#);
            stream.push(notification("notifications/progress", &params));
        }
        assert!(stream.0.queue.lock().waiting.bytes <= MAX_BYTES);
        assert!(!stream.is_over());
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
