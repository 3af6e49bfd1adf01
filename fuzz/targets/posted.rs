//! See `fuzz/src/posted.rs`.

#![no_main]

#[path = "../src/posted.rs"]
mod posted;

use entreat_fuzz::Meter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| Meter::default().call("posted", || posted::run(data)));
