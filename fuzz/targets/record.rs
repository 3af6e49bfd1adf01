//! Records and forms as they lie in a store, without the checksums that would turn damage away.
//!
//! The first two bytes say whether the record has a form, and how long its first part is.
//!
//! Memory is held to libFuzzer's own limit alone: for every level of damage that nests, serde
//! sets up to 1 MiB aside, and the checksums that turn damage away are left out here.

#![no_main]

use std::sync::LazyLock;

use entreat_core::Form;
use entreat_stores::fuzzing::{read_form, read_record, write_record};
use entreat_testkit::samples;
use libfuzzer_sys::fuzz_target;

static FORM: LazyLock<Form> = LazyLock::new(samples::comprehensive);

fuzz_target!(|data: &[u8]| run(data));

fn run(data: &[u8]) {
    drop(read_form(data));
    let [has_form, length, parts @ ..] = data else {
        return;
    };
    let form = || (has_form % 2 == 0).then(|| FORM.clone());
    let (request, state) = parts.split_at(usize::from(*length).min(parts.len()));
    assert!(
        read_record(request, state, form(), true).is_err(),
        "no checksum fits"
    );
    let Ok(record) = read_record(request, state, form(), false) else {
        return;
    };
    let written = write_record(&record);
    let again = read_record(&written[0], &written[1], form(), false);
    let again = again.expect("what was written can be read");
    assert_eq!(write_record(&again), written, "reading changes something");
}
