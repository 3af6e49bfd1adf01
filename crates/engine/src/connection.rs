//! The asker's connection as an object: when it goes, so does what was asked on it.

use std::collections::HashSet;
use std::sync::Arc;

use entreat_core::{CancelReason, ElicitationId};
use parking_lot::Mutex;

use crate::ask::Ask;
use crate::asker::Asker;
use crate::elicitation::Elicitation;
use crate::error::AskError;
use crate::snapshot::Snapshot;

/// The asker's connection: a WebSocket, a stdio session, a piece of a program.
///
/// Dropping it cancels what was asked on it and is still live, as `client_disconnected`, unless
/// it was asked to be durable. The engine does that in the background; nobody has to wait.
#[derive(Debug)]
pub struct Connection {
    asker: Asker,
    ties: Arc<Ties>,
    reason: CancelReason,
}

/// What was asked on a connection and is still live.
#[derive(Debug, Default)]
pub(crate) struct Ties(Mutex<HashSet<ElicitationId>>);

impl Ties {
    pub(crate) fn bind(&self, id: ElicitationId) {
        self.0.lock().insert(id);
    }

    pub(crate) fn loosen(&self, id: ElicitationId) {
        self.0.lock().remove(&id);
    }
}

impl Connection {
    pub(crate) fn new(asker: Asker) -> Self {
        Self {
            asker,
            ties: Arc::default(),
            reason: CancelReason::ClientDisconnected,
        }
    }

    /// Asks on this connection.
    pub async fn ask(&self, ask: Ask) -> Result<Elicitation, AskError> {
        Ok(self.asker.elicitation(self.create(ask).await?.id()))
    }

    /// Asks on this connection, and tells how the question stands, as
    /// [`Asker::create`] does.
    pub async fn create(&self, ask: Ask) -> Result<Snapshot, AskError> {
        self.asker.create_on(ask, Some(&self.ties)).await
    }

    /// Who asks.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Ends the connection because the asker's session ended: what is left is cancelled as
    /// `session_expired`.
    pub fn expire(mut self) {
        self.reason = CancelReason::SessionExpired;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let left: Vec<_> = self.ties.0.lock().drain().collect();
        if !left.is_empty() {
            self.asker.engine().inner.abandon(left, self.reason);
        }
    }
}
