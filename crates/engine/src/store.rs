//! The storage interface.
//!
//! A store knows nothing of forms or rules: it stores and loads records, and replaces them by
//! compare-and-swap. The test kit's `store_contract` suite checks every implementation against the
//! documentation here.

mod claims;
mod feed;
mod memory;

use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use entreat_core::{ElicitationId, Status, UnixTime};

pub use claims::{Claim, ClaimKey, Holder};
pub use feed::{ChangeElsewhere, ChangeFeed, ChangeSender};
pub use memory::MemoryStore;

use crate::record::{Record, Version};

/// An asker, one of its principals, and the principal's number of live records.
pub type PrincipalCount = (Arc<str>, Box<str>, usize);

/// Stores elicitations.
///
/// An acknowledged write is permanent; in a durable store it is on disk. A failed write is not
/// visible to anyone. Concurrent calls are linearizable.
///
/// Some stores can be opened several times at once, by several processes. All of this then holds
/// for the calls through all handles together, and [`changes_elsewhere`](Self::changes_elsewhere)
/// tells each handle what the others have changed.
pub trait Store: Send + Sync + 'static {
    /// Stores a new record.
    ///
    /// If the asker already has a record with this idempotency key, stores nothing and returns that
    /// record's id.
    fn create(&self, record: Record) -> Reply<Created>;

    /// Loads the latest acknowledged version of a record.
    fn load(&self, id: ElicitationId) -> Reply<Option<Record>>;

    /// Loads a record for an asker, without revealing by timing that another asker's record exists.
    ///
    /// May return another asker's record, since the caller checks ownership, but must take as long
    /// as for an id that does not exist. The default suits stores with a single lookup path.
    fn load_for(&self, id: ElicitationId, asker: &Arc<str>) -> Reply<Option<Record>> {
        let _ = asker;
        self.load(id)
    }

    /// Replaces a record by its next version (compare-and-swap).
    ///
    /// Fails with [`StoreError::Conflict`] and changes nothing unless the stored version directly
    /// precedes `record.version`.
    fn commit(&self, record: Record) -> Reply<()>;

    /// Replaces a record as [`commit`](Self::commit) does, but at low priority: for steps caused by
    /// timers, which no caller waits for.
    fn commit_low_priority(&self, record: Record) -> Reply<()> {
        self.commit(record)
    }

    /// Returns up to `limit` records whose [timer](crate::Entry::timer) is due, roughly oldest
    /// first, and when to query again if there are fewer.
    ///
    /// A record is returned until a commit moves its timer.
    fn due(&self, now: UnixTime, limit: usize) -> Reply<Due>;

    /// Returns a page of records, newest first.
    fn list(&self, query: Query) -> Reply<Vec<Record>>;

    /// Counts live records by asker; omits askers without any.
    fn live_counts(&self) -> Reply<Vec<(Arc<str>, usize)>>;

    /// Counts live records by [principal](crate::Request::principal); omits principals without any,
    /// and records without a principal.
    fn live_counts_by_principal(&self) -> Reply<Vec<PrincipalCount>>;

    /// Deletes up to `limit` records that settled before this time and have no timer. Returns how
    /// many.
    fn purge(&self, settled_before: UnixTime, limit: usize) -> Reply<usize>;

    /// Loads a text saved by [`Store::save_note`].
    fn load_note(&self, name: &'static str) -> Reply<Option<String>>;

    /// Saves a small text for the engine, replacing the previous one of this name.
    fn save_note(&self, name: &'static str, text: String) -> Reply<()>;

    /// Saves a text as [`save_note`](Self::save_note) does, if the previous one is `expected`, or
    /// there is none as expected. Returns whether it did.
    fn replace_note(
        &self,
        name: &'static str,
        expected: Option<String>,
        text: String,
    ) -> Reply<bool>;

    /// Stores a claim without an outcome. If its key is already claimed, changes nothing and
    /// returns the existing claim.
    fn claim(&self, claim: Claim) -> Reply<Option<Claim>>;

    /// Returns a claim without making one; `None` if the key is free.
    fn find_claim(&self, key: ClaimKey) -> Reply<Option<Claim>>;

    /// Gives a claim without an outcome to another holder, if it has these inputs and this holder
    /// still. Returns whether it did.
    fn take_over_claim(&self, claim: Claim, from: Option<Holder>) -> Reply<bool>;

    /// Stores the outcome of a claim, if it has this holder and no outcome yet. Returns whether it
    /// did.
    fn end_claim(&self, key: ClaimKey, holder: Option<Holder>, outcome: Vec<u8>) -> Reply<bool>;

    /// Deletes a claim if it has these inputs, this holder and no outcome.
    fn release_claim(&self, key: ClaimKey, inputs: [u8; 16], holder: Option<Holder>) -> Reply<()>;

    /// Identifies this handle among all that were ever opened. The default suits a store that ends
    /// with its only handle.
    fn holder(&self) -> Holder {
        Holder::default()
    }

    /// Whether it is known that a handle was closed, or its process has ended: not if it is only
    /// silent. The default suits a store with one handle at a time, where every other is gone.
    fn is_gone(&self, holder: Holder) -> Reply<bool> {
        Promise::ready(Ok(holder != self.holder()))
    }

    /// Deletes up to `limit` claims that have expired by this time. Returns how many.
    fn purge_claims(&self, expired_by: UnixTime, limit: usize) -> Reply<usize>;

    /// Health check: performs a write as durable as a commit.
    fn check(&self, now: UnixTime) -> Reply<()> {
        // Includes the time: a store may skip writing an unchanged value.
        self.save_note("checked", now.as_millis().to_string())
    }

    /// Returns the records in memory whose [`weight`](crate::Entry::weight) is at least this many
    /// bytes.
    fn resident_records(&self, min_weight: usize) -> Reply<Vec<Record>> {
        let _ = min_weight;
        Promise::ready(Ok(Vec::new()))
    }

    /// Whether data outlives the process.
    fn is_durable(&self) -> bool {
        false
    }

    /// Returns the feed of changes made through other handles from now on; `None` if there can be
    /// no other handle.
    ///
    /// Every creation and every commit through another handle is in it, soon after it was
    /// acknowledged, in any order and possibly more than once; or else the feed says that some may
    /// have been missed. An engine takes one feed when it starts.
    fn changes_elsewhere(&self) -> Option<ChangeFeed> {
        None
    }
}

/// The result of [`Store::create`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// The record was stored.
    New,
    /// The idempotency key was used before, by this record.
    Existing(ElicitationId),
}

/// Records whose timer is due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The records' ids.
    pub ids: Vec<ElicitationId>,
    /// When the next timer is due, or an earlier time.
    pub next: Option<UnixTime>,
}

/// Selects records.
#[derive(Clone, Debug)]
pub struct Query {
    /// Only records of this asker.
    pub asker: Option<Arc<str>>,
    /// Only records for one of these respondents.
    pub respondents: Option<Respondents>,
    /// Only records in these states.
    pub which: StatusFilter,
    /// Only records older than this one.
    pub before: Option<ElicitationId>,
    /// Maximum number of records.
    pub limit: usize,
}

/// Selects records by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusFilter {
    /// Any state.
    #[default]
    All,
    /// Not settled.
    Live,
    /// Settled.
    Settled,
    /// This state only.
    Only(Status),
}

/// The respondents under which a person is asked: by name, by address, by group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Respondents(Arc<[Box<str>]>);

impl Respondents {
    /// Maximum number; further ones are ignored. A store looks up each of them.
    pub const MAX: usize = 256;

    /// Collects respondents as questions name them.
    ///
    /// ```
    /// use entreat_engine::store::Respondents;
    ///
    /// let ada = Respondents::new(["ada", "email:ada@example.com", "group:ops"]);
    /// assert!(ada.contains("group:ops"));
    /// assert!(ada.contains("email:Ada@Example.com"));
    /// assert!(!ada.contains("Ada"));
    /// ```
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names = names.into_iter().take(Self::MAX);
        Self(names.map(|name| Self::key(name).into()).collect())
    }

    /// Returns whether a question for this respondent is for one of them.
    pub fn contains(&self, respondent: &str) -> bool {
        let key = Self::key(respondent);
        self.0.iter().any(|known| **known == *key)
    }

    /// Returns their keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|key| &**key)
    }

    /// Returns what a store looks up: respondents with the same key are the same.
    pub fn key(respondent: &str) -> Cow<'_, str> {
        if respondent.starts_with("email:") {
            respondent.to_ascii_lowercase().into()
        } else {
            respondent.into()
        }
    }
}

impl Query {
    /// Returns whether the record matches, ignoring the limit.
    pub fn matches(&self, record: &Record) -> bool {
        let lifecycle = &record.lifecycle;
        let matches_state = match self.which {
            StatusFilter::All => true,
            StatusFilter::Live => lifecycle.is_live(),
            StatusFilter::Settled => !lifecycle.is_live(),
            StatusFilter::Only(status) => lifecycle.state().status() == status,
        };
        matches_state
            && self.before.is_none_or(|before| record.id < before)
            && self
                .asker
                .as_ref()
                .is_none_or(|asker| *asker == record.request.asker)
            && self.is_for_respondents(record)
    }

    /// Returns whether the record is for one of these respondents, if the query names any.
    pub fn is_for_respondents(&self, record: &Record) -> bool {
        self.respondents.as_ref().is_none_or(|respondents| {
            let respondent = record.request.respondent();
            respondent.is_some_and(|respondent| respondents.contains(respondent))
        })
    }
}

/// Why a store could not do what the engine asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer won; reload and decide again.
    #[error("elicitation {id} is at version {}, expected {}", found.0, expected.0)]
    Conflict {
        /// The id.
        id: ElicitationId,
        /// The version that the change is based on.
        expected: Version,
        /// The stored version.
        found: Version,
    },
    /// The record does not exist, or no longer.
    #[error("elicitation {0} is not stored here")]
    Missing(ElicitationId),
    /// A temporary failure, such as a full disk or a lost connection; retry later.
    #[error("store unavailable while trying to {attempt}")]
    Unavailable {
        /// The operation.
        attempt: &'static str,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// The stored record cannot be decoded: corrupt, or written by a newer version.
    #[error("the stored record of elicitation {id} cannot be read")]
    Unreadable {
        /// The id.
        id: ElicitationId,
        /// The cause.
        #[source]
        source: BoxError,
    },
}

/// A store's own error.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The reply of a store.
pub type Reply<T> = Promise<Result<T, StoreError>>;

/// A future that may be ready from the start.
///
/// Avoids an allocation when the store replies at once, as the memory store does.
pub enum Promise<T> {
    /// Ready; `None` once taken.
    Ready(Option<T>),
    /// Pending.
    Later(Pin<Box<dyn Future<Output = T> + Send>>),
}

impl<T> Promise<T> {
    /// Returns a promise that is ready.
    pub fn ready(answer: T) -> Self {
        Self::Ready(Some(answer))
    }

    /// Returns the answer if it is ready, without polling.
    pub(crate) fn try_ready(self) -> Result<T, Self> {
        match self {
            Self::Ready(Some(answer)) => Ok(answer),
            other => Err(other),
        }
    }

    /// Returns a promise that resolves with this future.
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
                // Polled after completion: stays pending.
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
