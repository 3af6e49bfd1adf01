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
use rmcp::model::RequestId;

/// So many requests of one connection may be open.
pub(crate) const MOST_OPEN: usize = 10_000;

/// The requests that are open on a connection. Cheap to clone; all clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRequests(Arc<Mutex<HashSet<RequestId>>>);

impl OpenRequests {
    /// Notes a request; the error says why it is not taken, and who is to be told.
    pub(crate) fn open(&self, id: &RequestId) -> Result<(), (ErrorData, Option<RequestId>)> {
        let mut open = self.0.lock();
        if open.len() >= MOST_OPEN {
            let message = format!("more than {MOST_OPEN} requests are open; try again later");
            return Err((ErrorData::internal_error(message, None), Some(id.clone())));
        }
        if !open.insert(id.clone()) {
            // Without its id, by which it would be taken for the answer to the first.
            let message = "a request of this id is open already";
            return Err((ErrorData::invalid_request(message, None), None));
        }
        Ok(())
    }

    /// Notes that a request has its answer, or wants none any more.
    pub(crate) fn close(&self, id: &RequestId) {
        self.0.lock().remove(id);
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
