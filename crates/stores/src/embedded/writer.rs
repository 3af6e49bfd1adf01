//! The one thread that writes.
//!
//! It takes what is queued, writes it in one transaction, and answers. While it waits for the
//! disk the queue fills again, so that the more callers there are the more of them share one
//! wait. What nobody waits for has a queue of its own: as long as both are full they take turns,
//! in portions that keep a caller's wait short.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::{Store, StoreError};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

use super::batch::Batch;
use super::job::Job;
use super::pace::Pace;
use super::{OpenError, Shared};

/// So many jobs go into one transaction at most: enough to make the wait for the disk cheap,
/// few enough that nobody waits long for the others' work.
pub(super) const BATCH: usize = 1024;
/// So many jobs may be queued; whoever comes then waits before its job is taken. As many as
/// the next transaction takes.
const QUEUE: usize = BATCH;
/// A log that is larger is emptied even if that makes writers wait for readers.
const LARGE_LOG: u64 = 64 << 20;
/// How many transactions pass between two looks at the log's size.
const LOOK: u32 = 64;

/// Where jobs are queued.
pub(super) struct Queues {
    /// Those that somebody waits for.
    pub(super) prompt: mpsc::Sender<Job>,
    /// The others.
    pub(super) unhurried: mpsc::Sender<Job>,
}

/// The handle of the thread, which is joined when this is dropped.
pub(super) struct Writer {
    running: Mutex<Option<Running>>,
}

struct Running {
    /// Dropped to stop the thread.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Writer {
    pub(super) fn start(
        shared: Arc<Shared>,
        connection: Connection,
    ) -> Result<(Queues, Self), OpenError> {
        let (prompt, prompt_jobs) = mpsc::channel(QUEUE);
        let (unhurried, unhurried_jobs) = mpsc::channel(QUEUE);
        let (stop, stopped) = oneshot::channel();
        let path = shared.path.clone();
        let failed = |source| OpenError::Failed {
            path,
            attempt: "start the writer",
            source: Box::new(source),
        };
        // Only to wait for two things at once.
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let spawned = runtime.and_then(|runtime| {
            let inbox = Inbox {
                runtime,
                prompt: prompt_jobs,
                unhurried: unhurried_jobs,
                was_prompt: false,
                stopped: Some(stopped),
            };
            std::thread::Builder::new()
                .name("entreat-store".to_owned())
                .spawn(move || run(&shared, &connection, inbox))
        });
        let running = Running {
            stop,
            thread: spawned.map_err(failed)?,
        };
        let running = Mutex::new(Some(running));
        Ok((Queues { prompt, unhurried }, Self { running }))
    }

    /// Lets the thread finish what is queued, and joins it.
    pub(super) async fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(running) = running {
            // Its end is not far, but it may wait for the disk.
            drop(tokio::task::spawn_blocking(|| running.join()).await);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut().take() {
            running.join();
        }
    }
}

impl Running {
    fn join(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the writer of the store ended by a panic");
        }
    }
}

/// Where jobs arrive.
struct Inbox {
    runtime: Runtime,
    prompt: mpsc::Receiver<Job>,
    unhurried: mpsc::Receiver<Job>,
    /// Whether the last jobs were those that somebody waited for; then it is the others' turn.
    was_prompt: bool,
    /// `None` once the end was announced.
    stopped: Option<oneshot::Receiver<()>>,
}

impl Inbox {
    /// Takes what is queued, of what nobody waits for a portion; false when there will be no more.
    fn take(&mut self, taken: &mut Vec<Job>, portion: usize) -> bool {
        let Self {
            runtime,
            prompt,
            unhurried,
            was_prompt,
            stopped,
        } = self;
        runtime.block_on(async {
            if let Some(end) = stopped {
                tokio::select! {
                    biased;
                    _ = end => {}
                    is_prompt = either(prompt, unhurried, *was_prompt, portion, taken) => {
                        *was_prompt = is_prompt;
                        return;
                    }
                }
                // What was queued before is still done; who comes now is turned away.
                *stopped = None;
                prompt.close();
                unhurried.close();
            }
            *was_prompt = either(prompt, unhurried, *was_prompt, portion, taken).await;
        });
        !taken.is_empty()
    }
}

/// Waits for jobs and takes them from one of the queues; says whether somebody waits for them.
/// Takes none if both queues are closed and empty.
async fn either(
    prompt: &mut mpsc::Receiver<Job>,
    unhurried: &mut mpsc::Receiver<Job>,
    was_prompt: bool,
    portion: usize,
    taken: &mut Vec<Job>,
) -> bool {
    poll_fn(|context| {
        let mut are_over = true;
        for is_prompt in [!was_prompt, was_prompt] {
            let count = if is_prompt {
                prompt.poll_recv_many(context, taken, BATCH)
            } else {
                unhurried.poll_recv_many(context, taken, portion)
            };
            match count {
                Poll::Ready(0) => {}
                Poll::Ready(_) => return Poll::Ready(is_prompt),
                Poll::Pending => are_over = false,
            }
        }
        if are_over {
            Poll::Ready(was_prompt)
        } else {
            Poll::Pending
        }
    })
    .await
}

fn run(shared: &Shared, connection: &Connection, mut inbox: Inbox) {
    let mut batch = match Batch::prepare(connection) {
        Ok(batch) => batch,
        Err(error) => {
            tracing::error!(%error, "the store cannot write");
            return;
        }
    };
    let mut jobs = Vec::with_capacity(BATCH);
    let mut log = Log::of(shared);
    let mut pace = Pace::new();
    while inbox.take(&mut jobs, pace.portion()) {
        match batch.write(&mut jobs) {
            Ok(timing) => {
                pace.learn(timing, jobs.len());
                for job in jobs.drain(..) {
                    job.publish(&shared.live);
                }
                // What is over is read from disk; memory is for what is live.
                drop(
                    shared
                        .live
                        .purge(UnixTime::from_millis(u64::MAX), usize::MAX),
                );
            }
            Err(error) => {
                batch.roll_back(connection);
                tracing::error!(%error, steps = jobs.len(), "steps could not be kept");
                let outage = Outage(Arc::new(error));
                for job in jobs.drain(..) {
                    job.fail(&outage);
                }
            }
        }
        log.bound(connection);
    }
    drop(batch);
    if let Err(error) = checkpoint(connection) {
        tracing::warn!(%error, "the log was not emptied; the next start reads it");
    }
}

/// The database's log, which is emptied as it grows.
struct Log {
    path: PathBuf,
    since_look: u32,
}

impl Log {
    fn of(shared: &Shared) -> Self {
        let mut path = shared.path.clone().into_os_string();
        path.push("-wal");
        Self {
            path: path.into(),
            since_look: 0,
        }
    }

    /// SQLite empties the log by itself, unless there is always somebody who reads it.
    fn bound(&mut self, connection: &Connection) {
        self.since_look += 1;
        if self.since_look < LOOK {
            return;
        }
        self.since_look = 0;
        let size = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        if size > LARGE_LOG
            && let Err(error) = checkpoint(connection)
        {
            tracing::warn!(%error, size, "the log of the store is large and cannot be emptied");
        }
    }
}

/// Moves everything from the log to the file, and empties the log. Waits a little for whoever
/// reads the log.
fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_millis(100))?;
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(Duration::from_secs(5))?;
    done
}

/// Why a whole transaction failed; shared by all who had a step in it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the database failed")]
pub(super) struct Outage(#[source] Arc<rusqlite::Error>);

impl Outage {
    pub(super) fn as_error(&self) -> StoreError {
        StoreError::Unavailable {
            attempt: "write to disk",
            source: Box::new(self.clone()),
        }
    }
}
