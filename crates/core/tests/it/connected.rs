//! Relations between fields: conditions, defaults, dependencies, cross-field rules.

use entreat_core::{Answer, Catalogue, Form, ValidatorError, Validators};
use serde_json::{Value, json};

use crate::answers::{assert_breaks, assert_passes, assert_value_breaks, check, field, form};

#[test]
fn hidden_fields_are_not_required_not_checked_and_dropped() {
    let form = form(json!([
        {"id": "kind", "type": "select", "label": "K", "options": ["a", "b"], "required": true},
        {"id": "x", "type": "number", "label": "X", "required": true,
         "rendering": {"conditionalDisplay": {"operator": "equals", "field": "kind", "value": "a"}}},
        {"id": "y", "type": "text", "label": "Y", "default": "dflt", "required": false,
         "rendering": {"conditionalDisplay": {"operator": "gt", "field": "x", "value": 5}}},
    ]));
    assert_breaks(&form, json!({"kind": "a"}), &[("x", "required")]);
    assert_passes(
        &form,
        json!({"kind": "a", "x": 6}),
        json!({"kind": "a", "x": 6, "y": "dflt"}),
    );
    assert_passes(
        &form,
        json!({"kind": "a", "x": 5, "y": "sent"}),
        json!({"kind": "a", "x": 5}),
    );
    assert_passes(
        &form,
        json!({"kind": "b", "x": "rubbish"}),
        json!({"kind": "b"}),
    );
    // `x` is hidden, so `y`, whose condition refers to it, treats it as empty, whatever was sent.
    assert_passes(
        &form,
        json!({"kind": "b", "x": 100, "y": 3}),
        json!({"kind": "b"}),
    );
    assert_breaks(
        &form,
        json!({"kind": "a", "x": "rubbish", "y": "z"}),
        &[("x", "type")],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a flat table of cases")]
fn every_operator_does_what_it_says() {
    let cases = [
        (
            json!({"operator": "equals", "field": "t", "value": "x"}),
            json!({"t": "x"}),
            json!({"t": "y"}),
        ),
        (
            json!({"operator": "not_equals", "field": "t", "value": "x"}),
            json!({}),
            json!({"t": "x"}),
        ),
        (
            json!({"operator": "in", "field": "t", "value": ["x", "y"]}),
            json!({"t": "y"}),
            json!({}),
        ),
        (
            json!({"operator": "not_in", "field": "t", "value": ["x", "y"]}),
            json!({}),
            json!({"t": "x"}),
        ),
        (
            json!({"operator": "contains", "field": "t", "value": "ell"}),
            json!({"t": "hello"}),
            json!({"t": "help"}),
        ),
        (
            json!({"operator": "contains", "field": "m", "value": "b"}),
            json!({"m": ["a", "b"]}),
            json!({"m": ["a"]}),
        ),
        (
            json!({"operator": "equals", "field": "m", "value": ["a", "b"]}),
            json!({"m": ["a", "b"]}),
            json!({"m": ["a"]}),
        ),
        (
            json!({"operator": "gt", "field": "n", "value": 5}),
            json!({"n": 5.1}),
            json!({"n": 5}),
        ),
        (
            json!({"operator": "gte", "field": "n", "value": 5}),
            json!({"n": "5"}),
            json!({"n": 4.9}),
        ),
        (
            json!({"operator": "lt", "field": "n", "value": 5}),
            json!({"n": 4}),
            json!({}),
        ),
        (
            json!({"operator": "lte", "field": "d", "value": "2026-01-01"}),
            json!({"d": "2026-01-01"}),
            json!({"d": "2026-01-02"}),
        ),
        (
            json!({"operator": "gt", "field": "d", "value": "2026-01-01"}),
            json!({"d": "2026-01-02"}),
            json!({"d": "2026-01-01"}),
        ),
        (
            json!({"operator": "regex", "field": "t", "value": "^a.c$"}),
            json!({"t": "abc"}),
            json!({"t": "abcd"}),
        ),
        (
            json!({"operator": "is_empty", "field": "t"}),
            json!({"t": ""}),
            json!({"t": " "}),
        ),
        (
            json!({"operator": "is_not_empty", "field": "b"}),
            json!({"b": false}),
            json!({"b": null}),
        ),
        (
            json!({"operator": "equals", "field": "b", "value": true}),
            json!({"b": "true"}),
            json!({"b": false}),
        ),
        (
            json!({"operator": "equals", "field": "n", "value": 1}),
            json!({"n": 1.0}),
            json!({"n": 2}),
        ),
        (
            json!({"operator": "and", "conditions": [{"operator": "is_not_empty", "field": "t"}, {"operator": "is_not_empty", "field": "n"}]}),
            json!({"t": "x", "n": 1}),
            json!({"t": "x"}),
        ),
        (
            json!({"operator": "or", "conditions": [{"operator": "is_not_empty", "field": "t"}, {"operator": "is_not_empty", "field": "n"}]}),
            json!({"n": 1}),
            json!({}),
        ),
        (
            json!({"operator": "not", "condition": {"operator": "is_not_empty", "field": "t"}}),
            json!({}),
            json!({"t": "x"}),
        ),
    ];
    for (condition, shown, hidden) in cases {
        let form = form(json!([
            {"id": "t", "type": "text", "label": "T"},
            {"id": "n", "type": "number", "label": "N"},
            {"id": "b", "type": "boolean", "label": "B"},
            {"id": "d", "type": "date", "label": "D"},
            {"id": "m", "type": "multi_select", "label": "M", "options": ["a", "b"]},
            {"id": "target", "type": "text", "label": "Target", "default": "here",
             "rendering": {"conditionalDisplay": condition}},
        ]));
        let is_shown = |answer: &Value| check(&form, answer).unwrap().get("target").is_some();
        assert!(is_shown(&shown), "{condition} should hold for {shown}");
        assert!(
            !is_shown(&hidden),
            "{condition} should not hold for {hidden}"
        );
    }
}

#[test]
fn form_level_actions_show_hide_enable_disable_and_validate() {
    let with = |actions: Value| {
        Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "on", "type": "boolean", "label": "On"},
            {"id": "a", "type": "text", "label": "A", "required": true, "validation": {"minLength": 3}},
        ], "validation": {"dependencies": {"a": actions}}}))
        .unwrap()
    };
    let on = json!({"operator": "equals", "field": "on", "value": true});
    for (action, active_when) in [
        ("show", true),
        ("enable", true),
        ("hide", false),
        ("disable", false),
    ] {
        let form = with(json!({"condition": on, "action": action}));
        assert_breaks(&form, json!({"on": active_when}), &[("a", "required")]);
        assert_passes(
            &form,
            json!({"on": !active_when, "a": "x"}),
            json!({"on": !active_when}),
        );
    }
    let validate = with(json!([{"condition": on, "action": "validate"}]));
    assert_breaks(
        &validate,
        json!({"on": true, "a": "x"}),
        &[("a", "minLength")],
    );
    assert_breaks(&validate, json!({"on": true}), &[("a", "required")]);
    assert_passes(
        &validate,
        json!({"on": false, "a": "x"}),
        json!({"on": false, "a": "x"}),
    );
    assert_passes(&validate, json!({"on": false}), json!({"on": false}));
    assert_breaks(&validate, json!({"on": false, "a": 1}), &[("a", "type")]);
}

#[test]
fn readonly_comes_back_unchanged_and_hidden_keeps_its_default() {
    let readonly = field(
        json!({"type": "number", "required": true, "default": 5, "rendering": {"readonly": true}}),
    );
    assert_passes(&readonly, json!({}), json!({"a": 5}));
    assert_passes(&readonly, json!({"a": "5"}), json!({"a": 5}));
    assert_value_breaks(&readonly, json!(6), "readonly");
    let hidden = field(
        json!({"type": "text", "required": true, "default": "x", "rendering": {"hidden": true}}),
    );
    for sent in [
        json!({}),
        json!({"a": "changed"}),
        json!({"a": 7}),
        json!({"a": null}),
    ] {
        assert_passes(&hidden, sent, json!({"a": "x"}));
    }
}

#[test]
fn dependencies_and_rules_across_fields_name_the_others() {
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "user", "type": "text", "label": "User", "dependencies": ["password"]},
        {"id": "password", "type": "text", "label": "Password"},
        {"id": "from", "type": "date", "label": "From"},
        {"id": "to", "type": "date", "label": "To"},
        {"id": "x", "type": "number", "label": "X"},
        {"id": "y", "type": "number", "label": "Y"},
    ], "validation": {"rules": [
        {"rule": "compare", "left": "from", "operator": "lte", "right": "to", "message": "The end is before the start"},
        {"rule": "exactly_one", "fields": ["x", "y"]},
        {"rule": "at_least_one", "fields": ["user", "from"]},
        {"rule": "all_or_none", "fields": ["from", "to"]},
    ]}}))
    .unwrap();
    assert_breaks(
        &form,
        json!({"user": "u", "x": 1}),
        &[("user", "dependencies")],
    );
    assert_breaks(
        &form,
        json!({"from": "2026-01-02", "to": "2026-01-01", "x": 1}),
        &[("from", "compare")],
    );
    assert_breaks(
        &form,
        json!({"from": "2026-01-02", "y": 1}),
        &[("from", "all_or_none")],
    );
    assert_breaks(
        &form,
        json!({"x": 1, "y": 2}),
        &[("user", "at_least_one"), ("x", "exactly_one")],
    );
    assert_breaks(
        &form,
        json!({"from": "nonsense", "to": "2026-01-01", "x": 1}),
        &[("from", "format")],
    );
    assert!(
        check(
            &form,
            &json!({"from": "2026-01-01", "to": "2026-01-01", "x": 1})
        )
        .is_ok()
    );
    let violations = form
        .check(&json!({"from": "2026-01-02", "to": "2026-01-01"}))
        .map(drop)
        .unwrap_err();
    let errors =
        serde_json::to_value(violations.errors(&Catalogue::default().messages([]))).unwrap();
    assert_eq!(
        errors,
        json!([
            {"field": "from", "code": -32007, "message": "The end is before the start", "constraint": "compare",
             "expected": ["to"], "path": ["from"]},
            {"field": "x", "code": -32007, "message": "Answer exactly one of: X, Y", "constraint": "exactly_one",
             "expected": ["y"], "path": ["x"]},
        ])
    );
}

#[test]
fn custom_validators_run_last_and_speak_for_themselves() {
    let mut validators = Validators::default();
    validators.register("even", |answers| match answers.get("n") {
        Some(Answer::Number(n)) if n.as_integer().is_some_and(|n| n % 2 != 0) => {
            Err(ValidatorError::new("n", "An even number, please"))
        }
        _ => Ok(()),
    });
    let form = Form::with_validators(
        &json!({"id": "f", "title": "F", "fields": [{"id": "n", "type": "number", "label": "N", "validation": {"maximum": 10}}],
                "validation": {"custom_validators": ["even"]}}),
        &validators,
    )
    .unwrap();
    assert_breaks(&form, json!({"n": 3}), &[("n", "even")]);
    assert_breaks(&form, json!({"n": 11}), &[("n", "maximum")]);
    assert!(form.check(&json!({"n": 4})).is_ok());
    let error = form
        .check(&json!({"n": 3}))
        .map(drop)
        .unwrap_err()
        .errors(&Catalogue::default().messages([]));
    assert_eq!(error[0].message, "An even number, please");
}

#[test]
fn partial_forms_list_what_is_missing() {
    let form = Form::from_value(
        &json!({"id": "f", "title": "F", "allow_partial": true, "fields": [
            {"id": "a", "type": "text", "label": "A", "required": true},
            {"id": "b", "type": "number", "label": "B", "required": true},
            {"id": "c", "type": "number", "label": "C"},
        ]}),
    )
    .unwrap();
    let answer = json!({"a": "  ", "c": 1});
    let answers = form.check(&answer).unwrap();
    assert_eq!(
        answers
            .missing()
            .map(entreat_core::Field::id)
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(Value::from(answers.reveal().to_json()), json!({"c": 1}));
    assert_breaks(&form, json!({"b": "x"}), &[("b", "type")]);
}

#[test]
fn a_rule_that_wants_an_answer_is_void_while_nobody_could_give_one() {
    let hidden =
        json!({"conditionalDisplay": {"operator": "equals", "field": "on", "value": true}});
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "on", "type": "boolean", "label": "On"},
        {"id": "a", "type": "text", "label": "A", "rendering": hidden},
        {"id": "b", "type": "text", "label": "B", "rendering": hidden},
    ], "validation": {"rules": [{"rule": "at_least_one", "fields": ["a", "b"]}]}}))
    .unwrap();
    assert_passes(&form, json!({"on": false}), json!({"on": false}));
    assert_breaks(&form, json!({"on": true}), &[("a", "at_least_one")]);
}

#[test]
fn a_readonly_field_that_is_sent_empty_keeps_its_value() {
    let form = field(json!({"type": "text", "default": "x", "rendering": {"readonly": true}}));
    for empty in [json!(null), json!("")] {
        assert_passes(&form, json!({"a": empty}), json!({"a": "x"}));
    }
}

#[test]
fn the_default_of_a_secret_does_not_leak_through_an_error() {
    let form = field(
        json!({"type": "text", "sensitive": true, "default": "hunter2",
        "rendering": {"readonly": true}}),
    );
    let violations = form.check(&json!({"a": "other"})).map(drop).unwrap_err();
    let errors = violations.errors(&Catalogue::default().messages([]));
    assert!(!serde_json::to_string(&errors).unwrap().contains("hunter2"));
}
