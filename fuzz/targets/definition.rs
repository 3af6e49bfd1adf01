//! See `entreat_fuzz::definition`.

#![no_main]

use entreat_fuzz::{Meter, definition};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| definition::run(data, &mut Meter::default()));
