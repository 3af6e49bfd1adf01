//! The one thread that writes.
//!
//! It takes what is queued, writes it in one transaction, and answers. While it waits for the
//! disk the queue fills again, so that the more callers there are the more of them share one
//! wait. What nobody waits for has a queue of its own.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use entreat_core::UnixTime;
use entreat_engine::{Store, StoreError};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::batch::Batch;
use super::inbox::{Inbox, Queues};
use super::log::Log;
use super::pace::Pace;
use super::turn::{BATCH, Leisure, Turn};
use super::{OpenError, Shared};

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

fn run(shared: &Shared, mut connection: Connection, mut inbox: Inbox) {
    let started = Log::watch(&mut connection)
        .and_then(|log| Ok((log, Batch::prepare(&connection, &shared.lingering)?)));
    let (mut log, mut batch) = match started {
        Ok(started) => started,
        Err(error) => {
            tracing::error!(%error, "the store cannot write");
            return;
        }
    };
    let mut jobs = Vec::with_capacity(BATCH);
    let mut pace = Pace::new();
    let mut leisure = Leisure::new();
    let mut owed = 0;
    while inbox.wait(leisure.left(&shared.lingering)) {
        let may_move = leisure.left(&shared.lingering) == Some(Duration::ZERO);
        let portion = pace.portion();
        let mut turn = Turn::new(&mut inbox, &shared.lingering, portion, owed, may_move);
        let Some(first) = turn.next() else {
            continue;
        };
        // What is written to a file that nobody finds any more is lost, and so is not acknowledged.
        let written = match shared.files.verify() {
            Ok(()) => batch
                .write(first, &mut turn, &mut jobs)
                .map_err(Outage::new),
            Err(removed) => {
                jobs.push(first);
                Err(Outage::new(removed))
            }
        };
        owed = turn.owes();
        leisure.learn(&turn, written.is_ok());
        let is_prompt = turn.prompt > 0;
        match written {
            Ok(timing) => {
                pace.learn(timing, jobs.len());
                for job in jobs.drain(..) {
                    job.publish(shared);
                }
                // What is over is read from disk; memory is for what is live.
                drop(
                    shared
                        .live
                        .purge(UnixTime::from_millis(u64::MAX), usize::MAX),
                );
            }
            Err(outage) => {
                batch.roll_back(&connection);
                let error = &outage.0;
                tracing::error!(%error, steps = jobs.len(), "steps could not be kept");
                for job in jobs.drain(..) {
                    job.fail(&outage);
                }
                log.failed();
                continue;
            }
        }
        log.tend(&connection, !is_prompt && inbox.prompt.is_empty());
    }
    drop(batch);
    log.empty(&connection);
}

/// Why a whole transaction failed; shared by all who had a step in it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the database failed")]
pub(super) struct Outage(#[source] Arc<dyn std::error::Error + Send + Sync>);

impl Outage {
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
