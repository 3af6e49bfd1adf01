//! Malformed and extreme answers, for tests of robustness.

use serde_json::{Map, Value, json};

use super::Generator;

/// Each field with each nasty value in an otherwise valid answer, then answers that are odd
/// as a whole.
pub(super) fn answers(generator: &mut Generator) -> Vec<Value> {
    let base = generator.valid().unwrap_or_else(|| json!({}));
    let nasty = values();
    let mut answers = Vec::new();
    for field in generator.form.fields() {
        let options = field
            .kind()
            .options()
            .and_then(|options| options.values().next());
        let repeated = options.map(|option| json!([option, option, option]));
        for value in nasty.iter().chain(&repeated) {
            let mut answer = base.clone();
            answer[field.id()] = value.clone();
            answers.push(answer);
        }
    }
    answers.extend(envelopes(generator.form.id(), &base));
    generator.rng.shuffle(&mut answers);
    answers
}

fn values() -> Vec<Value> {
    let texts = [
        "",
        " ",
        "\u{feff}",
        "\0",
        "null",
        "NaN",
        "Infinity",
        "-0",
        "1e400",
        "0x10",
        "١٢٣",
        "true",
        "TRUE",
        "2026-02-30",
        "0000-00-00",
        "9999-12-31T23:59:60Z",
        "+275760-09-13",
        "javascript:alert(1)",
        "https://[::ffff:127.0.0.1]/",
        "https://user@example.com",
        "http:\\\\example.com",
        "https://\u{ff41}\u{ff42}.example/",
        "\u{202e}gnp.exe",
        "e\u{301}\u{327}",
        "👩‍👩‍👧‍👧",
        "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔",
        "<script>alert(1)</script>",
        "'; DROP TABLE answers; --",
        "{{7*7}}${7*7}",
        "../../etc/passwd",
        "a\r\nSet-Cookie: x=1",
    ];
    let mut values: Vec<Value> = texts.into_iter().map(Value::from).collect();
    values.extend([
        Value::Null,
        true.into(),
        false.into(),
        0.into(),
        (-0.0).into(),
        u64::MAX.into(),
        i64::MIN.into(),
        1e308.into(),
        5e-324.into(),
        0.1.into(),
        json!([]),
        json!([[]]),
        json!([null]),
        json!([""]),
        json!([1, "1", true]),
        json!({}),
        json!({"": ""}),
        json!({"__proto__": {"polluted": true}}),
        json!({"filename": "a", "content_type": "", "size": -1, "content": ""}),
        json!({"filename": "", "content_type": "image/png", "size": 1e99, "content": "===="}),
        json!({"filename": "a", "content_type": "image/png", "size": 0,
               "content": {"type": "local", "location": "/etc/passwd"}}),
        "x".repeat(100_000).into(),
        "\u{10ffff}".repeat(70_000).into(),
        Value::Array(vec!["x".into(); 10_000]),
        deep(100),
    ]);
    values
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

fn envelopes(id: &str, base: &Value) -> Vec<Value> {
    let many: Map<String, Value> = (0..2_000).map(|i| (format!("x{i}"), i.into())).collect();
    vec![
        Value::Null,
        true.into(),
        7.into(),
        "{}".into(),
        json!([]),
        json!([base]),
        json!({}),
        json!({"": base}),
        json!({"responses": null}),
        json!({"responses": []}),
        json!({"responses": {}}),
        json!({"responses": base}),
        json!({"responses": {"responses": base}}),
        json!({"form_id": id, "responses": base, "metadata": null}),
        json!({"form_id": id, "responses": base, "extra": 1}),
        json!({"form_id": id.to_uppercase(), "responses": base}),
        json!({"form_id": null, "responses": base}),
        json!({"form_id": {"a": 1}, "responses": base}),
        json!({"form_id": id}),
        many.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use entreat_testkit::samples;

    #[test]
    fn a_form_survives_hostile_answers_as_values_and_as_text() {
        let form = samples::comprehensive();
        let answers = Generator::new(&form, 1).hostile();
        assert!(answers.len() > 400);
        for answer in answers {
            let by_value = form.check(&answer).is_ok();
            let by_text = form.check_text(&answer.to_string()).is_ok();
            assert_eq!(by_value, by_text, "{answer:.200}");
        }
    }
}
