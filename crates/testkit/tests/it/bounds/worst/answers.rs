//! Answers.

use entreat_core::Form;
use serde_json::{Value, json};

use super::fill;

/// Forms, and answers to them.
#[expect(clippy::too_many_lines, reason = "a flat table of cases")]
pub(crate) fn cases() -> Vec<(String, (Form, String))> {
    let form = |fields: &Value| {
        Form::from_value(&json!({"id": "f", "title": "F", "fields": fields}))
            .expect("the form is sound")
    };
    let options: Vec<String> = (0..9_000).map(|n| format!("o{n}")).collect();
    let choices =
        form(&json!([{"id": "m", "type": "multi_select", "label": "M", "options": options}]));
    let few =
        form(&json!([{"id": "m", "type": "multi_select", "label": "M", "options": ["a", "b"]}]));
    let files = form(
        &json!([{"id": "m", "type": "file", "label": "M", "validation": {"maxItems": 9_000}}]),
    );
    let number = form(
        &json!([{"id": "m", "type": "number", "label": "M", "validation": {"multipleOf": 0.001}}]),
    );
    let many: Vec<Value> = (0..100)
        .map(|n| {
            let pattern = if n < 5 {
                r"\p{L}*\p{N}*\p{L}*!$"
            } else {
                "[a-z]+!$"
            };
            json!({"id": format!("m{n}"), "type": "text", "label": "M", "required": true,
                "validation": {"maxLength": 100_000, "pattern": pattern}})
        })
        .collect();
    let many = form(&many.into());
    let unicode = form(&json!([{"id": "m", "type": "text", "label": "M",
        "validation": {"maxLength": 100_000, "pattern": r"(?i:\p{L}+ß*){3}[^a]{5}$"}}]));
    let readonly = form(
        &json!([{"id": "m", "type": "multi_select", "label": "M", "options": options,
        "default": options, "rendering": {"readonly": true}}]),
    );
    let whole = |part: &dyn Fn(usize) -> String| fill(r#"{"m":["#, part, "]}");
    let text = |part: &str| fill(r#"{"m":""#, |_| part.into(), r#""}"#);
    let cases = vec![
        (
            "wrong choices of many",
            choices.clone(),
            whole(&|n| format!(r#""x{n}","#)),
        ),
        (
            "right choices of many",
            choices.clone(),
            whole(&|n| format!(r#""o{n}","#)),
        ),
        (
            "one choice of many, repeated",
            choices.clone(),
            whole(&|_| r#""o1","#.into()),
        ),
        (
            "empty choices of many",
            choices.clone(),
            whole(&|_| r#""","#.into()),
        ),
        (
            "wrong choices of few",
            few.clone(),
            whole(&|_| r#""x","#.into()),
        ),
        ("no choices at all", few.clone(), whole(&|_| "1,".into())),
        ("readonly, changed", readonly, whole(&|_| r#""x","#.into())),
        (
            "files that are none",
            files.clone(),
            whole(&|_| "1,".into()),
        ),
        ("empty files", files.clone(), whole(&|_| "{},".into())),
        (
            "files",
            files.clone(),
            whole(&|_| r#"{"filename":"..","content_type":"?","size":-1,"content":"?"},"#.into()),
        ),
        (
            "one large file",
            files.clone(),
            fill(
                r#"{"m":{"filename":"a.png","content_type":"image/png","size":1,"content":""#,
                |_| "QUFB".into(),
                r#""}}"#,
            ),
        ),
        (
            "a file of many members",
            files,
            fill(r#"{"m":{"#, |n| format!(r#""k{n}":1,"#), "}}"),
        ),
        (
            "strangers",
            few.clone(),
            fill("{", |n| format!(r#""k{n}":1,"#), "}"),
        ),
        (
            "strangers in an envelope",
            few.clone(),
            fill(r#"{"responses":{"#, |n| format!(r#""k{n}":1,"#), "}}"),
        ),
        (
            "strangers beside an envelope",
            few.clone(),
            fill(r#"{"responses":{},"#, |n| format!(r#""k{n}":1,"#), "}"),
        ),
        (
            "another form",
            few.clone(),
            fill(r#"{"responses":{},"form_id":["#, |_| "[],".into(), "]}"),
        ),
        (
            "one key twice at the end",
            few.clone(),
            fill("{", |n| format!(r#""k{n}":1,"#), r#","m":[],"m":[]}"#),
        ),
        (
            "deep",
            few,
            format!(r#"{{"m":{}{}}}"#, "[".repeat(120), "]".repeat(120)),
        ),
        (
            "digits",
            number.clone(),
            fill(r#"{"m":"#, |_| "9".into(), "}"),
        ),
        (
            "digits after the point",
            number.clone(),
            fill(r#"{"m":0."#, |_| "9".into(), "}"),
        ),
        ("digits in a text", number.clone(), text("9")),
        (
            "digits of an exponent",
            number.clone(),
            fill(r#"{"m":1e"#, |_| "9".into(), "}"),
        ),
        (
            "digits of an exponent in a text",
            number.clone(),
            fill(r#"{"m":"1e-"#, |_| "9".into(), r#""}"#),
        ),
        ("a list for a number", number, whole(&|_| "1,".into())),
        (
            "a hundred texts",
            many.clone(),
            fill("{", |n| format!(r#""m{n}":"{}","#, "aß1".repeat(150)), "}"),
        ),
        (
            "one long text",
            many,
            fill(r#"{"m0":""#, |_| "aß1".into(), r#""}"#),
        ),
        ("escapes", unicode.clone(), text(r"\u00df")),
        ("letters", unicode.clone(), text("aß")),
        ("digits and letters", unicode, text("1a")),
    ];
    let mut cases: Vec<_> = cases
        .into_iter()
        .map(|(name, form, text): (&str, Form, String)| (name.to_owned(), (form, text)))
        .collect();
    for format in [
        "email",
        "uri",
        "hostname",
        "uuid",
        "ipv4",
        "ipv6",
        "date",
        "date-time",
    ] {
        let form = form(&json!([{"id": "m", "type": "text", "label": "M",
            "validation": {"format": format, "maxLength": 100_000}}]));
        for part in [
            "a",
            ".",
            "a.",
            "@",
            ":",
            "%",
            "%61",
            "é",
            "xn--a.",
            "0",
            "-",
            "/",
            "[",
            "\\\"",
            "2026-01-01T",
        ] {
            cases.push((format!("{format}: {part}"), (form.clone(), text(part))));
        }
    }
    for kind in ["url", "date"] {
        let rules = if kind == "url" {
            json!({"maxLength": 100_000})
        } else {
            json!({})
        };
        let form = form(&json!([{"id": "m", "type": kind, "label": "M", "validation": rules}]));
        for part in ["a", ".", "xn--a.", "%61", "é", "0", "/", "@", "?a=b&"] {
            cases.push((format!("{kind}: {part}"), (form.clone(), text(part))));
            let url = fill(r#"{"m":"https://"#, |_| part.into(), r#""}"#);
            cases.push((format!("{kind}: https://{part}"), (form.clone(), url)));
        }
    }
    cases
}
