//! Loading definitions: valid ones load, others report every problem.

use entreat_core::document::Notation;
use entreat_core::form::DisplayStyle;
use entreat_core::{Form, Kind, Validators};
use serde_json::{Value, json};

fn with_fields(fields: Value) -> Value {
    json!({"id": "f", "title": "F", "fields": fields})
}

fn with_field(field: Value) -> Value {
    with_fields(json!([field]))
}

#[track_caller]
fn assert_problems(definition: &Value, expected: &[(&str, &str)]) {
    let found: Vec<(String, String)> = match Form::from_value(definition) {
        Ok(_) => Vec::new(),
        Err(problems) => problems
            .iter()
            .map(|p| (p.pointer.clone(), p.code.to_string()))
            .collect(),
    };
    let found: Vec<(&str, &str)> = found.iter().map(|(p, c)| (&**p, &**c)).collect();
    assert_eq!(found, expected, "{definition:#}");
}

#[test]
fn every_problem_of_a_definition_is_reported_at_once() {
    let definition = json!({
        "id": "bad id!",
        "titel": "typo",
        "fields": [
            {"id": "a", "type": "text", "label": "A", "validation": {"minLength": 5, "maxLength": 2, "pattern": "("}},
            {"id": "a", "type": "number", "label": "", "validation": {"minLength": 1}},
            {"id": "c", "type": "selct", "label": "C"},
            {"id": "d", "type": "select", "label": "D", "options": ["x", {"value": "y", "title": "Y"}, "x"]},
            {"id": "e", "type": "file", "label": "E", "default": "x"},
            "not an object",
        ],
        "validation": {"custom_validators": ["nope"], "rules": [{"rule": "compare", "left": "a", "operator": "lt", "right": "zz"}]},
        "allow_partial": "yes",
    });
    assert_problems(
        &definition,
        &[
            ("/titel", "unknown_key"),
            ("/id", "bad_value"),
            ("/title", "missing_key"),
            ("/allow_partial", "wrong_type"),
            ("/fields/0/validation/pattern", "bad_pattern"),
            ("/fields/0/validation/minLength", "contradiction"),
            ("/fields/1/label", "empty"),
            ("/fields/1/validation/minLength", "not_applicable"),
            ("/fields/2/type", "bad_value"),
            ("/fields/3/options/2", "duplicate_option"),
            ("/fields/3/options", "mixed_options"),
            ("/fields/5", "wrong_type"),
            ("/fields/1/id", "duplicate_id"),
            ("/validation/rules/0/right", "unknown_field"),
            ("/validation/custom_validators/0", "unknown_validator"),
            ("/fields/4/default", "bad_default"),
        ],
    );
}

#[test]
fn a_misspelt_key_gets_the_one_that_was_meant() {
    for (definition, meant) in [
        (json!({"id": "f", "title": "F", "feilds": []}), "fields"),
        (
            with_field(json!({"id": "a", "type": "text", "lable": "A", "label": "A"})),
            "label",
        ),
        (
            with_field(
                json!({"id": "a", "type": "text", "label": "A", "validation": {"minLenght": 1}}),
            ),
            "minLength",
        ),
        (
            with_field(
                json!({"id": "a", "type": "text", "label": "A", "rendering": {"place_holder": "x"}}),
            ),
            "placeholder",
        ),
        (
            with_field(
                json!({"id": "a", "type": "text", "label": "A", "accessibility": {"arialabel": "x"}}),
            ),
            "ariaLabel",
        ),
        (
            with_field(json!({"id": "a", "type": "txt", "label": "A"})),
            "text",
        ),
        (
            with_field(json!({"id": "a", "type": "string", "label": "A"})),
            "text",
        ),
        (
            with_field(json!({"id": "a", "type": "integer", "label": "A"})),
            "number",
        ),
        (
            with_field(
                json!({"id": "a", "type": "text", "label": "A", "validation": {"format": "e-mail"}}),
            ),
            "email",
        ),
        (
            with_field(json!({"id": "abc", "type": "text", "label": "A", "dependencies": ["abd"]})),
            "abc",
        ),
        (
            json!({"id": "f", "title": "F", "fields": [{"id": "a", "type": "text", "label": "A"}], "timeout": {"inital_timeout": 1}}),
            "initial_timeout",
        ),
    ] {
        let problems = Form::from_value(&definition).unwrap_err();
        let suggestions: Vec<_> = problems
            .iter()
            .filter_map(|p| p.suggestion.as_deref())
            .collect();
        assert!(
            suggestions.contains(&meant),
            "{definition}: {suggestions:?}"
        );
    }
}

#[test]
fn limits_on_ids_titles_and_counts_hold_at_their_edges() {
    let field = |id: &str, label: &str| json!({"id": id, "type": "text", "label": label});
    let sound = |definition: &Value| Form::from_value(definition).is_ok();
    assert!(sound(&with_field(field(&"a".repeat(64), &"ü".repeat(256)))));
    assert_problems(
        &with_field(field(&"a".repeat(65), "A")),
        &[("/fields/0/id", "bad_value")],
    );
    assert_problems(
        &with_field(field("a b", "A")),
        &[("/fields/0/id", "bad_value")],
    );
    assert_problems(
        &with_field(field("a\0", "A")),
        &[("/fields/0/id", "bad_value")],
    );
    assert_problems(&with_field(field("", "A")), &[("/fields/0/id", "empty")]);
    assert_problems(
        &with_field(field("a", &"ü".repeat(257))),
        &[("/fields/0/label", "too_long")],
    );
    let many = |n: usize| with_fields((0..n).map(|i| field(&format!("f{i}"), "L")).collect());
    assert!(sound(&many(100)));
    assert_problems(&many(101), &[("/fields", "too_long")]);
    assert_problems(&many(0), &[("/fields", "empty")]);
    let titled =
        |title: String, id: String| json!({"id": id, "title": title, "fields": [field("a", "A")]});
    assert!(sound(&titled("t".repeat(256), "i".repeat(128))));
    assert_problems(
        &titled("t".repeat(257), "i".repeat(129)),
        &[("/id", "bad_value"), ("/title", "too_long")],
    );
    assert_problems(&json!([]), &[("", "wrong_type")]);
    assert_problems(
        &json!({}),
        &[
            ("/id", "missing_key"),
            ("/title", "missing_key"),
            ("/fields", "missing_key"),
        ],
    );
}

#[test]
fn bounds_that_leave_nothing_are_contradictions() {
    for (kind, validation, key) in [
        ("text", json!({"minLength": 3, "maxLength": 2}), "minLength"),
        ("text", json!({"minLength": 70_000}), "minLength"),
        ("number", json!({"minimum": 3, "maximum": 2.5}), "minimum"),
        (
            "number",
            json!({"minimum": 3, "exclusiveMaximum": 3}),
            "minimum",
        ),
        (
            "number",
            json!({"exclusiveMinimum": 3, "maximum": 3}),
            "exclusiveMinimum",
        ),
        (
            "number",
            json!({"exclusiveMinimum": 3, "exclusiveMaximum": 3}),
            "exclusiveMinimum",
        ),
        (
            "date",
            json!({"minimum": "2026-02-01", "maximum": "2026-01-01"}),
            "minimum",
        ),
        ("file", json!({"minItems": 2}), "minItems"),
        ("file", json!({"maxItems": 0}), "maxItems"),
        ("url", json!({"maxLength": 0}), "maxLength"),
    ] {
        let definition =
            with_field(json!({"id": "a", "type": kind, "label": "A", "validation": validation}));
        let pointer = format!("/fields/0/validation/{key}");
        assert_problems(&definition, &[(&pointer, "contradiction")]);
    }
    let definition = with_field(json!({
        "id": "a", "type": "multi_select", "label": "A", "options": ["x"], "validation": {"minItems": 2},
    }));
    assert_problems(
        &definition,
        &[("/fields/0/validation/minItems", "contradiction")],
    );
}

#[test]
fn rules_of_the_wrong_kind_are_refused() {
    for (kind, validation, key, code) in [
        ("text", json!({"minLength": -1}), "minLength", "wrong_type"),
        ("text", json!({"minLength": 1.5}), "minLength", "wrong_type"),
        ("text", json!({"minLength": "1"}), "minLength", "wrong_type"),
        (
            "text",
            json!({"pattern": r"(a)\1"}),
            "pattern",
            "bad_pattern",
        ),
        (
            "text",
            json!({"pattern": "(?=a)"}),
            "pattern",
            "bad_pattern",
        ),
        ("text", json!({"format": "phone"}), "format", "bad_value"),
        ("text", json!({"minimum": 1}), "minimum", "not_applicable"),
        (
            "text",
            json!({"messages": {"nonsense": "x"}}),
            "messages/nonsense",
            "unknown_key",
        ),
        (
            "number",
            json!({"multipleOf": 0}),
            "multipleOf",
            "bad_value",
        ),
        (
            "number",
            json!({"multipleOf": -2}),
            "multipleOf",
            "bad_value",
        ),
        ("number", json!({"minimum": "1"}), "minimum", "wrong_type"),
        (
            "boolean",
            json!({"minimum": 1}),
            "minimum",
            "not_applicable",
        ),
        (
            "date",
            json!({"minimum": "2026-02-30"}),
            "minimum",
            "bad_value",
        ),
        (
            "date",
            json!({"format": "date-time", "minimum": "2026-02-01"}),
            "minimum",
            "bad_value",
        ),
        ("date", json!({"format": "time"}), "format", "bad_value"),
        (
            "url",
            json!({"allowedSchemes": []}),
            "allowedSchemes",
            "empty",
        ),
        (
            "url",
            json!({"allowedSchemes": ["https:"]}),
            "allowedSchemes/0",
            "bad_value",
        ),
        ("url", json!({"format": "url"}), "format", "bad_value"),
        (
            "file",
            json!({"allowedMimeTypes": ["png"]}),
            "allowedMimeTypes/0",
            "bad_value",
        ),
        (
            "file",
            json!({"allowedMimeTypes": []}),
            "allowedMimeTypes",
            "empty",
        ),
        (
            "file",
            json!({"allowedExtensions": ["*"]}),
            "allowedExtensions/0",
            "bad_value",
        ),
        ("file", json!({"maxSize": -1}), "maxSize", "wrong_type"),
    ] {
        let definition =
            with_field(json!({"id": "a", "type": kind, "label": "A", "validation": validation}));
        let pointer = format!("/fields/0/validation/{key}");
        assert_problems(&definition, &[(&pointer, code)]);
    }
}

#[test]
fn a_default_must_pass_the_fields_own_rules() {
    let field = |kind: &str, extra: Value| {
        let mut field = json!({"id": "a", "type": kind, "label": "A"});
        for (key, value) in extra.as_object().unwrap() {
            field[key] = value.clone();
        }
        with_field(field)
    };
    for (kind, extra) in [
        ("text", json!({"default": 1})),
        (
            "text",
            json!({"default": "abc", "validation": {"maxLength": 2}}),
        ),
        ("number", json!({"default": "x"})),
        (
            "number",
            json!({"default": 5, "validation": {"maximum": 4}}),
        ),
        ("boolean", json!({"default": "yes"})),
        ("date", json!({"default": "2026-02-30"})),
        ("select", json!({"default": "z", "options": ["x", "y"]})),
        (
            "multi_select",
            json!({"default": ["z"], "options": ["x", "y"]}),
        ),
        (
            "multi_select",
            json!({"default": "x", "options": ["x", "y"]}),
        ),
        ("url", json!({"default": "http://example.com/"})),
        ("url", json!({"default": "https://10.0.0.1/"})),
        ("file", json!({"default": {"filename": "a"}})),
    ] {
        assert_problems(&field(kind, extra), &[("/fields/0/default", "bad_default")]);
    }
    let none = Form::from_value(&field(
        "text",
        json!({"default": "", "validation": {"minLength": 3}}),
    ))
    .unwrap();
    assert!(
        none.fields()[0].default().is_none(),
        "an empty text default means none"
    );
    let number = Form::from_value(&field("number", json!({"default": 5}))).unwrap();
    assert_eq!(number.check(&json!({})).unwrap().reveal().to_json()["a"], 5);
}

#[test]
fn hints_are_accepted_where_they_make_sense_and_refused_elsewhere() {
    let field = |kind: &str, rendering: Value| {
        let mut field = json!({"id": "a", "type": kind, "label": "A", "rendering": rendering});
        if kind.contains("select") {
            field["options"] = json!(["x", "y"]);
        }
        with_field(field)
    };
    let styles = [
        ("text", vec!["text", "password", "email", "tel"]),
        ("number", vec!["slider", "text"]),
        ("boolean", vec!["checkbox", "toggle", "radio"]),
        ("select", vec!["dropdown", "radio", "segmented"]),
        (
            "multi_select",
            vec!["checkbox", "multiselect_dropdown", "chips"],
        ),
        ("url", vec!["text"]),
        ("date", vec!["text"]),
        ("file", vec![]),
    ];
    for (kind, fitting) in &styles {
        for style in DisplayStyle::NAMES {
            let sound = Form::from_value(&field(kind, json!({"displayStyle": style}))).is_ok();
            assert_eq!(sound, fitting.contains(style), "{kind} as {style}");
        }
        for common in [
            json!({"placeholder": "p", "helpText": "h", "autocomplete": "name", "searchable": true}),
            json!({"inputType": "datetime_local", "rows": 3, "step": 0.5, "breakAfter": true}),
            json!({"gridColumn": 2, "gridRow": "span 2", "validationTrigger": "on_blur", "debounceMs": 300}),
            json!({"readonly": false, "hidden": false}),
        ] {
            assert_problems(&field(kind, common), &[]);
        }
    }
    for (kind, hint) in [
        (
            "file",
            json!({"acceptAttribute": "image/*", "dragAndDrop": true, "preview": true}),
        ),
        ("url", json!({"testButton": true})),
        (
            "date",
            json!({"displayFormat": "DD.MM.YYYY", "enableTime": true}),
        ),
    ] {
        assert_problems(&field(kind, hint.clone()), &[]);
        let misplaced = Form::from_value(&field("text", hint)).unwrap_err();
        assert!(
            misplaced
                .iter()
                .all(|p| p.code.to_string() == "not_applicable")
        );
    }
    for (hint, key, code) in [
        (json!({"rows": 0}), "rows", "bad_value"),
        (json!({"step": 0}), "step", "bad_value"),
        (json!({"gridColumn": "wide"}), "gridColumn", "bad_value"),
        (json!({"gridRow": 13}), "gridRow", "bad_value"),
        (
            json!({"validationTrigger": "always"}),
            "validationTrigger",
            "bad_value",
        ),
        (json!({"debounceMs": 60_001}), "debounceMs", "bad_value"),
        (json!({"readonly": "yes"}), "readonly", "wrong_type"),
        (json!({"inputType": "color"}), "inputType", "bad_value"),
    ] {
        assert_problems(
            &field("text", hint),
            &[(&format!("/fields/0/rendering/{key}"), code)],
        );
    }
    let accessible = |hints: Value| {
        with_field(json!({"id": "a", "type": "text", "label": "A", "accessibility": hints}))
    };
    let good = json!({"ariaLabel": "l", "ariaDescribedBy": "d", "tabIndex": -1, "required": true, "invalid": false});
    assert_problems(&accessible(good), &[]);
    assert_problems(
        &accessible(json!({"tabIndex": 1})),
        &[("/fields/0/accessibility/tabIndex", "bad_value")],
    );
}

#[test]
fn conditions_are_checked_against_the_fields_they_name() {
    let form = |condition: Value| {
        with_fields(json!([
            {"id": "kind", "type": "select", "label": "K", "options": ["a", "b"]},
            {"id": "n", "type": "number", "label": "N"},
            {"id": "file", "type": "file", "label": "F"},
            {"id": "x", "type": "text", "label": "X", "rendering": {"conditionalDisplay": condition}},
        ]))
    };
    let at = "/fields/3/rendering/conditionalDisplay";
    for (condition, below, code) in [
        (
            json!({"operator": "equals", "field": "kind", "value": "c"}),
            "/value",
            "never_true",
        ),
        (
            json!({"operator": "equals", "field": "n", "value": "many"}),
            "/value",
            "never_true",
        ),
        (
            json!({"operator": "gt", "field": "kind", "value": "a"}),
            "/operator",
            "not_applicable",
        ),
        (
            json!({"operator": "equals", "field": "file", "value": "a"}),
            "/operator",
            "not_applicable",
        ),
        (
            json!({"operator": "equals", "field": "kin", "value": "a"}),
            "/field",
            "unknown_field",
        ),
        (
            json!({"operator": "equals", "field": "kind"}),
            "/value",
            "missing_key",
        ),
        (
            json!({"operator": "is_empty", "field": "kind", "value": 1}),
            "/value",
            "unknown_key",
        ),
        (
            json!({"operator": "eqals", "field": "kind", "value": "a"}),
            "/operator",
            "bad_value",
        ),
        (
            json!({"operator": "and", "conditions": []}),
            "/conditions",
            "empty",
        ),
        (json!({"operator": "not"}), "/condition", "missing_key"),
        (
            json!({"operator": "in", "field": "n", "value": 3}),
            "/value",
            "wrong_type",
        ),
        (
            json!({"operator": "regex", "field": "kind", "value": "("}),
            "/value",
            "bad_pattern",
        ),
        (
            json!({"operator": "equals", "field": "x", "value": "a"}),
            "",
            "cycle",
        ),
        (json!("kind"), "", "wrong_type"),
    ] {
        let pointer = match code {
            "cycle" => "/fields/3".to_owned(),
            _ => format!("{at}{below}"),
        };
        assert_problems(&form(condition), &[(&pointer, code)]);
    }
}

#[test]
fn conditions_in_a_circle_are_named() {
    let shown_if = |id: &str, other: &str| {
        json!({"id": id, "type": "text", "label": "L",
               "rendering": {"conditionalDisplay": {"operator": "is_not_empty", "field": other}}})
    };
    let definition = with_fields(json!([
        shown_if("a", "b"),
        shown_if("b", "c"),
        shown_if("c", "a")
    ]));
    let problems = Form::from_value(&definition).unwrap_err();
    assert_eq!(problems.iter().len(), 1);
    assert!(problems.to_string().contains("a → b → c → a"), "{problems}");
}

#[test]
fn a_required_field_that_nobody_can_answer_is_a_problem() {
    for hint in ["hidden", "readonly"] {
        let field = json!({"id": "a", "type": "text", "label": "A", "required": true, "rendering": {hint: true}});
        assert_problems(&with_field(field), &[("/fields/0", "unanswerable")]);
    }
}

#[test]
fn timeouts_are_whole_positive_milliseconds() {
    let form = |timeout: Value| json!({"id": "f", "title": "F", "fields": [{"id": "a", "type": "text", "label": "A"}], "timeout": timeout});
    assert_problems(&form(json!(60_000)), &[]);
    assert_problems(
        &form(
            json!({"initial_timeout": 60_000, "extension_allowed": true, "extension_duration": 1000,
                     "max_extensions": 10, "warn_before": 5000}),
        ),
        &[],
    );
    for bad in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!("60"),
        json!(null),
        json!([]),
    ] {
        assert_problems(&form(bad), &[("/timeout", "bad_value")]);
    }
    for (timeout, key, code) in [
        (
            json!({"initial_timeout": 0}),
            "initial_timeout",
            "bad_value",
        ),
        (
            json!({"max_extensions": 101}),
            "max_extensions",
            "bad_value",
        ),
        (
            json!({"initial_timeout": 1000, "warn_before": 1000}),
            "warn_before",
            "contradiction",
        ),
        (json!({"warn": 1}), "warn", "unknown_key"),
    ] {
        assert_problems(&form(timeout), &[(&format!("/timeout/{key}"), code)]);
    }
}

#[test]
fn options_may_be_plain_or_titled_but_not_mixed_or_empty() {
    let form = |options: Value| {
        with_field(json!({"id": "a", "type": "select", "label": "A", "options": options}))
    };
    let at = |step: &str| format!("/fields/0/options{step}");
    assert_problems(&form(json!(["x", "y"])), &[]);
    assert_problems(&form(json!([{"value": "x", "title": "X"}])), &[]);
    assert_problems(&form(json!([])), &[(&at(""), "empty")]);
    assert_problems(&form(json!([1])), &[(&at("/0"), "wrong_type")]);
    assert_problems(&form(json!([""])), &[(&at("/0"), "empty")]);
    assert_problems(
        &form(json!([{"value": "x"}])),
        &[(&at("/0/title"), "missing_key")],
    );
    assert_problems(
        &form(json!([{"value": "x", "title": "X", "n": 1}])),
        &[(&at("/0/n"), "unknown_key")],
    );
    let none = with_field(json!({"id": "a", "type": "select", "label": "A"}));
    assert_problems(&none, &[(&at(""), "missing_key")]);
    let misplaced = with_field(json!({"id": "a", "type": "text", "label": "A", "options": ["x"]}));
    assert_problems(&misplaced, &[(&at(""), "not_applicable")]);
}

#[test]
fn rules_across_fields_are_checked_when_loaded() {
    let form = |rule: Value| {
        json!({"id": "f", "title": "F", "fields": [
            {"id": "a", "type": "number", "label": "A"},
            {"id": "b", "type": "text", "label": "B"},
            {"id": "c", "type": "text", "label": "C"},
        ], "validation": {"rules": [rule]}})
    };
    for (rule, below, code) in [
        (
            json!({"rule": "compare", "left": "a", "operator": "lt", "right": "b"}),
            "",
            "not_applicable",
        ),
        (
            json!({"rule": "compare", "left": "b", "operator": "lt", "right": "c"}),
            "/operator",
            "not_applicable",
        ),
        (
            json!({"rule": "compare", "left": "b", "operator": "is", "right": "c"}),
            "/operator",
            "bad_value",
        ),
        (
            json!({"rule": "at_least_one", "fields": ["a"]}),
            "/fields",
            "empty",
        ),
        (
            json!({"rule": "at_least_one", "fields": ["a", "a"]}),
            "/fields/1",
            "duplicate_id",
        ),
        (
            json!({"rule": "all_or_none", "fields": ["a", "z"]}),
            "/fields/1",
            "unknown_field",
        ),
        (json!({"rule": "exactly_one"}), "/fields", "missing_key"),
        (
            json!({"rule": "at_most_one", "fields": ["a", "b"]}),
            "/rule",
            "bad_value",
        ),
    ] {
        assert_problems(
            &form(rule),
            &[(&format!("/validation/rules/0{below}"), code)],
        );
    }
    assert_problems(
        &form(
            json!({"rule": "compare", "left": "b", "operator": "eq", "right": "c", "message": "m"}),
        ),
        &[],
    );
}

#[test]
fn a_form_reads_the_same_in_three_notations() {
    let json = r#"{"id":"f","title":"F","fields":[{"id":"n","type":"number","label":"N","validation":{"minimum":1}}]}"#;
    let yaml = "id: f\ntitle: F\nfields:\n  - id: n\n    type: number\n    label: N\n    validation: {minimum: 1}\n";
    let toml = "id = 'f'\ntitle = 'F'\n[[fields]]\nid = 'n'\ntype = 'number'\nlabel = 'N'\nvalidation = {minimum = 1}\n";
    let forms = [
        (json, Notation::Json),
        (yaml, Notation::Yaml),
        (toml, Notation::Toml),
    ]
    .map(|(text, notation)| Form::from_text(text, notation).unwrap());
    for form in &forms {
        assert_eq!(form.definition(), forms[0].definition());
        assert!(matches!(form.fields()[0].kind(), Kind::Number(_)));
        assert!(form.check(&json!({"n": 0})).is_err());
    }
}

#[test]
fn a_registered_validator_makes_its_name_known() {
    let definition = json!({"id": "f", "title": "F", "fields": [{"id": "a", "type": "text", "label": "A",
        "validation": {"messages": {"unique": "Taken"}}}],
        "validation": {"custom_validators": ["unique"]}});
    let mut validators = Validators::default();
    validators.register("uniqe", |_| Ok(()));
    let problems = Form::with_validators(&definition, &validators).unwrap_err();
    assert_eq!(
        problems.iter().next().unwrap().suggestion.as_deref(),
        Some("uniqe")
    );
    validators.register("unique", |_| Ok(()));
    assert!(Form::with_validators(&definition, &validators).is_ok());
}

#[test]
fn metadata_and_definition_come_back_untouched() {
    let definition = json!({"id": "f", "title": "F", "description": "D",
        "fields": [{"id": "a", "type": "text", "label": "A"}],
        "metadata": {"z": [1, {"y": null}], "a": 9_007_199_254_740_993_u64}});
    let form = Form::from_value(&definition).unwrap();
    assert_eq!(form.definition().to_string(), definition.to_string());
    assert_eq!(form.metadata(), Some(&definition["metadata"]));
    assert_eq!(form.description(), Some("D"));
}

#[test]
fn a_section_reaches_up_to_the_next() {
    let field = |id: &str, section: Option<&str>| {
        let mut field = json!({"id": id, "type": "text", "label": id});
        if let Some(section) = section {
            field["section"] = section.into();
        }
        field
    };
    let sections = |fields: Value| {
        let form = Form::from_value(&with_fields(fields)).unwrap();
        let sections = form.sections();
        sections
            .map(|section| (section.heading.map(str::to_owned), section.fields))
            .collect::<Vec<_>>()
    };
    let heading = |heading: &str| Some(heading.to_owned());
    assert_eq!(
        sections(json!([
            field("a", None),
            field("b", Some("First")),
            field("c", None),
            field("d", Some("Second")),
            field("e", Some("Second")),
        ])),
        [
            (None, 0..1),
            (heading("First"), 1..3),
            (heading("Second"), 3..4),
            (heading("Second"), 4..5),
        ]
    );
    assert_eq!(
        sections(json!([field("a", Some("All"))])),
        [(heading("All"), 0..1)]
    );
    assert_eq!(
        sections(json!([field("a", None), field("b", None)])),
        [(None, 0..2)]
    );
}

#[test]
fn a_section_has_a_heading_of_1_to_256_characters() {
    for (section, code) in [
        (json!(""), Some("empty")),
        (json!("é".repeat(256)), None),
        (json!("é".repeat(257)), Some("too_long")),
        (json!(7), Some("wrong_type")),
    ] {
        let definition =
            with_field(json!({"id": "a", "type": "text", "label": "A", "section": section}));
        let problem = code.map(|code| ("/fields/0/section", code));
        assert_problems(&definition, problem.as_slice());
    }
}
