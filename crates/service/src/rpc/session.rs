//! The asker and connection that a message belongs to.

use std::sync::Arc;

use entreat_engine::{Ask, AskError, Asker, Connection, Operator, Snapshot};

use crate::askers::{Caller, Role};

/// An asker, what it may do, and its connection if it has one. Cheap to clone.
///
/// Questions of a connection are cancelled when it closes, unless they are durable. It closes when
/// the last clone of its session is dropped. Calls that create questions hold a clone; waits do
/// not.
#[derive(Clone, Debug)]
pub struct Session {
    asker: Asker,
    role: Role,
    connection: Option<Arc<Connection>>,
}

impl Session {
    /// A session for single requests: questions outlive it.
    pub fn new(asker: Asker) -> Self {
        Self {
            asker,
            role: Role::Asker,
            connection: None,
        }
    }

    /// A session for a WebSocket or stdio connection.
    pub fn connected(asker: Asker) -> Self {
        let connection = Some(Arc::new(asker.connect()));
        Self {
            connection,
            ..Self::new(asker)
        }
    }

    /// Sets what the caller may do.
    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// A session for single requests of this caller.
    pub(crate) fn of(caller: &Caller) -> Self {
        Self::new(caller.asker.clone()).with_role(caller.role)
    }

    /// Returns the asker.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Returns what the caller may do.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the caller as an operator, if it is one.
    pub(super) fn operator(&self) -> Option<Operator> {
        (self.role == Role::Operator).then(|| Operator::new(self.asker.clone()))
    }

    pub(super) async fn create(&self, ask: Ask) -> Result<Snapshot, AskError> {
        match &self.connection {
            Some(connection) => connection.create(ask).await,
            None => self.asker.create(ask).await,
        }
    }
}
