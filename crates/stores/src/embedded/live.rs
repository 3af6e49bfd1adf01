//! Brings the live records into memory when a store is opened.

use entreat_core::ElicitationId;
use entreat_engine::{MemoryStore, Store};
use rusqlite::Connection;

use super::lingering::{Ended, Lingering};
use super::rows::{self, Known, Trouble};
use super::verify::Fault;
use crate::forms::Forms;
use crate::record::RecordError;

/// All live records that can be read, and who lingers among them; what is whole and cannot be
/// read, because a newer Entreat wrote it or its form does not load, is named in the log, and
/// stays on disk.
pub(super) fn load(
    connection: &Connection,
    forms: &Forms,
) -> Result<(MemoryStore, Lingering), Fault> {
    let (live, lingering) = (MemoryStore::new(), Lingering::default());
    let mut known = Known::default();
    let mut unreadable = 0_usize;
    let mut statement =
        connection.prepare("SELECT id, version, asker, key, form, request, state FROM live")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = ElicitationId::from_bytes(row.get(0)?);
        match rows::read(connection, forms, &mut known, row) {
            Ok(record) => match Ended::of(&record) {
                Some(ended) => lingering.insert(id, ended),
                None => drop(live.create(record)),
            },
            Err(Trouble::Record(RecordError::Damaged)) => {
                return Err(Fault::Damaged("a live record"));
            }
            Err(Trouble::Record(error)) => {
                unreadable += 1;
                tracing::warn!(%id, %error, "an elicitation cannot be read and is left alone");
            }
            Err(Trouble::Sqlite(error)) => return Err(error.into()),
        }
    }
    if unreadable > 0 {
        tracing::warn!(unreadable, "some live elicitations cannot be read");
    }
    Ok((live, lingering))
}
