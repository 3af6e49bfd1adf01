//! Newline-delimited messages, for both ends of a relay.
//!
//! A relay is to cost little more than a pump of bytes, so messages that arrive together are read
//! together, and those that leave together are written together. `entreat_wire::lines` has the
//! simpler kind, without limits on what is queued.

mod outbox;
mod overlong;
mod source;
mod standard;

pub use outbox::{Outbox, QUEUED_BYTES, QUEUED_MESSAGES};
pub use overlong::Overlong;
pub use source::{HEAD, Line, LineSource, MAX_MESSAGE, TAIL};
pub use standard::{Stdin, Stdout, stdio};
