//! See `entreat_fuzz::markdown`.

#![no_main]

use entreat_fuzz::{Meter, markdown};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| markdown::run(data, &mut Meter::default()));
