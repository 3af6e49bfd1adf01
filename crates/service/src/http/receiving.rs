//! Bodies of calls, and messages of WebSockets, counted as they come.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use entreat_engine::shares::Full;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::HttpSettings;
use super::refusal::Refusal;
use crate::memory::{Memory, Received};

impl HttpSettings {
    /// Memory for what askers send, of which each has half. Whatever is allowed at all fits in.
    pub(super) fn memory(&self) -> Memory {
        let all = self.body_memory.max(self.body_limit);
        Memory::new(all, (all / 2).max(self.body_limit))
    }
}

impl Received {
    /// Reads a whole body, if it is not too large and not too slow.
    pub(super) async fn read(
        &mut self,
        body: Body,
        settings: &HttpSettings,
    ) -> Result<Bytes, Refusal> {
        let limit = settings.body_limit;
        if body.size_hint().lower() > limit as u64 {
            return Err(Refusal::TooLarge(limit));
        }
        let body = Limited::new(
            Counted {
                body,
                received: self,
            },
            limit,
        );
        match tokio::time::timeout(settings.body_timeout, body.collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge(limit)),
            Ok(Err(error)) if error.is::<Full>() => Err(Refusal::NoMemory),
            Ok(Err(_)) => Err(Refusal::Broken),
            Err(_) => Err(Refusal::TooSlow(settings.body_timeout)),
        }
    }
}

/// A body that is counted as it comes.
struct Counted<'r> {
    body: Body,
    received: &'r mut Received,
}

impl HttpBody for Counted<'_> {
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
        self.received.add(bytes)?;
        Poll::Ready(frame.map(|frame| Ok(frame?)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream whose incoming bytes are counted, until somebody takes what they make up.
pub(super) struct Metered<S> {
    pub(super) stream: S,
    pub(super) received: Received,
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let added = self.received.add(buffer.filled().len() - before);
        Poll::Ready(added.map_err(|full| io::Error::new(io::ErrorKind::OutOfMemory, full)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
