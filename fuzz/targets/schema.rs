//! See `entreat_fuzz::schema`.

#![no_main]

use entreat_fuzz::{Meter, schema};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| schema::run(data, &mut Meter::default()));
