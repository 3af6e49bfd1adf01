//! How much may be kept, and how much may be on its way.

use std::collections::HashMap;
use std::sync::Arc;

use entreat_core::{ElicitationId, Form, Kind};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ReceiveError;

/// So many files are kept beyond what a form can use: a person who replaces one has both for a
/// moment.
const SLACK: u64 = 4;
/// Never more than this, whatever a form says: empty files take no bytes, but names.
const MOST_FILES: u64 = 10_000;

/// What is kept for one elicitation, in files that are whole and files on their way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

type Books = Arc<Mutex<HashMap<ElicitationId, Kept>>>;

/// Counts what is kept; exact as long as one program uses the folder.
pub(super) struct Limits {
    books: Books,
    places: Arc<Semaphore>,
}

/// Room for a file on its way; given back when dropped, unless the file was kept.
pub(super) struct Hold {
    books: Books,
    id: ElicitationId,
    limit: u64,
    bytes: u64,
    is_kept: bool,
    _place: OwnedSemaphorePermit,
}

impl Limits {
    pub(super) fn new(at_once: usize, kept: HashMap<ElicitationId, Kept>) -> Self {
        Self {
            books: Arc::new(Mutex::new(kept)),
            places: Arc::new(Semaphore::new(at_once.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Takes room for one more file of an elicitation.
    pub(super) fn hold(
        &self,
        id: ElicitationId,
        form: &Form,
        bytes: u64,
    ) -> Result<Hold, ReceiveError> {
        let place = self.places.clone().try_acquire_owned();
        let place = place.map_err(|_| ReceiveError::Busy)?;
        let limit = most_files(form);
        let mut books = self.books.lock();
        let kept = books.entry(id).or_default();
        if kept.files >= limit {
            return Err(ReceiveError::TooMany { limit });
        }
        kept.files += 1;
        Ok(Hold {
            books: self.books.clone(),
            id,
            limit: bytes,
            bytes: 0,
            is_kept: false,
            _place: place,
        })
    }

    /// Notes that a file of so many bytes is gone.
    pub(super) fn give_back(&self, id: ElicitationId, bytes: u64) {
        give_back(&self.books, id, bytes);
    }
}

impl Hold {
    /// Takes room for more bytes.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), ReceiveError> {
        let limit = self.limit;
        let mut books = self.books.lock();
        let kept = books.entry(self.id).or_default();
        if kept.bytes.saturating_add(bytes) > limit {
            return Err(ReceiveError::TooMuch { limit });
        }
        kept.bytes += bytes;
        self.bytes += bytes;
        Ok(())
    }

    /// The file stays, and takes so many bytes on disk.
    pub(super) fn keep(mut self, on_disk: u64) {
        self.is_kept = true;
        let mut books = self.books.lock();
        let kept = books.entry(self.id).or_default();
        kept.bytes = (kept.bytes + on_disk).saturating_sub(self.bytes);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.is_kept {
            give_back(&self.books, self.id, self.bytes);
        }
    }
}

fn give_back(books: &Books, id: ElicitationId, bytes: u64) {
    let mut books = books.lock();
    if let Some(kept) = books.get_mut(&id) {
        kept.files = kept.files.saturating_sub(1);
        kept.bytes = kept.bytes.saturating_sub(bytes);
        if kept.files == 0 {
            books.remove(&id);
        }
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
