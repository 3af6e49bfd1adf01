//! States that clients bring, and what may be in a sealed one.

#![no_main]

use entreat_fuzz::Meter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    |data: &[u8]| Meter::default().call("state", || entreat_mcp::fuzzing::open_state(data))
);
