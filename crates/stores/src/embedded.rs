//! Keeps elicitations in one SQLite file, for one process.
//!
//! Live records are also held in memory, so that reading one, finding whose alarm has come and
//! counting takes no disk. One thread writes: it takes what is queued, writes all of it in one
//! transaction, and only then publishes and answers. Many callers thus share the cost of
//! reaching the disk, and an answer means that it was reached.
//!
//! What this does not do: serve two processes. The file is locked while the store is open.

mod backup;
mod batch;
mod claims;
mod files;
mod inbox;
mod inspect;
mod job;
mod lingering;
mod live;
mod log;
mod open;
mod pace;
mod purge;
mod readers;
mod rows;
mod schema;
mod turn;
mod verify;
mod wal;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use entreat_core::{ElicitationId, UnixTime, Validators};
use entreat_engine::store::{Claim, ClaimKey, Created, Due, Promise, Query, Reply, Which};
use entreat_engine::{MemoryStore, Record, Store, StoreError, Subject};
use parking_lot::Mutex;
use tokio::sync::mpsc;

pub use backup::BackupError;
pub use inspect::FileKind;
pub use open::OpenError;

use self::claims::ClaimJob;
use self::files::{Identities, Locks};
use self::inbox::Queues;
use self::job::{Job, Ticket};
use self::lingering::Lingering;
use self::readers::Readers;
use self::writer::Writer;
use crate::forms::Forms;
use crate::record;
use crate::sum::{self, Columns};

/// Keeps elicitations in one file.
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
/// store.keep_note("greeting", "hello".into()).await?;
/// store.close().await;
///
/// let store = EmbeddedStore::open(&path, EmbeddedOptions::default())?;
/// assert_eq!(store.note("greeting").await?.as_deref(), Some("hello"));
/// # Ok(())
/// # }
/// ```
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    queues: Queues,
    writer: Writer,
}

/// How a store is opened.
#[derive(Clone)]
pub struct EmbeddedOptions {
    /// The functions that kept forms may name.
    pub validators: Validators,
    /// About how many forms stay loaded that no live record needs.
    pub cached_forms: usize,
    /// How large the file may grow, in bytes; what would go beyond is refused until something
    /// was purged.
    pub max_size: Option<u64>,
    /// Whether a store is made where there is none, or an empty file.
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

/// What callers, writer and readers have in common.
struct Shared {
    path: PathBuf,
    files: Arc<Identities>,
    /// The live records; the writer alone changes it, once a step is on disk.
    live: MemoryStore,
    lingering: Lingering,
    forms: Forms,
    readers: Readers,
    /// Held for as long as anything of the store is in use. Last, because SQLite's files are
    /// closed before.
    locks: Mutex<Option<Locks>>,
}

impl EmbeddedStore {
    /// Opens the store in this file, or makes one; its folder must exist.
    ///
    /// Reads and checks all that is kept, so it may take a second or two. Fails if another process
    /// has the store open, if the file is something else or damaged, or if a newer Entreat wrote
    /// it.
    pub fn open(path: impl AsRef<Path>, options: EmbeddedOptions) -> Result<Self, OpenError> {
        let opened = open::open(path.as_ref(), &options)?;
        let path = opened.locks.path.clone();
        let forms = Forms::new(options.cached_forms, options.validators);
        let loaded = verify::verify(&opened.connection, &forms)
            .and_then(|()| live::load(&opened.connection, &forms));
        let (live, lingering) = loaded.map_err(|fault| fault.of(&path))?;
        let files = Arc::new(opened.identities);
        let shared = Arc::new(Shared {
            readers: Readers::new(path.clone(), files.clone()),
            path,
            files,
            live,
            lingering,
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

    /// Whether somebody has the store at this path open. To be asked by a process that has not.
    pub fn is_in_use(path: &Path) -> bool {
        inspect::is_in_use(path)
    }

    /// The files that a store at this path keeps beside it while it is open.
    pub fn side_files(path: &Path) -> [PathBuf; 2] {
        inspect::side_files(path)
    }

    /// Finishes what was begun, writes everything to the one file and lets go of it.
    ///
    /// What is asked of the store afterwards fails. Dropping the store does the same but for
    /// waiting for reads that are under way.
    pub async fn close(&self) {
        self.writer.stop().await;
        self.shared.readers.close().await;
        drop(self.shared.locks.lock().take());
    }

    /// Copies the store to a new file, as it stands at one moment, while work goes on.
    ///
    /// The copy is a store itself. An existing file is not overwritten.
    pub async fn backup(&self, to: &Path) -> Result<(), BackupError> {
        backup::run(self.shared.clone(), to.to_owned()).await
    }
}

fn keep_step(queue: &mpsc::Sender<Job>, record: Record, lingers: bool) -> Reply<()> {
    let mut state = record::encode_state(&record);
    sum::end_state(record.id.as_bytes(), record.version.0, &mut state);
    hand_over(queue, "keep a step", |ticket| Job::Commit {
        record,
        state,
        lingers,
        was_live: false,
        ticket,
    })
}

/// Hands a job to the writer and waits for its answer.
fn hand_over<T: Send + 'static>(
    queue: &mpsc::Sender<Job>,
    attempt: &'static str,
    job: impl FnOnce(Ticket<T>) -> Job,
) -> Reply<T> {
    let (ticket, answer) = Ticket::new();
    let job = job(ticket);
    // Mostly there is room, and then the job is queued before anybody waits.
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
            Subject::Form(form) => Some(self.shared.forms.kept(form)),
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
        columns.end_request(&mut request);
        sum::end_state(columns.id, columns.version, &mut state);
        hand_over(&self.queues.prompt, "keep a new elicitation", |ticket| {
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
            // Found in memory, what is another's is looked for on disk all the same: an answer
            // from memory would tell that there is something.
            _ => {
                let (shared, asker) = (self.shared.clone(), asker.clone());
                Promise::later(async move { readers::load(shared, id, Some(asker)).await })
            }
        }
    }

    fn commit(&self, record: Record) -> Reply<()> {
        keep_step(&self.queues.prompt, record, false)
    }

    fn commit_unhurried(&self, record: Record) -> Reply<()> {
        keep_step(&self.queues.unhurried, record, true)
    }

    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed("find what is due")));
        }
        self.shared.live.due(now, limit)
    }

    fn list(&self, query: Query) -> Reply<Vec<Record>> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed(readers::LIST)));
        }
        // Memory first: what settles in between is then on disk, and in one of the two. For the
        // same reason those that linger are looked for before the disk is read.
        let live = self.shared.live.list(query.clone());
        let only_live = match query.which {
            Which::Live => true,
            Which::All => false,
            Which::Only(status) => readers::is_live(status),
        };
        if only_live {
            return live;
        }
        let (shared, lingering) = (self.shared.clone(), self.shared.lingering.listed(&query));
        Promise::later(async move { readers::list(shared, query, live.await?, lingering).await })
    }

    fn census(&self) -> Reply<Vec<(Arc<str>, usize)>> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed("count live elicitations")));
        }
        self.shared.live.census()
    }

    fn census_of_principals(&self) -> Reply<Vec<entreat_engine::store::PrincipalCount>> {
        if self.shared.readers.is_closed() {
            return Promise::ready(Err(closed("count live elicitations")));
        }
        self.shared.live.census_of_principals()
    }

    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize> {
        let (shared, unhurried) = (self.shared.clone(), self.queues.unhurried.clone());
        Promise::later(async move { purge::run(shared, unhurried, settled_before, limit).await })
    }

    fn note(&self, name: &'static str) -> Reply<Option<String>> {
        let shared = self.shared.clone();
        Promise::later(async move { readers::note(shared, name).await })
    }

    fn keep_note(&self, name: &'static str, text: String) -> Reply<()> {
        hand_over(&self.queues.prompt, "keep a note", |ticket| Job::Note {
            name,
            text,
            ticket,
        })
    }

    fn claim(&self, claim: Claim) -> Reply<Option<Claim>> {
        hand_over(&self.queues.prompt, "claim something", |ticket| {
            Job::Claims(ClaimJob::Claim(claim, ticket))
        })
    }

    fn end_claim(&self, key: ClaimKey, outcome: Vec<u8>) -> Reply<()> {
        hand_over(&self.queues.prompt, "keep an outcome", |ticket| {
            Job::Claims(ClaimJob::End(key, outcome, ticket))
        })
    }

    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16]) -> Reply<()> {
        hand_over(&self.queues.prompt, "release a claim", |ticket| {
            Job::Claims(ClaimJob::Release(key, inputs, ticket))
        })
    }

    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize> {
        hand_over(&self.queues.unhurried, "purge claims", |ticket| {
            Job::Claims(ClaimJob::Purge(expired_by, limit, ticket))
        })
    }

    fn held_in_memory(&self, at_least: usize) -> Reply<Vec<Record>> {
        self.shared.live.held_in_memory(at_least)
    }

    fn outlives_process(&self) -> bool {
        true
    }
}

fn closed(attempt: &'static str) -> StoreError {
    StoreError::Unavailable {
        attempt,
        source: "the store was closed".into(),
    }
}
