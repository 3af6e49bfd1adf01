//! When to checkpoint the write-ahead log.
//!
//! A checkpoint syncs twice and writes every page of the log. While callers wait it is deferred
//! until the log is long; otherwise it runs early, while it takes no longer than a batch of
//! low-priority jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;

/// Pages that trigger a checkpoint.
const LONG: usize = 1000;
/// Pages that trigger a checkpoint if no caller waits.
const SHORT: usize = 48;
/// Pages at which the log is truncated even if writers have to wait for readers: 64 MiB.
const HUGE: usize = 1 << 14;

/// The length of the log, and how much of it is checkpointed.
pub(super) struct Log {
    /// As of the last transaction; the log restarts once it is fully checkpointed.
    pages: Arc<AtomicUsize>,
    checkpointed: usize,
    /// Whether it may end with frames of a failed transaction, which would look like corruption
    /// after a crash.
    has_leftovers: bool,
}

impl Log {
    /// Takes over checkpoints from SQLite on this connection.
    pub(super) fn attach(connection: &mut Connection) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicUsize::new(0));
        let seen = pages.clone();
        connection.wal_hook(Some(move |_: &mut Wal, length| {
            seen.store(usize::try_from(length).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            pages,
            checkpointed: 0,
            has_leftovers: false,
        })
    }

    /// Must be called after a failed transaction.
    pub(super) fn failed(&mut self) {
        self.has_leftovers = true;
    }

    /// Must be called after each successful transaction. `is_idle`: no caller waits.
    pub(super) fn checkpoint_if_due(&mut self, connection: &Connection, is_idle: bool) {
        if self.has_leftovers {
            self.has_leftovers = !self.truncate(connection);
            return;
        }
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.checkpointed {
            self.checkpointed = 0;
        }
        let threshold = if is_idle { SHORT } else { LONG };
        if pages - self.checkpointed < threshold {
            return;
        }
        self.checkpointed = pages;
        if pages > HUGE {
            self.truncate(connection);
            return;
        }
        // May be incomplete because of readers or a full disk; retried when the log has grown.
        drop(connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE));
    }

    /// Checkpoints everything and truncates the log; false on failure. Waits briefly for readers.
    pub(super) fn truncate(&self, connection: &Connection) -> bool {
        let emptied = connection
            .busy_timeout(Duration::from_millis(100))
            .and_then(|()| connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::TRUNCATE));
        let done = connection.busy_timeout(Duration::from_secs(5));
        let Err(error) = emptied.and(done) else {
            return true;
        };
        let pages = self.pages.load(Ordering::Relaxed);
        tracing::warn!(%error, pages, "the log of the store could not be truncated");
        false
    }
}
