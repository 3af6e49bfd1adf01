//! Invalid input: a clear error in bounded time and memory.

use std::fmt::Write as _;

use entreat_core::document::Notation;
use entreat_core::schema::import;
use entreat_core::{CheckError, Form};
use serde_json::json;

#[track_caller]
fn code_of(text: &str, notation: Notation) -> String {
    let problems = Form::from_text(text, notation).unwrap_err();
    problems.iter().next().unwrap().code.to_string()
}

#[test]
fn definitions_beyond_every_limit_are_refused_clearly() {
    let ten_megabytes = format!(
        r#"{{"id":"f","title":"{}","fields":[]}}"#,
        "x".repeat(10_000_000)
    );
    assert_eq!(code_of(&ten_megabytes, Notation::Json), "too_large");

    let mut many = String::from(r#"{"id":"f","title":"F","fields":["#);
    for i in 0..100_000 {
        let _ = write!(many, "{}1", if i > 0 { "," } else { "" });
    }
    many.push_str("]}");
    assert_eq!(code_of(&many, Notation::Json), "too_long");

    let deep = format!(
        r#"{{"id":"f","title":"F","metadata":{}1{}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    assert_eq!(code_of(&deep, Notation::Json), "syntax");

    let pattern = format!(
        r#"{{"id":"f","title":"F","fields":[{{"id":"a","type":"text","label":"A","validation":{{"pattern":"{}"}}}}]}}"#,
        "a".repeat(1_000_000)
    );
    assert_eq!(code_of(&pattern, Notation::Json), "bad_pattern");

    for (text, code) in [
        (
            r#"{"id":"f","id":"g","title":"F","fields":[]}"#,
            "duplicate_key",
        ),
        (r#"{"id":"f","title":"\ud800","fields":[]}"#, "syntax"),
        (
            r#"{"id":"f","title":"F","timeout":1e400,"fields":[]}"#,
            "syntax",
        ),
        (
            r#"{"id":"f","title":"F","timeout":NaN,"fields":[]}"#,
            "syntax",
        ),
        (r#"{"id":"f\u0000","title":"F","fields":[]}"#, "bad_value"),
        ("", "syntax"),
        ("null", "wrong_type"),
        ("\u{feff}[]", "wrong_type"),
    ] {
        assert_eq!(code_of(text, Notation::Json), code, "{text}");
    }
}

#[test]
fn conditions_nested_to_the_limit_do_not_overflow_the_stack() {
    let nested = (0..60).fold(
        r#"{"operator":"is_empty","field":"a"}"#.to_owned(),
        |inner, _| format!(r#"{{"operator":"not","condition":{inner}}}"#),
    );
    let definition = format!(
        r#"{{"id":"f","title":"F","fields":[{{"id":"a","type":"text","label":"A"}},
        {{"id":"b","type":"text","label":"B","rendering":{{"conditionalDisplay":{nested}}}}}]}}"#
    );
    let form = Form::from_text(&definition, Notation::Json).unwrap();
    assert!(form.check(&json!({"b": "x"})).unwrap().get("b").is_some());
}

#[test]
fn answers_that_are_no_json_or_say_things_twice_are_unreadable() {
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "n", "type": "number", "label": "N"},
        {"id": "m", "type": "multi_select", "label": "M", "options": ["x", "y"]},
    ]}))
    .unwrap();
    for text in [
        "",
        "{",
        r#"{"n":NaN}"#,
        r#"{"n":1,"n":2}"#,
        r#"{"x":1,"x":2}"#,
        r#"{"n":1}}"#,
        r#"{"n":01}"#,
        r#"{"m":["\udc00"]}"#,
        r#"{"m":[{"a":1,"a":2}]}"#,
        r#"{"responses":{"n":1,"n":2}}"#,
        &format!(r#"{{"m":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000)),
    ] {
        assert!(
            matches!(form.check_text(text), Err(CheckError::Unreadable(_))),
            "{text:.60}"
        );
    }
    for text in [
        r#"{"n":1e400}"#,
        r#"{"n":"NaN"}"#,
        r#"{"n":"1e400"}"#,
        "[]",
        "3",
        r#""x""#,
        "null",
        r#"{"n":99999999999999999999999999999999999999999}"#,
    ] {
        assert!(
            matches!(form.check_text(text), Err(CheckError::Invalid(_))),
            "{text}"
        );
    }
}

#[test]
fn a_long_answer_is_cut_where_it_is_shown() {
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "a", "type": "text", "label": "A", "validation": {"pattern": "^x$"}},
        {"id": "n", "type": "number", "label": "N"},
    ]}))
    .unwrap();
    let answer = json!({"a": "é".repeat(60_000), "n": vec![json!({"k": "v"}); 1000]});
    let violations = form.check(&answer).unwrap_err();
    for violation in violations.iter() {
        assert_eq!(
            violation
                .actual()
                .unwrap()
                .as_str()
                .unwrap()
                .chars()
                .count(),
            256
        );
    }
}

#[test]
fn wrong_items_without_end_are_told_twenty_times() {
    let options: Vec<String> = (0..1000).map(|n| format!("o{n}")).collect();
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "m", "type": "multi_select", "label": "M", "options": options,
         "validation": {"maxItems": 3}},
        {"id": "n", "type": "number", "label": "N", "required": true},
    ]}))
    .unwrap();
    let violations = form.check(&json!({"m": vec!["x"; 5000]})).unwrap_err();
    let count = |key: &str| {
        let keys = violations.iter().map(|v| v.constraint().key());
        keys.filter(|found| *found == key).count()
    };
    assert_eq!(count("enum") + count("uniqueItems"), 20);
    assert_eq!((count("maxItems"), count("required")), (1, 1));
}

#[test]
fn problems_below_a_long_key_take_bounded_memory() {
    let key = "k".repeat(30_000);
    let repeated = format!(r#"{{"{key}":{{{}"a":1}}}}"#, r#""a":1,"#.repeat(5000));
    let actions = format!(
        r#"{{"id":"f","title":"F","fields":[],"validation":{{"dependencies":{{"{key}":[{}1]}}}}}}"#,
        "1,".repeat(10_000)
    );
    for text in [repeated, actions] {
        let problems = Form::from_text(&text, Notation::Json).unwrap_err();
        let bytes: usize = problems.iter().map(|p| p.pointer.len()).sum();
        assert!(bytes < 9 * 1024 * 1024, "{bytes}");
    }
    let mut property = json!({"type": "string"});
    for n in 0..5000 {
        property[n.to_string()] = 1.into();
    }
    let notices = import(&json!({"properties": {key: property}}))
        .unwrap()
        .notices;
    let bytes: usize = notices
        .iter()
        .map(|n| n.pointer.len() + n.message.len())
        .sum();
    assert!(bytes < 9 * 1024 * 1024, "{bytes}");
}

#[test]
fn schemas_of_any_shape_import_or_are_refused() {
    for schema in [
        json!(null),
        json!([]),
        json!("x"),
        json!({"type": "array"}),
        json!({"type": 3}),
    ] {
        assert!(import(&schema).is_err(), "{schema}");
    }
    for schema in [
        json!({}),
        json!({"type": "object"}),
        json!({"properties": 3}),
        json!({"properties": {"": {}, "a/b~c": true, "x": null, "n": {"type": ["string", "null"]}}}),
        json!({"properties": {"a": {"type": "string", "minLength": 9, "maxLength": 1}}}),
        json!({"properties": {"a": {"type": "string", "pattern": "(?=x)", "default": 3}}}),
        json!({"properties": {"a": {"type": "string", "enum": []}}}),
        json!({"properties": {"a": {"type": "string", "enum": ["x", "x", 1]}}}),
        json!({"properties": {"a": {"type": "number", "minimum": 3, "maximum": 1, "multipleOf": 0}}}),
        json!({"properties": {"a": {"type": "array", "items": {"enum": ["x"]}, "minItems": 9, "default": ["z"]}}}),
        json!({"properties": {"a": {"type": "object", "properties": {"b": {}}}}, "allOf": [1], "required": [1, "z"]}),
        json!({"properties": {"a": {"type": "string"}}, "allOf": [{"if": {"required": ["zz"]}, "then": {"properties": {"a": {}}}}]}),
    ] {
        let import = import(&schema).unwrap_or_else(|e| panic!("{schema}: {e}"));
        let again = Form::from_value(import.form.definition());
        assert!(
            again.is_ok(),
            "an imported form can be loaded again: {schema}"
        );
    }
}
