//! How a store tells of changes that were made through other handles on the same data.
//!
//! A feed carries ids and versions, not records: the store is the truth, and whoever hears of a
//! change reads it there. So a feed may repeat itself, and it may lose changes if it says so.

use std::sync::Arc;

use entreat_core::ElicitationId;
use tokio::sync::broadcast;

use crate::record::Version;

/// Changes in the feed that its reader has not taken yet; the oldest give way to
/// [`ChangeElsewhere::Missed`].
const CAPACITY: usize = 1024;

/// Something that another handle has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeElsewhere {
    /// These records have reached these versions, or later ones.
    Records(Arc<[(ElicitationId, Version)]>),
    /// Some changes may have been missed: look at everything again.
    Missed,
}

/// Tells the feeds of one handle about changes made elsewhere. Never waits for their readers.
#[derive(Clone, Debug)]
pub struct ChangeSender(broadcast::Sender<ChangeElsewhere>);

impl ChangeSender {
    /// Creates a sender without a feed.
    pub fn new() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }

    /// Tells of a change. Whoever sends must be sure that it can be read from the store already.
    pub fn send(&self, change: ChangeElsewhere) {
        // Without a feed nobody has to know.
        let _ = self.0.send(change);
    }

    /// Returns a feed of what is sent from now on.
    pub fn subscribe(&self) -> ChangeFeed {
        ChangeFeed(self.0.subscribe())
    }
}

impl Default for ChangeSender {
    fn default() -> Self {
        Self::new()
    }
}

/// Changes made elsewhere; see [`Store::changes_elsewhere`](super::Store::changes_elsewhere).
#[derive(Debug)]
pub struct ChangeFeed(broadcast::Receiver<ChangeElsewhere>);

impl ChangeFeed {
    /// Waits for the next change; `None` once the store tells of no more. Cancel-safe.
    pub async fn next(&mut self) -> Option<ChangeElsewhere> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(ChangeElsewhere::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// Returns the next change if it is there already.
    pub fn try_next(&mut self) -> Option<ChangeElsewhere> {
        match self.0.try_recv() {
            Ok(change) => Some(change),
            Err(broadcast::error::TryRecvError::Lagged(_)) => Some(ChangeElsewhere::Missed),
            Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => {
                None
            }
        }
    }
}
