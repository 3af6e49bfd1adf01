//! The asker and connection that a message belongs to.

use std::sync::Arc;

use entreat_engine::{Ask, AskError, Asker, Connection, Snapshot};

/// An asker, and its connection if it has one. Cheap to clone.
///
/// Questions of a connection are cancelled when it closes, unless they are durable. It closes when
/// the last clone of its session is dropped. Calls that create questions hold a clone; waits do
/// not.
#[derive(Clone, Debug)]
pub struct Session {
    asker: Asker,
    connection: Option<Arc<Connection>>,
}

impl Session {
    /// A session for single requests: questions outlive it.
    pub fn new(asker: Asker) -> Self {
        let connection = None;
        Self { asker, connection }
    }

    /// A session for a WebSocket or stdio connection.
    pub fn connected(asker: Asker) -> Self {
        let connection = Some(Arc::new(asker.connect()));
        Self { asker, connection }
    }

    /// Returns the asker.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    pub(super) async fn create(&self, ask: Ask) -> Result<Snapshot, AskError> {
        match &self.connection {
            Some(connection) => connection.create(ask).await,
            None => self.asker.create(ask).await,
        }
    }
}
