//! Checking answers, against others and against the bare minimum.
//!
//! Every figure is the median of many short rounds in which all contestants take turns, so
//! that a slow moment of the machine hits them alike. Run it with `cargo xtask bench forms`.

#![expect(
    clippy::print_stdout,
    reason = "the figures are what a benchmark is run for"
)]

use std::hint::black_box;

use entreat_core::document::Notation;
use entreat_core::schema::json_schema;
use entreat_core::{Form, FormCache, FormKey};
use entreat_testkit::samples;
use serde_json::Value;

#[path = "forms/by_hand.rs"]
mod by_hand;
#[path = "forms/contest.rs"]
mod contest;
#[path = "forms/same_verdict.rs"]
mod same_verdict;

use contest::Contest;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let form = samples::comprehensive();
    let schema = json_schema(&form);
    let judges = Judges::new(&schema);
    let valid = samples::comprehensive_answer();
    let broken = samples::three_errors();
    judges.agree(&form, &valid);
    println!(
        "form: {} fields; all errors collected; formats asserted",
        form.fields().len()
    );
    check_value("valid answer, parsed", &form, &judges, &valid, 0);
    check_value("three errors, parsed", &form, &judges, &broken, 3);
    check_text(
        "valid answer, from text",
        &form,
        &judges,
        &valid.to_string(),
    );
    build(&schema);
    find();
}

/// The contestants.
struct Judges {
    jsonschema: jsonschema::Validator,
    /// The same, judging the URL and the bytes of the file too.
    same_verdict: jsonschema::Validator,
    boon: boon::Schemas,
    boon_index: boon::SchemaIndex,
}

impl Judges {
    fn new(schema: &Value) -> Self {
        let (boon, boon_index) = compile_boon(schema);
        Self {
            jsonschema: compile_jsonschema(schema),
            same_verdict: same_verdict::compile(schema),
            boon,
            boon_index,
        }
    }

    /// Makes sure that `same_verdict` is what it says, where a plain schema would not be.
    fn agree(&self, form: &Form, valid: &Value) {
        for (pointer, value) in [
            ("/homepage", "https://billing.internal/"),
            ("/homepage", "https://nowhere"),
            ("/logo/content", "aGVsbG8="),
            ("/logo/content", "no base64"),
            ("/logo/content_type", "image/jpeg"),
        ] {
            let mut answer = valid.clone();
            *answer.pointer_mut(pointer).expect("a part of the answer") = value.into();
            assert!(form.check(&answer).is_err() && !self.same_verdict.is_valid(&answer));
            assert!(!by_hand::check(&answer).is_empty(), "{pointer}");
        }
    }
}

fn compile_jsonschema(schema: &Value) -> jsonschema::Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .expect("the schema of a form compiles")
}

fn compile_boon(schema: &Value) -> (boon::Schemas, boon::SchemaIndex) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.enable_format_assertions();
    compiler
        .add_resource("form.json", schema.clone())
        .expect("the schema is a resource");
    let index = compiler
        .compile("form.json", &mut schemas)
        .expect("the schema of a form compiles");
    (schemas, index)
}

fn check_value(title: &str, form: &Form, judges: &Judges, answer: &Value, errors: usize) {
    assert_eq!(form.check(answer).map_or_else(|v| v.len(), |_| 0), errors);
    assert_eq!(by_hand::check(answer).len(), errors);
    assert_eq!(judges.same_verdict.iter_errors(answer).count(), errors);
    let mut contest = Contest::new(title, "jsonschema").and("jsonschema, same verdict");
    contest.enter("by hand", || by_hand::check(black_box(answer)).len());
    contest.enter("entreat", || match form.check(black_box(answer)) {
        Ok(answers) => usize::from(answers.get("port").is_some()),
        Err(violations) => violations.len(),
    });
    contest.enter("jsonschema", || {
        judges.jsonschema.iter_errors(black_box(answer)).count()
    });
    contest.enter("jsonschema, same verdict", || {
        judges.same_verdict.iter_errors(black_box(answer)).count()
    });
    contest.enter("boon", || {
        usize::from(
            judges
                .boon
                .validate(black_box(answer), judges.boon_index)
                .is_ok(),
        )
    });
    contest.run();
}

fn check_text(title: &str, form: &Form, judges: &Judges, text: &str) {
    assert!(form.check_text(text).is_ok() && by_hand::check_text(text) == Ok(0));
    let mut contest = Contest::new(title, "value + jsonschema").and("value + same verdict");
    contest.enter("by hand", || {
        by_hand::check_text(black_box(text)).unwrap_or(1)
    });
    contest.enter("entreat", || {
        usize::from(form.check_text(black_box(text)).is_ok())
    });
    contest.enter("text to value", || {
        let value: Value = serde_json::from_str(black_box(text)).unwrap_or_default();
        usize::from(value.is_object())
    });
    contest.enter("value + jsonschema", || {
        let value: Value = serde_json::from_str(black_box(text)).unwrap_or_default();
        judges.jsonschema.iter_errors(&value).count()
    });
    contest.enter("value + same verdict", || {
        let value: Value = serde_json::from_str(black_box(text)).unwrap_or_default();
        judges.same_verdict.iter_errors(&value).count()
    });
    contest.run();
}

fn build(schema: &Value) {
    let definition: Value = serde_json::from_str(samples::COMPREHENSIVE).expect("JSON");
    let mut contest = Contest::new("building", "jsonschema");
    contest.enter("entreat", || {
        usize::from(Form::from_value(black_box(&definition)).is_ok())
    });
    contest.enter("jsonschema", || {
        usize::from(compile_jsonschema(black_box(schema)).is_valid(&Value::Null))
    });
    contest.enter("boon", || {
        compile_boon(black_box(schema));
        1
    });
    contest.run();
}

fn find() {
    let cache = FormCache::new(1000);
    let texts: Vec<String> = (0..500)
        .map(|i| samples::MINIMAL.replacen("minimal", &format!("minimal{i}"), 1))
        .collect();
    for text in &texts {
        cache.load(text, Notation::Json).expect("a sample loads");
    }
    let keys: Vec<FormKey> = texts
        .iter()
        .map(|t| FormKey::of(t, Notation::Json))
        .collect();
    let mut next = 0;
    let mut contest = Contest::new("finding a cached form among 500", "entreat");
    contest.enter("entreat", move || {
        next = (next + 1) % keys.len();
        usize::from(cache.get(black_box(keys[next])).is_some())
    });
    contest.run();
}
