//! Entry points for fuzz targets. Not part of the API: they may change at any time.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entreat_core::UnixTime;
use rmcp::model::JsonObject;

use crate::connection;
use crate::digest::Digest;
use crate::seal::{Binding, Keys};

/// Opens bytes as a request state sent by a client, then as the contents of a state sealed by us.
pub fn open_state(bytes: &[u8]) {
    let keys = Keys::for_fuzzing();
    let binding = Binding {
        principal: String::new(),
        target: String::new(),
        arguments: Digest::of_members(&JsonObject::new()),
    };
    let now = UnixTime::from_millis(0);
    if let Ok(text) = std::str::from_utf8(bytes) {
        drop(keys.open(text, &binding, now));
    }
    let sealed = keys.encrypt(bytes, &[], [0; 24]);
    drop(keys.open(&URL_SAFE_NO_PAD.encode(sealed), &binding, now));
}

/// Parses a line from a client.
pub fn read_message(line: &[u8]) {
    drop(connection::read(line));
}
