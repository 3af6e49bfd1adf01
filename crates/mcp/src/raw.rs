//! Gets results onto the wire as they are.
//!
//! rmcp's type of an input-required result demands ids that the protocol does not have, sorts
//! what has an order, and drops keywords. So a handler returns a result with the state alone, and
//! leaves the whole one in a slot that came with the request. Whoever put the slot there puts the
//! whole result in its place. Without a slot, rmcp's type has to do.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use rmcp::model::{CustomResult, Extensions, InputRequiredResult, ServerResult};
use serde_json::Value;
use tower::{Layer, Service};

use crate::wire::InputRequired;

/// A place for the whole result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slot(Arc<Mutex<Option<InputRequired>>>);

impl Slot {
    /// The slot that came with a request.
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

    /// The result with what lies in the slot.
    pub(crate) fn fill(&self, result: ServerResult) -> ServerResult {
        match (result, self.take()) {
            (ServerResult::InputRequiredResult(_), Some(whole)) => {
                ServerResult::CustomResult(CustomResult::new(whole.into_value()))
            }
            (result, _) => result,
        }
    }
}

/// A result as rmcp can say it: with the state alone if the rest lies in a slot.
pub(crate) fn typed(whole: InputRequired, slot: Option<&Slot>) -> Option<InputRequiredResult> {
    match slot {
        Some(slot) => {
            let state = InputRequiredResult::from_request_state(whole.state()?);
            slot.put(whole);
            Some(state)
        }
        None => serde_json::from_value(whole.into_value()).ok(),
    }
}

/// A layer for rmcp's service of Streamable HTTP: puts whole results onto the wire.
///
/// Without it, clients since 2026-07-28 get what rmcp's types can say. It says nothing of who may
/// use a session, and how many there may be; [`Wrapped::http`](crate::Wrapped::http) does.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawLayer;

impl<S> Layer<S> for RawLayer {
    type Service = RawService<S>;

    fn layer(&self, service: S) -> RawService<S> {
        RawService { service }
    }
}

/// Made by [`RawLayer`].
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
        let answered = self.service.call(request);
        Box::pin(async move {
            let (mut parts, body) = answered.await?.into_parts();
            // What is put in makes it longer.
            parts.headers.remove(http::header::CONTENT_LENGTH);
            Ok(Response::from_parts(parts, RawBody { body, slot }))
        })
    }
}

/// A body in which the whole result takes the place of the one with the state alone.
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
            let Some(whole) = slot.take() else {
                return bytes;
            };
            let longer = put_in(&bytes, &whole);
            if longer.is_none() {
                // It comes with a later piece.
                slot.put(whole);
            }
            longer.unwrap_or(bytes)
        };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(filled))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // Known only where nothing can be put in any more, which nobody knows before the end.
        SizeHint::default()
    }
}

/// A piece of JSON text with the requests put in before the state. States are long and random
/// and need no escapes: where one is found, it is the result.
fn put_in(piece: &Bytes, whole: &InputRequired) -> Option<Bytes> {
    let mark = format!("\"requestState\":\"{}\"", whole.state()?);
    let place = find(piece, mark.as_bytes())?;
    let Value::Object(mut members) = whole.clone().into_value() else {
        return None;
    };
    let requests = members.remove("inputRequests")?.to_string();
    let mut longer = Vec::with_capacity(piece.len() + requests.len() + 20);
    longer.extend_from_slice(&piece[..place]);
    longer.extend_from_slice(b"\"inputRequests\":");
    longer.extend_from_slice(requests.as_bytes());
    longer.push(b',');
    longer.extend_from_slice(&piece[place..]);
    Some(longer.into())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    let windows = &mut text.windows(part.len());
    windows.position(|window| window == part)
}
