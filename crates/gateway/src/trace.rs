//! Writes down the messages of a session, for whoever looks for what went wrong.
//!
//! A line of JSON for each message, in both directions and on both sides. A thread of its own
//! writes; the relay never waits for it. What would queue up in front of a slow disk is dropped and
//! counted.
//!
//! Deliberately absent from the file: answers, secrets and what opens a page (see `redact.rs`).

mod line;
mod redact;

use std::fmt;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::Engine;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use self::line::Lines;
use crate::envelope::RawId;
use crate::side::UpstreamSender;

/// How many messages wait for the disk before further ones are dropped.
const QUEUED_MESSAGES: usize = 1024;
/// How many bytes wait for the disk.
const QUEUED_BYTES: usize = 32 << 20;
/// The most that is written, so that a forgotten trace fills no disk.
const MAX_WRITTEN: u64 = 1 << 30;
/// How long closing waits for the disk.
const CLOSING: Duration = Duration::from_secs(5);

/// A trace of messages. Cheap to clone.
#[derive(Clone)]
pub struct Trace(Arc<Inner>);

struct Inner {
    engine: Engine,
    queue: Mutex<Option<SyncSender<TracedMessage>>>,
    waiting: Arc<Waiting>,
    /// Resolves when everything is written.
    written: Mutex<Option<oneshot::Receiver<()>>>,
}

/// What waits for the disk, and what did not fit.
#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    dropped: AtomicU64,
}

/// A message as it went by.
struct TracedMessage {
    at: UnixTime,
    elapsed: Duration,
    side: Side,
    direction: Direction,
    text: Box<[u8]>,
}

/// Whom a message is exchanged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Which way a message goes, as the gateway sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Direction {
    In,
    Out,
}

impl Trace {
    /// Writes to a file. Times are those of the engine.
    ///
    /// # Errors
    ///
    /// If no thread can be started.
    pub fn start(engine: Engine, file: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (queue, messages) = sync_channel(QUEUED_MESSAGES);
        let (ended, written) = oneshot::channel();
        let waiting = Arc::new(Waiting::default());
        let writer = Writer {
            file: BufWriter::new(file),
            lines: Lines::default(),
            waiting: waiting.clone(),
            written: 0,
            last: UnixTime::default(),
        };
        // It ends with the queue; `close` waits for that.
        thread::Builder::new()
            .name("entreat-trace".to_owned())
            .spawn(move || {
                if let Err(error) = writer.run(&messages) {
                    tracing::warn!(%error, "the trace cannot be written any more");
                }
                // Nobody may be waiting for it.
                let _ = ended.send(());
            })?;
        Ok(Self(Arc::new(Inner {
            engine,
            queue: Mutex::new(Some(queue)),
            waiting,
            written: Mutex::new(Some(written)),
        })))
    }

    /// Writes what is queued. Nothing is taken any more.
    pub async fn close(&self) {
        drop(self.0.queue.lock().take());
        let written = self.0.written.lock().take();
        if let Some(written) = written
            && tokio::time::timeout(CLOSING, written).await.is_err()
        {
            tracing::warn!("the end of the trace is lost: its disk is too slow");
        }
    }

    /// Notes a message that came from this side.
    pub(crate) fn received(&self, side: Side, text: &[u8]) {
        self.note(side, Direction::In, text);
    }

    /// Notes a message that goes to this side.
    pub(crate) fn sent(&self, side: Side, text: &[u8]) {
        self.note(side, Direction::Out, text);
    }

    fn note(&self, side: Side, direction: Direction, text: &[u8]) {
        let Inner {
            engine,
            queue,
            waiting,
            ..
        } = &*self.0;
        // Held while the message is queued, so that the lines are in the order of the messages.
        let queue = queue.lock();
        let Some(queue) = &*queue else {
            return;
        };
        let length = text.len();
        if waiting.bytes.load(Ordering::Relaxed) + length > QUEUED_BYTES {
            waiting.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.bytes.fetch_add(length, Ordering::Relaxed);
        let message = TracedMessage {
            at: engine.now(),
            elapsed: engine.elapsed(),
            side,
            direction,
            text: text.into(),
        };
        if queue.try_send(message).is_err() {
            waiting.bytes.fetch_sub(length, Ordering::Relaxed);
            waiting.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

struct Writer<W: Write> {
    file: BufWriter<W>,
    lines: Lines,
    waiting: Arc<Waiting>,
    written: u64,
    /// When the last message went by.
    last: UnixTime,
}

impl<W: Write> Writer<W> {
    fn run(mut self, messages: &Receiver<TracedMessage>) -> std::io::Result<()> {
        while let Ok(message) = messages.recv() {
            let mut next = message;
            loop {
                self.write(&next)?;
                match messages.try_recv() {
                    Ok(message) => next = message,
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            self.file.flush()?;
            if self.written > MAX_WRITTEN {
                tracing::warn!("the trace is too long: nothing more is written");
                return Ok(());
            }
        }
        let gap = self.gap();
        self.file.write_all(gap.as_bytes())?;
        self.file.flush()
    }

    fn write(&mut self, message: &TracedMessage) -> std::io::Result<()> {
        let size = message.text.len();
        self.waiting.bytes.fetch_sub(size, Ordering::Relaxed);
        self.last = message.at;
        let mut text = self.gap();
        text.push_str(&self.lines.of(message));
        self.written += text.len() as u64;
        self.file.write_all(text.as_bytes())
    }

    /// The line that says how many messages are missing, if there are any.
    fn gap(&self) -> String {
        match self.waiting.dropped.swap(0, Ordering::Relaxed) {
            0 => String::new(),
            dropped => line::dropped(self.last, dropped),
        }
    }
}

/// Sends messages to an upstream server, under the eyes of a trace if there is one.
#[derive(Clone, Debug)]
pub(crate) struct TracedSender {
    sender: UpstreamSender,
    trace: Option<Trace>,
}

impl TracedSender {
    pub(crate) fn new(sender: UpstreamSender, trace: Option<Trace>) -> Self {
        Self { sender, trace }
    }

    /// See [`UpstreamSender::send`].
    pub(crate) async fn send(&self, text: Vec<u8>) {
        if let Some(trace) = &self.trace {
            trace.sent(Side::Server, &text);
        }
        self.sender.send(text).await;
    }

    /// See [`UpstreamSender::is_congested`].
    pub(crate) fn is_congested(&self) -> bool {
        self.sender.is_congested()
    }

    /// See [`UpstreamSender::abandon`].
    pub(crate) fn abandon(&self, id: &RawId) {
        self.sender.abandon(id);
    }

    /// Whether it is a process of ours.
    pub(crate) fn is_child(&self) -> bool {
        match &self.sender {
            UpstreamSender::Child(_) => true,
            UpstreamSender::Http(_) | UpstreamSender::Pipe(_) => false,
        }
    }

    /// Notes a message that came from one side.
    pub(crate) fn trace_received(&self, side: Side, text: &[u8]) {
        if let Some(trace) = &self.trace {
            trace.received(side, text);
        }
    }
}
