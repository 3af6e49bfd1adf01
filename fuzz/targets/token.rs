//! Tokens of clients, key sets and metadata of issuers, and the claims of signed tokens.

#![no_main]

use entreat_fuzz::Meter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| Meter::default().call("token", || entreat_wire::issuer::fuzz(data)));
