//! An asker's connection: dropping it cancels what was asked on it.

use std::collections::HashSet;
use std::sync::Arc;

use entreat_core::{CancelReason, ElicitationId};
use parking_lot::Mutex;

use crate::ask::Ask;
use crate::asker::Asker;
use crate::elicitation::Elicitation;
use crate::error::AskError;
use crate::snapshot::Snapshot;

/// An asker's connection, such as a WebSocket or a stdio session.
///
/// Dropping it cancels its live elicitations as `client_disconnected`, except
/// [durable](Ask::durable) ones. The engine does so in the background.
#[derive(Debug)]
pub struct Connection {
    asker: Asker,
    open_questions: Arc<OpenQuestions>,
    reason: CancelReason,
}

/// The live elicitations of a connection.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions(Mutex<HashSet<ElicitationId>>);

impl OpenQuestions {
    pub(crate) fn insert(&self, id: ElicitationId) {
        self.0.lock().insert(id);
    }

    pub(crate) fn remove(&self, id: ElicitationId) {
        self.0.lock().remove(&id);
    }
}

impl Connection {
    pub(crate) fn new(asker: Asker) -> Self {
        Self {
            asker,
            open_questions: Arc::default(),
            reason: CancelReason::ClientDisconnected,
        }
    }

    /// Asks a question on this connection.
    pub async fn ask(&self, ask: Ask) -> Result<Elicitation, AskError> {
        Ok(self.asker.elicitation(self.create(ask).await?.id()))
    }

    /// Asks on this connection and returns a snapshot, as [`Asker::create`] does.
    pub async fn create(&self, ask: Ask) -> Result<Snapshot, AskError> {
        self.asker.create_on(ask, Some(&self.open_questions)).await
    }

    /// Returns the asker.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Closes the connection because the session ended: live elicitations are cancelled as
    /// `session_expired`.
    pub fn expire(mut self) {
        self.reason = CancelReason::SessionExpired;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let ids: Vec<_> = self.open_questions.0.lock().drain().collect();
        if !ids.is_empty() {
            self.asker.engine().inner.abandon(ids, self.reason);
        }
    }
}
