//! Loads live records into memory when a store is opened.

use entreat_core::ElicitationId;
use entreat_engine::{MemoryStore, Store};
use rusqlite::Connection;

use super::rows::{self, Interner, ReadError};
use super::unarchived::{Settlement, Unarchived};
use super::verify::Fault;
use crate::forms::Forms;
use crate::record::RecordError;

/// Loads live records and finds unarchived ones. Records that are intact but cannot be decoded,
/// because a newer Entreat wrote them or their form does not load, are logged and stay on disk.
pub(super) fn load(
    connection: &Connection,
    forms: &Forms,
) -> Result<(MemoryStore, Unarchived), Fault> {
    let (live, unarchived) = (MemoryStore::new(), Unarchived::default());
    let mut known = Interner::default();
    let mut unreadable = 0_usize;
    let mut statement =
        connection.prepare("SELECT id, version, asker, key, form, request, state FROM live")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = ElicitationId::from_bytes(row.get(0)?);
        match rows::read(connection, forms, &mut known, row) {
            Ok(record) => match Settlement::of(&record) {
                Some(settlement) => unarchived.insert(id, settlement),
                None => drop(live.create(record)),
            },
            Err(ReadError::Record(RecordError::Damaged)) => {
                return Err(Fault::Damaged("a live record"));
            }
            Err(ReadError::Record(error)) => {
                unreadable += 1;
                tracing::warn!(%id, %error, "an elicitation cannot be read and is skipped");
            }
            Err(ReadError::Sqlite(error)) => return Err(error.into()),
        }
    }
    if unreadable > 0 {
        tracing::warn!(unreadable, "some live elicitations cannot be read");
    }
    Ok((live, unarchived))
}
