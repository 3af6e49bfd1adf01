//! Memory for what is being received: bodies of calls, messages of WebSockets, posted forms.
//!
//! Each is bounded, and so is the number of connections, but not their product. The first of each
//! is free, so that small ones need no count; what is larger takes places, of which each asker or
//! question has a share.

use std::sync::Arc;

use entreat_engine::shares::{Full, Place, Shares};

/// So much of each is free, in bytes.
const FREE: usize = 64 << 10;
/// The rest counts by so many bytes.
const UNIT: usize = 1 << 20;

/// Memory for all, and for each. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Memory(Shares<Arc<str>>);

impl Memory {
    /// So many bytes for all, and so many for each.
    pub(crate) fn new(all: usize, each: usize) -> Self {
        Self(Shares::new(all.div_ceil(UNIT), each.div_ceil(UNIT)))
    }

    /// What somebody sends.
    pub(crate) fn of(&self, holder: Arc<str>) -> Received {
        Received {
            memory: self.clone(),
            holder,
            bytes: 0,
            places: Vec::new(),
        }
    }
}

/// What was received of one body or message; its memory is given back when this is dropped.
pub(crate) struct Received {
    memory: Memory,
    holder: Arc<str>,
    bytes: usize,
    places: Vec<Place<Arc<str>>>,
}

impl Received {
    /// So many bytes more have come.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Full> {
        self.bytes += bytes;
        let units = self.bytes.saturating_sub(FREE).div_ceil(UNIT);
        while self.places.len() < units {
            self.places.push(self.memory.0.take(self.holder.clone())?);
        }
        Ok(())
    }

    /// Some of it is not kept, and makes up nothing.
    pub(crate) fn leave_out(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Begins anew: what came so far is not kept any more.
    pub(crate) fn forget(&mut self) {
        self.bytes = 0;
        self.places.clear();
    }
}
