//! An independent implementation, the `jsonschema` crate on the schema of a form, must agree with
//! the form about which answers are valid and which fields are wrong.
//!
//! Forms and answers are generated: valid ones, ones that break one rule, hostile ones. Answers are
//! compared after normalisation ([`Form::normalise`]), with formats asserted.
//! `ENTREAT_AGREEMENT_CASES` sets the number of answers.

use std::collections::BTreeSet;

use entreat_core::jiff::Timestamp;
use entreat_core::schema::json_schema;
use entreat_core::{Form, Kind, Violation};
use entreat_testkit::{Generator, arbitrary};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Keyword, ValidationError, Validator};
use serde_json::{Value, json};

const CASES_IN_CI: usize = 10_000;

/// Rules that a schema cannot express. They are excluded from the comparison.
const BY_DESIGN: &[(&str, &str)] = &[
    ("compare", "JSON Schema cannot compare two members"),
    (
        "additionalProperties",
        "what nobody asked for is left out before a schema sees it",
    ),
];

/// Field types whose validation goes beyond a schema.
fn is_beyond_schemas(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::File(_) => Some("names, types and bytes of files are no matter of schemas"),
        Kind::Url(_) => Some("the guard reads URLs as browsers do, `uri` as RFC 3986 does"),
        _ => None,
    }
}

/// `\b` means ASCII words in JavaScript and in a form; `jsonschema` uses Unicode's.
fn is_word_boundary_outside_ascii(schema: &Value, answer: &Value) -> bool {
    schema.to_string().contains(r"\\b") && !answer.to_string().is_ascii()
}

/// `const` compares strings; a form knows that 10:00Z is 11:00+01:00.
fn is_moment_in_other_words(schema: &Value, answer: &Value) -> bool {
    let (mut said, mut known) = (Vec::new(), Vec::new());
    each_text(answer, &mut |text| {
        said.extend(moment(text).map(|at| (at, text.to_owned())));
    });
    each_text(schema, &mut |text| {
        known.extend(moment(text).map(|at| (at, text.to_owned())));
    });
    let is_other = |(at, text): &(Timestamp, String)| {
        known
            .iter()
            .any(|(other, words)| at == other && text != words)
    };
    said.iter().any(is_other)
}

fn each_text(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(members) => members.values().for_each(|member| each_text(member, visit)),
        _ => {}
    }
}

#[test]
fn an_independent_validator_agrees_with_the_form() {
    #[expect(
        clippy::disallowed_methods,
        reason = "a longer run is asked for by a person"
    )]
    let wanted = std::env::var("ENTREAT_AGREEMENT_CASES").ok();
    let wanted = wanted.map_or(CASES_IN_CI, |n| n.parse().unwrap());
    let (mut cases, mut refused, mut seed) = (0, 0, 0);
    while cases < wanted {
        seed += 1;
        let form = Form::from_value(&arbitrary::form(seed)).unwrap();
        let schema = json_schema(&form);
        let judge = judge(&schema);
        for answer in answers(&form, seed) {
            if is_word_boundary_outside_ascii(&schema, &answer)
                || is_moment_in_other_words(&schema, &answer)
            {
                continue;
            }
            cases += 1;
            refused += usize::from(form.check(&answer).is_err());
            compare(&form, &schema, &judge, &answer, seed);
        }
    }
    assert!(
        refused * 5 > cases,
        "{refused} of {cases} answers were wrong: too few to tell"
    );
    assert!(
        refused * 5 < cases * 4,
        "{refused} of {cases} answers were wrong: too many"
    );
}

/// Valid, near-valid and hostile answers to a form.
fn answers(form: &Form, seed: u64) -> Vec<Value> {
    let mut generator = Generator::new(form, seed);
    let mut answers: Vec<Value> = (0..6).filter_map(|_| generator.valid()).collect();
    let rules = generator.breakable();
    answers.extend(rules.iter().filter_map(|rule| generator.breaking(rule)));
    answers.extend(generator.hostile().into_iter().take(8));
    // Answers to another form are rejected before any field is validated.
    let is_for_another = |answer: &Value| answer.get("form_id").is_some_and(|id| id != form.id());
    answers.retain(|answer| answer.is_object() && !is_for_another(answer));
    answers
}

#[track_caller]
fn compare(form: &Form, schema: &Value, judge: &Validator, answer: &Value, seed: u64) {
    let read = Value::from(form.normalise(answer));
    let ours: BTreeSet<String> = match form.check(answer) {
        Ok(_) => BTreeSet::new(),
        Err(violations) => violations
            .iter()
            .filter(|violation| !is_excused(form, &read, violations.field_of(violation), violation))
            .map(|violation| violations.field_of(violation).to_owned())
            .collect(),
    };
    let theirs: BTreeSet<String> = judge
        .iter_errors(&read)
        .filter(|error| !is_excused_there(form, error))
        .flat_map(|error| fields_of(schema, &read, &error))
        .collect();
    assert_eq!(
        ours,
        theirs,
        "seed {seed}: the form and the judge disagree\nanswer: {answer}\nread: {read}\nform: {}\nschema: {schema}\nform says: {:?}\njudge says: {:?}",
        form.definition(),
        form.check(answer).map(drop),
        judge
            .iter_errors(&read)
            .map(|e| format!("{} at {} ({})", e, e.instance_path(), e.schema_path()))
            .collect::<Vec<_>>(),
    );
}

fn is_excused(form: &Form, read: &Value, field: &str, violation: &Violation) -> bool {
    let rule = violation.constraint().key();
    let beyond = form
        .field(field)
        .and_then(|field| is_beyond_schemas(field.kind()));
    if rule == "multipleOf" && violation.actual().is_some_and(is_inexact) {
        return true;
    }
    // A part of an upload may be required, too.
    let is_part = rule == "required" && read.get(field).is_some();
    BY_DESIGN.iter().any(|(excused, _)| *excused == rule)
        || (beyond.is_some()
            && (is_part || !is_presence(rule))
            && !is_plain_url_rule(form, field, rule))
}

/// Multiples of a large fraction: `jsonschema` divides the nearest binary number, a form divides
/// the decimal.
fn is_inexact(number: &Value) -> bool {
    const TWO_TO_THE_53: f64 = 9_007_199_254_740_992.0;
    number.is_f64() && number.as_f64().is_some_and(|n| n.abs() > TWO_TO_THE_53)
}

/// Rules of a URL that don't depend on how it is parsed.
fn is_plain_url_rule(form: &Form, field: &str, rule: &str) -> bool {
    let is_url = form
        .field(field)
        .is_some_and(|field| matches!(field.kind(), Kind::Url(_)));
    is_url && matches!(rule, "type" | "maxLength" | "readonly")
}

/// Rules about presence apply to fields of every type.
fn is_presence(rule: &str) -> bool {
    matches!(
        rule,
        "required" | "dependencies" | "at_least_one" | "exactly_one" | "all_or_none"
    )
}

fn is_excused_there(form: &Form, error: &ValidationError<'_>) -> bool {
    let path = error.instance_path().to_string();
    let field = path.split('/').nth(1).and_then(|id| form.field(id));
    if matches!(error.kind(), ValidationErrorKind::MultipleOf { .. }) {
        return is_inexact(error.instance());
    }
    // For a URL, a schema has the format, and the pattern that excludes spaces.
    let is_reading = matches!(
        error.kind(),
        ValidationErrorKind::Format { .. } | ValidationErrorKind::Pattern { .. }
    );
    field.is_some_and(|field| match field.kind() {
        Kind::Url(_) => is_reading,
        kind => is_beyond_schemas(kind).is_some(),
    })
}

/// The fields that an error of `jsonschema` refers to.
fn fields_of(schema: &Value, read: &Value, error: &ValidationError<'_>) -> Vec<String> {
    let place = error.instance_path().to_string();
    if let Some(id) = place.split('/').nth(1) {
        return vec![id.to_owned()];
    }
    let path = error.schema_path().to_string();
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    match (steps.as_slice(), error.kind()) {
        (["dependentRequired", ..], ValidationErrorKind::Required { property }) => {
            // `jsonschema` names the missing field; the form names the field that requires it.
            let dependents = schema["dependentRequired"].as_object().unwrap().iter();
            dependents
                .filter(|(id, others)| {
                    read.get(*id).is_some() && others.as_array().unwrap().contains(property)
                })
                .map(|(id, _)| id.clone())
                .collect()
        }
        (["allOf", entry, ..], _) => {
            let entry = &schema["allOf"][entry.parse::<usize>().unwrap()];
            vec![anchor(entry)]
        }
        (_, ValidationErrorKind::Required { property }) => {
            vec![property.as_str().unwrap().to_owned()]
        }
        (_, kind) => panic!("an error of no field: {kind:?} at {path}"),
    }
}

/// The field that an entry of `allOf` refers to: the one whose rules it enables, or the first of
/// those that a rule lists.
fn anchor(entry: &Value) -> String {
    if let Some(properties) = entry["then"]["properties"].as_object() {
        return properties.keys().next().unwrap().clone();
    }
    let rule = if entry["then"]["anyOf"].is_array() || entry["then"]["oneOf"].is_array() {
        &entry["then"]
    } else {
        entry
    };
    let first = rule["anyOf"]
        .get(0)
        .or_else(|| rule["oneOf"].get(0))
        .or_else(|| rule["if"]["anyOf"].get(0));
    first.unwrap()["required"][0].as_str().unwrap().to_owned()
}

fn judge(schema: &Value) -> Validator {
    let mut options = jsonschema::options().should_validate_formats(true);
    for keyword in [
        "formatMinimum",
        "formatMaximum",
        "formatExclusiveMinimum",
        "formatExclusiveMaximum",
    ] {
        options = options.with_keyword(keyword, move |_, bound, _| {
            Ok(Box::new(MomentBound {
                keyword,
                bound: bound.as_str().and_then(moment),
            }))
        });
    }
    options
        .build(schema)
        .unwrap_or_else(|error| panic!("{error}\n{schema:#}"))
}

/// Bounds on times, for which JSON Schema has no keyword. Those on dates are patterns.
struct MomentBound {
    keyword: &'static str,
    bound: Option<Timestamp>,
}

/// The last hours of the calendar exceed the range of an instant.
fn moment(text: &str) -> Option<Timestamp> {
    let last = || text.starts_with("9999-12-31T").then_some(Timestamp::MAX);
    text.parse().ok().or_else(last)
}

impl<'i> Keyword<'i> for MomentBound {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            Ok(())
        } else {
            Err(ValidationError::custom(self.keyword))
        }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let (Some(bound), Some(moment)) = (self.bound, instance.as_str().and_then(moment)) else {
            return true;
        };
        match self.keyword {
            "formatMinimum" => moment >= bound,
            "formatMaximum" => moment <= bound,
            "formatExclusiveMinimum" => moment > bound,
            _ => moment < bound,
        }
    }
}

#[test]
fn the_list_of_differences_is_used() {
    // An excluded rule must really be beyond the schema; otherwise the exclusion hides a bug.
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "a", "type": "number", "label": "A"}, {"id": "b", "type": "number", "label": "B"}],
        "validation": {"rules": [{"rule": "compare", "left": "a", "operator": "lt", "right": "b"}]}}))
    .unwrap();
    let answer = json!({"a": 2, "b": 1});
    assert!(form.check(&answer).is_err());
    assert!(judge(&json_schema(&form)).is_valid(&answer));
}
