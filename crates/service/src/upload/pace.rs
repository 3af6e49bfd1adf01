//! How slowly a file may arrive.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use tokio::time::{Instant, timeout};

/// Less than this in the time that is given is no progress, in bytes.
const PROGRESS: usize = 16 << 10;

/// Counts how long a sender was waited for since it last brought some progress. The time that
/// what it sent takes here, as on a slow disk, is not counted.
pub(super) struct Pace {
    limit: Duration,
    waited: Duration,
    bytes: usize,
}

/// The sender brings next to nothing.
pub(super) struct Stalled;

impl Pace {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            waited: Duration::ZERO,
            bytes: 0,
        }
    }

    /// The next piece of a body, unless it is too long in coming.
    pub(super) async fn next<B: AsRef<[u8]>, E>(
        &mut self,
        body: &mut (impl Stream<Item = Result<B, E>> + Unpin),
    ) -> Result<Option<Result<B, E>>, Stalled> {
        let began = Instant::now();
        let left = self.limit.saturating_sub(self.waited);
        let piece = timeout(left, body.next()).await.map_err(|_| Stalled)?;
        self.waited += began.elapsed();
        if let Some(Ok(piece)) = &piece {
            self.bytes += piece.as_ref().len();
        }
        if self.bytes >= PROGRESS {
            *self = Self::new(self.limit);
        }
        Ok(piece)
    }
}
