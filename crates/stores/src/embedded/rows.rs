//! A row of `live` or `settled` as a record again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use entreat_core::{ElicitationId, Form};
use entreat_engine::{Record, Version};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::forms::{Digest, Forms};
use crate::record::{self, EncodedRecord, RecordError};
use crate::sum::Columns;

/// What many records share, so that a hundred thousand of them hold it once.
#[derive(Default)]
pub(super) struct Known {
    askers: HashSet<Arc<str>>,
    /// Not the bounded cache: records hold their forms anyway, and order must not matter.
    forms: HashMap<Digest, Form>,
}

impl Known {
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
        load: impl FnOnce() -> Result<Form, Trouble>,
    ) -> Result<Form, Trouble> {
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
    known: &mut Known,
    row: &Row<'_>,
) -> Result<Record, Trouble> {
    let damaged = |_| Trouble::from(RecordError::Damaged);
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

/// The form of a digest, from the cache or the table.
fn form(connection: &Connection, forms: &Forms, digest: &Digest) -> Result<Form, Trouble> {
    forms.load(digest, || {
        let mut statement =
            connection.prepare_cached("SELECT definition FROM form WHERE digest = ?1")?;
        Ok(statement.query_row([digest], |row| row.get(0)).optional()?)
    })
}

/// What goes wrong with one record, or with all.
#[derive(Debug)]
pub(super) enum Trouble {
    Record(RecordError),
    Sqlite(rusqlite::Error),
}

impl From<RecordError> for Trouble {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
