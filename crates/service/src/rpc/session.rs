//! For whom a message is answered.

use std::sync::Arc;

use entreat_engine::{Ask, AskError, Asker, Connection, Snapshot};

/// An asker, and the connection it came on if it has one. Cheap to clone.
///
/// What is asked on a connection is cancelled when the connection goes, unless it is durable. It
/// goes with the last clone of its session; questions that are being asked hold one, waits do
/// not.
#[derive(Clone, Debug)]
pub struct Session {
    asker: Asker,
    connection: Option<Arc<Connection>>,
}

impl Session {
    /// For single requests: what is asked stays.
    pub fn new(asker: Asker) -> Self {
        let connection = None;
        Self { asker, connection }
    }

    /// For a WebSocket or a stdio session.
    pub fn connected(asker: Asker) -> Self {
        let connection = Some(Arc::new(asker.connect()));
        Self { asker, connection }
    }

    /// Who asks.
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
