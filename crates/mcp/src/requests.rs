//! Open requests of the peer, limited per connection.
//!
//! rmcp runs every request it receives. A peer that sends requests without reading responses would
//! fill memory with both, so the number of open requests is limited. Further requests get an error,
//! and nothing else is read until that error is written, which applies backpressure.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{JsonRpcMessage, RequestId};

/// The maximum number of open requests per connection.
pub(crate) const MAX_OPEN: usize = 10_000;

/// The error response to a rejected request, and its id.
pub(crate) type Rejection = Box<(ErrorData, Option<RequestId>)>;

/// The open requests of a connection. Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub(crate) struct OpenRequests(Arc<Mutex<OpenSet>>);

#[derive(Default)]
struct OpenSet {
    /// Requests being handled.
    ids: HashSet<RequestId>,
    /// The number of open requests, including those whose response is being written.
    count: usize,
}

impl OpenRequests {
    /// Registers a request, unless too many are open or its id is in use.
    pub(crate) fn open(&self, id: &RequestId) -> Result<(), Rejection> {
        let mut open = self.0.lock();
        if open.count >= MAX_OPEN {
            let message = format!("more than {MAX_OPEN} requests are open; try again later");
            let error = ErrorData::internal_error(message, None);
            return Err(Box::new((error, Some(id.clone()))));
        }
        if !open.ids.insert(id.clone()) {
            // Without the id, so that it is not mistaken for the response to the first request.
            let message = "a request of this id is open already";
            let error = ErrorData::invalid_request(message, None);
            return Err(Box::new((error, None)));
        }
        open.count += 1;
        Ok(())
    }

    /// Closes a request that is answered or cancelled. It counts until the returned guard is
    /// dropped.
    pub(crate) fn close(&self, id: &RequestId) -> Option<Closing> {
        let was_open = self.0.lock().ids.remove(id);
        was_open.then(|| Closing(self.clone()))
    }
}

/// A request whose response is being written.
pub(crate) struct Closing(OpenRequests);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.0.lock().count -= 1;
    }
}

/// Returns the id of the request that a message responds to.
pub(crate) fn answered_id<Req, Resp, Noti>(
    message: &JsonRpcMessage<Req, Resp, Noti>,
) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// A write in progress, which survives cancellation of the task that waits for it.
#[derive(Default)]
pub(crate) struct PendingWrite(Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>);

impl PendingWrite {
    /// Starts a write.
    pub(crate) fn start(&mut self, writing: impl Future<Output = io::Result<()>> + Send + 'static) {
        self.0 = Some(Box::pin(writing));
    }

    /// Waits for the write in progress, if any. Cancel safe.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        if let Some(writing) = &mut self.0 {
            let written = writing.await;
            self.0 = None;
            return written;
        }
        Ok(())
    }
}
