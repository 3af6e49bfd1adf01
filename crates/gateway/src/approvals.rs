//! Calls that wait until a person approves them.

use std::sync::Arc;

use crate::call::Call;
use crate::session::Session;

impl Session {
    /// Whether calls of tools may have to be approved.
    pub(crate) fn needs_approval(&self) -> bool {
        false
    }

    /// Asks whether a call may run, and runs it.
    pub(crate) fn approve_then(self: &Arc<Self>, _call: &Arc<Call>, _params: &str, _legacy: bool) {}
}
