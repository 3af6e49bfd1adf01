//! A request to the peer that is cancelled when nobody waits for its response any more.

use rmcp::service::{RequestHandle, ServiceError, ServiceRole};
use tokio_util::task::TaskTracker;

/// A request that was sent. Dropped before its response has come, it tells the peer that the
/// request is cancelled, so that a dialog closes or work ends.
pub(crate) struct InFlight<R: ServiceRole> {
    handle: Option<RequestHandle<R>>,
    /// Where the cancellation is sent.
    tasks: TaskTracker,
    /// Why it is cancelled if it is.
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

    /// Waits for the response.
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
                // A peer that is gone has nothing left to cancel.
                let _ = handle.cancel(Some(reason)).await;
            };
            self.tasks.spawn_on(cancelled, &runtime);
        }
    }
}
