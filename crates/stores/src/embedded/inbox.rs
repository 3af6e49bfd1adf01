//! Where jobs wait for the writer, and the writer for jobs.

use std::io;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

use super::job::Job;
use super::turn::BATCH;

/// So many jobs may be queued; whoever comes then waits before its job is taken. As many as
/// the next transaction takes.
const QUEUE: usize = BATCH;

/// Where jobs are queued.
pub(super) struct Queues {
    /// Those that somebody waits for.
    pub(super) prompt: mpsc::Sender<Job>,
    /// The others.
    pub(super) unhurried: mpsc::Sender<Job>,
}

/// Where jobs arrive.
pub(super) struct Inbox {
    runtime: Runtime,
    pub(super) prompt: Queue,
    pub(super) unhurried: Queue,
    /// `None` once the end was announced.
    stopped: Option<oneshot::Receiver<()>>,
}

/// A queue, and the job for which the writer was woken.
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
    /// The way in, what is dropped to announce the end, and where jobs arrive.
    pub(super) fn open() -> io::Result<(Queues, oneshot::Sender<()>, Self)> {
        let (prompt, prompt_jobs) = mpsc::channel(QUEUE);
        let (unhurried, unhurried_jobs) = mpsc::channel(QUEUE);
        let (stop, stopped) = oneshot::channel();
        // Only to wait for several things at once.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        let inbox = Self {
            runtime,
            prompt: Queue::of(prompt_jobs),
            unhurried: Queue::of(unhurried_jobs),
            stopped: Some(stopped),
        };
        Ok((Queues { prompt, unhurried }, stop, inbox))
    }

    /// Waits until there is something to do, or for so long; false when there will be no more.
    pub(super) fn wait(&mut self, at_most: Option<Duration>) -> bool {
        let Self {
            runtime,
            prompt,
            unhurried,
            stopped,
        } = self;
        // It was left for this transaction.
        if unhurried.first.is_some() {
            return true;
        }
        runtime.block_on(async {
            if let Some(end) = stopped {
                tokio::select! {
                    biased;
                    _ = end => {}
                    Some(job) = prompt.rest.recv() => {
                        prompt.first = Some(job);
                        return true;
                    }
                    Some(job) = unhurried.rest.recv() => {
                        unhurried.first = Some(job);
                        return true;
                    }
                    () = pass(at_most) => return true,
                }
                // What was queued before is still done; who comes now is turned away.
                *stopped = None;
                prompt.rest.close();
                unhurried.rest.close();
            }
            // A job that was on its way is waited for.
            prompt.first = prompt.rest.recv().await;
            if prompt.first.is_none() {
                unhurried.first = unhurried.rest.recv().await;
            }
            prompt.first.is_some() || unhurried.first.is_some()
        })
    }
}

/// Ends after so long, or never.
async fn pass(time: Option<Duration>) {
    match time {
        None => std::future::pending().await,
        Some(Duration::ZERO) => {}
        Some(time) => tokio::time::sleep(time).await,
    }
}
