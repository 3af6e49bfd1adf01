//! Writes messages: many senders, one writer.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Poll, Waker};

use memchr::memchr2;
use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

/// How many messages are queued before [`Outbox::send`] waits.
pub const QUEUED_MESSAGES: usize = 256;

/// How many bytes are queued before [`Outbox::send`] waits.
pub const QUEUED_BYTES: usize = 8 << 20;

/// How many of either [`Outbox::push`] queues beyond those before it gives up on a peer that reads
/// nothing, as a factor.
const PUSHED: usize = 8;

/// Up to how many bytes are copied together for one write. A pipe takes as many at once.
const BATCH: usize = 64 << 10;

/// A queue of messages in front of a writer. Cheap to clone.
///
/// Messages leave in the order in which they were queued, each on a line of its own, and those
/// that are queued when the writer gets to run leave in one write.
///
/// # Bounds
///
/// [`send`](Self::send) waits while 256 messages or 8 MiB are queued, so that it exceeds either by
/// no more than a message for each task that sends. [`push`](Self::push) never waits: it is for
/// replies to the very side that is being read, which may itself read nothing until it has written
/// everything. What bounds it is that a reader pushes at most a few short replies for a message
/// that it reads. A peer that goes on writing and reads nothing is given up: at eight times the
/// bounds of `send`, the box closes.
///
/// Dropping the last clone drops what is queued. To have it written, use
/// [`flush_and_close`](Self::flush_and_close).
#[derive(Clone)]
pub struct Outbox(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    writing: AbortHandle,
}

struct Shared {
    queue: Mutex<Queue>,
    /// Notified when the queue has got shorter, or the box was closed.
    has_room: Notify,
    /// Whether the writer has ended.
    ended: watch::Sender<bool>,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Whether nothing more is taken.
    is_closed: bool,
    writer: Option<Waker>,
    /// Whether the writer waits for messages.
    is_waiting: bool,
}

impl Outbox {
    /// Starts a task that writes to `writer`.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn new(writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            has_room: Notify::new(),
            ended: watch::Sender::new(false),
        });
        let ending = Ending(shared.clone());
        let writing = tokio::spawn(async move {
            if let Err(error) = ending.0.write_all(writer).await {
                tracing::debug!("cannot write messages: {error}");
            }
            drop(ending);
        });
        Self(Arc::new(Handle {
            shared,
            writing: writing.abort_handle(),
        }))
    }

    /// Queues a message. Waits while too many are queued. Cancel safe: a message is queued
    /// completely or not at all.
    pub async fn send(&self, message: Vec<u8>) {
        let shared = &*self.0.shared;
        let mut message = one_line(message);
        loop {
            match shared.try_send(message) {
                Ok(()) => return,
                Err(refused) => message = refused,
            }
            // Created before another try, so that it misses no notification.
            let has_room = shared.has_room.notified();
            match shared.try_send(message) {
                Ok(()) => return,
                Err(refused) => message = refused,
            }
            has_room.await;
        }
    }

    /// Queues a message without waiting.
    pub fn push(&self, message: Vec<u8>) {
        self.0.push(one_line(message), VecDeque::push_back);
    }

    /// Queues a message without waiting, before all others that the writer has not begun.
    pub fn push_first(&self, message: Vec<u8>) {
        self.0.push(one_line(message), VecDeque::push_front);
    }

    /// Writes what is queued and closes the writer. Nothing is taken any more.
    ///
    /// A peer that does not read makes it wait; dropping the box then ends it.
    pub async fn flush_and_close(&self) {
        self.0.shared.close();
        self.closed().await;
    }

    /// Waits until the writer is closed, by [`flush_and_close`](Self::flush_and_close) or because
    /// of an error. Cancel safe.
    pub async fn closed(&self) {
        let mut ended = self.0.shared.ended.subscribe();
        // Never fails: the sender is in the box.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Whether [`send`](Self::send) would wait.
    pub fn is_full(&self) -> bool {
        let queue = self.0.shared.queue.lock();
        queue.is_full(1) && !queue.is_closed
    }

    /// Whether messages are dropped, since the box was closed or the peer reads no more.
    pub fn is_closed(&self) -> bool {
        self.0.shared.queue.lock().is_closed
    }
}

impl Handle {
    fn push(&self, message: Vec<u8>, add: fn(&mut VecDeque<Vec<u8>>, Vec<u8>)) {
        let mut queue = self.shared.queue.lock();
        if queue.is_full(PUSHED) && !queue.is_closed {
            tracing::warn!("the peer writes but does not read: its connection is closed");
            drop(queue);
            self.shared.give_up();
            self.writing.abort();
        } else {
            queue.add(message, add);
            queue.wake();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.writing.abort();
    }
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}

/// Ends the message with a newline, its only one: within JSON, others are white space, as are
/// carriage returns, which some readers take for newlines.
fn one_line(mut message: Vec<u8>) -> Vec<u8> {
    while let [.., b'\n' | b'\r'] = message.as_slice() {
        message.pop();
    }
    if let Some(first) = memchr2(b'\n', b'\r', &message) {
        for byte in &mut message[first..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    message.push(b'\n');
    message
}

impl Shared {
    /// Queues a message, or returns it if there is no room. A closed box has room for everything.
    fn try_send(&self, message: Vec<u8>) -> Result<(), Vec<u8>> {
        let mut queue = self.queue.lock();
        if queue.is_full(1) && !queue.is_closed {
            return Err(message);
        }
        queue.add(message, VecDeque::push_back);
        queue.wake();
        Ok(())
    }

    fn close(&self) {
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        queue.wake();
        drop(queue);
        self.has_room.notify_waiters();
    }

    /// Closes the box and drops what is queued.
    fn give_up(&self) {
        let dropped = {
            let mut queue = self.queue.lock();
            queue.bytes = 0;
            std::mem::take(&mut queue.messages)
        };
        drop(dropped);
        self.close();
    }

    async fn write_all(&self, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
        while let Some(batch) = self.next_batch().await {
            writer.write_all(&batch).await?;
            writer.flush().await?;
        }
        writer.shutdown().await
    }

    /// Takes what is written next; `None` if the box was closed and is empty.
    async fn next_batch(&self) -> Option<Vec<u8>> {
        let batch = poll_fn(|context| {
            let mut queue = self.queue.lock();
            match queue.take_batch() {
                Some(batch) => Poll::Ready(Some(batch)),
                None if queue.is_closed => Poll::Ready(None),
                None => {
                    match &mut queue.writer {
                        Some(waker) => waker.clone_from(context.waker()),
                        none => *none = Some(context.waker().clone()),
                    }
                    queue.is_waiting = true;
                    Poll::Pending
                }
            }
        });
        let batch = batch.await;
        self.has_room.notify_waiters();
        batch
    }
}

impl Queue {
    /// Whether there is no room, with this factor to the usual bounds.
    fn is_full(&self, factor: usize) -> bool {
        self.messages.len() >= factor * QUEUED_MESSAGES || self.bytes >= factor * QUEUED_BYTES
    }

    fn add(&mut self, message: Vec<u8>, add: fn(&mut VecDeque<Vec<u8>>, Vec<u8>)) {
        if !self.is_closed {
            self.bytes += message.len();
            add(&mut self.messages, message);
        }
    }

    /// Wakes the writer, once for all that is queued until it runs.
    fn wake(&mut self) {
        if std::mem::take(&mut self.is_waiting)
            && let Some(writer) = &self.writer
        {
            writer.wake_by_ref();
        }
    }

    /// Takes as many messages as fit in one write.
    fn take_batch(&mut self) -> Option<Vec<u8>> {
        let mut batch = self.messages.pop_front()?;
        self.bytes -= batch.len();
        while let Some(next) = self.messages.front()
            && batch.len() + next.len() <= BATCH
        {
            batch.extend_from_slice(next);
            self.bytes -= next.len();
            self.messages.pop_front();
        }
        if self.messages.is_empty() && self.messages.capacity() > QUEUED_MESSAGES {
            self.messages = VecDeque::new();
        }
        Some(batch)
    }
}

/// Says that the writer has ended, however it did.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.give_up();
        self.0.ended.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::Context;

    use tokio::io::{AsyncReadExt as _, DuplexStream};

    use super::*;

    /// Counts writes.
    struct Counting(DuplexStream, Arc<Mutex<Vec<usize>>>);

    impl AsyncWrite for Counting {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let written = Pin::new(&mut self.0).poll_write(context, bytes);
            if let Poll::Ready(Ok(length)) = &written {
                self.1.lock().push(*length);
            }
            written
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(context)
        }
    }

    async fn written(mut reader: DuplexStream) -> String {
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn what_is_queued_leaves_in_order_and_in_one_write() {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let writes = Arc::default();
        let outbox = Outbox::new(Counting(ours, Arc::clone(&writes)));
        for number in 0..100 {
            outbox.send(number.to_string().into_bytes()).await;
        }
        outbox.flush_and_close().await;
        let expected: Vec<_> = (0..100).map(|number| format!("{number}\n")).collect();
        let expected = expected.concat();
        assert_eq!(*writes.lock(), [expected.len()]);
        assert_eq!(written(theirs).await, expected);
        assert!(outbox.is_closed());
    }

    #[tokio::test]
    async fn a_message_takes_one_line_however_it_was_written() {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let outbox = Outbox::new(ours);
        outbox.push(b"{\r\n \"a\": 1\n}\r\n".to_vec());
        outbox.push(b"b".to_vec());
        outbox.flush_and_close().await;
        assert_eq!(written(theirs).await, "{   \"a\": 1 }\nb\n");
    }

    #[tokio::test]
    async fn send_waits_for_a_slow_reader_and_nothing_is_lost() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let outbox = Outbox::new(ours);
        let sender = outbox.clone();
        let sent = Arc::new(Mutex::new(0));
        let count = sent.clone();
        let sending = tokio::spawn(async move {
            for number in 0..2_000 {
                sender.send(format!("{number:04}").into_bytes()).await;
                *count.lock() += 1;
            }
            sender.flush_and_close().await;
        });
        for _ in 0..10_000 {
            tokio::task::yield_now().await;
        }
        // Those in the pipe, in the batch that is being written, and in the queue.
        let stopped_at = *sent.lock();
        assert!(stopped_at < 2_000, "it never waits");
        assert_eq!(outbox.0.shared.queue.lock().messages.len(), QUEUED_MESSAGES);
        let mut text = String::new();
        theirs.read_to_string(&mut text).await.unwrap();
        sending.await.unwrap();
        let expected: Vec<_> = (0..2_000).map(|number| format!("{number:04}\n")).collect();
        let expected = expected.concat();
        assert_eq!(text, expected);
    }

    #[tokio::test]
    async fn what_is_pushed_first_overtakes_what_was_not_begun() {
        let (ours, theirs) = tokio::io::duplex(1);
        let outbox = Outbox::new(ours);
        outbox.push(b"begun".to_vec());
        tokio::task::yield_now().await;
        outbox.push(b"late".to_vec());
        outbox.push_first(b"urgent".to_vec());
        let (text, ()) = tokio::join!(written(theirs), outbox.flush_and_close());
        assert_eq!(text, "begun\nurgent\nlate\n");
    }

    #[tokio::test]
    async fn a_peer_that_closes_ends_the_box_and_frees_who_waits() {
        let (ours, theirs) = tokio::io::duplex(16);
        let outbox = Outbox::new(ours);
        let sender = outbox.clone();
        let sending = tokio::spawn(async move {
            for _ in 0..1_000 {
                sender.send(vec![b'x'; 100]).await;
            }
        });
        tokio::task::yield_now().await;
        drop(theirs);
        outbox.closed().await;
        sending.await.unwrap();
        assert!(outbox.is_closed());
        outbox.flush_and_close().await;
    }

    #[tokio::test]
    async fn a_peer_that_never_reads_is_given_up_at_a_bound() {
        let (ours, _theirs) = tokio::io::duplex(16);
        let outbox = Outbox::new(ours);
        for _ in 0..=PUSHED * QUEUED_MESSAGES {
            assert!(!outbox.is_closed());
            outbox.push(b"{}".to_vec());
        }
        assert!(outbox.is_closed());
        assert_eq!(outbox.0.shared.queue.lock().messages.len(), 0);
    }

    #[tokio::test]
    async fn a_dropped_box_closes_its_writer() {
        let (ours, theirs) = tokio::io::duplex(1);
        let outbox = Outbox::new(ours);
        outbox.push(vec![b'x'; 1 << 20]);
        tokio::task::yield_now().await;
        drop(outbox);
        assert!(written(theirs).await.len() < 10);
    }
}
