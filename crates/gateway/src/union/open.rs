//! Requests of the client that are open: whom a cancellation goes to.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::envelope::RawId;
use crate::memory::Reservation;

/// The open requests by the client's ids, which it may use twice.
#[derive(Clone, Default)]
pub(super) struct OpenRequests(Arc<Shared>);

#[derive(Default)]
struct Shared {
    requests: Mutex<HashMap<RawId, Vec<Entry>>>,
    /// How many there are.
    count: AtomicUsize,
    next: AtomicU64,
}

struct Entry {
    number: u64,
    /// The upstream that it went to; [`usize::MAX`] is none.
    upstream: Arc<AtomicUsize>,
    cancelled: CancellationToken,
}

/// An open request, until dropped.
pub(super) struct OpenRequest {
    all: OpenRequests,
    id: RawId,
    number: u64,
    upstream: Arc<AtomicUsize>,
    pub(super) cancelled: CancellationToken,
    /// The memory of its message.
    reservation: Option<Reservation>,
}

impl OpenRequests {
    pub(super) fn open(&self, id: &RawId, reservation: Reservation) -> OpenRequest {
        let request = OpenRequest {
            all: self.clone(),
            id: id.clone(),
            number: self.0.next.fetch_add(1, Ordering::Relaxed),
            upstream: Arc::new(AtomicUsize::new(usize::MAX)),
            cancelled: CancellationToken::new(),
            reservation: Some(reservation),
        };
        let entry = Entry {
            number: request.number,
            upstream: request.upstream.clone(),
            cancelled: request.cancelled.clone(),
        };
        let mut requests = self.0.requests.lock();
        requests.entry(id.clone()).or_default().push(entry);
        self.0.count.fetch_add(1, Ordering::Relaxed);
        request
    }

    /// Cancels what is open under an id. Returns which upstreams have it.
    pub(super) fn cancel(&self, id: &RawId) -> Vec<usize> {
        let requests = self.0.requests.lock();
        let mut upstreams = Vec::new();
        for entry in requests.get(id).into_iter().flatten() {
            entry.cancelled.cancel();
            upstreams.push(entry.upstream.load(Ordering::Relaxed));
        }
        upstreams
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.0.count.load(Ordering::Relaxed)
    }
}

impl OpenRequest {
    /// Notes which upstream it goes to, whose session takes memory for it.
    pub(super) fn goes_to(&mut self, upstream: usize) {
        self.upstream.store(upstream, Ordering::Relaxed);
        self.reservation = None;
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut requests = self.all.0.requests.lock();
        self.all.0.count.fetch_sub(1, Ordering::Relaxed);
        if let Some(entries) = requests.get_mut(&self.id) {
            entries.retain(|entry| entry.number != self.number);
            if entries.is_empty() {
                requests.remove(&self.id);
            }
        }
    }
}
