//! See `entreat_fuzz::url`.

#![no_main]

use entreat_fuzz::{Meter, url};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| url::run(data, &mut Meter::default()));
