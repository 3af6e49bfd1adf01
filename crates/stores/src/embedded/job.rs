//! What callers hand to the writer, with the way back.

use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::Created;
use entreat_engine::{MemoryStore, Record, Store, StoreError};
use tokio::sync::oneshot;

use super::claims::ClaimJob;
use super::writer::Outage;
use crate::forms::KeptForm;

/// Something to be written.
pub(super) enum Job {
    /// A new record.
    Create {
        record: Record,
        form: Option<Arc<KeptForm>>,
        request: Vec<u8>,
        state: Vec<u8>,
        ticket: Ticket<Created>,
    },
    /// A record's next version.
    Commit {
        record: Record,
        state: Vec<u8>,
        /// Whether memory holds the record; it does while that is live.
        was_live: bool,
        ticket: Ticket<()>,
    },
    /// Settled records to be forgotten.
    Purge {
        ids: Vec<ElicitationId>,
        settled_before: UnixTime,
        ticket: Ticket<usize>,
    },
    /// Something with claims.
    Claims(ClaimJob),
    /// A small text of the engine's own.
    Note {
        name: &'static str,
        text: String,
        ticket: Ticket<()>,
    },
}

impl Job {
    /// To be called once the job is on disk: lets everybody see it, then answers.
    pub(super) fn publish(self, live: &MemoryStore) {
        match self {
            Self::Create { record, ticket, .. } => {
                if let Some(Ok(Created::Fresh)) = ticket.answer {
                    // The database has checked versions and keys, and memory follows it step
                    // by step; so here and below there is nothing to be told.
                    drop(live.create(record));
                }
                ticket.send();
            }
            Self::Commit {
                record,
                was_live,
                ticket,
                ..
            } => {
                if let (true, Some(Ok(()))) = (was_live, &ticket.answer) {
                    drop(live.commit(record));
                }
                ticket.send();
            }
            Self::Purge { ticket, .. } => ticket.send(),
            Self::Note { ticket, .. } => ticket.send(),
            Self::Claims(job) => job.publish(),
        }
    }

    /// To be called when nothing has happened.
    pub(super) fn fail(self, outage: &Outage) {
        match self {
            Self::Create { ticket, .. } => ticket.fail(outage),
            Self::Commit { ticket, .. } | Self::Note { ticket, .. } => ticket.fail(outage),
            Self::Purge { ticket, .. } => ticket.fail(outage),
            Self::Claims(job) => job.fail(outage),
        }
    }
}

/// Where the answer goes, and the answer while it waits for the disk.
pub(super) struct Ticket<T> {
    sender: oneshot::Sender<Result<T, StoreError>>,
    pub(super) answer: Option<Result<T, StoreError>>,
}

impl<T> Ticket<T> {
    /// A ticket, and where its answer will arrive.
    pub(super) fn new() -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (sender, receiver) = oneshot::channel();
        let answer = None;
        (Self { sender, answer }, receiver)
    }

    // In both, whoever has stopped waiting does not want to know.

    pub(super) fn send(self) {
        if let Some(answer) = self.answer {
            drop(self.sender.send(answer));
        }
    }

    pub(super) fn fail(self, outage: &Outage) {
        drop(self.sender.send(Err(outage.as_error())));
    }
}
