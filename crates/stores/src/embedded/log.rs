//! The database's log, and when it is moved into the file.
//!
//! A move reaches the disk twice, and writes every page that the log has. While somebody works it
//! is put off until the log is long; between two portions of what nobody waits for it is done
//! early, when it takes no longer than such a portion.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;

/// A log of so many pages is moved.
const LONG: usize = 1000;
/// And one of so many, if nobody waits.
const SHORT: usize = 48;
/// A log of so many pages is emptied even if that makes writers wait for readers: 64 MiB.
const HUGE: usize = 1 << 14;

/// How long the log is, and how much of it is in the file.
pub(super) struct Log {
    /// As of the last transaction; the log begins anew when all of it is in the file.
    pages: Arc<AtomicUsize>,
    moved: usize,
    /// Whether it may end with what a failed transaction has left behind, which nobody could tell
    /// from damage after a crash.
    has_leftovers: bool,
}

impl Log {
    /// Watches the log of this connection, which moves nothing by itself any more.
    pub(super) fn watch(connection: &mut Connection) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicUsize::new(0));
        let seen = pages.clone();
        connection.wal_hook(Some(move |_: &mut Wal, length| {
            seen.store(usize::try_from(length).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            pages,
            moved: 0,
            has_leftovers: false,
        })
    }

    /// To be called after a transaction that failed.
    pub(super) fn failed(&mut self) {
        self.has_leftovers = true;
    }

    /// To be called after each transaction that did not fail. `spare` says that nobody waits.
    pub(super) fn tend(&mut self, connection: &Connection, spare: bool) {
        if self.has_leftovers {
            self.has_leftovers = !self.empty(connection);
            return;
        }
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.moved {
            self.moved = 0;
        }
        let enough = if spare { SHORT } else { LONG };
        if pages - self.moved < enough {
            return;
        }
        self.moved = pages;
        if pages > HUGE {
            self.empty(connection);
            return;
        }
        // Readers may keep some of it back, and a full disk all; it is tried again when the log
        // has grown.
        drop(connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE));
    }

    /// Moves everything and empties the log; false if that failed. Waits a little for whoever
    /// reads it.
    pub(super) fn empty(&self, connection: &Connection) -> bool {
        let emptied = connection
            .busy_timeout(Duration::from_millis(100))
            .and_then(|()| connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::TRUNCATE));
        let done = connection.busy_timeout(Duration::from_secs(5));
        let Err(error) = emptied.and(done) else {
            return true;
        };
        let pages = self.pages.load(Ordering::Relaxed);
        tracing::warn!(%error, pages, "the log of the store could not be emptied");
        false
    }
}
