//! Detects stalled uploads.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use tokio::time::{Instant, timeout};

/// The bytes per interval that count as progress.
const MIN_PROGRESS: usize = 16 << 10;

/// Measures the time spent waiting for the sender since its last progress. Time spent on our side,
/// for example on a slow disk, does not count.
pub(super) struct StallDetector {
    limit: Duration,
    waited: Duration,
    bytes: usize,
}

/// The sender made no progress within the limit.
pub(super) struct Stalled;

impl StallDetector {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            waited: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Returns the next chunk of a body, or an error if the sender stalls.
    pub(super) async fn next<B: AsRef<[u8]>, E>(
        &mut self,
        body: &mut (impl Stream<Item = Result<B, E>> + Unpin),
    ) -> Result<Option<Result<B, E>>, Stalled> {
        let began = Instant::now();
        let left = self.limit.saturating_sub(self.waited);
        let chunk = timeout(left, body.next()).await.map_err(|_| Stalled)?;
        self.waited += began.elapsed();
        if let Some(Ok(chunk)) = &chunk {
            self.bytes += chunk.as_ref().len();
        }
        if self.bytes >= MIN_PROGRESS {
            *self = Self::new(self.limit);
        }
        Ok(chunk)
    }
}
