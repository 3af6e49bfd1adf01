//! Verifies a store when it is opened, so that corruption is found before it causes wrong or
//! missing answers.
//!
//! Checksums detect altered rows, but not missing ones. So SQLite checks its pages and indexes, and
//! redundant data is compared: reference counts of forms, idempotency keys, and how records
//! settled. Live records are checked when they are loaded.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, Row};

use super::OpenError;
use super::batch::milliseconds;
use super::rows::{self, Interner, ReadError};
use super::unarchived::Settlement;
use crate::forms::{self, Digest, Forms};
use crate::record::RecordError;
use crate::sum::{self, Sum};

/// Why verification failed.
pub(super) enum Fault {
    /// Where the damage is.
    Damaged(&'static str),
    /// Another program's file.
    NotAStore,
    /// A newer Entreat wrote it.
    Newer {
        found: i32,
        known: i32,
    },
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
        };
        match error {
            // A value of the wrong type or size.
            FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..) => Self::Damaged("a row"),
            error => Self::Sqlite(error),
        }
    }
}

impl Fault {
    pub(super) fn of(self, path: &Path) -> OpenError {
        let path = path.to_owned();
        let error = match self {
            Self::Damaged(part) => return OpenError::Damaged { path, part },
            Self::NotAStore => return OpenError::NotAStore { path },
            Self::Newer { found, known } => return OpenError::Newer { path, found, known },
            Self::Sqlite(error) => error,
        };
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => OpenError::Damaged {
                path,
                part: "its pages",
            },
            Some(rusqlite::ErrorCode::NotADatabase) => OpenError::NotAStore { path },
            Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::PermissionDenied) => {
                OpenError::NoPermission {
                    path,
                    source: error.into(),
                }
            }
            _ => OpenError::Failed {
                path,
                attempt: "read the data",
                source: error.into(),
            },
        }
    }
}

/// Verifies everything except live records.
pub(super) fn verify(connection: &Connection, forms: &Forms) -> Result<(), Fault> {
    pages(connection)?;
    form_definitions(connection)?;
    settled_records(connection, forms)?;
    idempotency_keys(connection)?;
    notes(connection)?;
    claims(connection)
}

/// SQLite's own check of its pages and indexes.
pub(super) fn pages(connection: &Connection) -> Result<(), Fault> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    match &*found {
        "ok" => Ok(()),
        _ => Err(Fault::Damaged("its pages")),
    }
}

/// Every definition matches its digest and its reference count.
fn form_definitions(connection: &Connection) -> Result<(), Fault> {
    let mut uses: HashMap<Digest, i64> = HashMap::new();
    let mut statement = connection.prepare(
        "SELECT form, count(*) FROM
             (SELECT form FROM live UNION ALL SELECT form FROM settled)
         WHERE form IS NOT NULL GROUP BY form",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        uses.insert(row.get(0)?, row.get(1)?);
    }
    let mut statement = connection.prepare("SELECT digest, uses, definition FROM form")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let digest: Digest = row.get(0)?;
        let is_whole = forms::digest(blob(row, 2)?) == digest;
        if !is_whole || uses.remove(&digest) != Some(row.get(1)?) {
            return Err(Fault::Damaged("a form"));
        }
    }
    // What is left refers to a missing form.
    if uses.is_empty() {
        Ok(())
    } else {
        Err(Fault::Damaged("a form"))
    }
}

fn settled_records(connection: &Connection, forms: &Forms) -> Result<(), Fault> {
    const DAMAGED: Fault = Fault::Damaged("a settled record");
    let mut known = Interner::default();
    let mut statement = connection.prepare(
        "SELECT id, version, asker, key, form, request, state, status, settled_at FROM settled",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match rows::read(connection, forms, &mut known, row) {
            Ok(record) => {
                let status = row.get_ref(7)?.as_str().map_err(|_| DAMAGED)?;
                let at: i64 = row.get(8)?;
                let is_same = |settlement: Settlement| {
                    settlement.status.as_str() == status && milliseconds(settlement.at) == at
                };
                if !Settlement::of(&record).is_some_and(is_same) {
                    return Err(DAMAGED);
                }
            }
            Err(ReadError::Record(RecordError::Damaged)) => return Err(DAMAGED),
            // Intact, but not decodable by this version.
            Err(ReadError::Record(_)) => {}
            Err(ReadError::Sqlite(error)) => return Err(error.into()),
        }
    }
    let in_both = "SELECT count(*) FROM live WHERE id IN (SELECT id FROM settled)";
    match connection.query_row(in_both, [], |row| row.get::<_, i64>(0))? {
        0 => Ok(()),
        _ => Err(DAMAGED),
    }
}

/// Idempotency keys and records refer to each other.
fn idempotency_keys(connection: &Connection) -> Result<(), Fault> {
    let mut statement = connection.prepare(
        "WITH record AS (SELECT id, asker, key FROM live WHERE key IS NOT NULL
                         UNION ALL SELECT id, asker, key FROM settled WHERE key IS NOT NULL)
         SELECT (SELECT count(*) FROM idempotency), (SELECT count(*) FROM record),
                (SELECT count(*) FROM record JOIN idempotency USING (asker, key)
                 WHERE record.id = idempotency.id)",
    )?;
    let counts = |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?]);
    let [keys, records, pairs]: [i64; 3] = statement.query_row([], counts)?;
    if keys == records && records == pairs {
        Ok(())
    } else {
        Err(Fault::Damaged("an idempotency key"))
    }
}

fn notes(connection: &Connection) -> Result<(), Fault> {
    let mut statement = connection.prepare("SELECT name, text, sum FROM note")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, text): (String, String) = (row.get(0)?, row.get(1)?);
        if row.get::<_, Option<Sum>>(2)? != Some(sum::of_note(&name, &text)) {
            return Err(Fault::Damaged("a note"));
        }
    }
    Ok(())
}

fn claims(connection: &Connection) -> Result<(), Fault> {
    let mut statement =
        connection.prepare("SELECT key, inputs, expires, outcome, sum, holder FROM claim")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let outcome: Option<Vec<u8>> = row.get(3)?;
        let expires = row.get(2)?;
        let holder: Option<[u8; 16]> = row.get(5)?;
        let (key, inputs) = (blob(row, 0)?, blob(row, 1)?);
        let sum = sum::of_claim(key, inputs, expires, holder, outcome.as_deref());
        if row.get::<_, Option<Sum>>(4)? != Some(sum) {
            return Err(Fault::Damaged("a claim"));
        }
    }
    Ok(())
}

fn blob<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8], Fault> {
    let value = row.get_ref(column)?;
    value.as_blob().map_err(|_| Fault::Damaged("a row"))
}
