//! The writer thread.
//!
//! It writes all queued jobs in one transaction and acknowledges them (group commit). The queue
//! fills again during the fsync, so that more callers share one. Jobs that no caller waits for have
//! a separate queue.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::{Store, StoreError};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::batch::Batch;
use super::batch_size::BatchSizer;
use super::group_commit::{BATCH, CommitGroup, IdleMoves};
use super::inbox::{Inbox, Queues};
use super::log::Log;
use super::{OpenError, Shared};

/// A handle to the thread; joins it on drop.
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
        let path = shared.path.clone();
        let failed = |source| OpenError::Failed {
            path: path.clone(),
            attempt: "start the writer",
            source: Box::new(source),
        };
        let (queues, stop, inbox) = Inbox::open().map_err(&failed)?;
        let thread = std::thread::Builder::new()
            .name("entreat-store".to_owned())
            .spawn(move || run(&shared, connection, inbox))
            .map_err(failed)?;
        let running = Mutex::new(Some(Running { stop, thread }));
        Ok((queues, Self { running }))
    }

    /// Lets the thread complete queued jobs, and joins it.
    pub(super) async fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(running) = running {
            // Soon, but it may wait for the disk.
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
            tracing::error!("the store's writer panicked");
        }
    }
}

fn run(shared: &Shared, mut connection: Connection, mut inbox: Inbox) {
    let started = Log::attach(&mut connection)
        .and_then(|log| Ok((log, Batch::prepare(&connection, &shared.unarchived)?)));
    let (mut log, mut batch) = match started {
        Ok(started) => started,
        Err(error) => {
            tracing::error!(%error, "the store cannot write");
            return;
        }
    };
    let mut jobs = Vec::with_capacity(BATCH);
    let mut sizer = BatchSizer::new();
    let mut idle_moves = IdleMoves::new();
    let mut min_low_priority = 0;
    while inbox.wait(idle_moves.remaining(&shared.unarchived)) {
        let may_move = idle_moves.remaining(&shared.unarchived) == Some(Duration::ZERO);
        let limit = sizer.low_priority_limit();
        let mut group = CommitGroup::new(
            &mut inbox,
            &shared.unarchived,
            limit,
            min_low_priority,
            may_move,
        );
        let Some(first) = group.next() else {
            continue;
        };
        // Writes to a file that was deleted or replaced would be lost, so they are not
        // acknowledged.
        let written = match shared.files.verify() {
            Ok(()) => batch
                .write(first, &mut group, &mut jobs)
                .map_err(WriteFailure::new),
            Err(removed) => {
                jobs.push(first);
                Err(WriteFailure::new(removed))
            }
        };
        min_low_priority = group.min_low_priority_of_next();
        idle_moves.update(&group, written.is_ok());
        let has_waiters = group.normal > 0;
        match written {
            Ok(timing) => {
                sizer.update(timing, jobs.len());
                for job in jobs.drain(..) {
                    job.publish(shared);
                }
                // Settled records are read from disk; memory only holds live ones.
                drop(
                    shared
                        .live
                        .purge(UnixTime::from_millis(u64::MAX), usize::MAX),
                );
            }
            Err(failure) => {
                batch.roll_back(&connection);
                let error = &failure.0;
                tracing::error!(%error, steps = jobs.len(), "steps could not be stored");
                for job in jobs.drain(..) {
                    job.fail(&failure);
                }
                log.failed();
                continue;
            }
        }
        log.checkpoint_if_due(&connection, !has_waiters && inbox.normal.is_empty());
    }
    drop(batch);
    log.truncate(&connection);
}

/// Why a transaction failed; shared by all of its jobs.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the database failed")]
pub(super) struct WriteFailure(#[source] Arc<dyn std::error::Error + Send + Sync>);

impl WriteFailure {
    fn new(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(cause))
    }

    pub(super) fn as_error(&self) -> StoreError {
        StoreError::Unavailable {
            attempt: "write to disk",
            source: Box::new(self.clone()),
        }
    }
}
