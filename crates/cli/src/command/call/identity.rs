//! The identity of this client.

use entreat::mcp::rmcp::ClientHandler;
use entreat::mcp::rmcp::model::{ClientCapabilities, ClientConfig, Implementation};

/// A client handler with only a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entreat;

impl ClientHandler for Entreat {
    fn get_info(&self) -> ClientConfig {
        let mut implementation = Implementation::new("entreat", env!("CARGO_PKG_VERSION"));
        implementation.title = Some("Entreat".to_owned());
        ClientConfig::new(ClientCapabilities::default(), implementation)
    }
}
