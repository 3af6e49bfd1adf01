//! See `fuzz/src/message.rs`.

#![no_main]

#[path = "../src/message.rs"]
mod message;

use entreat_fuzz::Meter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| Meter::default().call("Rpc::answer", || message::run(data)));
