//! Durable stores.
//!
//! - [`EmbeddedStore`]: one SQLite file, for one process. Acknowledged writes are on disk.
//!
//! Stores contain no rules: the engine has already decided every step. The encoding of records is
//! in `record.rs`, independent of the database.

mod forms;
mod record;
mod sum;

mod embedded;

pub use embedded::{BackupError, Checked, EmbeddedOptions, EmbeddedStore, FileKind, OpenError};
pub use record::RecordError;

/// For the fuzz targets only.
#[doc(hidden)]
pub mod fuzzing {
    use entreat_core::{ElicitationId, Form, Validators};
    use entreat_engine::{Record, Version};

    use crate::RecordError;
    use crate::record::{self, EncodedRecord};
    use crate::sum::Columns;

    /// Decodes a record from two parts, with or without checksums.
    pub fn read_record(
        request: &[u8],
        state: &[u8],
        form: Option<Form>,
        summed: bool,
    ) -> Result<Record, RecordError> {
        let columns = Columns {
            id: &[7; 16],
            version: 1,
            asker: "asker",
            key: None,
            form: None,
        };
        let (request, state) = if summed {
            (columns.request(request)?, columns.state(state)?)
        } else {
            (request, state)
        };
        record::decode(EncodedRecord {
            id: ElicitationId::from_bytes(*columns.id),
            version: Version(columns.version),
            asker: columns.asker.into(),
            form,
            request,
            state,
        })
    }

    /// Decodes a form.
    pub fn read_form(definition: &[u8]) -> Result<Form, RecordError> {
        let definition = record::read(definition)?;
        let form = Form::with_validators(&definition, &Validators::default());
        form.map_err(RecordError::BadForm)
    }

    /// Encodes a record without checksums, as a seed for mutations.
    pub fn write_record(record: &Record) -> [Vec<u8>; 2] {
        let request = record::encode_request(&record.request);
        [request, record::encode_state(record)]
    }
}

/// For the benchmarks only.
#[doc(hidden)]
pub mod bench {
    pub use crate::record::encode_state;
}
