//! Jobs for the writer, with their reply channels.

use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime};
use entreat_engine::store::Created;
use entreat_engine::{Record, Store, StoreError};
use tokio::sync::oneshot;

use super::Shared;
use super::claims::ClaimJob;
use super::unarchived::Settlement;
use super::writer::WriteFailure;
use crate::forms::StoredForm;

/// A write.
pub(super) enum Job {
    /// A new record.
    Create {
        record: Record,
        form: Option<Arc<StoredForm>>,
        request: Vec<u8>,
        state: Vec<u8>,
        ticket: Ticket<Created>,
    },
    /// A record's next version.
    Commit {
        record: Record,
        state: Vec<u8>,
        /// Whether a settled record may stay in `live`; after the write, whether it does.
        in_place: bool,
        /// Whether it was in `live`; set by the write.
        was_live: bool,
        ticket: Ticket<()>,
    },
    /// Moves a settled record from `live` to `settled`.
    Archive {
        id: ElicitationId,
        settlement: Settlement,
    },
    /// Deletes settled records.
    Purge {
        ids: Vec<ElicitationId>,
        settled_before: UnixTime,
        ticket: Ticket<usize>,
    },
    /// An operation on claims.
    Claims(ClaimJob),
    /// Saves a note of the engine.
    Note {
        name: &'static str,
        text: String,
        ticket: Ticket<()>,
    },
    /// Saves a note if the previous one is as expected.
    ReplaceNote {
        name: &'static str,
        expected: Option<String>,
        text: String,
        ticket: Ticket<bool>,
    },
}

impl Job {
    /// Applies a committed job to memory, then replies.
    pub(super) fn publish(self, shared: &Shared) {
        let Shared {
            live, unarchived, ..
        } = shared;
        match self {
            Self::Create { record, ticket, .. } => {
                if let Some(Ok(Created::New)) = ticket.answer {
                    // The database has checked versions and keys, so updates of memory cannot fail
                    // here and below.
                    drop(live.create(record));
                }
                ticket.send();
            }
            Self::Commit {
                record,
                in_place,
                was_live,
                ticket,
                ..
            } => {
                if let (true, Some(Ok(()))) = (was_live, &ticket.answer) {
                    // Before it leaves memory, so that a concurrent list finds it in one of the
                    // two.
                    match Settlement::of(&record) {
                        Some(settlement) if in_place => unarchived.insert(record.id, settlement),
                        _ => unarchived.remove(record.id),
                    }
                    drop(live.commit(record));
                }
                ticket.send();
            }
            Self::Archive { id, settlement } => unarchived.remove_moved(id, settlement),
            Self::Purge { ids, ticket, .. } => {
                for id in ids {
                    unarchived.remove(id);
                }
                ticket.send();
            }
            Self::Note { ticket, .. } => ticket.send(),
            Self::ReplaceNote { ticket, .. } => ticket.send(),
            Self::Claims(job) => job.publish(),
        }
    }

    /// Replies with an error after a failed transaction.
    pub(super) fn fail(self, failure: &WriteFailure) {
        match self {
            Self::Create { ticket, .. } => ticket.fail(failure),
            Self::Commit { ticket, .. } | Self::Note { ticket, .. } => ticket.fail(failure),
            Self::Archive { .. } => {}
            Self::Purge { ticket, .. } => ticket.fail(failure),
            Self::ReplaceNote { ticket, .. } => ticket.fail(failure),
            Self::Claims(job) => job.fail(failure),
        }
    }
}

/// A reply channel, with the answer to send after the commit.
pub(super) struct Ticket<T> {
    sender: oneshot::Sender<Result<T, StoreError>>,
    pub(super) answer: Option<Result<T, StoreError>>,
}

impl<T> Ticket<T> {
    /// Creates a ticket and its receiver.
    pub(super) fn new() -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (sender, receiver) = oneshot::channel();
        let answer = None;
        (Self { sender, answer }, receiver)
    }

    // In both cases the receiver may have been dropped.
    pub(super) fn send(self) {
        if let Some(answer) = self.answer {
            drop(self.sender.send(answer));
        }
    }

    pub(super) fn fail(self, failure: &WriteFailure) {
        drop(self.sender.send(Err(failure.as_error())));
    }
}
