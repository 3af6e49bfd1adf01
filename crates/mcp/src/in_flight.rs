//! A request to the peer that is cancelled on drop.

use rmcp::service::{RequestHandle, ServiceError, ServiceRole};
use tokio_util::task::TaskTracker;

/// A request in flight. If dropped before the response arrives, it sends a cancellation, so that
/// the peer closes its dialog or stops its work.
pub(crate) struct InFlight<R: ServiceRole> {
    handle: Option<RequestHandle<R>>,
    /// Runs the task that sends the cancellation.
    tasks: TaskTracker,
    /// The reason sent with a cancellation.
    reason: &'static str,
}

impl<R: ServiceRole> InFlight<R> {
    pub(crate) fn new(handle: RequestHandle<R>, tasks: TaskTracker, reason: &'static str) -> Self {
        Self {
            handle: Some(handle),
            tasks,
            reason,
        }
    }

    pub(crate) async fn response(&mut self) -> Result<R::PeerResp, ServiceError> {
        let Some(handle) = &mut self.handle else {
            return Err(ServiceError::TransportClosed);
        };
        let response = (&mut handle.rx).await;
        self.handle = None;
        response.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl<R: ServiceRole> Drop for InFlight<R> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let reason = self.reason.to_owned();
            let cancelled = async move {
                // A disconnected peer has nothing left to cancel.
                let _ = handle.cancel(Some(reason)).await;
            };
            self.tasks.spawn_on(cancelled, &runtime);
        }
    }
}
