//! See `fuzz/src/envelope.rs`.

#![no_main]

#[path = "../src/envelope.rs"]
mod envelope;

use entreat_fuzz::Meter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| Meter::default().call("envelope", || envelope::run(data)));
