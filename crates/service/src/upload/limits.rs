//! Quotas for stored files and concurrent uploads: in total, per asker and per elicitation.

use std::collections::HashMap;
use std::sync::Arc;

use entreat_core::{ElicitationId, Form};
use entreat_engine::shares::{Full, Permit, Shares};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{ReceiveError, UploadSettings};

/// Files stored beyond what a form can use: replacing a file needs both for a moment.
const SPARE_FILES: u64 = 4;
/// An upper bound for any form: even empty files take file names.
pub(crate) const MAX_FILES: u64 = 10_000;
/// Queue length per permitted upload of an elicitation.
const QUEUE_FACTOR: usize = 8;

/// What one elicitation uses, in complete and partial files.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Unknown for files of an earlier run until the first sweep.
    asker: Option<Arc<str>>,
}

/// What is used in total.
#[derive(Default)]
struct Ledger {
    usage: HashMap<ElicitationId, Usage>,
    by_asker: HashMap<Arc<str>, u64>,
    bytes: u64,
}

/// Tracks usage; exact as long as one process uses the folder.
pub(super) struct Limits {
    settings: UploadSettings,
    ledger: Arc<Mutex<Ledger>>,
    places: Shares<ElicitationId>,
    /// Concurrent uploads by asker, each limited to half of the total.
    by_asker: Shares<Arc<str>>,
    /// Uploads in progress and those waiting for a permit.
    queue: Shares<ElicitationId>,
    /// Notified when a permit is released.
    freed: Arc<Notify>,
}

/// A permit for one upload.
pub(super) struct UploadPermit {
    places: Option<(Permit<ElicitationId>, Permit<Arc<str>>)>,
    _queued: Permit<ElicitationId>,
    freed: Arc<Notify>,
}

/// Quota reserved for an upload; released on drop unless the file is committed.
pub(super) struct Reservation {
    settings: UploadSettings,
    ledger: Arc<Mutex<Ledger>>,
    id: ElicitationId,
    bytes: u64,
    is_committed: bool,
    _permit: UploadPermit,
}

impl Limits {
    pub(super) fn new(settings: &UploadSettings, usage: HashMap<ElicitationId, Usage>) -> Self {
        let bytes = usage.values().map(|usage| usage.bytes).sum();
        let (all, each) = (
            settings.max_concurrent,
            settings.max_concurrent_per_elicitation,
        );
        let ledger = Ledger {
            usage,
            bytes,
            ..Ledger::default()
        };
        Self {
            settings: settings.clone(),
            ledger: Arc::new(Mutex::new(ledger)),
            places: Shares::new(all, each),
            by_asker: Shares::new(all, (all / 2).max(each)),
            queue: Shares::new(
                all.saturating_mul(1 + QUEUE_FACTOR),
                each.saturating_mul(1 + QUEUE_FACTOR),
            ),
            freed: Arc::default(),
        }
    }

    /// Acquires a permit. At the limit of its elicitation or asker, it waits; at the total limit,
    /// it fails at once.
    pub(super) async fn acquire(
        &self,
        id: ElicitationId,
        asker: &Arc<str>,
    ) -> Result<UploadPermit, ReceiveError> {
        let queued = self.queue.take(id).map_err(|_| ReceiveError::Busy)?;
        loop {
            // Registers before checking, so that no release is missed.
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            let place = self.places.take(id);
            let places = place.and_then(|place| Ok((place, self.by_asker.take(asker.clone())?)));
            match places {
                Ok(places) => {
                    return Ok(UploadPermit {
                        places: Some(places),
                        _queued: queued,
                        freed: self.freed.clone(),
                    });
                }
                Err(Full::Share { .. }) => freed.await,
                Err(Full::All { .. }) => return Err(ReceiveError::Busy),
            }
        }
    }

    /// Reserves quota for one more file of an elicitation.
    pub(super) fn reserve(
        &self,
        id: ElicitationId,
        asker: &Arc<str>,
        form: &Form,
        permit: UploadPermit,
    ) -> Result<Reservation, ReceiveError> {
        let limit = max_files(form);
        let mut ledger = self.ledger.lock();
        ledger.attribute(id, asker);
        let usage = ledger.usage.entry(id).or_default();
        if usage.files >= limit {
            return Err(ReceiveError::TooManyFiles { limit });
        }
        usage.files += 1;
        Ok(Reservation {
            settings: self.settings.clone(),
            ledger: self.ledger.clone(),
            id,
            bytes: 0,
            is_committed: false,
            _permit: permit,
        })
    }

    /// Records the asker of an elicitation's files.
    pub(super) fn attribute(&self, id: ElicitationId, asker: &Arc<str>) {
        let mut ledger = self.ledger.lock();
        if ledger.usage.contains_key(&id) {
            ledger.attribute(id, asker);
        }
    }

    /// Releases the quota of a removed file.
    pub(super) fn release(&self, id: ElicitationId, bytes: u64) {
        self.ledger.lock().release(id, bytes);
    }
}

impl Ledger {
    fn attribute(&mut self, id: ElicitationId, asker: &Arc<str>) {
        let usage = self.usage.entry(id).or_default();
        if usage.asker.is_none() {
            usage.asker = Some(asker.clone());
            let bytes = usage.bytes;
            *self.by_asker.entry(asker.clone()).or_default() += bytes;
        }
    }

    /// Whether an elicitation may store more bytes.
    fn check(
        &self,
        id: ElicitationId,
        bytes: u64,
        settings: &UploadSettings,
    ) -> Result<(), ReceiveError> {
        let usage = self.usage.get(&id);
        let asker = usage.and_then(|usage| usage.asker.as_ref());
        let of_asker = asker.and_then(|asker| self.by_asker.get(asker)).copied();
        let is_above = |now: u64, limit: u64| now.saturating_add(bytes) > limit;
        let limit = settings.bytes_per_elicitation;
        if is_above(usage.map_or(0, |usage| usage.bytes), limit) {
            return Err(ReceiveError::TooManyBytes { limit });
        }
        let limit = settings.bytes_per_asker;
        if is_above(of_asker.unwrap_or(0), limit) {
            return Err(ReceiveError::AskerQuotaExceeded { limit });
        }
        let limit = settings.bytes_total;
        if is_above(self.bytes, limit) {
            return Err(ReceiveError::TotalQuotaExceeded { limit });
        }
        Ok(())
    }

    fn add(&mut self, id: ElicitationId, bytes: u64) {
        let usage = self.usage.entry(id).or_default();
        usage.bytes += bytes;
        self.bytes += bytes;
        if let Some(asker) = &usage.asker {
            *self.by_asker.entry(asker.clone()).or_default() += bytes;
        }
    }

    fn subtract(&mut self, id: ElicitationId, bytes: u64) {
        let Some(usage) = self.usage.get_mut(&id) else {
            return;
        };
        let bytes = bytes.min(usage.bytes);
        usage.bytes -= bytes;
        self.bytes -= bytes;
        if let Some(asker) = usage.asker.clone()
            && let Some(of_asker) = self.by_asker.get_mut(&asker)
        {
            *of_asker -= bytes;
            if *of_asker == 0 {
                self.by_asker.remove(&asker);
            }
        }
    }

    fn release(&mut self, id: ElicitationId, bytes: u64) {
        self.subtract(id, bytes);
        if let Some(usage) = self.usage.get_mut(&id) {
            usage.files = usage.files.saturating_sub(1);
            if usage.files == 0 {
                let rest = usage.bytes;
                self.subtract(id, rest);
                self.usage.remove(&id);
            }
        }
    }
}

impl Reservation {
    /// Whether the quotas allow more bytes now.
    pub(super) fn check(&self, bytes: u64) -> Result<(), ReceiveError> {
        self.ledger.lock().check(self.id, bytes, &self.settings)
    }

    /// Reserves more bytes.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), ReceiveError> {
        let mut ledger = self.ledger.lock();
        ledger.check(self.id, bytes, &self.settings)?;
        ledger.add(self.id, bytes);
        self.bytes += bytes;
        Ok(())
    }

    /// Commits the file with its size on disk.
    pub(super) fn commit(mut self, on_disk: u64) {
        self.is_committed = true;
        let mut ledger = self.ledger.lock();
        ledger.subtract(self.id, self.bytes);
        ledger.add(self.id, on_disk);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_committed {
            self.ledger.lock().release(self.id, self.bytes);
        }
    }
}

impl Drop for UploadPermit {
    fn drop(&mut self) {
        drop(self.places.take());
        self.freed.notify_waiters();
    }
}

/// The number of files that the form's fields allow, plus some spare.
fn max_files(form: &Form) -> u64 {
    let rules = form
        .fields()
        .iter()
        .filter_map(|field| field.kind().file_rules());
    let files = rules.map(|rules| rules.max_items);
    files.fold(SPARE_FILES, u64::saturating_add).min(MAX_FILES)
}
