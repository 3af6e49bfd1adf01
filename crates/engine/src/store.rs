//! The seam behind which elicitations are kept.
//!
//! A store knows nothing of forms or rules. It keeps records, hands them out, and replaces one
//! only if nobody replaced it before. The suite `store_contract` of the test kit holds every store to
//! what is written here.

mod claims;
mod memory;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use entreat_core::{ElicitationId, Status, UnixTime};

pub use claims::{Claim, ClaimKey};
pub use memory::MemoryStore;

use crate::record::{Record, Version};

/// An asker, one of its principals, and how many live records that has.
pub type PrincipalCount = (Arc<str>, Box<str>, usize);

/// Keeps elicitations.
///
/// What a call has acknowledged holds: for a durable store that means that it is on disk. What
/// failed has not happened, as far as anybody can see. Calls may run at the same time; each is
/// as if it ran alone.
pub trait Store: Send + Sync + 'static {
    /// Keeps a new record.
    ///
    /// If the asker has a record with the same idempotency key, nothing is kept and that one is
    /// named.
    fn create(&self, record: Record) -> Reply<Created>;

    /// The record of that name, as it was last acknowledged.
    fn load(&self, id: ElicitationId) -> Reply<Option<Record>>;

    /// The record of that name, for an asker, who must not learn from the time it takes that
    /// another asker's record exists.
    ///
    /// A record of another asker may be given or not: the caller looks at whose it is. But it must
    /// take as long as finding nothing does. A store that keeps everything in one place need do
    /// nothing for that.
    fn load_for(&self, id: ElicitationId, asker: &Arc<str>) -> Reply<Option<Record>> {
        let _ = asker;
        self.load(id)
    }

    /// Replaces a record by its next version.
    ///
    /// The version kept must be the one before `record.version`; otherwise somebody else came
    /// first, nothing changes, and the error is [`StoreError::Conflict`].
    fn commit(&self, record: Record) -> Reply<()>;

    /// Does the same for a step that time has made and nobody waits for: what somebody does
    /// wait for may go first.
    fn commit_unhurried(&self, record: Record) -> Reply<()> {
        self.commit(record)
    }

    /// Up to `limit` records whose [alarm](crate::Entry::alarm) has come, oldest alarms first by
    /// and large, and when to ask again if there are fewer.
    ///
    /// A record is named until a commit moves its alarm.
    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due>;

    /// A page of records, newest first.
    fn list(&self, query: Query) -> Reply<Vec<Record>>;

    /// How many live records each asker has; those without any are left out.
    fn census(&self) -> Reply<Vec<(Arc<str>, usize)>>;

    /// How many live records each [principal](crate::Request::principal) of an asker has; those
    /// without any are left out, and so are records that were asked on nobody's behalf.
    fn census_of_principals(&self) -> Reply<Vec<PrincipalCount>>;

    /// Forgets up to `limit` records that settled before that moment and have no alarm, and says
    /// how many.
    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize>;

    /// What was kept under a name by [`Store::keep_note`].
    fn note(&self, name: &'static str) -> Reply<Option<String>>;

    /// Keeps a small text of the engine's own, replacing what was there.
    fn keep_note(&self, name: &'static str, text: String) -> Reply<()>;

    /// Keeps a claim, whose outcome is not known yet, unless there is one under its key already:
    /// then nothing changes, and that one is returned.
    fn claim(&self, claim: Claim) -> Reply<Option<Claim>>;

    /// Keeps what came of a claim. The first outcome stays; one of a claim that is not there is
    /// dropped.
    fn end_claim(&self, key: ClaimKey, outcome: Vec<u8>) -> Reply<()>;

    /// Forgets a claim with these inputs that has no outcome, and no other.
    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16]) -> Reply<()>;

    /// Forgets up to `limit` claims that have expired by then, and says how many.
    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize>;

    /// Shows that the store can keep something, by keeping it as it keeps a step. The error says
    /// why it cannot.
    fn check(&self, now: UnixTime) -> Reply<()> {
        // What is kept already may not be written again.
        self.keep_note("checked", now.as_millis().to_string())
    }

    /// The records that the store has in memory and that [weigh](crate::Entry::weight) so many
    /// bytes at least.
    fn held_in_memory(&self, at_least: usize) -> Reply<Vec<Record>> {
        let _ = at_least;
        Promise::ready(Ok(Vec::new()))
    }

    /// Whether what is kept is still there after this process.
    fn outlives_process(&self) -> bool {
        false
    }
}

/// What became of a new record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is kept.
    Fresh,
    /// The asker had asked this before, under this name.
    Before(ElicitationId),
}

/// Whose alarm has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The records' names.
    pub ids: Vec<ElicitationId>,
    /// When the next alarm will come, as far as the store knows; never later than it does.
    pub next: Option<UnixTime>,
}

/// Which records are wanted.
#[derive(Clone, Debug)]
pub struct Query {
    /// Those of one asker, or of all.
    pub asker: Option<Arc<str>>,
    /// In which states.
    pub which: Which,
    /// Only records older than this one.
    pub before: Option<ElicitationId>,
    /// At most so many.
    pub limit: usize,
}

/// In which states records are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// In any.
    #[default]
    All,
    /// Those that have not settled.
    Live,
    /// In this one.
    Only(Status),
}

impl Query {
    /// Whether a record is one of those wanted, the limit apart.
    pub fn admits(&self, record: &Record) -> bool {
        let lifecycle = &record.lifecycle;
        let state_fits = match self.which {
            Which::All => true,
            Which::Live => lifecycle.is_live(),
            Which::Only(status) => lifecycle.state().status() == status,
        };
        state_fits
            && self.before.is_none_or(|before| record.id < before)
            && self
                .asker
                .as_ref()
                .is_none_or(|asker| *asker == record.request.asker)
    }
}

/// Why a store could not do what the engine asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer won; reload and decide again.
    #[error("elicitation {id} is at version {}, expected {}", found.0, expected.0)]
    Conflict {
        /// Which.
        id: ElicitationId,
        /// The version that the change was made for.
        expected: Version,
        /// The version that is kept.
        found: Version,
    },
    /// There is no such record, any more or at all.
    #[error("elicitation {0} is not kept here")]
    Missing(ElicitationId),
    /// The store may answer if asked again: the disk is full, or the connection is gone.
    #[error("store unavailable while trying to {attempt}")]
    Unavailable {
        /// What was tried.
        attempt: &'static str,
        /// What went wrong.
        #[source]
        source: BoxError,
    },
    /// What is kept cannot be read: another program, a newer version or a broken disk wrote it.
    #[error("what is kept of elicitation {id} cannot be read")]
    Unreadable {
        /// Which.
        id: ElicitationId,
        /// What is wrong with it.
        #[source]
        source: BoxError,
    },
}

/// An error of a store's own.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What a store answers with.
pub type Reply<T> = Promise<Result<T, StoreError>>;

/// An answer that is there already, or comes later.
///
/// A future without an allocation where the store answers at once, as one in memory does.
pub enum Promise<T> {
    /// It is there; `None` once it was taken.
    Ready(Option<T>),
    /// It comes.
    Later(Pin<Box<dyn Future<Output = T> + Send>>),
}

impl<T> Promise<T> {
    /// An answer that is there.
    pub fn ready(answer: T) -> Self {
        Self::Ready(Some(answer))
    }

    /// The answer if it is there, without a future's ado.
    pub(crate) fn at_once(self) -> Result<T, Self> {
        match self {
            Self::Ready(Some(answer)) => Ok(answer),
            other => Err(other),
        }
    }

    /// An answer that comes.
    pub fn later(answer: impl Future<Output = T> + Send + 'static) -> Self {
        Self::Later(Box::pin(answer))
    }
}

impl<T: Unpin> Future for Promise<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match self.get_mut() {
            Self::Ready(answer) => match answer.take() {
                Some(answer) => Poll::Ready(answer),
                // Polled again after the end: it stays pending, as a fused future would.
                None => Poll::Pending,
            },
            Self::Later(answer) => answer.as_mut().poll(context),
        }
    }
}

impl<T> fmt::Debug for Promise<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready(_) => "Promise::Ready",
            Self::Later(_) => "Promise::Later",
        })
    }
}
