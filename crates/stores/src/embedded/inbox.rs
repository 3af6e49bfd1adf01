//! The job queues between callers and the writer.

use std::io;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

use super::group_commit::BATCH;
use super::job::Job;

/// Capacity of a queue: one transaction. Callers wait while it is full (backpressure).
const QUEUE: usize = BATCH;

/// The sending halves.
pub(super) struct Queues {
    /// For jobs that a caller waits for.
    pub(super) normal: mpsc::Sender<Job>,
    /// For jobs that no caller waits for.
    pub(super) low_priority: mpsc::Sender<Job>,
}

/// The receiving halves.
pub(super) struct Inbox {
    runtime: Runtime,
    pub(super) normal: Queue,
    pub(super) low_priority: Queue,
    /// `None` once a stop was requested.
    stopped: Option<oneshot::Receiver<()>>,
}

/// A queue, and the job that woke the writer.
pub(super) struct Queue {
    first: Option<Job>,
    rest: mpsc::Receiver<Job>,
}

impl Queue {
    fn of(rest: mpsc::Receiver<Job>) -> Self {
        Self { first: None, rest }
    }

    pub(super) fn take(&mut self) -> Option<Job> {
        self.first.take().or_else(|| self.rest.try_recv().ok())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest.is_empty()
    }
}

impl Inbox {
    /// Creates the queues; dropping the second value stops the writer.
    pub(super) fn open() -> io::Result<(Queues, oneshot::Sender<()>, Self)> {
        let (normal, normal_jobs) = mpsc::channel(QUEUE);
        let (low_priority, low_priority_jobs) = mpsc::channel(QUEUE);
        let (stop, stopped) = oneshot::channel();
        // Only used to wait on several channels at once.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let inbox = Self {
            runtime,
            normal: Queue::of(normal_jobs),
            low_priority: Queue::of(low_priority_jobs),
            stopped: Some(stopped),
        };
        Ok((
            Queues {
                normal,
                low_priority,
            },
            stop,
            inbox,
        ))
    }

    /// Waits for a job or the timeout; false once the queues are closed and empty.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> bool {
        let Self {
            runtime,
            normal,
            low_priority,
            stopped,
        } = self;
        // Left over from the last transaction.
        if low_priority.first.is_some() {
            return true;
        }
        runtime.block_on(async {
            if let Some(end) = stopped {
                tokio::select! {
                    biased;
                    _ = end => {}
                    Some(job) = normal.rest.recv() => {
                        normal.first = Some(job);
                        return true;
                    }
                    Some(job) = low_priority.rest.recv() => {
                        low_priority.first = Some(job);
                        return true;
                    }
                    () = sleep(timeout) => return true,
                }
                // Queued jobs are still processed; new ones are rejected.
                *stopped = None;
                normal.rest.close();
                low_priority.rest.close();
            }
            // Waits for sends in progress.
            normal.first = normal.rest.recv().await;
            if normal.first.is_none() {
                low_priority.first = low_priority.rest.recv().await;
            }
            normal.first.is_some() || low_priority.first.is_some()
        })
    }
}

/// Sleeps for this long, or forever.
async fn sleep(time: Option<Duration>) {
    match time {
        None => std::future::pending().await,
        Some(Duration::ZERO) => {}
        Some(time) => tokio::time::sleep(time).await,
    }
}
