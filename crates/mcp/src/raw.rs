//! Sends input-required results unmodified.
//!
//! rmcp's type for them requires ids that the protocol does not have, reorders members, and drops
//! schema keywords. So a handler returns a result with the state only, and leaves the complete
//! result in a slot that came with the request; the owner of the slot substitutes it on the way
//! out. Without a slot, rmcp's type is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use entreat_wire::message::InputRequired;
use http::request::Parts;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use rmcp::model::{CustomResult, Extensions, InputRequiredResult, ServerResult};
use serde_json::Value;
use tower::{Layer, Service};

/// Holds the complete result of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot(Arc<Mutex<Option<InputRequired>>>);

impl Slot {
    /// Returns the slot that came with a request.
    pub(crate) fn of(extensions: &Extensions) -> Option<Self> {
        if let Some(slot) = extensions.get::<Self>() {
            return Some(slot.clone());
        }
        let parts = extensions.get::<Parts>()?;
        parts.extensions.get::<Self>().cloned()
    }

    pub(crate) fn put(&self, result: InputRequired) {
        *self.0.lock() = Some(result);
    }

    fn take(&self) -> Option<InputRequired> {
        self.0.lock().take()
    }

    /// Substitutes the complete result, if the slot holds one.
    pub(crate) fn fill(&self, result: ServerResult) -> ServerResult {
        match (result, self.take()) {
            (ServerResult::InputRequiredResult(_), Some(complete)) => {
                ServerResult::CustomResult(CustomResult::new(complete.into_value()))
            }
            (result, _) => result,
        }
    }
}

/// Converts a result to rmcp's type: with the state only if there is a slot for the rest.
pub(crate) fn to_typed(
    complete: InputRequired,
    slot: Option<&Slot>,
) -> Option<InputRequiredResult> {
    match slot {
        Some(slot) => {
            let state = InputRequiredResult::from_request_state(complete.state()?);
            slot.put(complete);
            Some(state)
        }
        None => serde_json::from_value(complete.into_value()).ok(),
    }
}

/// A layer around rmcp's Streamable HTTP service that sends complete input-required results.
///
/// Without it, clients since 2026-07-28 receive what rmcp's types can express. It does not control
/// or limit sessions; [`Wrapped::http`](crate::Wrapped::http) does.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawLayer;

impl<S> Layer<S> for RawLayer {
    type Service = RawService<S>;

    fn layer(&self, service: S) -> RawService<S> {
        RawService { service }
    }
}

/// The service returned by [`RawLayer`].
#[derive(Clone, Debug)]
pub struct RawService<S> {
    service: S,
}

impl<S, B, R> Service<Request<B>> for RawService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    R: Body<Data = Bytes>,
{
    type Response = Response<RawBody<R>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let slot = Slot::default();
        request.extensions_mut().insert(slot.clone());
        let response = self.service.call(request);
        Box::pin(async move {
            let (mut parts, body) = response.await?.into_parts();
            // The body may get longer.
            parts.headers.remove(http::header::CONTENT_LENGTH);
            Ok(Response::from_parts(parts, RawBody { body, slot }))
        })
    }
}

/// A response body in which the complete result replaces the one with the state only.
#[derive(Debug)]
pub struct RawBody<B> {
    body: B,
    slot: Slot,
}

impl<B: Body<Data = Bytes> + Unpin> Body for RawBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        let slot = &self.slot;
        let filled = |bytes: Bytes| {
            let Some(complete) = slot.take() else {
                return bytes;
            };
            let spliced = splice(&bytes, &complete);
            if spliced.is_none() {
                // It is in a later chunk.
                slot.put(complete);
            }
            spliced.unwrap_or(bytes)
        };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(filled))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // Unknown until the end: a result may still be spliced in.
        SizeHint::default()
    }
}

/// Inserts the requests before the state in a chunk of JSON. States are long, random and unescaped,
/// so a match is always the result.
fn splice(chunk: &Bytes, complete: &InputRequired) -> Option<Bytes> {
    let needle = format!("\"requestState\":\"{}\"", complete.state()?);
    let offset = find(chunk, needle.as_bytes())?;
    let Value::Object(mut members) = complete.clone().into_value() else {
        return None;
    };
    let requests = members.remove("inputRequests")?.to_string();
    let mut spliced = Vec::with_capacity(chunk.len() + requests.len() + 20);
    spliced.extend_from_slice(&chunk[..offset]);
    spliced.extend_from_slice(b"\"inputRequests\":");
    spliced.extend_from_slice(requests.as_bytes());
    spliced.push(b',');
    spliced.extend_from_slice(&chunk[offset..]);
    Some(spliced.into())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    let windows = &mut text.windows(part.len());
    windows.position(|window| window == part)
}
