//! A connection to a peer with one message per line.
//!
//! rmcp runs every request it receives. A peer that sends requests without reading responses would
//! fill memory with both, so the number of open requests is limited. Further requests get an error,
//! and nothing else is read until that error is written, which applies backpressure. Notifications
//! have a [limit](NotificationLimit) too.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use entreat_wire::lines::{LineReader, LineWriter};
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{GetExtensions, JsonRpcMessage, RequestId};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::consume_budget;

use crate::notification_limit::NotificationLimit;

/// Both directions of a connection, and the open requests of the peer.
pub(crate) struct LineConnection<R, W> {
    reader: LineReader<R>,
    writer: LineWriter<W>,
    /// The length of the line that was read last.
    length: usize,
    open: OpenRequests,
    notifications: NotificationLimit,
    /// An error response that is being written. It survives cancellation of the task that waits.
    rejecting: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl<R, W> LineConnection<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(crate) fn new(reader: R, writer: W) -> Self {
        Self {
            reader: LineReader::new(reader),
            writer: LineWriter::new(writer),
            length: 0,
            open: OpenRequests::default(),
            notifications: NotificationLimit::default(),
            rejecting: None,
        }
    }

    /// Returns the next line, or `None` at the end. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if let Some(rejecting) = &mut self.rejecting {
            let written = rejecting.await;
            self.rejecting = None;
            if written.is_err() {
                return Ok(None);
            }
        }
        self.notifications.ready().await;
        // Lines that are already buffered are read without waiting; others get their turn.
        consume_budget().await;
        let line = self.reader.next().await?;
        self.length = line.map_or(0, <[u8]>::len);
        Ok(line)
    }

    /// Registers a request or a notification, unless there are too many. `cancelled` finds the
    /// request that a notification cancels, which gets no response.
    pub(crate) fn admit<Req, Resp, Noti: GetExtensions>(
        &mut self,
        message: &mut JsonRpcMessage<Req, Resp, Noti>,
        cancelled: impl Fn(&Noti) -> Option<&RequestId>,
    ) -> Admission {
        match message {
            JsonRpcMessage::Request(request) => match self.open.open(&request.id) {
                Ok(()) => Admission::Admitted,
                Err(rejection) => Admission::Rejected(rejection),
            },
            JsonRpcMessage::Notification(notification) => {
                let notification = &mut notification.notification;
                let closing = cancelled(notification).and_then(|id| self.open.close(id));
                let guard = match closing {
                    // There can't be more of these than open requests.
                    Some(_) => self.notifications.count(self.length),
                    None => match self.notifications.admit(self.length) {
                        Some(guard) => guard,
                        None => return Admission::Dropped,
                    },
                };
                notification.extensions_mut().insert(guard);
                Admission::Admitted
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Admission::Admitted,
        }
    }

    /// Starts to send an error response; nothing is read until it is written.
    pub(crate) fn reject(&mut self, line: Vec<u8>) {
        let writer = self.writer.clone();
        self.rejecting = Some(Box::pin(async move { writer.send(line).await }));
    }

    /// Sends a message.
    pub(crate) fn send<M: Message>(
        &self,
        message: M,
        to_line: fn(&M) -> serde_json::Result<Vec<u8>>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static + use<R, W, M> {
        let writer = self.writer.clone();
        let closing = message.answered_id().and_then(|id| self.open.close(id));
        async move {
            let sent = writer.send(to_line(&message)?).await;
            drop(closing);
            sent
        }
    }

    /// Closes the writing direction.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        self.writer.close().await;
        Ok(())
    }
}

/// The maximum number of open requests per connection.
const MAX_OPEN: usize = 10_000;

/// What happens to a message that was read.
pub(crate) enum Admission {
    Admitted,
    /// A notification is dropped: too many are being handled.
    Dropped,
    /// A request gets an error response.
    Rejected(Rejection),
}

/// The error response to a rejected request, and its id.
pub(crate) type Rejection = Box<(ErrorData, Option<RequestId>)>;

/// The open requests of a connection. Cheap to clone; clones share their state.
#[derive(Clone, Default)]
struct OpenRequests(Arc<Mutex<OpenSet>>);

#[derive(Default)]
struct OpenSet {
    /// Requests being handled.
    ids: HashSet<RequestId>,
    /// The number of open requests, including those whose response is being written.
    count: usize,
}

impl OpenRequests {
    /// Registers a request, unless too many are open or its id is in use.
    fn open(&self, id: &RequestId) -> Result<(), Rejection> {
        let mut open = self.0.lock();
        if open.count >= MAX_OPEN {
            let message = format!("more than {MAX_OPEN} requests are open; try again later");
            let error = ErrorData::internal_error(message, None);
            return Err(Box::new((error, Some(id.clone()))));
        }
        if !open.ids.insert(id.clone()) {
            // Without the id, so that it is not mistaken for the response to the first request.
            let message = "a request with this id is already open";
            let error = ErrorData::invalid_request(message, None);
            return Err(Box::new((error, None)));
        }
        open.count += 1;
        Ok(())
    }

    /// Closes a request that is answered or cancelled. It counts until the returned guard is
    /// dropped.
    fn close(&self, id: &RequestId) -> Option<Closing> {
        let was_open = self.0.lock().ids.remove(id);
        was_open.then(|| Closing(self.clone()))
    }
}

/// A request whose response is being written.
struct Closing(OpenRequests);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.0.lock().count -= 1;
    }
}

/// A message of either role.
pub(crate) trait Message: Send + 'static {
    /// Returns the id of the request that the message responds to.
    fn answered_id(&self) -> Option<&RequestId>;
}

impl<Req, Resp, Noti> Message for JsonRpcMessage<Req, Resp, Noti>
where
    Req: Send + 'static,
    Resp: Send + 'static,
    Noti: Send + 'static,
{
    fn answered_id(&self) -> Option<&RequestId> {
        match self {
            Self::Response(response) => Some(&response.id),
            Self::Error(error) => error.id.as_ref(),
            _ => None,
        }
    }
}
