//! Validation: which answers pass, which don't, and the error messages.

use entreat_core::{Answer, Catalogue, CheckSettings, Form, ReferenceKind, Unknown, Violations};
use serde_json::{Value, json};

pub(crate) fn form(fields: Value) -> Form {
    Form::from_value(&json!({"id": "f", "title": "F", "fields": fields})).unwrap()
}

pub(crate) fn field(definition: Value) -> Form {
    let mut field = json!({"id": "a", "label": "A"});
    for (key, value) in definition.as_object().unwrap() {
        field[key] = value.clone();
    }
    form(json!([field]))
}

pub(crate) fn broken(violations: &Violations) -> Vec<(String, String)> {
    violations
        .iter()
        .map(|v| {
            (
                violations.field_of(v).to_owned(),
                v.constraint().key().to_owned(),
            )
        })
        .collect()
}

/// Checks both as parsed JSON and as text, which must agree.
#[track_caller]
pub(crate) fn check(form: &Form, answer: &Value) -> Result<Value, Vec<(String, String)>> {
    let text = answer.to_string();
    let parsed = form.check(answer);
    let parsed = match &parsed {
        Ok(answers) => Ok(Value::from(answers.reveal().to_json())),
        Err(violations) => Err(broken(violations)),
    };
    let read = match form.check_text(&text) {
        Ok(answers) => Ok(serde_json::to_value(answers.reveal()).unwrap()),
        Err(entreat_core::CheckError::Invalid(violations)) => Err(broken(&violations)),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(parsed, read, "parsed JSON and JSON text disagree on {text}");
    parsed
}

#[track_caller]
pub(crate) fn assert_passes(form: &Form, answer: Value, values: Value) {
    assert_eq!(check(form, &answer), Ok(values), "{answer}");
}

#[track_caller]
pub(crate) fn assert_breaks(form: &Form, answer: Value, expected: &[(&str, &str)]) {
    let found = check(form, &answer).expect_err("should be refused");
    let found: Vec<(&str, &str)> = found.iter().map(|(f, c)| (&**f, &**c)).collect();
    assert_eq!(found, expected, "{answer}");
}

#[track_caller]
pub(crate) fn assert_value_breaks(form: &Form, value: Value, constraint: &str) {
    assert_breaks(form, json!({"a": value}), &[("a", constraint)]);
}

#[track_caller]
pub(crate) fn assert_values_pass(form: &Form, values: &[Value]) {
    for value in values {
        let answer = json!({"a": value});
        assert!(
            check(form, &answer).is_ok(),
            "{answer}: {:?}",
            check(form, &answer)
        );
    }
}

#[test]
fn lengths_count_code_points() {
    let form = field(json!({"type": "text", "validation": {"minLength": 2, "maxLength": 2}}));
    assert_values_pass(&form, &[json!("ab"), json!("👍🏽"), json!("éé")]);
    assert_value_breaks(&form, json!("👍"), "minLength");
    assert_value_breaks(&form, json!("👍🏽!"), "maxLength");
    let unbounded = field(json!({"type": "text"}));
    assert_values_pass(&unbounded, &[json!("é".repeat(65_536))]);
    assert_value_breaks(&unbounded, json!("é".repeat(65_537)), "maxLength");
}

#[test]
fn numbers_keep_their_value_and_multiples_are_exact() {
    let form = field(json!({"type": "number", "validation": {"multipleOf": 0.1}}));
    assert_values_pass(&form, &[json!(0.3), json!("0.7"), json!(1e22), json!(-4)]);
    assert_value_breaks(&form, json!(0.35), "multipleOf");
    let plain = field(json!({"type": "number"}));
    for text in [
        "9007199254740993",
        "-9007199254740993",
        "18446744073709551615",
    ] {
        let answer = format!(r#"{{"a":{text}}}"#);
        let answers = plain.check_text(&answer).unwrap();
        assert_eq!(serde_json::to_string(&answers.reveal()).unwrap(), answer);
        let quoted = format!(r#"{{"a":"{text}"}}"#);
        let answers = plain.check_text(&quoted).unwrap();
        assert_eq!(serde_json::to_string(&answers.reveal()).unwrap(), answer);
    }
    let beyond = r#"{"a":123456789012345678901234567890123}"#;
    assert_eq!(
        serde_json::to_string(&plain.check_text(beyond).unwrap().reveal()).unwrap(),
        beyond
    );
    let bounded =
        field(json!({"type": "number", "validation": {"maximum": 9_007_199_254_740_992_u64}}));
    assert_value_breaks(&bounded, json!(9_007_199_254_740_993_u64), "maximum");
    assert_values_pass(&bounded, &[json!(9_007_199_254_740_992_u64)]);
}

#[test]
fn bounds_are_inclusive_unless_they_say_otherwise() {
    let form =
        field(json!({"type": "number", "validation": {"minimum": 1, "exclusiveMaximum": 2.5}}));
    assert_values_pass(
        &form,
        &[json!(1), json!(1.0), json!("2.4999"), json!("1.5e0")],
    );
    assert_value_breaks(&form, json!(0.999), "minimum");
    assert_value_breaks(&form, json!(2.5), "exclusiveMaximum");
    let other =
        field(json!({"type": "number", "validation": {"exclusiveMinimum": 0, "maximum": 1}}));
    assert_value_breaks(&other, json!(0), "exclusiveMinimum");
    assert_value_breaks(&other, json!(-0.0), "exclusiveMinimum");
    assert_value_breaks(&other, json!(1.0001), "maximum");
}

#[test]
fn typed_texts_become_numbers_and_booleans() {
    let number = field(json!({"type": "number"}));
    assert_passes(&number, json!({"a": "8080"}), json!({"a": 8080}));
    assert_passes(&number, json!({"a": "-1.5e3"}), json!({"a": -1500.0}));
    for bad in [
        json!("8080 "),
        json!("abc"),
        json!("0x1F"),
        json!("NaN"),
        json!("Infinity"),
        json!(true),
        json!([1]),
        json!({}),
    ] {
        assert_value_breaks(&number, bad, "type");
    }
    let boolean = field(json!({"type": "boolean"}));
    assert_passes(&boolean, json!({"a": "true"}), json!({"a": true}));
    assert_passes(&boolean, json!({"a": "false"}), json!({"a": false}));
    for bad in [
        json!("yes"),
        json!("TRUE"),
        json!(1),
        json!("1"),
        json!([true]),
    ] {
        assert_value_breaks(&boolean, bad, "type");
    }
}

#[test]
fn values_of_another_type_are_type_errors() {
    for kind in ["text", "url", "date"] {
        let form = field(json!({"type": kind}));
        for bad in [json!(1), json!(true), json!(["x"]), json!({"x": 1})] {
            assert_value_breaks(&form, bad, "type");
        }
    }
    let select = field(json!({"type": "select", "options": ["1", "2"]}));
    assert_value_breaks(&select, json!(1), "type");
    assert_value_breaks(&select, json!("3"), "enum");
    let multi = field(json!({"type": "multi_select", "options": ["x", "y"]}));
    assert_value_breaks(&multi, json!("x"), "type");
    assert_value_breaks(&multi, json!([1]), "type");
    assert_value_breaks(&multi, json!({"x": true}), "type");
}

#[test]
fn required_fields_need_an_answer_of_their_kind() {
    let cases = [
        (
            json!({"type": "text"}),
            vec![json!(null), json!(""), json!(" \t\n\u{a0}")],
        ),
        (json!({"type": "number"}), vec![json!(null), json!("")]),
        (json!({"type": "boolean"}), vec![json!(null), json!("")]),
        (
            json!({"type": "multi_select", "options": ["x"]}),
            vec![json!(null), json!([])],
        ),
        (
            json!({"type": "select", "options": ["x"]}),
            vec![json!(null), json!("")],
        ),
        (json!({"type": "date"}), vec![json!(null), json!("")]),
        (json!({"type": "url"}), vec![json!(null), json!("")]),
        (json!({"type": "file"}), vec![json!(null), json!([])]),
    ];
    for (mut definition, empties) in cases {
        definition["required"] = json!(true);
        let form = field(definition);
        assert_breaks(&form, json!({}), &[("a", "required")]);
        for empty in empties {
            assert_value_breaks(&form, empty, "required");
        }
    }
    let boolean = field(json!({"type": "boolean", "required": true}));
    assert_passes(&boolean, json!({"a": false}), json!({"a": false}));
    let with_default = field(json!({"type": "text", "required": true, "default": "x"}));
    assert_breaks(&with_default, json!({}), &[("a", "required")]);
    let blank_optional = field(json!({"type": "text"}));
    assert_passes(&blank_optional, json!({"a": " "}), json!({"a": " "}));
}

#[test]
fn an_absent_optional_field_takes_its_default_and_a_cleared_one_is_left_out() {
    let form = field(json!({"type": "text", "default": "x"}));
    assert_passes(&form, json!({}), json!({"a": "x"}));
    for cleared in [json!(null), json!(""), json!([])] {
        assert_passes(&form, json!({"a": cleared}), json!({}));
    }
}

#[test]
fn dates_are_days_that_exist_and_moments_have_an_offset() {
    let day = field(
        json!({"type": "date", "validation": {"minimum": "2024-01-01", "maximum": "2026-12-31"}}),
    );
    assert_values_pass(
        &day,
        &[
            json!("2024-02-29"),
            json!("2024-01-01"),
            json!("2026-12-31"),
        ],
    );
    for bad in [
        "2026-02-30",
        "2025-02-29",
        "tomorrow",
        "2026-01-01T00:00:00Z",
        "01.02.2026",
    ] {
        assert_value_breaks(&day, json!(bad), "format");
    }
    assert_value_breaks(&day, json!("2023-12-31"), "minimum");
    assert_value_breaks(&day, json!("2027-01-01"), "maximum");
    let moment = field(
        json!({"type": "date", "validation": {"format": "date-time", "minimum": "2026-01-01T00:00:00Z"}}),
    );
    assert_values_pass(
        &moment,
        &[
            json!("2026-01-01T01:00:00+01:00"),
            json!("2026-06-01t10:00:00.5z"),
        ],
    );
    assert_value_breaks(&moment, json!("2026-01-01T00:30:00+01:00"), "minimum");
    assert_value_breaks(&moment, json!("2026-01-01T00:00:00"), "format");
    let kept = "2026-01-01T01:00:00+01:00";
    assert_passes(&moment, json!({"a": kept}), json!({"a": kept}));
}

#[test]
fn formats_and_patterns_are_named_when_broken() {
    for (format, good, bad) in [
        ("email", "a+b@example.technology", "a@b@c"),
        ("uri", "https://example.com/x", "example.com"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("hostname", "example.com", "exa_mple"),
        ("ipv4", "192.0.2.1", "192.0.2.256"),
        ("ipv6", "2001:db8::1", "2001:db8::g"),
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-02-28T00:00:00Z", "2026-02-28"),
        ("time", "10:00:00Z", "10:00"),
    ] {
        let form = field(json!({"type": "text", "validation": {"format": format}}));
        assert_values_pass(&form, &[json!(good)]);
        assert_value_breaks(&form, json!(bad), "format");
    }
    let form = field(json!({"type": "text", "validation": {"pattern": "[0-9]", "minLength": 3}}));
    assert_values_pass(&form, &[json!("ab1cd")]);
    assert_breaks(
        &form,
        json!({"a": "x"}),
        &[("a", "minLength"), ("a", "pattern")],
    );
}

#[test]
fn an_explosive_pattern_is_answered_at_once() {
    let form =
        field(json!({"type": "text", "validation": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}));
    assert_value_breaks(&form, json!("a".repeat(60_000)), "pattern");
}

#[test]
fn selections_are_judged_item_by_item() {
    let form = field(
        json!({"type": "multi_select", "options": ["x", "y", "z"], "validation": {"minItems": 2, "maxItems": 2}}),
    );
    assert_passes(&form, json!({"a": ["z", "x"]}), json!({"a": ["z", "x"]}));
    assert_value_breaks(&form, json!(["x"]), "minItems");
    assert_value_breaks(&form, json!(["x", "y", "z"]), "maxItems");
    assert_value_breaks(&form, json!(["x", "x"]), "uniqueItems");
    assert_breaks(
        &form,
        json!({"a": ["q", "x", "r"]}),
        &[("a", "enum"), ("a", "enum"), ("a", "maxItems")],
    );
    let violations = form.check(&json!({"a": ["x", "q"]})).unwrap_err();
    let error = &violations.errors(&Catalogue::default().messages([]))[0];
    assert_eq!(serde_json::to_value(&error.path).unwrap(), json!(["a", 1]));
    let many: Vec<String> = (0..500).map(|i| format!("o{i}")).collect();
    let large = field(json!({"type": "multi_select", "options": many}));
    assert_passes(&large, json!({"a": many}), json!({"a": many}));
    let mut twice = many.clone();
    twice.push("o7".into());
    assert_value_breaks(&large, json!(twice), "uniqueItems");
}

#[test]
fn urls_pass_the_guard_or_name_the_rule() {
    let form = field(json!({"type": "url"}));
    assert_values_pass(
        &form,
        &[
            json!("https://example.com/a?b=c#d"),
            json!("https://1.1.1.1/"),
        ],
    );
    for (url, constraint) in [
        ("http://example.com/", "allowedSchemes"),
        ("javascript:alert(1)", "allowedSchemes"),
        ("https://localhost/", "blockLocalhost"),
        ("https://127.0.0.1/", "blockLocalhost"),
        ("https://[::1]/", "blockLocalhost"),
        ("https://2130706433/", "blockLocalhost"),
        ("https://10.0.0.1/", "blockPrivateIPs"),
        ("https://169.254.169.254/", "blockPrivateIPs"),
        ("https://printer.local/", "blockPrivateIPs"),
        ("https://[fd00::1]/", "blockPrivateIPs"),
        ("https://user:pw@example.com/", "format"),
        ("https://exa mple.com/", "format"),
        ("https://example.com:22/", "format"),
        ("https://example.com\\x", "format"),
        ("not a url", "format"),
        ("https://", "format"),
    ] {
        assert_value_breaks(&form, json!(url), constraint);
    }
    assert_value_breaks(
        &form,
        json!(format!("https://example.com/{}", "a".repeat(2048))),
        "maxLength",
    );
    let open = field(json!({"type": "url", "validation": {
        "allowedSchemes": ["HTTP", "https"], "blockPrivateIPs": false, "blockLocalhost": false}}));
    assert_values_pass(
        &open,
        &[json!("http://localhost:3000/"), json!("http://10.0.0.1/")],
    );
    let violations = form
        .check(&json!({"a": "ftp://example.com/"}))
        .map(drop)
        .unwrap_err();
    let error = &violations.errors(&Catalogue::default().messages([]))[0];
    assert_eq!(
        (&error.expected, error.actual.as_ref()),
        (&json!(["https"]), Some(&json!("ftp")))
    );
}

const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";

fn upload(name: &str, mime: &str, size: u64, content: Value) -> Value {
    json!({"filename": name, "content_type": mime, "size": size, "content": content})
}

#[test]
fn files_are_judged_by_size_type_ending_and_name() {
    let form = field(json!({"type": "file", "validation": {
        "maxSize": 20, "allowedMimeTypes": ["image/*", "text/plain"], "allowedExtensions": [".PNG", "txt"]}}));
    assert_values_pass(
        &form,
        &[
            upload("a.png", "image/png", 16, json!(PNG)),
            upload("B.TXT", "text/plain", 2, json!("aGk=")),
        ],
    );
    for (file, constraint) in [
        (upload("a.png", "image/png", 17, json!(PNG)), "size"),
        (
            upload("a.png", "text/plain", 16, json!(PNG)),
            "content_type",
        ),
        (
            upload("a.png", "image/jpeg", 16, json!(PNG)),
            "content_type",
        ),
        (
            upload("a.png", "image/png", 8, json!("JVBERi0xLjc=")),
            "allowedMimeTypes",
        ),
        (
            upload("a.png", "application/pdf", 8, json!("JVBERi0xLjc=")),
            "allowedMimeTypes",
        ),
        (
            upload("a.pdf", "image/png", 16, json!(PNG)),
            "allowedExtensions",
        ),
        (
            upload("png", "image/png", 16, json!(PNG)),
            "allowedExtensions",
        ),
        (upload("../a.png", "image/png", 16, json!(PNG)), "filename"),
        (upload("con.png", "image/png", 16, json!(PNG)), "filename"),
        (
            upload("a\u{0}.png", "image/png", 16, json!(PNG)),
            "filename",
        ),
        (
            upload(
                "a.txt",
                "text/plain",
                21,
                json!("aaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            ),
            "maxSize",
        ),
        (upload("a.txt", "text/plain", 2, json!("?")), "format"),
        (
            upload(
                "a.txt",
                "text/plain",
                2,
                json!({"type": "url", "location": "https://x.y/"}),
            ),
            "reference",
        ),
        (
            upload(
                "a.txt",
                "text/plain",
                2,
                json!({"type": "ftp", "location": "x"}),
            ),
            "type",
        ),
        (upload("a.txt", "text/plain", 2, json!(7)), "type"),
        (
            json!({"filename": "a.txt", "content_type": "text/plain", "size": 2}),
            "required",
        ),
        (
            json!({"filename": 1, "content_type": "text/plain", "size": 2, "content": "aGk="}),
            "type",
        ),
        (
            json!({"filename": "a.txt", "content_type": "text/plain", "size": -2, "content": "aGk="}),
            "type",
        ),
        (json!("aGk="), "type"),
        (
            json!([upload("B.TXT", "text/plain", 2, json!("aGk="))]),
            "type",
        ),
    ] {
        let label = file.to_string();
        let found = check(&form, &json!({"a": file})).expect_err(&label);
        assert!(
            found.contains(&("a".into(), constraint.into())),
            "{label}: {found:?}"
        );
    }
}

#[test]
fn several_files_are_a_list_and_references_need_a_setting() {
    let form = field(
        json!({"type": "file", "required": true, "validation": {"minItems": 2, "maxItems": 3}}),
    );
    let text = upload("a.txt", "text/plain", 2, json!("aGk="));
    assert_passes(
        &form,
        json!({"a": [text, text]}),
        json!({"a": [text, text]}),
    );
    assert_value_breaks(&form, json!([text]), "minItems");
    assert_value_breaks(&form, json!([text, text, text, text]), "maxItems");
    assert_value_breaks(&form, text.clone(), "type");

    let single = field(json!({"type": "file"}));
    let by_reference = json!({"a": upload("a.txt", "text/plain", 2, json!({"type": "s3", "location": "bucket/key"}))});
    assert_breaks(&single, by_reference.clone(), &[("a", "reference")]);
    let settings = CheckSettings {
        references: vec![ReferenceKind::S3],
        ..CheckSettings::default()
    };
    let answers = single.check_with(&by_reference, &settings).unwrap();
    assert_eq!(
        Value::from(answers.reveal().to_json()),
        by_reference,
        "handed on as it is"
    );
}

#[test]
fn unknown_fields_are_errors_or_ignored_as_the_asker_chose() {
    let form = field(json!({"type": "text"}));
    assert_breaks(
        &form,
        json!({"a": "x", "b": 1, "__proto__": {}}),
        &[
            ("b", "additionalProperties"),
            ("__proto__", "additionalProperties"),
        ],
    );
    let settings = CheckSettings {
        unknown: Unknown::Ignore,
        ..CheckSettings::default()
    };
    let answer = json!({"a": "x", "b": 1});
    assert_eq!(
        Value::from(
            form.check_with(&answer, &settings)
                .unwrap()
                .reveal()
                .to_json()
        ),
        json!({"a": "x"})
    );
}

#[test]
fn the_envelope_is_accepted_wherever_bare_answers_are() {
    let form = field(json!({"type": "text"}));
    assert_passes(
        &form,
        json!({"form_id": "f", "responses": {"a": "x"}, "metadata": {"any": 1}}),
        json!({"a": "x"}),
    );
    assert_passes(&form, json!({"responses": {"a": "x"}}), json!({"a": "x"}));
    assert_breaks(
        &form,
        json!({"form_id": "other", "responses": {"a": "x"}}),
        &[("form_id", "form_id")],
    );
    assert_breaks(
        &form,
        json!({"form_id": 1, "responses": {}}),
        &[("form_id", "form_id")],
    );
    assert_breaks(
        &form,
        json!({"responses": {}, "stray": 1}),
        &[("stray", "additionalProperties")],
    );
    // Even a field's own id is unknown there, and reported in its place.
    assert_breaks(
        &form,
        json!({"a": "x", "stray": 1, "responses": {"a": "x"}, "z": 1}),
        &[
            ("a", "additionalProperties"),
            ("stray", "additionalProperties"),
            ("z", "additionalProperties"),
        ],
    );
    let own = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
        {"id": "responses", "type": "text", "label": "R"}, {"id": "form_id", "type": "text", "label": "I"}]})).unwrap();
    assert_passes(
        &own,
        json!({"responses": "many", "form_id": "x"}),
        json!({"responses": "many", "form_id": "x"}),
    );
}

#[test]
fn errors_come_in_field_order_and_in_the_wire_format() {
    let form = form(json!([
        {"id": "api_key", "type": "text", "label": "API Key", "validation": {"minLength": 32}},
        {"id": "port", "type": "number", "label": "Port", "validation": {"maximum": 65535, "messages": {"maximum": "No such port"}}},
        {"id": "region", "type": "select", "label": "Region", "options": ["eu", "us"]},
    ]));
    let answer = json!({"stray": 1, "region": "mars", "port": 70000, "api_key": "x".repeat(20)});
    let violations = form.check(&answer).unwrap_err();
    let errors =
        serde_json::to_value(violations.errors(&Catalogue::default().messages(["en"]))).unwrap();
    assert_eq!(
        errors,
        json!([
            {"field": "api_key", "code": -32007, "message": "API Key must be at least 32 characters",
             "constraint": "minLength", "expected": 32, "actual": 20, "path": ["api_key"]},
            {"field": "port", "code": -32007, "message": "No such port",
             "constraint": "maximum", "expected": 65535, "actual": 70000, "path": ["port"]},
            {"field": "region", "code": -32007, "message": "Region must be one of: eu, us",
             "constraint": "enum", "expected": ["eu", "us"], "actual": "mars", "path": ["region"]},
            {"field": "stray", "code": -32007, "message": "stray is not a field of this form",
             "constraint": "additionalProperties", "path": ["stray"]},
        ])
    );
    let german = violations.errors(&Catalogue::default().messages(["de-CH"]));
    assert_eq!(
        german[0].message,
        "API Key muss mindestens 32 Zeichen lang sein"
    );
    assert_eq!(
        german[1].message, "No such port",
        "the author's own words win"
    );
}

#[test]
fn a_secret_appears_nowhere_but_where_it_is_revealed() {
    let secret = "hunter2-hunter2";
    for definition in [
        json!({"type": "text", "sensitive": true}),
        json!({"type": "text", "rendering": {"inputType": "password"}}),
        json!({"type": "text", "rendering": {"displayStyle": "password"}}),
    ] {
        let mut strict = definition.clone();
        strict["validation"] = json!({"maxLength": 3, "pattern": "^x$", "format": "email"});
        let answer = json!({"a": secret});
        let form = field(strict);
        let violations = form.check(&answer).unwrap_err();
        let errors = violations.errors(&Catalogue::default().messages([]));
        assert_eq!(errors.len(), 3);
        assert!(errors.iter().all(|error| error.actual.is_none()));
        for text in [
            serde_json::to_string(&errors).unwrap(),
            format!("{violations:?}"),
            violations.to_string(),
        ] {
            assert!(!text.contains(secret), "{text}");
        }
        let form = field(definition);
        let answers = form.check(&answer).unwrap();
        for text in [
            format!("{answers:?}"),
            serde_json::to_string(&answers.sealed()).unwrap(),
        ] {
            assert!(
                !text.contains(secret) && text.contains("[sealed]"),
                "{text}"
            );
        }
        assert_eq!(answers.get("a"), Some(&Answer::Text(secret.into())));
        assert_eq!(answers.reveal().to_json()["a"], secret);
    }
    let wrong_type = field(json!({"type": "number", "sensitive": true}));
    let violations = wrong_type
        .check(&json!({"a": secret}))
        .map(drop)
        .unwrap_err();
    assert!(!format!("{violations:?}").contains(secret));
}
