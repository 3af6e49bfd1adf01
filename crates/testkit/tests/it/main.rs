//! The generators against forms of every shape.

mod bounds;
mod memory_store;
#[expect(
    unreachable_pub,
    reason = "the fuzz targets are a crate of their own, which stable tests share by including it"
)]
#[path = "../../../../fuzz/src/lib.rs"]
mod targets;

use entreat_core::{CheckError, Constraint, Form};
use entreat_testkit::{Breakage, Generator, Scenario, arbitrary, assert_valid, samples};
use serde_json::{Value, json};

/// A form with every rule that `comprehensive` lacks.
fn connected() -> Form {
    let definition = json!({
        "id": "connected", "title": "Connected",
        "fields": [
            {"id": "plan", "type": "select", "label": "Plan", "required": true,
             "options": ["free", "team", "enterprise"]},
            {"id": "seats", "type": "number", "label": "Seats", "required": true,
             "validation": {"exclusiveMinimum": 0, "exclusiveMaximum": 500, "multipleOf": 5},
             "rendering": {"conditionalDisplay":
                 {"operator": "in", "field": "plan", "value": ["team", "enterprise"]}}},
            {"id": "manager", "type": "text", "label": "Manager", "required": true,
             "validation": {"format": "email", "maxLength": 60},
             "rendering": {"conditionalDisplay":
                 {"operator": "gt", "field": "seats", "value": 100}}},
            {"id": "start", "type": "date", "label": "Start",
             "validation": {"format": "date-time"}},
            {"id": "end", "type": "date", "label": "End",
             "validation": {"format": "date-time"}, "dependencies": ["start"]},
            {"id": "phone", "type": "text", "label": "Phone",
             "validation": {"pattern": "^\\+?[0-9 ]{7,15}$"}},
            {"id": "mail", "type": "text", "label": "Mail", "validation": {"format": "email"}},
            {"id": "street", "type": "text", "label": "Street", "validation": {"minLength": 3}},
            {"id": "city", "type": "text", "label": "City"},
            {"id": "card", "type": "text", "label": "Card"},
            {"id": "invoice", "type": "boolean", "label": "Invoice"},
            {"id": "source", "type": "text", "label": "Source", "default": "web",
             "rendering": {"readonly": true}},
            {"id": "tracking", "type": "number", "label": "Tracking", "default": 7,
             "rendering": {"hidden": true}},
            {"id": "scans", "type": "file", "label": "Scans",
             "validation": {"minItems": 2, "maxItems": 3, "maxSize": 1000}},
            {"id": "tags", "type": "multi_select", "label": "Tags",
             "options": ["a", "b", "c", "d"], "validation": {"minItems": 2, "maxItems": 3}},
        ],
        "validation": {
            "dependencies": {
                "phone": {"condition": {"operator": "equals", "field": "plan", "value": "free"},
                          "action": "disable"},
                "street": {"condition": {"operator": "is_not_empty", "field": "city"},
                           "action": "validate"},
            },
            "rules": [
                {"rule": "compare", "left": "start", "operator": "lt", "right": "end"},
                {"rule": "at_least_one", "fields": ["phone", "mail"]},
                {"rule": "exactly_one", "fields": ["card", "invoice"]},
                {"rule": "all_or_none", "fields": ["street", "city"]},
            ],
        },
    });
    Form::from_value(&definition).expect("the form is sound")
}

#[track_caller]
fn assert_breaks_only(form: &Form, what: &str, answer: &Value) {
    let violations = form.check(answer).expect_err(what);
    assert_eq!(violations.len(), 1, "{what}: {violations} in {answer:.600}");
    let constraint = violations
        .iter()
        .next()
        .map(|violation| violation.constraint().key());
    assert_eq!(
        constraint,
        Some(Breakage::from(what).constraint()),
        "{what}"
    );
}

#[test]
fn valid_answers_are_valid_for_every_seed() {
    for form in [samples::minimal(), samples::comprehensive(), connected()] {
        for seed in 0..500 {
            let answer = Generator::new(&form, seed).valid();
            let answer = answer.unwrap_or_else(|| panic!("no answer to {form:?}, seed {seed}"));
            assert_valid(&form, &answer);
        }
    }
}

#[test]
fn valid_answers_reach_every_field() {
    let form = connected();
    let mut generator = Generator::new(&form, 9);
    let answers: Vec<Value> = (0..200).filter_map(|_| generator.valid()).collect();
    for field in form
        .fields()
        .iter()
        .filter(|field| !field.rendering().hidden)
    {
        if field.rendering().readonly {
            continue;
        }
        let answered = answers
            .iter()
            .filter(|answer| answer.get(field.id()).is_some())
            .count();
        assert!(answered > 0, "`{}` is never answered", field.id());
    }
}

#[test]
fn every_rule_that_can_be_broken_is_broken_alone() {
    for form in [samples::minimal(), samples::comprehensive(), connected()] {
        for seed in 0..20 {
            let mut generator = Generator::new(&form, seed);
            for key in Constraint::KEYS {
                if let Some(answer) = generator.breaking(*key) {
                    assert_breaks_only(&form, key, &answer);
                }
            }
        }
    }
}

#[test]
fn the_samples_between_them_break_every_rule() {
    let mut first = Generator::new(&samples::comprehensive(), 1).breakable();
    assert_eq!(
        first,
        [
            "required",
            "type",
            "format",
            "enum",
            "minLength",
            "maxLength",
            "pattern",
            "minimum",
            "maximum",
            "multipleOf",
            "minItems",
            "maxItems",
            "uniqueItems",
            "allowedSchemes",
            "blockPrivateIPs",
            "blockLocalhost",
            "maxSize",
            "allowedMimeTypes",
            "allowedExtensions",
            "size",
            "content_type",
            "filename",
            "reference",
            "additionalProperties",
            "form_id",
        ]
    );
    first.extend(Generator::new(&connected(), 1).breakable());
    for key in Constraint::KEYS {
        assert!(
            first.iter().any(|found| found == key),
            "nothing breaks {key}"
        );
    }
}

#[test]
fn what_can_be_broken_does_not_depend_on_the_seed() {
    for form in [samples::comprehensive(), connected()] {
        let expected = Generator::new(&form, 0).breakable();
        for seed in 1..15 {
            assert_eq!(
                Generator::new(&form, seed).breakable(),
                expected,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn every_scenario_is_acted_out_by_one_of_the_samples() {
    let forms = [samples::comprehensive(), connected()];
    for scenario in Scenario::ALL {
        let found = forms.iter().find_map(|form| {
            let answer = Generator::new(form, 3).breaking(*scenario)?;
            assert_breaks_only(form, scenario.name(), &answer);
            Some(())
        });
        assert!(found.is_some(), "{scenario} is never acted out");
    }
}

#[test]
fn arbitrary_forms_are_sound_and_nearly_all_can_be_answered() {
    let mut unanswered = Vec::new();
    for seed in 0..2_000 {
        let definition = arbitrary::form(seed);
        let form = Form::from_value(&definition)
            .unwrap_or_else(|problems| panic!("seed {seed}:\n{problems}\n{definition:#}"));
        match Generator::new(&form, seed).valid() {
            Some(answer) => drop(assert_valid(&form, &answer)),
            None => unanswered.push(seed),
        }
    }
    let share = 100 * (2_000 - unanswered.len()) / 2_000;
    assert!(
        share >= 95,
        "only {share} % can be answered; not: {unanswered:?}"
    );
}

#[test]
fn rules_of_arbitrary_forms_are_broken_alone() {
    for seed in 0..60 {
        let form = Form::from_value(&arbitrary::form(seed)).unwrap();
        let mut generator = Generator::new(&form, seed);
        for key in Constraint::KEYS {
            if let Some(answer) = generator.breaking(*key) {
                assert_breaks_only(&form, key, &answer);
            }
        }
    }
}

#[test]
fn a_seed_decides_everything() {
    for seed in 0..40 {
        let form = Form::from_value(&arbitrary::form(seed)).unwrap();
        let run = || {
            let mut generator = Generator::new(&form, seed);
            (
                generator.valid(),
                generator.breaking("required"),
                generator.breaking("type"),
                generator.valid(),
                generator.hostile(),
            )
        };
        assert_eq!(run(), run());
    }
}

#[test]
fn arbitrary_forms_judge_hostile_answers_alike_as_values_and_as_text() {
    for seed in 0..25 {
        let form = Form::from_value(&arbitrary::form(seed)).unwrap();
        for answer in Generator::new(&form, seed).hostile() {
            let text = answer.to_string();
            let by_value = form
                .check(&answer)
                .map(|answers| answers.reveal().to_json());
            let by_text = match form.check_text(&text) {
                Ok(answers) => Ok(answers.reveal().to_json()),
                Err(CheckError::Invalid(violations)) => Err(violations.to_string()),
                Err(error) => panic!("seed {seed}: {error}"),
            };
            let by_value = by_value.map_err(|violations| violations.to_string());
            assert_eq!(by_value, by_text, "seed {seed}: {text:.300}");
        }
    }
}
