//! Bounds how much of a multipart form is buffered before it is parsed.
//!
//! The multipart parser buffers input until the headers of a part are complete, without a limit,
//! and reads all available input before it parses any. Behind a [`Meter`] it gets one chunk at a
//! time, and no more than [`MAX_PART_HEADERS`] between two [resets](Meter::reset).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

/// Maximum size of a part's headers and what precedes them. Browsers send some hundred bytes, most
/// of them the file name.
pub(super) const MAX_PART_HEADERS: usize = 16 << 10;

/// Counts bytes since the last reset. Clones share one counter.
#[derive(Clone, Default)]
pub(super) struct Meter(Arc<AtomicUsize>);

impl Meter {
    /// Called when the parser made progress.
    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the limit is reached.
    pub(super) fn is_exhausted(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= MAX_PART_HEADERS
    }

    /// Wraps a body.
    pub(super) fn wrap<S>(&self, body: S) -> Metered<S> {
        Metered {
            body,
            meter: self.clone(),
            must_yield: false,
        }
    }
}

/// A metered body.
pub(super) struct Metered<S> {
    body: S,
    meter: Meter,
    /// A chunk was yielded and must be parsed before the next.
    must_yield: bool,
}

impl<S, E> Stream for Metered<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.must_yield) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.meter.is_exhausted() {
            let error = io::Error::other("the headers of a part are too long");
            return Poll::Ready(Some(Err(error)));
        }
        self.body.poll_next_unpin(cx).map(|chunk| {
            let chunk = chunk?.map_err(io::Error::other);
            if let Ok(chunk) = &chunk {
                self.meter.0.fetch_add(chunk.len(), Ordering::Relaxed);
                self.must_yield = true;
            }
            Some(chunk)
        })
    }
}
