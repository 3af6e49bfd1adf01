//! A gateway whose questions are asked here.

use std::sync::Arc;

use entreat_gateway::{Builder, Gateway};

use super::{Entreat, long_waits};

impl Entreat {
    /// Prepares a gateway between MCP clients and servers: what a client cannot show is asked on
    /// the pages of this program, or on those of the service that it uses.
    pub fn gateway(&self) -> Builder {
        let gateway = Gateway::builder(long_waits::asker(self.engine(), "gateway"));
        #[cfg(feature = "remote")]
        if let Some(remote) = &self.remote {
            return gateway.pages(Arc::new(remote.clone()));
        }
        match self.pages() {
            Some(pages) => gateway.pages(Arc::new(pages.clone())),
            None => gateway,
        }
    }
}
