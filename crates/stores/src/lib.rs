//! Keeps elicitations on disk.
//!
//! - [`EmbeddedStore`]: one file beside the program, for one process. What it acknowledged is
//!   on disk.
//!
//! Stores know nothing of rules: what may happen to an elicitation was decided before a step
//! comes here. How a record lies on disk is in `record.rs`, apart from where it lies.

mod forms;
mod record;
mod sum;

mod embedded;

pub use embedded::{BackupError, EmbeddedOptions, EmbeddedStore, FileKind, OpenError};
pub use record::RecordError;

/// What only the fuzz targets need to see.
#[doc(hidden)]
pub mod fuzzing {
    use entreat_core::{ElicitationId, Form, Validators};
    use entreat_engine::{Record, Version};

    use crate::RecordError;
    use crate::record::{self, EncodedRecord};
    use crate::sum::Columns;

    /// Reads a record from what may lie on disk: two parts, with their checksums or without.
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

    /// Reads a form from what may lie on disk.
    pub fn read_form(definition: &[u8]) -> Result<Form, RecordError> {
        let definition = record::read(definition)?;
        let form = Form::with_validators(&definition, &Validators::default());
        form.map_err(RecordError::BadForm)
    }

    /// The parts of a record, without checksums: a beginning for what is to be damaged.
    pub fn write_record(record: &Record) -> [Vec<u8>; 2] {
        let request = record::encode_request(&record.request);
        [request, record::encode_state(record)]
    }
}

/// What only the benchmarks need to see.
#[doc(hidden)]
pub mod bench {
    pub use crate::record::encode_state;
}
