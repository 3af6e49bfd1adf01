//! No panic, nothing slower than 100 ms or larger than 64 MiB for inputs up to 64 KiB.
//!
//! Runs the bodies of the fuzz targets on stable: on the worst inputs that we could think of,
//! and on mutations of the seeds. `--no-capture` shows what each took.

use std::fmt::Write as _;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use entreat_core::TextFormat;

use crate::targets::{Meter, answers, definition, markdown, schema, url};

mod mutate;
mod worst;

/// The size up to which the bounds hold.
const MAX_BYTES: usize = 64 * 1024;

type Target = fn(&[u8], &mut Meter);

/// Runs each case on its own and to the end, so that the output names every expensive one.
fn stay_within_bounds<C>(cases: impl IntoIterator<Item = (String, C)>, run: fn(&C, &mut Meter)) {
    let mut report = String::new();
    let mut total = Meter::default();
    let mut beyond = Vec::new();
    for (name, case) in cases {
        let mut meter = Meter::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&case, &mut meter)));
        if outcome.is_err() {
            beyond.push(format!("{name}:\n{meter}"));
        }
        let _ = writeln!(report, "{name}:\n{meter}");
        total.merge(&meter);
    }
    let _ = writeln!(std::io::stdout(), "{report}the worst of all:\n{total}");
    assert!(
        beyond.is_empty(),
        "beyond the bounds:\n{}",
        beyond.join("\n")
    );
}

#[test]
fn the_worst_definitions_stay_within_bounds() {
    stay_within_bounds(worst::definitions(), |input, meter| {
        definition::run(input, meter);
    });
}

#[test]
fn the_worst_schemas_stay_within_bounds() {
    stay_within_bounds(worst::schemas(), |input, meter| {
        schema::run(input, meter);
    });
}

#[test]
fn the_worst_urls_stay_within_bounds() {
    stay_within_bounds(worst::urls(), |input, meter| {
        url::run(input, meter);
    });
}

#[test]
fn the_worst_texts_stay_within_bounds() {
    stay_within_bounds(worst::texts(MAX_BYTES), |input, meter| {
        markdown::run(input, meter);
    });
}

#[test]
fn a_text_of_twice_the_length_takes_twice_the_memory() {
    let cost = |text: Vec<u8>| {
        let text = String::from_utf8(text).expect("it is text");
        allocation_counter::measure(|| drop(TextFormat::Markdown.read(&text))).bytes_total
    };
    let pairs = worst::texts(8 * 1024).zip(worst::texts(16 * 1024));
    for ((name, once), (_, twice)) in pairs {
        let (once, twice) = (cost(once), cost(twice));
        // Memory is allocated in powers of two.
        assert!(
            twice <= 3 * once + 64 * 1024,
            "{name}: {once} and {twice} bytes"
        );
    }
}

#[test]
fn the_worst_answers_stay_within_bounds() {
    stay_within_bounds(worst::answers(), |(form, text), meter| {
        answers::judge(form, text, meter);
    });
}

#[test]
fn mutated_definitions_stay_within_bounds() {
    mutate::each("definition", 20_000, definition::run);
}

#[test]
fn mutated_answers_stay_within_bounds() {
    mutate::each("answers", 60_000, answers::run);
}

#[test]
fn mutated_schemas_stay_within_bounds() {
    mutate::each("schema", 10_000, schema::run);
}

#[test]
fn mutated_texts_stay_within_bounds() {
    mutate::each("markdown", 20_000, markdown::run);
}

#[test]
fn mutated_urls_stay_within_bounds() {
    mutate::each("url", 10_000, url::run);
}
