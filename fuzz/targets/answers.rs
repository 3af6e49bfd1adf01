//! See `entreat_fuzz::answers`.

#![no_main]

use entreat_fuzz::{Meter, answers};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| answers::run(data, &mut Meter::default()));
