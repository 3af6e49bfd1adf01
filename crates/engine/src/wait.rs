//! The future that waits for an outcome.
//!
//! Written by hand, because a million may be pending: an `async` block would reserve space for
//! everything after the wait.

use std::pin::Pin;
use std::task::{Context, Poll};

use entreat_core::ElicitationId;

use crate::elicitation::{Access, Elicitation};
use crate::engine::{Engine, SharedInner};
use crate::error::ActError;
use crate::record::Record;
use crate::snapshot::Snapshot;
use crate::store::{Promise, StoreError};

/// Resolves when the elicitation has settled; created by
/// [`Elicitation::outcome`](crate::Elicitation::outcome). Does not poll the store while it waits.
#[must_use = "a wait does nothing unless it is awaited"]
pub struct Wait {
    inner: SharedInner,
    access: Access,
    id: ElicitationId,
    stage: Stage,
}

type LoadFuture = Pin<Box<dyn Future<Output = Result<Option<Record>, StoreError>> + Send>>;
type DeliverFuture = Pin<Box<dyn Future<Output = Result<Snapshot, ActError>> + Send>>;

enum Stage {
    /// Not registered.
    New,
    /// Registered, and loading the record in case it settled before.
    Loading(u32, LoadFuture),
    /// Registered.
    Waiting(u32),
    /// Woken, most likely because it has settled: load before registering again.
    Woken,
    /// Settled; secrets are being opened.
    Delivering(DeliverFuture),
}

impl Wait {
    pub(crate) fn new(inner: SharedInner, access: Access, id: ElicitationId) -> Self {
        Self {
            inner,
            access,
            id,
            stage: Stage::New,
        }
    }

    /// Returns a handle to the elicitation, with the same access.
    pub fn elicitation(&self) -> Elicitation {
        let engine = Engine {
            inner: self.inner.clone(),
        };
        Elicitation::new(engine, self.id, self.access.clone())
    }

    /// Handles a loaded record: returns the result, or moves to the next stage.
    fn on_loaded(
        &mut self,
        number: u32,
        loaded: Result<Option<Record>, StoreError>,
    ) -> Option<Result<Snapshot, ActError>> {
        let record = match loaded {
            Ok(Some(record)) if self.access.admits(&record) => record,
            Ok(_) => return Some(Err(ActError::NotFound)),
            Err(error) => return Some(Err(error.into())),
        };
        if record.lifecycle.is_live() {
            if self.inner.is_stopped() {
                return Some(Err(ActError::ShuttingDown));
            }
            self.stage = Stage::Waiting(number);
            return None;
        }
        self.inner.waiters.deregister(self.id, number);
        self.stage = Stage::Woken;
        self.settled(record)
    }

    /// Returns the snapshot, or starts to open its secrets.
    fn settled(&mut self, record: Record) -> Option<Result<Snapshot, ActError>> {
        if !self.access.is_asker() || !record.has_secrets() {
            return Some(Ok(Snapshot::sealed(record)));
        }
        let (inner, access) = (self.inner.clone(), self.access.clone());
        let deliver = async move { inner.deliver(&access, record).await };
        self.stage = Stage::Delivering(Box::pin(deliver));
        None
    }

    fn number(&self) -> Option<u32> {
        match self.stage {
            Stage::New | Stage::Woken | Stage::Delivering(_) => None,
            Stage::Loading(number, _) | Stage::Waiting(number) => Some(number),
        }
    }
}

impl Future for Wait {
    type Output = Result<Snapshot, ActError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let end = match &mut this.stage {
                Stage::New => {
                    let number = this.inner.waiters.register(this.id, context.waker());
                    match this.inner.find(&this.access, this.id) {
                        Promise::Ready(Some(loaded)) => {
                            this.stage = Stage::Waiting(number);
                            let end = this.on_loaded(number, loaded);
                            if end.is_none() && matches!(this.stage, Stage::Waiting(_)) {
                                return Poll::Pending;
                            }
                            end
                        }
                        // Stores never return an answer that was already taken.
                        Promise::Ready(None) => return Poll::Pending,
                        Promise::Later(loading) => {
                            this.stage = Stage::Loading(number, loading);
                            None
                        }
                    }
                }
                Stage::Loading(number, loading) => {
                    let number = *number;
                    match loading.as_mut().poll(context) {
                        Poll::Ready(loaded) => this.on_loaded(number, loaded),
                        Poll::Pending => return Poll::Pending,
                    }
                }
                Stage::Waiting(number) => {
                    if this
                        .inner
                        .waiters
                        .refresh(this.id, *number, context.waker())
                    {
                        return Poll::Pending;
                    }
                    this.stage = Stage::Woken;
                    None
                }
                Stage::Woken => {
                    this.stage = Stage::New;
                    match this.inner.find(&this.access, this.id) {
                        Promise::Ready(Some(Ok(Some(record)))) if !record.lifecycle.is_live() => {
                            this.settled(record)
                        }
                        _ => None,
                    }
                }
                Stage::Delivering(delivering) => match delivering.as_mut().poll(context) {
                    Poll::Ready(end) => Some(end),
                    Poll::Pending => return Poll::Pending,
                },
            };
            if let Some(end) = end {
                return Poll::Ready(end);
            }
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(number) = self.number() {
            self.inner.waiters.deregister(self.id, number);
        }
    }
}

impl std::fmt::Debug for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Wait").field(&self.id).finish()
    }
}
