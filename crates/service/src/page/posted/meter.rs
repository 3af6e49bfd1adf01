//! A bound on what is read of a multipart form before somebody has looked at it.
//!
//! The reader of multipart bodies holds whatever comes until the head of a part is whole, however
//! long that is, and takes all that has arrived before it looks at any of it. Behind a [`Meter`]
//! it gets one piece at a time, and no more than [`LONGEST_HEAD`] between two
//! [resets](Meter::reset).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

/// The longest head of a part, and whatever stands before it. A browser's are some hundred bytes,
/// most of them the name of a file.
pub(super) const LONGEST_HEAD: usize = 16 << 10;

/// Counts what was taken since the last reset. All clones are one.
#[derive(Clone, Default)]
pub(super) struct Meter(Arc<AtomicUsize>);

impl Meter {
    /// What was taken so far led to something.
    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether no more can be taken.
    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= LONGEST_HEAD
    }

    /// The same body, behind this meter.
    pub(super) fn around<S>(&self, body: S) -> Metered<S> {
        Metered {
            body,
            meter: self.clone(),
            is_due: false,
        }
    }
}

/// A body behind a meter.
pub(super) struct Metered<S> {
    body: S,
    meter: Meter,
    /// A piece was handed out, and is to be looked at first.
    is_due: bool,
}

impl<S, E> Stream for Metered<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.is_due) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.meter.is_spent() {
            let error = io::Error::other("the head of a part is too long");
            return Poll::Ready(Some(Err(error)));
        }
        self.body.poll_next_unpin(cx).map(|piece| {
            let piece = piece?.map_err(io::Error::other);
            if let Ok(piece) = &piece {
                self.meter.0.fetch_add(piece.len(), Ordering::Relaxed);
                self.is_due = true;
            }
            Some(piece)
        })
    }
}
