//! Memory quotas for data being received: request bodies, WebSocket messages, posted forms.
//!
//! The size of each and the number of connections are bounded, but their product is too large. The
//! first bytes of each are free, so that small ones need no accounting; the rest is reserved in
//! units, with a quota for each asker or question.

use std::sync::Arc;

use entreat_engine::shares::{Full, Permit, Shares};

/// Bytes of each body or message that do not count.
const FREE: usize = 64 << 10;
/// Granularity of reservations, in bytes.
const UNIT: usize = 1 << 20;

/// A quota in total and per holder. Cheap to clone.
#[derive(Clone)]
pub(crate) struct MemoryQuota(Shares<Arc<str>>);

impl MemoryQuota {
    /// Takes the quotas in total and per holder, in bytes.
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Self(Shares::new(all.div_ceil(UNIT), each.div_ceil(UNIT)))
    }

    /// Starts an empty reservation for a body or message of this holder.
    pub(crate) fn reserve_for(&self, holder: Arc<str>) -> Reservation {
        Reservation {
            memory: self.clone(),
            holder,
            bytes: 0,
            places: Vec::new(),
        }
    }
}

/// Memory reserved for one body or message; released on drop.
pub(crate) struct Reservation {
    memory: MemoryQuota,
    holder: Arc<str>,
    bytes: usize,
    places: Vec<Permit<Arc<str>>>,
}

impl Reservation {
    /// Reserves this many more bytes.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        self.bytes += bytes;
        let units = self.bytes.saturating_sub(FREE).div_ceil(UNIT);
        while self.places.len() < units {
            self.places.push(self.memory.0.take(self.holder.clone())?);
        }
        Ok(())
    }
}

/// For a stream of messages.
#[cfg(feature = "standalone")]
impl Reservation {
    /// Stops counting bytes that are not retained.
    pub(crate) fn discount(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Releases everything, for the next message.
    pub(crate) fn reset(&mut self) {
        self.bytes = 0;
        self.places.clear();
    }
}
