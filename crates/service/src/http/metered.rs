//! Accounts for the memory of request bodies as they arrive.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use entreat_engine::shares::Full;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::HttpSettings;
use super::refusal::Refusal;
use crate::memory::{MemoryQuota, Reservation};

impl HttpSettings {
    /// Memory for what askers send; each may use half. The largest allowed body always fits.
    pub(super) fn memory(&self) -> MemoryQuota {
        let all = self.body_memory.max(self.body_limit);
        MemoryQuota::new(all, (all / 2).max(self.body_limit))
    }
}

impl Reservation {
    /// Reads a whole body within the limits of size and time.
    pub(super) async fn read_body(
        &mut self,
        body: Body,
        settings: &HttpSettings,
    ) -> Result<Bytes, Refusal> {
        let limit = settings.body_limit;
        if body.size_hint().lower() > limit as u64 {
            return Err(Refusal::TooLarge(limit));
        }
        let body = Limited::new(
            MeteredBody {
                body,
                reservation: self,
            },
            limit,
        );
        match tokio::time::timeout(settings.body_timeout, body.collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge(limit)),
            Ok(Err(error)) if error.is::<Full>() => Err(Refusal::NoMemory),
            Ok(Err(_)) => Err(Refusal::Incomplete),
            Err(_) => Err(Refusal::BodyTimeout(settings.body_timeout)),
        }
    }
}

/// A body whose bytes are accounted for as they arrive.
struct MeteredBody<'r> {
    body: Body,
    reservation: &'r mut Reservation,
}

impl HttpBody for MeteredBody<'_> {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let bytes = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            Some(Err(_)) | None => 0,
        };
        self.reservation.grow(bytes)?;
        Poll::Ready(frame.map(|frame| Ok(frame?)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
