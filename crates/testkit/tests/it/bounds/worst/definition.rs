//! Definitions.

use serde_json::json;

use super::{Case, MAX_BYTES, fill, named};

const JSON: char = '0';
const YAML: char = '1';
const TOML: char = '2';

fn input(notation: char, text: &str) -> Vec<u8> {
    format!("{notation}{text}").into_bytes()
}

fn filled(notation: char, head: &str, part: impl Fn(usize) -> String, tail: &str) -> Vec<u8> {
    input(notation, &fill(head, part, tail))
}

const HEAD: &str = r#"{"id":"f","title":"F","fields":["#;

/// One text field, then whatever is asked.
fn fields(part: impl Fn(usize) -> String) -> Vec<u8> {
    let head = format!(r#"{HEAD}{{"id":"a","type":"text","label":"A"}},"#);
    input(JSON, &fill(&head, part, "]}"))
}

/// A form with one text field and as much under a key of `validation` as fits.
fn validation(head: &str, part: impl Fn(usize) -> String, tail: &str) -> Vec<u8> {
    let head = format!(
        r#"{HEAD}{{"id":"a","type":"text","label":"A"}},{{"id":"b","type":"text","label":"B"}}],"validation":{{{head}"#
    );
    input(JSON, &fill(&head, part, &format!("{tail}}}}}")))
}

/// As many fields with this pattern as a form may have.
fn patterns(pattern: &str) -> Vec<u8> {
    fields(|n| {
        if n >= 99 {
            return " ".repeat(MAX_BYTES);
        }
        let rules = json!({"pattern": pattern});
        format!(r#"{{"id":"p{n}","type":"text","label":"P","validation":{rules}}},"#)
    })
}

/// One field with one pattern of this text, repeated up to its own limit.
fn long_pattern(part: &str) -> Vec<u8> {
    let pattern = part.repeat(8 * 1024 / part.len());
    let field =
        json!({"id": "p", "type": "text", "label": "P", "validation": {"pattern": pattern}});
    input(JSON, &format!("{HEAD}{field}]}}"))
}

#[expect(clippy::too_many_lines, reason = "a flat table of cases")]
pub(crate) fn cases() -> Vec<Case> {
    let deep = MAX_BYTES / 2 - 100;
    let cases = vec![
        ("nothing but brackets", input(JSON, &"[".repeat(MAX_BYTES))),
        ("yaml: brackets", input(YAML, &"[".repeat(MAX_BYTES))),
        (
            "yaml: closed brackets",
            input(YAML, &format!("{}{}", "[".repeat(deep), "]".repeat(deep))),
        ),
        ("yaml: braces", input(YAML, &"{".repeat(MAX_BYTES))),
        ("yaml: dashes", input(YAML, &"- ".repeat(MAX_BYTES / 2))),
        (
            "yaml: question marks",
            input(YAML, &"? ".repeat(MAX_BYTES / 2)),
        ),
        ("yaml: colons", input(YAML, &"a: ".repeat(MAX_BYTES / 3))),
        (
            "yaml: indentation",
            filled(YAML, "", |n| format!("{}a:\n", " ".repeat(n)), ""),
        ),
        (
            "yaml: many keys",
            filled(YAML, "", |n| format!("k{n}: 1\n"), ""),
        ),
        (
            "yaml: one key again and again",
            filled(YAML, "", |_| "k: 1\n".into(), ""),
        ),
        (
            "yaml: aliases that double",
            filled(
                YAML,
                "a0: &a0 [x,x]\n",
                |n| {
                    let next = n + 1;
                    format!("a{next}: &a{next} [*a{n},*a{n}]\n")
                },
                "",
            ),
        ),
        (
            "yaml: aliases of a long text",
            filled(
                YAML,
                &format!("a: &a {}\nb: [", "x".repeat(MAX_BYTES / 2)),
                |_| "*a,".into(),
                "]",
            ),
        ),
        (
            "yaml: aliases of a long list",
            filled(
                YAML,
                &format!("a: &a [{}]\nb: [", "x,".repeat(1000)),
                |_| "*a,".into(),
                "]",
            ),
        ),
        (
            "yaml: aliases in fields",
            filled(
                YAML,
                &format!(
                    "id: f\ntitle: F\nfields:\n- &f {{id: a, type: select, label: A, options: [{}]}}\n",
                    (0..2000).fold(String::new(), |list, n| format!("{list}o{n},"))
                ),
                |_| "- *f\n".into(),
                "",
            ),
        ),
        (
            "yaml: merge keys",
            filled(
                YAML,
                "a: &a {x: 1, y: 2, z: 3}\nb:\n",
                |_| "  - {<<: *a}\n".into(),
                "",
            ),
        ),
        (
            "yaml: anchors",
            filled(YAML, "[", |n| format!("&a{n} x,"), "]"),
        ),
        (
            "yaml: folded text",
            filled(YAML, "a: >\n", |_| "  x\n\n".into(), ""),
        ),
        (
            "yaml: quoted escapes",
            filled(YAML, "a: \"", |_| "\\u00e9".into(), "\""),
        ),
        ("yaml: comments", filled(YAML, "", |_| "#\n".into(), "")),
        ("yaml: documents", filled(YAML, "", |_| "---\n".into(), "")),
        ("yaml: tags", filled(YAML, "[", |_| "!!str x,".into(), "]")),
        (
            "toml: tables",
            filled(TOML, "", |n| format!("[t{n}]\n"), ""),
        ),
        (
            "toml: lists of tables",
            filled(TOML, "", |_| "[[fields]]\n".into(), ""),
        ),
        (
            "toml: dotted keys",
            filled(TOML, "a", |_| ".a".into(), "=1"),
        ),
        (
            "toml: dotted tables",
            filled(TOML, "[a", |_| ".a".into(), "]"),
        ),
        (
            "toml: deep tables",
            filled(TOML, "", |n| format!("[a{}]\n", ".a".repeat(n)), ""),
        ),
        (
            "toml: brackets",
            input(TOML, &format!("a={}", "[".repeat(MAX_BYTES - 2))),
        ),
        (
            "toml: inline tables",
            filled(TOML, "x=", |_| "{a=".into(), ""),
        ),
        (
            "toml: many keys",
            filled(TOML, "", |n| format!("k{n}=1\n"), ""),
        ),
        (
            "toml: wide tables in tables",
            filled(TOML, "", |n| format!("a.b{n}.c=1\n"), ""),
        ),
        (
            "duplicates under a long key",
            filled(
                JSON,
                &format!(r#"{{"{}":{{"#, "k".repeat(MAX_BYTES / 2)),
                |_| r#""a":1,"#.into(),
                "}}",
            ),
        ),
        (
            "unknown keys",
            filled(JSON, "{", |n| format!(r#""k{n}":1,"#), "}"),
        ),
        (
            "unknown keys under a long key",
            filled(
                JSON,
                &format!(
                    r#"{HEAD}{{"id":"a","type":"text","label":"A"}}],"validation":{{"dependencies":{{"{}":{{"#,
                    "k".repeat(MAX_BYTES / 2)
                ),
                |n| format!(r#""{n}":1,"#),
                "}}}}",
            ),
        ),
        (
            "broken actions under a long key",
            filled(
                JSON,
                &format!(
                    r#"{HEAD}{{"id":"a","type":"text","label":"A"}}],"validation":{{"dependencies":{{"{}":["#,
                    "k".repeat(MAX_BYTES / 2)
                ),
                |_| "1,".into(),
                "]}}}",
            ),
        ),
        (
            "unknown keys near the known ones",
            fields(|n| format!(r#"{{"labe{n}":1,"typ{n}":1}},"#)),
        ),
        (
            "numbers for fields",
            filled(JSON, HEAD, |_| "1,".into(), "]}"),
        ),
        (
            "a hundred empty fields",
            fields(|n| {
                if n > 98 {
                    " ".repeat(MAX_BYTES)
                } else {
                    "{},".into()
                }
            }),
        ),
        (
            "a field with unknown keys only",
            filled(
                JSON,
                &format!("{HEAD}{{"),
                |n| format!(r#""k{n}":1,"#),
                "}]}",
            ),
        ),
        (
            "options",
            filled(
                JSON,
                &format!(r#"{HEAD}{{"id":"s","type":"select","label":"S","options":["#),
                |n| format!(r#""o{n}","#),
                "]}]}",
            ),
        ),
        (
            "titled options",
            filled(
                JSON,
                &format!(r#"{HEAD}{{"id":"s","type":"multi_select","label":"S","options":["#),
                |n| format!(r#"{{"value":"o{n}","title":"O"}},"#),
                "]}]}",
            ),
        ),
        (
            "the same option",
            filled(
                JSON,
                &format!(r#"{HEAD}{{"id":"s","type":"select","label":"S","options":["#),
                |_| r#""o","#.into(),
                "]}]}",
            ),
        ),
        (
            "options of no type",
            filled(
                JSON,
                &format!(r#"{HEAD}{{"id":"s","type":"select","label":"S","options":["#),
                |_| "1,".into(),
                "]}]}",
            ),
        ),
        (
            "a default with wrong choices",
            filled(
                JSON,
                &format!(
                    r#"{HEAD}{{"id":"s","type":"multi_select","label":"S","options":["a"],"default":["#
                ),
                |n| format!(r#""o{n}","#),
                "]}]}",
            ),
        ),
        (
            "a condition with a long list",
            fields(|n| {
                if n > 0 {
                    " ".repeat(MAX_BYTES)
                } else {
                    let values = fill("", |n| format!(r#""v{n}","#), &" ".repeat(400));
                    let values = values.trim_end().trim_end_matches(',');
                    format!(
                        r#"{{"id":"b","type":"text","label":"B","rendering":{{"conditionalDisplay":{{"operator":"in","field":"a","value":[{values}]}}}}}},"#
                    )
                }
            }),
        ),
        (
            "a chain of conditions",
            fields(|n| {
                if n > 98 {
                    " ".repeat(MAX_BYTES)
                } else {
                    let before = if n == 0 {
                        "a".to_owned()
                    } else {
                        format!("c{}", n - 1)
                    };
                    format!(
                        r#"{{"id":"c{n}","type":"text","label":"C","rendering":{{"conditionalDisplay":{{"operator":"is_empty","field":"{before}"}}}}}},"#
                    )
                }
            }),
        ),
        (
            "a chain that forks",
            fields(|n| {
                if n > 98 {
                    " ".repeat(MAX_BYTES)
                } else {
                    let before = if n == 0 {
                        "a".to_owned()
                    } else {
                        format!("c{}", n - 1)
                    };
                    let test = format!(r#"{{"operator":"is_empty","field":"{before}"}}"#);
                    format!(
                        r#"{{"id":"c{n}","type":"text","label":"C","rendering":{{"conditionalDisplay":{{"operator":"or","conditions":[{test},{test},{test},{test}]}}}}}},"#
                    )
                }
            }),
        ),
        (
            "a circle of conditions",
            fields(|n| {
                if n > 98 {
                    " ".repeat(MAX_BYTES)
                } else {
                    let next = (n + 1) % 99;
                    let test = format!(r#"{{"operator":"is_empty","field":"c{next}"}}"#);
                    format!(
                        r#"{{"id":"c{n}","type":"text","label":"C","rendering":{{"conditionalDisplay":{{"operator":"or","conditions":[{test},{test},{test},{test}]}}}}}},"#
                    )
                }
            }),
        ),
        (
            "conditions nested",
            fields(|n| {
                if n > 9 {
                    " ".repeat(MAX_BYTES)
                } else {
                    let nested = (0..50).fold(
                        r#"{"operator":"is_empty","field":"a"}"#.to_owned(),
                        |inner, _| format!(r#"{{"operator":"not","condition":{inner}}}"#),
                    );
                    format!(
                        r#"{{"id":"c{n}","type":"text","label":"C","rendering":{{"conditionalDisplay":{nested}}}}},"#
                    )
                }
            }),
        ),
        (
            "conditions on no field",
            validation(
                r#""dependencies":{"a":["#,
                |n| {
                    format!(
                        r#"{{"condition":{{"operator":"is_empty","field":"x{n}"}},"action":"show"}},"#
                    )
                },
                "]}",
            ),
        ),
        (
            "actions",
            validation(
                r#""dependencies":{"a":["#,
                |_| r#"{"condition":{"operator":"is_empty","field":"b"},"action":"show"},"#.into(),
                "]}",
            ),
        ),
        (
            "conditions with patterns",
            validation(
                r#""dependencies":{"a":["#,
                |n| {
                    format!(
                        r#"{{"condition":{{"operator":"regex","field":"b","value":"^a{n}+$"}},"action":"show"}},"#
                    )
                },
                "]}",
            ),
        ),
        (
            "conditions with large patterns",
            validation(
                r#""dependencies":{"a":["#,
                |_| {
                    r#"{"condition":{"operator":"regex","field":"b","value":"\\p{L}{100}"},"action":"show"},"#.into()
                },
                "]}",
            ),
        ),
        (
            "rules",
            validation(
                r#""rules":["#,
                |_| r#"{"rule":"at_least_one","fields":["a","b"]},"#.into(),
                "]",
            ),
        ),
        (
            "a rule over unknown fields",
            validation(
                r#""rules":[{"rule":"at_least_one","fields":["#,
                |n| format!(r#""x{n}","#),
                "]}]",
            ),
        ),
        (
            "a rule over the same field",
            validation(
                r#""rules":[{"rule":"at_least_one","fields":["#,
                |_| r#""a","#.into(),
                "]}]",
            ),
        ),
        (
            "custom validators",
            validation(r#""custom_validators":["#, |n| format!(r#""v{n}","#), "]"),
        ),
        (
            "messages for unknown rules",
            fields(|n| {
                if n > 0 {
                    " ".repeat(MAX_BYTES)
                } else {
                    let messages = fill("", |n| format!(r#""m{n}":"x","#), &" ".repeat(300));
                    let messages = messages.trim_end().trim_end_matches(',');
                    format!(
                        r#"{{"id":"b","type":"text","label":"B","validation":{{"messages":{{{messages}}}}}}},"#
                    )
                }
            }),
        ),
        (
            "imported: thousands of fields",
            filled(
                JSON,
                r#"{"id":"f","title":"F","metadata":{"entreat:imported":{}},"fields":["#,
                |n| format!(r#"{{"id":"{n}","type":"text","label":""}},"#),
                "]}",
            ),
        ),
        (
            "imported: thousands of nested fields",
            input(JSON, &{
                let ids = (0..1000).fold(String::new(), |list, n| format!(r#"{list}"{n}","#));
                let ids = ids.trim_end_matches(',');
                fill(
                    &format!(
                        r#"{{"id":"f","title":"F","metadata":{{"entreat:imported":{{"json":[{ids}]}}}},"fields":["#
                    ),
                    |n| format!(r#"{{"id":"{n}","type":"text","label":""}},"#),
                    "]}",
                )
            }),
        ),
        (
            "imported: a chain of conditions",
            filled(
                JSON,
                r#"{"id":"f","title":"F","metadata":{"entreat:imported":{}},"fields":[{"id":"0","type":"text","label":""},"#,
                |n| {
                    let next = n + 1;
                    format!(
                        r#"{{"id":"{next}","type":"text","label":"","rendering":{{"conditionalDisplay":{{"operator":"is_empty","field":"{n}"}}}}}},"#
                    )
                },
                "]}",
            ),
        ),
        (
            "imported: a circle of conditions",
            filled(
                JSON,
                r#"{"id":"f","title":"F","metadata":{"entreat:imported":{}},"fields":["#,
                |n| {
                    format!(
                        r#"{{"id":"{n}","type":"text","label":"","rendering":{{"conditionalDisplay":{{"operator":"is_empty","field":"{}"}}}}}},"#,
                        (n + 1) % 500
                    )
                },
                "]}",
            ),
        ),
        (
            "imported: everybody looks at a circle",
            filled(
                JSON,
                r#"{"id":"f","title":"F","metadata":{"entreat:imported":{}},"fields":["#,
                |n| {
                    let test =
                        |place: usize| format!(r#"{{"operator":"is_empty","field":"{place}"}}"#);
                    format!(
                        r#"{{"id":"{n}","type":"text","label":"","rendering":{{"conditionalDisplay":{{"operator":"or","conditions":[{},{},{}]}}}}}},"#,
                        test(n + 1),
                        test(0),
                        test(n / 2)
                    )
                },
                r#"{"id":"x","type":"text","label":""}]}"#,
            ),
        ),
        (
            "imported: dependencies",
            filled(
                JSON,
                r#"{"id":"f","title":"F","metadata":{"entreat:imported":{}},"fields":["#,
                |n| match n {
                    0..700 => {
                        format!(r#"{{"id":"{n}","type":"text","label":""}},"#)
                    }
                    700 => {
                        let all =
                            (0..700).fold(String::new(), |list, n| format!(r#"{list}"{n}","#));
                        format!(
                            r#"{{"id":"x","type":"text","label":"","dependencies":[{}]}},"#,
                            all.trim_end_matches(',')
                        )
                    }
                    _ => " ".repeat(MAX_BYTES),
                },
                "]}",
            ),
        ),
        (
            "a huge number",
            input(JSON, &format!(r#"{{"id":{}}}"#, "9".repeat(MAX_BYTES - 10))),
        ),
        (
            "a huge fraction",
            input(
                JSON,
                &format!(
                    r#"{HEAD}{{"id":"a","type":"number","label":"A","default":0.{}}}]}}"#,
                    "1".repeat(MAX_BYTES - 100),
                ),
            ),
        ),
        (
            "a number as text",
            input(
                JSON,
                &format!(
                    r#"{HEAD}{{"id":"a","type":"number","label":"A","default":"0.{}e-9"}}]}}"#,
                    "1".repeat(MAX_BYTES - 100),
                ),
            ),
        ),
        (
            "a tiny step",
            input(
                JSON,
                &format!(
                    r#"{HEAD}{{"id":"a","type":"number","label":"A","default":1e308,"validation":{{"multipleOf":5e-324}}}}]}}"#,
                ),
            ),
        ),
        (
            "a long id",
            input(
                JSON,
                &format!(r#"{{"id":"{}"}}"#, "x".repeat(MAX_BYTES - 20)),
            ),
        ),
        (
            "a misspelt type",
            input(
                JSON,
                &format!(
                    r#"{HEAD}{{"id":"a","type":"{}","label":"A"}}]}}"#,
                    "x".repeat(MAX_BYTES - 100),
                ),
            ),
        ),
    ];
    cases.into_iter().map(named).chain(texts()).collect()
}

/// Patterns and texts with a format.
fn texts() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in ["email", "uri", "hostname", "uuid", "ipv6", "date-time"] {
        for part in ["a", ".", "a.", "@", ":", "%", "é", "xn--a."] {
            let default = part.repeat((MAX_BYTES - 200) / part.len());
            let field = json!({"id": "a", "type": "text", "label": "A", "default": default,
                "validation": {"format": kind, "maxLength": MAX_BYTES}});
            cases.push((
                format!("default of format {kind}: {part}"),
                input(JSON, &format!("{HEAD}{field}]}}")),
            ));
        }
    }
    for pattern in [
        "a",
        r"\p{L}",
        r"\p{L}{20}",
        r"\p{L}{100}",
        r"[\w\s]{200}",
        r"(a|b){500}",
        r"(\d{1,50}){1,50}",
        r"^(?i:[a-zß-ÿ\u0100-\u{10ffff}]+)$",
        r"\w+\b",
        r"[^a]{255}",
        r"(((a{9}){9}){9}){9}",
        r".{1000}",
        r"(x+x+)+y",
        r"\p{L}*\p{N}*\p{L}*",
        r"(?:a?){300}",
        r"[\s\S]*\P{Lu}{50}[\s\S]*",
    ] {
        cases.push((format!("fields with pattern {pattern}"), patterns(pattern)));
    }
    for part in [
        "a|",
        "(a|b)",
        r"\p{L}",
        "[a-z]",
        "a?",
        "a*",
        ".*",
        "(?:",
        "[",
        "\\",
        "a{9}",
        "(?i:é)",
        r"(?i:[\S])",
        r"(?i:\p{L})",
        r"(?i:[\u0100-\u{10ffff}])",
        "[^a]",
        r"\b",
        r"\u{10ffff}",
        "()",
        "(|a)*",
        r"\w+",
        r"[\d\s]",
        "a{1,9}b",
    ] {
        cases.push((format!("long pattern: {part}"), long_pattern(part)));
    }
    cases
}
