//! Decodes rows of `live` and `settled`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use entreat_core::{ElicitationId, Form};
use entreat_engine::{Record, Version};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::forms::{Digest, Forms};
use crate::record::{self, EncodedRecord, RecordError};
use crate::sum::Columns;

/// Shares askers and forms between records that are read together.
#[derive(Default)]
pub(super) struct Interner {
    askers: HashSet<Arc<str>>,
    /// Unbounded, unlike the cache: the records own their forms anyway.
    forms: HashMap<Digest, Form>,
}

impl Interner {
    fn asker(&mut self, name: &str) -> Arc<str> {
        if let Some(asker) = self.askers.get(name) {
            return asker.clone();
        }
        let asker: Arc<str> = name.into();
        self.askers.insert(asker.clone());
        asker
    }

    fn form(
        &mut self,
        digest: Digest,
        load: impl FnOnce() -> Result<Form, ReadError>,
    ) -> Result<Form, ReadError> {
        if let Some(form) = self.forms.get(&digest) {
            return Ok(form.clone());
        }
        let form = load()?;
        self.forms.insert(digest, form.clone());
        Ok(form)
    }
}

/// Reads a row of `id, version, asker, key, form, request, state`.
pub(super) fn read(
    connection: &Connection,
    forms: &Forms,
    known: &mut Interner,
    row: &Row<'_>,
) -> Result<Record, ReadError> {
    let damaged = |_| ReadError::from(RecordError::Damaged);
    let name = row.get_ref(2)?.as_str().map_err(damaged)?;
    let digest: Option<Digest> = row.get(4)?;
    let id: [u8; 16] = row.get(0)?;
    let columns = Columns {
        id: &id,
        version: row.get(1)?,
        asker: name,
        key: row.get_ref(3)?.as_str_or_null().map_err(damaged)?,
        form: digest.as_ref(),
    };
    let blob = |column| row.get_ref(column)?.as_blob().map_err(damaged);
    let request = columns.request(blob(5)?)?;
    let state = columns.state(blob(6)?)?;
    let asker = known.asker(name);
    let form = digest
        .map(|digest| known.form(digest, || form(connection, forms, &digest)))
        .transpose()?;
    let record = record::decode(EncodedRecord {
        id: ElicitationId::from_bytes(id),
        version: Version(columns.version),
        asker,
        form,
        request,
        state,
    })?;
    Ok(record)
}

/// Loads a form from the cache or the table.
fn form(connection: &Connection, forms: &Forms, digest: &Digest) -> Result<Form, ReadError> {
    forms.load(digest, || {
        let mut statement =
            connection.prepare_cached("SELECT definition FROM form WHERE digest = ?1")?;
        Ok(statement.query_row([digest], |row| row.get(0)).optional()?)
    })
}

/// Why a record could not be read.
#[derive(Debug)]
pub(super) enum ReadError {
    Record(RecordError),
    Sqlite(rusqlite::Error),
}

impl From<RecordError> for ReadError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
