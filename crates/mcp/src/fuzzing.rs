//! Entry points for fuzz targets. Not part of the API: they may change at any time.

use crate::connection;
use crate::journal::Journal;

/// Opens bytes as a request state sent by a client, then as the contents of a state sealed by us.
pub fn open_state(bytes: &[u8]) {
    entreat_wire::seal::fuzz::<Journal>(bytes);
}

/// Parses a line from a client.
pub fn read_message(line: &[u8]) {
    drop(connection::read(line));
}
