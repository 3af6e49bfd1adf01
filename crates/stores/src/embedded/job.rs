//! What callers hand to the writer, with the way back.

use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::Created;
use entreat_engine::{Record, Store, StoreError};
use tokio::sync::oneshot;

use super::Shared;
use super::claims::ClaimJob;
use super::lingering::Ended;
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
        /// Whether a record that is over may stay among the live ones; afterwards, whether it
        /// does.
        lingers: bool,
        /// Whether it was among the live ones.
        was_live: bool,
        ticket: Ticket<()>,
    },
    /// A record that is over and still lies among the live ones.
    Move { id: ElicitationId, ended: Ended },
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
    pub(super) fn publish(self, shared: &Shared) {
        let Shared {
            live, lingering, ..
        } = shared;
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
                lingers,
                was_live,
                ticket,
                ..
            } => {
                if let (true, Some(Ok(()))) = (was_live, &ticket.answer) {
                    // Before it leaves memory: whoever lists finds it in one of the two.
                    match Ended::of(&record) {
                        Some(ended) if lingers => lingering.insert(record.id, ended),
                        _ => lingering.remove(record.id),
                    }
                    drop(live.commit(record));
                }
                ticket.send();
            }
            Self::Move { id, ended } => lingering.moved(id, ended),
            Self::Purge { ids, ticket, .. } => {
                for id in ids {
                    lingering.remove(id);
                }
                ticket.send();
            }
            Self::Note { ticket, .. } => ticket.send(),
            Self::Claims(job) => job.publish(),
        }
    }

    /// To be called when nothing has happened.
    pub(super) fn fail(self, outage: &Outage) {
        match self {
            Self::Create { ticket, .. } => ticket.fail(outage),
            Self::Commit { ticket, .. } | Self::Note { ticket, .. } => ticket.fail(outage),
            Self::Move { .. } => {}
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
