//! Reads what is not in memory, on connections of its own: settled records and notes.
//!
//! A read takes a connection, works on a thread where waiting for the disk harms nobody, and
//! gives the connection back. None outlives its call, so that no reader keeps the log from
//! being emptied.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;

use entreat_core::{ElicitationId, Status};
use entreat_engine::store::{BoxError, Query, Which};
use entreat_engine::{Record, StoreError};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};
use tokio::sync::Semaphore;

use super::files::Identities;
use super::rows::{self, Known, Trouble};
use super::{Shared, closed};
use crate::record::RecordError;
use crate::sum::{self, Sum};

pub(super) const LOAD: &str = "read an elicitation";
pub(super) const LIST: &str = "list elicitations";
const NOTE: &str = "read a note";

/// So many reads go on at once; a disk does not get faster by more.
const CONNECTIONS: u32 = 4;

/// Connections that only read.
pub(super) struct Readers {
    path: PathBuf,
    files: Arc<Identities>,
    idle: Mutex<Vec<Connection>>,
    /// One place per connection; closed with the store.
    places: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, files: Arc<Identities>) -> Self {
        Self {
            path,
            files,
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(CONNECTIONS as usize)),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.places.is_closed()
    }

    /// Waits for reads that are under way, and turns new ones away.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.places.acquire_many(CONNECTIONS).await {
            self.places.close();
            drop(all);
        }
        self.idle.lock().clear();
    }

    fn connection(&self) -> Result<Connection, BoxError> {
        if let Some(idle) = self.idle.lock().pop() {
            return Ok(idle);
        }
        let connection = connect(&self.path)?;
        // By its path another file may have been found.
        self.files.verify()?;
        Ok(connection)
    }
}

/// A connection that cannot write.
pub(super) fn connect(path: &PathBuf) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Does a read where it may wait for the disk.
pub(super) async fn read<T: Send + 'static>(
    shared: Arc<Shared>,
    attempt: &'static str,
    work: impl FnOnce(&Shared, &Connection) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let Ok(place) = shared.readers.places.clone().acquire_owned().await else {
        return Err(closed(attempt));
    };
    let done = tokio::task::spawn_blocking(move || {
        let connection = shared.readers.connection().map_err(failed(attempt))?;
        let done = work(&shared, &connection);
        shared.readers.idle.lock().push(connection);
        // Given back here: whoever waits may give up, and the connection is in use until now.
        drop(place);
        done
    });
    done.await.unwrap_or_else(|_| Err(closed(attempt)))
}

/// The record, if it has settled; or why one that is live is not in memory. Of another asker than
/// the one that is named, nothing.
pub(super) async fn load(
    shared: Arc<Shared>,
    id: ElicitationId,
    asker: Option<Arc<str>>,
) -> Result<Option<Record>, StoreError> {
    read(shared, LOAD, move |shared, connection| {
        let found = find(shared, connection, id, asker.as_deref());
        found.map_err(|trouble| trouble.about(id, LOAD))
    })
    .await
}

fn find(
    shared: &Shared,
    connection: &Connection,
    id: ElicitationId,
    asker: Option<&str>,
) -> Result<Option<Record>, Trouble> {
    // One moment for the record and its form: both may be purged meanwhile.
    let moment = connection.unchecked_transaction()?;
    // Whose it is is asked here, before an answer of any size is read: what is another's then
    // takes as long as what is not there.
    let mut statement = moment.prepare_cached(
        "SELECT id, version, asker, key, form, request, state FROM settled
         WHERE id = ?1 AND (?2 IS NULL OR asker = ?2)
         UNION ALL
         SELECT id, version, asker, key, form, request, state FROM live
         WHERE id = ?1 AND (?2 IS NULL OR asker = ?2)",
    )?;
    let mut rows = statement.query(params![id.as_bytes(), asker])?;
    match rows.next()? {
        Some(row) => rows::read(&moment, &shared.forms, &mut Known::default(), row).map(Some),
        None => Ok(None),
    }
}

/// A page of what has settled, joined with what was live.
pub(super) async fn list(
    shared: Arc<Shared>,
    query: Query,
    live: Vec<Record>,
    lingering: Vec<ElicitationId>,
) -> Result<Vec<Record>, StoreError> {
    read(shared, LIST, move |shared, connection| {
        let settled = select(shared, connection, &query, &lingering);
        let settled = settled.map_err(|trouble| trouble.during(LIST))?;
        Ok(join(live, settled, query.limit))
    })
    .await
}

/// What has settled: a page from its table, then a page from those that linger.
fn select(
    shared: &Shared,
    connection: &Connection,
    query: &Query,
    lingering: &[ElicitationId],
) -> Result<Vec<Record>, Trouble> {
    let moment = connection.unchecked_transaction()?;
    let mut page = ListPage {
        shared,
        moment: &moment,
        known: Known::default(),
        records: Vec::new(),
    };
    let mut statement = moment.prepare_cached(match query.asker {
        Some(_) => {
            "SELECT id, version, asker, key, form, request, state FROM settled
             WHERE asker = ?3 AND id < ?1 AND (?2 IS NULL OR status = ?2) ORDER BY id DESC"
        }
        None => {
            "SELECT id, version, asker, key, form, request, state FROM settled
             WHERE ?3 IS NULL AND id < ?1 AND (?2 IS NULL OR status = ?2) ORDER BY id DESC"
        }
    })?;
    // Longer than any id, and so beyond all of them.
    let end = [u8::MAX; 17];
    let before = query.before.as_ref().map_or(&end[..], |id| id.as_bytes());
    let status = match query.which {
        Which::All | Which::Live => None,
        Which::Only(status) => Some(status.as_str()),
    };
    let mut rows = statement.query(params![before, status, query.asker.as_deref()])?;
    // Counted here and not by the statement: what cannot be read takes no place on the page.
    while page.records.len() < query.limit
        && let Some(row) = rows.next()?
    {
        page.add(row)?;
    }
    let full = page.records.len().saturating_add(query.limit);
    let mut statement = moment.prepare_cached(
        "SELECT id, version, asker, key, form, request, state FROM live
         WHERE id = ?1 AND (?2 IS NULL OR asker = ?2)",
    )?;
    for id in lingering {
        if page.records.len() == full {
            break;
        }
        let mut rows = statement.query(params![id.as_bytes(), query.asker.as_deref()])?;
        // It may have been moved meanwhile, and then is in the page from the other table.
        if let Some(row) = rows.next()? {
            page.add(row)?;
        }
    }
    Ok(page.records)
}

/// Records as they are found at one moment.
struct ListPage<'p> {
    shared: &'p Shared,
    moment: &'p Connection,
    known: Known,
    records: Vec<Record>,
}

impl ListPage<'_> {
    /// Adds the record of a row, or notes why it cannot be read. One that is damaged is an error:
    /// without it the page would look whole.
    fn add(&mut self, row: &Row<'_>) -> Result<(), Trouble> {
        match rows::read(self.moment, &self.shared.forms, &mut self.known, row) {
            Ok(record) => self.records.push(record),
            Err(error @ (Trouble::Record(RecordError::Damaged) | Trouble::Sqlite(_))) => {
                return Err(error);
            }
            Err(Trouble::Record(error)) => {
                let id = ElicitationId::from_bytes(row.get(0)?);
                tracing::warn!(%id, %error, "an elicitation cannot be read and is not listed");
            }
        }
        Ok(())
    }
}

/// Records of several places as one page, newest first. What settled between two reads is in both.
fn join(live: Vec<Record>, settled: Vec<Record>, limit: usize) -> Vec<Record> {
    let mut page = settled;
    page.extend(live);
    // Of two with one id the later version comes first, and stays.
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

pub(super) async fn note(
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
            Err(Trouble::from(RecordError::Damaged).during(NOTE))
        }
    })
    .await
}

impl Trouble {
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

/// What a read that failed is reported as.
pub(super) fn failed<E: Into<BoxError>>(attempt: &'static str) -> impl Fn(E) -> StoreError {
    move |error| StoreError::Unavailable {
        attempt,
        source: error.into(),
    }
}
