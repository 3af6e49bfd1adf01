//! See `fuzz/src/sealed_file.rs`.

#![no_main]

#[path = "../src/sealed_file.rs"]
mod sealed_file;

use entreat_fuzz::Meter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| Meter::default().call("sealed_file", || sealed_file::run(data)));
