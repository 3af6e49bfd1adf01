//! How much may be kept, and how much may be on its way: for all, and of that for each.

use std::collections::HashMap;
use std::sync::Arc;

use entreat_core::{ElicitationId, Form, Kind};
use entreat_engine::shares::{Full, Place, Shares};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{ReceiveError, UploadSettings};

/// So many files are kept beyond what a form can use: a person who replaces one has both for a
/// moment.
const SLACK: u64 = 4;
/// Never more than this, whatever a form says: empty files take no bytes, but names.
pub(crate) const MOST_FILES: u64 = 10_000;
/// For each file of an elicitation that may be on its way, so many more may wait for that.
const WAITING: usize = 8;

/// What is kept for one elicitation, in files that are whole and files on their way.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    pub(super) files: u64,
    pub(super) bytes: u64,
    /// Who asks; nobody knows yet of what an earlier run left.
    asker: Option<Arc<str>>,
}

/// What is kept in all.
#[derive(Default)]
struct Books {
    kept: HashMap<ElicitationId, Usage>,
    by_asker: HashMap<Arc<str>, u64>,
    bytes: u64,
}

/// Counts what is kept; exact as long as one program uses the folder.
pub(super) struct Limits {
    settings: UploadSettings,
    books: Arc<Mutex<Books>>,
    places: Shares<ElicitationId>,
    /// The uploads under way by asker, who may have half of all.
    by_asker: Shares<Arc<str>>,
    /// Of those who have a place and those who wait for one.
    queue: Shares<ElicitationId>,
    /// Tells those who wait that somebody is done.
    freed: Arc<Notify>,
}

/// A place for a file on its way.
pub(super) struct Berth {
    places: Option<(Place<ElicitationId>, Place<Arc<str>>)>,
    _queued: Place<ElicitationId>,
    freed: Arc<Notify>,
}

/// Room for a file on its way; given back when dropped, unless the file was kept.
pub(super) struct Hold {
    settings: UploadSettings,
    books: Arc<Mutex<Books>>,
    id: ElicitationId,
    bytes: u64,
    is_kept: bool,
    _berth: Berth,
}

impl Limits {
    pub(super) fn new(settings: &UploadSettings, kept: HashMap<ElicitationId, Usage>) -> Self {
        let bytes = kept.values().map(|kept| kept.bytes).sum();
        let (all, each) = (settings.at_once, settings.at_once_per_elicitation);
        let books = Books {
            kept,
            bytes,
            ..Books::default()
        };
        Self {
            settings: settings.clone(),
            books: Arc::new(Mutex::new(books)),
            places: Shares::new(all, each),
            by_asker: Shares::new(all, (all / 2).max(each)),
            queue: Shares::new(
                all.saturating_mul(1 + WAITING),
                each.saturating_mul(1 + WAITING),
            ),
            freed: Arc::default(),
        }
    }

    /// Takes a place for a file on its way. While others of the same elicitation or asker have all
    /// that it may have, it waits for one of them; if everybody's are taken, it is told so at once.
    pub(super) async fn berth(
        &self,
        id: ElicitationId,
        asker: &Arc<str>,
    ) -> Result<Berth, ReceiveError> {
        let queued = self.queue.take(id).map_err(|_| ReceiveError::Busy)?;
        loop {
            // Registers first, so that nobody is done unheard.
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            let place = self.places.take(id);
            let places = place.and_then(|place| Ok((place, self.by_asker.take(asker.clone())?)));
            match places {
                Ok(places) => {
                    return Ok(Berth {
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

    /// Takes room for one more file of an elicitation.
    pub(super) fn hold(
        &self,
        id: ElicitationId,
        asker: &Arc<str>,
        form: &Form,
        berth: Berth,
    ) -> Result<Hold, ReceiveError> {
        let limit = most_files(form);
        let mut books = self.books.lock();
        books.attribute(id, asker);
        let kept = books.kept.entry(id).or_default();
        if kept.files >= limit {
            return Err(ReceiveError::TooMany { limit });
        }
        kept.files += 1;
        Ok(Hold {
            settings: self.settings.clone(),
            books: self.books.clone(),
            id,
            bytes: 0,
            is_kept: false,
            _berth: berth,
        })
    }

    /// Notes who asks the question that files belong to.
    pub(super) fn attribute(&self, id: ElicitationId, asker: &Arc<str>) {
        let mut books = self.books.lock();
        if books.kept.contains_key(&id) {
            books.attribute(id, asker);
        }
    }

    /// Notes that a file of so many bytes is gone.
    pub(super) fn give_back(&self, id: ElicitationId, bytes: u64) {
        self.books.lock().give_back(id, bytes);
    }
}

impl Books {
    fn attribute(&mut self, id: ElicitationId, asker: &Arc<str>) {
        let kept = self.kept.entry(id).or_default();
        if kept.asker.is_none() {
            kept.asker = Some(asker.clone());
            let bytes = kept.bytes;
            *self.by_asker.entry(asker.clone()).or_default() += bytes;
        }
    }

    /// Whether more bytes may be kept for an elicitation.
    fn check(
        &self,
        id: ElicitationId,
        bytes: u64,
        settings: &UploadSettings,
    ) -> Result<(), ReceiveError> {
        let kept = self.kept.get(&id);
        let asker = kept.and_then(|kept| kept.asker.as_ref());
        let of_asker = asker.and_then(|asker| self.by_asker.get(asker)).copied();
        let is_above = |now: u64, limit: u64| now.saturating_add(bytes) > limit;
        let limit = settings.bytes_per_elicitation;
        if is_above(kept.map_or(0, |kept| kept.bytes), limit) {
            return Err(ReceiveError::TooMuch { limit });
        }
        let limit = settings.bytes_per_asker;
        if is_above(of_asker.unwrap_or(0), limit) {
            return Err(ReceiveError::AskerFull { limit });
        }
        let limit = settings.bytes_in_all;
        if is_above(self.bytes, limit) {
            return Err(ReceiveError::AllFull { limit });
        }
        Ok(())
    }

    fn add(&mut self, id: ElicitationId, bytes: u64) {
        let kept = self.kept.entry(id).or_default();
        kept.bytes += bytes;
        self.bytes += bytes;
        if let Some(asker) = &kept.asker {
            *self.by_asker.entry(asker.clone()).or_default() += bytes;
        }
    }

    fn take(&mut self, id: ElicitationId, bytes: u64) {
        let Some(kept) = self.kept.get_mut(&id) else {
            return;
        };
        let bytes = bytes.min(kept.bytes);
        kept.bytes -= bytes;
        self.bytes -= bytes;
        if let Some(asker) = kept.asker.clone()
            && let Some(of_asker) = self.by_asker.get_mut(&asker)
        {
            *of_asker -= bytes;
            if *of_asker == 0 {
                self.by_asker.remove(&asker);
            }
        }
    }

    fn give_back(&mut self, id: ElicitationId, bytes: u64) {
        self.take(id, bytes);
        if let Some(kept) = self.kept.get_mut(&id) {
            kept.files = kept.files.saturating_sub(1);
            if kept.files == 0 {
                let rest = kept.bytes;
                self.take(id, rest);
                self.kept.remove(&id);
            }
        }
    }
}

impl Hold {
    /// Whether there is room for more bytes by now.
    pub(super) fn check(&self, bytes: u64) -> Result<(), ReceiveError> {
        self.books.lock().check(self.id, bytes, &self.settings)
    }

    /// Takes room for more bytes.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), ReceiveError> {
        let mut books = self.books.lock();
        books.check(self.id, bytes, &self.settings)?;
        books.add(self.id, bytes);
        self.bytes += bytes;
        Ok(())
    }

    /// The file stays, and takes so many bytes on disk.
    pub(super) fn keep(mut self, on_disk: u64) {
        self.is_kept = true;
        let mut books = self.books.lock();
        books.take(self.id, self.bytes);
        books.add(self.id, on_disk);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.is_kept {
            self.books.lock().give_back(self.id, self.bytes);
        }
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        drop(self.places.take());
        self.freed.notify_waiters();
    }
}

/// What the file fields of a form may hold together, and some more.
fn most_files(form: &Form) -> u64 {
    let files = form.fields().iter().map(|field| match field.kind() {
        Kind::File(rules) => rules.max_items,
        _ => 0,
    });
    files.fold(SLACK, u64::saturating_add).min(MOST_FILES)
}
