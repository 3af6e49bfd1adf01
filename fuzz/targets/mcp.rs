//! Lines that MCP clients send to a wrapped server.

#![no_main]

use entreat_fuzz::Meter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    |data: &[u8]| Meter::default().call("mcp", || entreat_mcp::fuzzing::read_message(data))
);
