//! A pool of read-only connections, for settled records and notes.
//!
//! A read takes a connection, runs on a blocking thread and returns the connection. No read
//! transaction outlives its call, so that readers do not hold up checkpoints for long.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;

use entreat_core::{ElicitationId, Status};
use entreat_engine::store::{BoxError, Claim, ClaimKey, Query, StatusFilter};
use entreat_engine::{Record, StoreError};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Rows, params};
use tokio::sync::Semaphore;

use super::claims;
use super::files::Identities;
use super::rows::{self, Interner, ReadError};
use super::{Shared, closed};
use crate::record::RecordError;
use crate::sum::{self, Sum};

pub(super) const LOAD: &str = "read an elicitation";
pub(super) const LIST: &str = "list elicitations";
const NOTE: &str = "read a note";
const CLAIM: &str = "read a claim";

/// Concurrent reads; a disk gets no faster with more.
const CONNECTIONS: u32 = 4;

/// A pool of read-only connections.
pub(super) struct Readers {
    path: PathBuf,
    files: Arc<Identities>,
    idle: Mutex<Vec<Connection>>,
    /// One permit per connection; closed with the store.
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, files: Arc<Identities>) -> Self {
        Self {
            path,
            files,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(CONNECTIONS as usize)),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    /// Waits for reads in flight and rejects new ones.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(CONNECTIONS).await {
            self.permits.close();
            drop(all);
        }
        self.idle.lock().clear();
    }

    fn connection(&self) -> Result<Connection, BoxError> {
        if let Some(idle) = self.idle.lock().pop() {
            return Ok(idle);
        }
        let connection = connect(&self.path)?;
        // The path may lead to a different file by now.
        self.files.verify()?;
        Ok(connection)
    }
}

/// Opens a read-only connection.
pub(super) fn connect(path: &PathBuf) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Runs a read on a blocking thread.
pub(super) async fn read<T: Send + 'static>(
    shared: Arc<Shared>,
    attempt: &'static str,
    work: impl FnOnce(&Shared, &Connection) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let Ok(permit) = shared.readers.permits.clone().acquire_owned().await else {
        return Err(closed(attempt));
    };
    let done = tokio::task::spawn_blocking(move || {
        let connection = shared.readers.connection().map_err(failed(attempt))?;
        let done = work(&shared, &connection);
        shared.readers.idle.lock().push(connection);
        // Released here: the caller may have been dropped while the connection was in use.
        drop(permit);
        done
    });
    done.await.unwrap_or_else(|_| Err(closed(attempt)))
}

/// Loads a settled record, or returns why a live one is not in memory. With `asker`, finds only
/// that asker's.
pub(super) async fn load(
    shared: Arc<Shared>,
    id: ElicitationId,
    asker: Option<Arc<str>>,
) -> Result<Option<Record>, StoreError> {
    read(shared, LOAD, move |shared, connection| {
        let found = find(shared, connection, id, asker.as_deref());
        found.map_err(|error| error.about(id, LOAD))
    })
    .await
}

fn find(
    shared: &Shared,
    connection: &Connection,
    id: ElicitationId,
    asker: Option<&str>,
) -> Result<Option<Record>, ReadError> {
    // One transaction for the record and its form: both may be purged meanwhile.
    let snapshot = connection.unchecked_transaction()?;
    // Filtered in SQL, before answers of any size are read: another asker's record then takes as
    // long as a missing one.
    let mut statement = snapshot.prepare_cached(
        "SELECT id, version, asker, key, form, request, state FROM settled
         WHERE id = ?1 AND (?2 IS NULL OR asker = ?2)
         UNION ALL
         SELECT id, version, asker, key, form, request, state FROM live
         WHERE id = ?1 AND (?2 IS NULL OR asker = ?2)",
    )?;
    let mut rows = statement.query(params![id.as_bytes(), asker])?;
    match rows.next()? {
        Some(row) => rows::read(&snapshot, &shared.forms, &mut Interner::default(), row).map(Some),
        None => Ok(None),
    }
}

/// Lists settled records, merged with live ones.
pub(super) async fn list(
    shared: Arc<Shared>,
    query: Query,
    live: Vec<Record>,
    unarchived: Vec<ElicitationId>,
) -> Result<Vec<Record>, StoreError> {
    read(shared, LIST, move |shared, connection| {
        let settled = select(shared, connection, &query, &unarchived);
        let settled = settled.map_err(|error| error.during(LIST))?;
        Ok(join(live, settled, query.limit))
    })
    .await
}

/// Reads a page of `settled`, then a page of unarchived rows.
fn select(
    shared: &Shared,
    connection: &Connection,
    query: &Query,
    unarchived: &[ElicitationId],
) -> Result<Vec<Record>, ReadError> {
    let snapshot = connection.unchecked_transaction()?;
    let mut page = ListPage {
        shared,
        query,
        snapshot: &snapshot,
        known: Interner::default(),
        records: Vec::new(),
    };
    // Longer than any id, and so after all of them.
    let end = [u8::MAX; 17];
    let before = query.before.as_ref().map_or(&end[..], |id| id.as_bytes());
    let status = match query.which {
        StatusFilter::All | StatusFilter::Settled | StatusFilter::Live => None,
        StatusFilter::Only(status) => Some(status.as_str()),
    };
    if let Some(respondents) = &query.respondents {
        let mut statement = snapshot.prepare_cached(
            "SELECT id, version, asker, key, form, request, state FROM settled
                 WHERE respondent = ?4 AND id < ?1 AND (?2 IS NULL OR status = ?2)
                 AND (?3 IS NULL OR asker = ?3) ORDER BY id DESC",
        )?;
        for key in respondents.keys() {
            let row = params![before, status, query.asker.as_deref(), key];
            let up_to = page.records.len().saturating_add(query.limit);
            page.fill(statement.query(row)?, up_to)?;
        }
        // Of each respondent the newest, so of all of them together.
        let newest = |record: &Record| Reverse(record.id);
        page.records.sort_unstable_by_key(newest);
        page.records.truncate(query.limit);
    } else {
        let mut statement = snapshot.prepare_cached(match query.asker {
            Some(_) => {
                "SELECT id, version, asker, key, form, request, state FROM settled
                     WHERE asker = ?3 AND id < ?1 AND (?2 IS NULL OR status = ?2)
                     ORDER BY id DESC"
            }
            None => {
                "SELECT id, version, asker, key, form, request, state FROM settled
                     WHERE ?3 IS NULL AND id < ?1 AND (?2 IS NULL OR status = ?2)
                     ORDER BY id DESC"
            }
        })?;
        let row = params![before, status, query.asker.as_deref()];
        page.fill(statement.query(row)?, query.limit)?;
    }
    let full = page.records.len().saturating_add(query.limit);
    let mut statement = snapshot.prepare_cached(
        "SELECT id, version, asker, key, form, request, state FROM live
         WHERE id = ?1 AND (?2 IS NULL OR asker = ?2) AND (NOT ?3 OR respondent IS NOT NULL)",
    )?;
    for id in unarchived {
        if page.records.len() == full {
            break;
        }
        let has_respondent = query.respondents.is_some();
        let row = params![id.as_bytes(), query.asker.as_deref(), has_respondent];
        let mut rows = statement.query(row)?;
        // If it was moved meanwhile, it is in the page of the other table.
        if let Some(row) = rows.next()? {
            page.add(row)?;
        }
    }
    Ok(page.records)
}

/// A page under construction.
struct ListPage<'p> {
    shared: &'p Shared,
    query: &'p Query,
    snapshot: &'p Connection,
    known: Interner,
    records: Vec<Record>,
}

impl ListPage<'_> {
    /// Adds the records of rows until there are this many. No `LIMIT` in SQL: records that cannot
    /// be decoded do not count.
    fn fill(&mut self, mut rows: Rows<'_>, up_to: usize) -> Result<(), ReadError> {
        while self.records.len() < up_to
            && let Some(row) = rows.next()?
        {
            self.add(row)?;
        }
        Ok(())
    }

    /// Adds the record of a row, or logs why it cannot be decoded. Corruption is an error: without
    /// the record the page would look complete.
    fn add(&mut self, row: &Row<'_>) -> Result<(), ReadError> {
        match rows::read(self.snapshot, &self.shared.forms, &mut self.known, row) {
            // The column with the respondent is only a hint.
            Ok(record) if !self.query.is_for_respondents(&record) => {}
            Ok(record) => self.records.push(record),
            Err(error @ (ReadError::Record(RecordError::Damaged) | ReadError::Sqlite(_))) => {
                return Err(error);
            }
            Err(ReadError::Record(error)) => {
                let id = ElicitationId::from_bytes(row.get(0)?);
                tracing::warn!(%id, %error, "an elicitation cannot be read and is not listed");
            }
        }
        Ok(())
    }
}

/// Merges pages, newest first. A record that settled between two reads is in both.
fn join(live: Vec<Record>, settled: Vec<Record>, limit: usize) -> Vec<Record> {
    let mut page = settled;
    page.extend(live);
    // Of two with the same id the later version comes first, and stays.
    page.sort_unstable_by_key(|record| Reverse((record.id, record.version)));
    page.dedup_by_key(|record| record.id);
    page.truncate(limit);
    page
}

/// Whether records in this state are in memory.
pub(super) fn is_live(status: Status) -> bool {
    match status {
        Status::Pending | Status::Active => true,
        Status::Completed | Status::Declined | Status::Cancelled | Status::Timeout => false,
    }
}

pub(super) async fn load_note(
    shared: Arc<Shared>,
    name: &'static str,
) -> Result<Option<String>, StoreError> {
    read(shared, NOTE, move |_, connection| {
        let found = connection
            .prepare_cached("SELECT text, sum FROM note WHERE name = ?1")
            .and_then(|mut statement| {
                let columns = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
                statement.query_row([name], columns).optional()
            });
        let Some((text, sum)) = found.map_err(failed(NOTE))? else {
            return Ok(None);
        };
        let (text, sum): (String, Option<Sum>) = (text, sum);
        if sum == Some(sum::of_note(name, &text)) {
            Ok(Some(text))
        } else {
            Err(ReadError::from(RecordError::Damaged).during(NOTE))
        }
    })
    .await
}

pub(super) async fn find_claim(
    shared: Arc<Shared>,
    key: ClaimKey,
) -> Result<Option<Claim>, StoreError> {
    read(shared, CLAIM, move |_, connection| {
        claims::find(connection, key).map_err(failed(CLAIM))?
    })
    .await
}

impl ReadError {
    fn about(self, id: ElicitationId, attempt: &'static str) -> StoreError {
        match self {
            Self::Record(error) => StoreError::Unreadable {
                id,
                source: error.into(),
            },
            Self::Sqlite(error) => failed(attempt)(error),
        }
    }

    fn during(self, attempt: &'static str) -> StoreError {
        let source = match self {
            Self::Record(error) => error.into(),
            Self::Sqlite(error) => error.into(),
        };
        StoreError::Unavailable { attempt, source }
    }
}

/// The error of a failed read.
pub(super) fn failed<E: Into<BoxError>>(attempt: &'static str) -> impl Fn(E) -> StoreError {
    move |error| StoreError::Unavailable {
        attempt,
        source: error.into(),
    }
}
