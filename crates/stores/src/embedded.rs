//! A store in one SQLite file, for one process.
//!
//! Live records are also in memory, so that loading them, finding due timers and counting need no
//! disk access. A single writer thread does group commit: it writes all queued jobs in one
//! transaction, and publishes and acknowledges them after the commit. Many callers thus share one
//! fsync.
//!
//! Not supported: several processes. The file is locked while the store is open.

mod backup;
mod batch;
mod batch_size;
mod beside;
mod claims;
mod files;
mod group_commit;
mod inbox;
mod inspect;
mod job;
mod live;
mod log;
mod open;
mod purge;
mod readers;
mod rows;
mod schema;
mod unarchived;
mod verify;
mod wal;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use entreat_core::{ElicitationId, UnixTime, Validators};
use entreat_engine::store::{
    Claim, ClaimKey, Created, Due, Holder, Promise, Query, Reply, StatusFilter,
};
use entreat_engine::{MemoryStore, Record, Store, StoreError, Subject};
use parking_lot::Mutex;
use tokio::sync::mpsc;

pub use backup::BackupError;
pub use beside::Checked;
pub use inspect::FileKind;
pub use open::OpenError;

use self::claims::ClaimJob;
use self::files::{Identities, Locks};
use self::inbox::Queues;
use self::job::{Job, Ticket};
use self::readers::Readers;
use self::unarchived::Unarchived;
use self::writer::Writer;
use crate::forms::Forms;
use crate::record;
use crate::sum::{self, Columns};

/// A durable store in one file.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("entreat.db");
/// use entreat_engine::Store;
/// use entreat_stores::{EmbeddedOptions, EmbeddedStore};
///
/// let store = EmbeddedStore::open(&path, EmbeddedOptions::default())?;
/// store.save_note("greeting", "hello".into()).await?;
/// store.close().await;
///
/// let store = EmbeddedStore::open(&path, EmbeddedOptions::default())?;
/// assert_eq!(store.load_note("greeting").await?.as_deref(), Some("hello"));
/// # Ok(())
/// # }
/// ```
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    queues: Queues,
    writer: Writer,
}

/// Options of [`EmbeddedStore::open`].
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// The custom validators that stored forms may refer to.
    pub validators: Validators,
    /// Approximate number of forms to cache.
    pub cached_forms: usize,
    /// Maximum size of the file in bytes; writes beyond it fail until records are purged.
    pub max_size: Option<u64>,
    /// Whether to create the store if the file does not exist or is empty.
    pub may_create: bool,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            validators: Validators::default(),
            cached_forms: 1000,
            max_size: None,
            may_create: true,
        }
    }
}

/// State shared by callers, writer and readers.
struct Shared {
    path: PathBuf,
    files: Arc<Identities>,
    /// This opening of the store. One process has it at a time, so all others are gone.
    holder: Holder,
    /// The live records; only the writer changes it, after a commit.
    live: MemoryStore,
    unarchived: Unarchived,
    forms: Forms,
    readers: Readers,
    /// Held while any part of the store is in use. Last, so that SQLite's files are closed first.
    locks: Mutex<Option<Locks>>,
}

impl EmbeddedStore {
    /// Opens the store in this file, or creates it; its folder must exist.
    ///
    /// Reads and verifies all data, which may take a second or two. Fails if another process has
    /// the store open, if the file is damaged or not a store, or if a newer Entreat wrote it.
    pub fn open(path: impl AsRef<Path>, options: EmbeddedOptions) -> Result<Self, OpenError> {
        let opened = open::open(path.as_ref(), &options)?;
        let path = opened.locks.path.clone();
        let forms = Forms::new(options.cached_forms, options.validators);
        let loaded = verify::verify(&opened.connection, &forms)
            .and_then(|()| live::load(&opened.connection, &forms));
        let (live, unarchived) = loaded.map_err(|fault| fault.of(&path))?;
        let files = Arc::new(opened.identities);
        let epoch: i64 = opened
            .connection
            .query_row("SELECT random()", [], |row| row.get(0))
            .map_err(|error| verify::Fault::from(error).of(&path))?;
        let shared = Arc::new(Shared {
            holder: Holder {
                node: 0,
                epoch: epoch.cast_unsigned(),
            },
            readers: Readers::new(path.clone(), files.clone()),
            path,
            files,
            live,
            unarchived,
            forms,
            locks: Mutex::new(Some(opened.locks)),
        });
        let (queues, writer) = Writer::start(shared.clone(), opened.connection)?;
        Ok(Self {
            shared,
            queues,
            writer,
        })
    }

    /// Whether the store is open. Must not be called by the process that has it open.
    pub fn is_in_use(path: &Path) -> bool {
        inspect::is_in_use(path)
    }

    /// Verifies a store without opening it, as [`open`](Self::open) does, for at most this long.
    /// Another process may have it open. Writes nothing.
    pub async fn check(path: &Path, limit: Duration) -> Result<Checked, OpenError> {
        beside::check_within(path.to_owned(), limit).await
    }

    /// Writes a consistent, verified snapshot of a store to a new file without opening the store:
    /// another process may have it open and write to it.
    ///
    /// The snapshot is a store itself. Fails if the file exists.
    pub async fn back_up(path: &Path, to: &Path) -> Result<(), BackupError> {
        backup::of_file(path.to_owned(), to.to_owned()).await
    }

    /// Verifies a backup and copies it to a file that does not exist, or is empty.
    pub async fn restore(backup: &Path, to: &Path) -> Result<(), BackupError> {
        backup::restore(backup.to_owned(), to.to_owned()).await
    }

    /// Tells other processes at which URL the service that has this store open is reached.
    pub fn announce(&self, url: &str) -> std::io::Result<()> {
        let locks = self.shared.locks.lock();
        locks.as_ref().map_or(Ok(()), |locks| locks.announce(url))
    }

    /// Returns the URL of the service that has a store open, if it is known.
    pub fn announced_url(path: &Path) -> Option<String> {
        files::announced(path)
    }

    /// Returns the paths of SQLite's auxiliary files, which exist while the store is open.
    pub fn side_files(path: &Path) -> [PathBuf; 2] {
        inspect::side_files(path)
    }

    /// Completes queued writes, checkpoints the log into the file and closes it.
    ///
    /// Later calls fail. Dropping the store closes it too, but does not wait for reads in flight.
    pub async fn close(&self) {
        self.writer.stop().await;
        self.shared.readers.close().await;
        drop(self.shared.locks.lock().take());
    }

    /// Writes a consistent snapshot to a new file while the store is in use.
    ///
    /// The snapshot is a store itself. Fails if the file exists.
    pub async fn backup(&self, to: &Path) -> Result<(), BackupError> {
        backup::run(self.shared.clone(), to.to_owned()).await
    }
}

fn submit_commit(queue: &mpsc::Sender<Job>, record: Record, in_place: bool) -> Reply<()> {
    let mut state = record::encode_state(&record);
    sum::append_state_sum(record.id.as_bytes(), record.version.0, &mut state);
    submit(queue, "write a step", |ticket| Job::Commit {
        record,
        state,
        in_place,
        was_live: false,
        ticket,
    })
}

/// Queues a job for the writer; the reply resolves once it is on disk.
fn submit<T: Send + 'static>(
    queue: &mpsc::Sender<Job>,
    attempt: &'static str,
    job: impl FnOnce(Ticket<T>) -> Job,
) -> Reply<T> {
    let (ticket, answer) = Ticket::new();
    let job = job(ticket);
    // Usually the queue has room, and the job is queued before the reply is polled.
    let waiting = match queue.try_send(job) {
        Ok(()) => None,
        Err(mpsc::error::TrySendError::Full(job)) => Some((queue.clone(), job)),
        Err(mpsc::error::TrySendError::Closed(_)) => {
            return Promise::ready(Err(closed(attempt)));
        }
    };
    Promise::later(async move {
        if let Some((queue, job)) = waiting {
            queue.send(job).await.map_err(|_| closed(attempt))?;
        }
        answer.await.unwrap_or_else(|_| Err(closed(attempt)))
    })
}

impl Store for EmbeddedStore {
    fn create(&self, record: Record) -> Reply<Created> {
        let form = match &record.request.subject {
            Subject::Form(form) => Some(self.shared.forms.encode(form)),
            Subject::Url(_) => None,
        };
        let mut request = record::encode_request(&record.request);
        let mut state = record::encode_state(&record);
        let extras = record.request.extras.as_ref();
        let columns = Columns {
            id: record.id.as_bytes(),
            version: record.version.0,
            asker: &record.request.asker,
            key: extras.and_then(|extras| extras.idempotency_key.as_deref()),
            form: form.as_ref().map(|form| &form.digest),
        };
        columns.append_request_sum(&mut request);
        sum::append_state_sum(columns.id, columns.version, &mut state);
        submit(&self.queues.normal, "store a new elicitation", |ticket| {
            Job::Create {
                record,
                form,
                request,
                state,
                ticket,
            }
        })
    }

    fn load(&self, id: ElicitationId) -> Reply<Option<Record>> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed(readers::LOAD)));
        }
        match self.shared.live.get(id) {
            None => {
                let shared = self.shared.clone();
                Promise::later(async move { readers::load(shared, id, None).await })
            }
            found => Promise::ready(Ok(found)),
        }
    }

    fn load_for(&self, id: ElicitationId, asker: &Arc<str>) -> Reply<Option<Record>> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed(readers::LOAD)));
        }
        match self.shared.live.get(id) {
            Some(record) if record.request.asker == *asker => Promise::ready(Ok(Some(record))),
            // Another asker's record is looked up on disk too: the faster answer from memory would
            // reveal that it exists.
            _ => {
                let (shared, asker) = (self.shared.clone(), asker.clone());
                Promise::later(async move { readers::load(shared, id, Some(asker)).await })
            }
        }
    }

    fn commit(&self, record: Record) -> Reply<()> {
        submit_commit(&self.queues.normal, record, false)
    }

    fn commit_low_priority(&self, record: Record) -> Reply<()> {
        submit_commit(&self.queues.low_priority, record, true)
    }

    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed("find due records")));
        }
        self.shared.live.due(now, limit)
    }

    fn list(&self, query: Query) -> Reply<Vec<Record>> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed(readers::LIST)));
        }
        // Memory first, then unarchived rows, then disk: a record that moves meanwhile only moves
        // in that direction, so it is not missed.
        let live = self.shared.live.list(query.clone());
        let only_live = match query.which {
            StatusFilter::Live => true,
            StatusFilter::All | StatusFilter::Settled => false,
            StatusFilter::Only(status) => readers::is_live(status),
        };
        if only_live {
            return live;
        }
        let (shared, unarchived) = (self.shared.clone(), self.shared.unarchived.matching(&query));
        Promise::later(async move { readers::list(shared, query, live.await?, unarchived).await })
    }

    fn live_counts(&self) -> Reply<Vec<(Arc<str>, usize)>> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed("count live elicitations")));
        }
        self.shared.live.live_counts()
    }

    fn live_counts_by_principal(&self) -> Reply<Vec<entreat_engine::store::PrincipalCount>> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed("count live elicitations")));
        }
        self.shared.live.live_counts_by_principal()
    }

    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize> {
        let (shared, low_priority) = (self.shared.clone(), self.queues.low_priority.clone());
        Promise::later(async move { purge::run(shared, low_priority, settled_before, limit).await })
    }

    fn load_note(&self, name: &'static str) -> Reply<Option<String>> {
        let shared = self.shared.clone();
        Promise::later(async move { readers::load_note(shared, name).await })
    }

    fn save_note(&self, name: &'static str, text: String) -> Reply<()> {
        submit(&self.queues.normal, "save a note", |ticket| Job::Note {
            name,
            text,
            ticket,
        })
    }

    fn replace_note(
        &self,
        name: &'static str,
        expected: Option<String>,
        text: String,
    ) -> Reply<bool> {
        submit(&self.queues.normal, "replace a note", |ticket| {
            Job::ReplaceNote {
                name,
                expected,
                text,
                ticket,
            }
        })
    }

    fn claim(&self, claim: Claim) -> Reply<Option<Claim>> {
        submit(&self.queues.normal, "claim a value", |ticket| {
            Job::Claims(ClaimJob::Claim(claim, ticket))
        })
    }

    fn find_claim(&self, key: ClaimKey) -> Reply<Option<Claim>> {
        let shared = self.shared.clone();
        Promise::later(async move { readers::find_claim(shared, key).await })
    }

    fn take_over_claim(&self, claim: Claim, from: Option<Holder>) -> Reply<bool> {
        submit(&self.queues.normal, "take over a claim", |ticket| {
            Job::Claims(ClaimJob::TakeOver(claim, from, ticket))
        })
    }

    fn end_claim(&self, key: ClaimKey, holder: Option<Holder>, outcome: Vec<u8>) -> Reply<bool> {
        submit(
            &self.queues.normal,
            "store the outcome of a claim",
            |ticket| Job::Claims(ClaimJob::End(key, holder, outcome, ticket)),
        )
    }

    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16], holder: Option<Holder>) -> Reply<()> {
        submit(&self.queues.normal, "release a claim", |ticket| {
            Job::Claims(ClaimJob::Release(key, inputs, holder, ticket))
        })
    }

    fn holder(&self) -> Holder {
        self.shared.holder
    }

    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize> {
        submit(&self.queues.low_priority, "purge claims", |ticket| {
            Job::Claims(ClaimJob::Purge(expired_by, limit, ticket))
        })
    }

    fn resident_records(&self, min_weight: usize) -> Reply<Vec<Record>> {
        self.shared.live.resident_records(min_weight)
    }

    fn is_durable(&self) -> bool {
        true
    }
}

fn closed(attempt: &'static str) -> StoreError {
    StoreError::Unavailable {
        attempt,
        source: "the store was closed".into(),
    }
}
