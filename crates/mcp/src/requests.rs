//! Requests of the other side that wait for their answers.
//!
//! rmcp runs whatever comes. A connection that sends requests and reads no answers would fill the
//! memory with both, so there may be only so many at a time, and whoever sends more is told so
//! before anything else is read: one that does not read is not read from any more.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{JsonRpcMessage, RequestId};

/// So many requests of one connection may be open.
pub(crate) const MOST_OPEN: usize = 10_000;

/// Why a request is not taken, and the id by which that is answered.
pub(crate) type Refused = Box<(ErrorData, Option<RequestId>)>;

/// The requests that are open on a connection. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(crate) struct OpenRequests(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    /// Those that are being worked on.
    ids: HashSet<RequestId>,
    /// How many there are, with those whose answers are being written.
    count: usize,
}

impl OpenRequests {
    /// Notes a request, unless there are too many.
    pub(crate) fn open(&self, id: &RequestId) -> Result<(), Refused> {
        let mut open = self.0.lock();
        if open.count >= MOST_OPEN {
            let message = format!("more than {MOST_OPEN} requests are open; try again later");
            let error = ErrorData::internal_error(message, None);
            return Err(Box::new((error, Some(id.clone()))));
        }
        if !open.ids.insert(id.clone()) {
            // Without its id, by which it would be taken for the answer to the first.
            let message = "a request of this id is open already";
            let error = ErrorData::invalid_request(message, None);
            return Err(Box::new((error, None)));
        }
        open.count += 1;
        Ok(())
    }

    /// Notes that a request gets its answer, or wants none any more. Its place is free when what
    /// is returned is dropped.
    pub(crate) fn close(&self, id: &RequestId) -> Option<Closing> {
        let was_open = self.0.lock().ids.remove(id);
        was_open.then(|| Closing(self.clone()))
    }
}

/// A request whose answer is being written.
pub(crate) struct Closing(OpenRequests);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.0.lock().count -= 1;
    }
}

/// The request that a message answers.
pub(crate) fn answered<Req, Resp, Noti>(
    message: &JsonRpcMessage<Req, Resp, Noti>,
) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// Something that is being written, and goes on where it was if whoever waits for it stops.
#[derive(Default)]
pub(crate) struct Writing(Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>);

impl Writing {
    /// Begins to write.
    pub(crate) fn begin(&mut self, writing: impl Future<Output = io::Result<()>> + Send + 'static) {
        self.0 = Some(Box::pin(writing));
    }

    /// Waits until what was begun is written.
    pub(crate) async fn end(&mut self) -> io::Result<()> {
        if let Some(writing) = &mut self.0 {
            let written = writing.await;
            self.0 = None;
            return written;
        }
        Ok(())
    }
}
