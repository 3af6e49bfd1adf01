//! Keeps elicitations on disk.
//!
//! - [`EmbeddedStore`]: one file beside the program, for one process. What it acknowledged is
//!   on disk.
//!
//! Stores know nothing of rules: what may happen to an elicitation was decided before a step
//! comes here. How a record lies on disk is in `record.rs`, apart from where it lies.

mod forms;
mod record;

mod embedded;

pub use embedded::{BackupError, EmbeddedOptions, EmbeddedStore, OpenError};
pub use record::RecordError;

/// What only the benchmarks need to see.
#[doc(hidden)]
pub mod bench {
    pub use crate::record::encode_state;
}
