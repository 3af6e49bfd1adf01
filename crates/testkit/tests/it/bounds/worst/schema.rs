//! Schemas.

use super::{Case, MAX_BYTES, fill, named};

#[expect(clippy::too_many_lines, reason = "a flat table of cases")]
pub(crate) fn cases() -> Vec<Case> {
    let properties = |part: &dyn Fn(usize) -> String| {
        fill(
            r#"{"type":"object","properties":{"#,
            |n| format!(r#""{n}":{},"#, part(n)),
            "}}",
        )
        .into_bytes()
    };
    let all_of = |part: &dyn Fn(usize) -> String| {
        fill(
            r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"title":"B"}},"allOf":["#,
            part,
            "]}",
        )
        .into_bytes()
    };
    let cases = vec![
        ("empty properties", properties(&|_| "{}".into())),
        ("no schemas", properties(&|_| "1".into())),
        ("texts", properties(&|_| r#"{"type":"string"}"#.into())),
        ("numbers", properties(&|_| r#"{"type":"integer","minimum":3,"maximum":1}"#.into())),
        ("wrong defaults", properties(&|_| r#"{"type":"boolean","default":"x"}"#.into())),
        ("everything wrong", properties(&|_| r#"{"type":"string","minLength":9,"maxLength":1,"pattern":"(","format":"date","default":3}"#.into())),
        ("fixed", properties(&|_| r#"{"const":1}"#.into())),
        ("choices", properties(&|_| r#"{"enum":["a","b"]}"#.into())),
        ("nested", properties(&|_| r#"{"type":"object","properties":{"a":{}}}"#.into())),
        ("unknown keywords", fill(r#"{"type":"object","#, |n| format!(r#""k{n}":1,"#), "}").into_bytes()),
        ("unknown keywords of one property", fill(
            r#"{"properties":{"a":{"type":"string","#, |n| format!(r#""k{n}":1,"#), "}}}",
        ).into_bytes()),
        ("unknown keywords of a long property", fill(
            &format!(r#"{{"properties":{{"{}":{{"type":"string","#, "a".repeat(MAX_BYTES / 2)),
            |n| format!(r#""{n}":1,"#), "}}}",
        ).into_bytes()),
        ("titled options", fill(
            r#"{"properties":{"a":{"oneOf":["#, |n| format!(r#"{{"const":"{n}"}},"#), "]}}}",
        ).into_bytes()),
        ("plain options", fill(r#"{"properties":{"a":{"enum":["#, |n| format!(r#""{n}","#), "]}}}").into_bytes()),
        ("a list of options", fill(
            r#"{"properties":{"a":{"type":"array","items":{"anyOf":["#, |n| format!(r#"{{"const":"{n}"}},"#), "]}}}}",
        ).into_bytes()),
        ("wrong default choices", fill(
            r#"{"properties":{"a":{"type":"array","items":{"enum":["x"]},"default":["#,
            |n| format!(r#""{n}","#), "]}}}",
        ).into_bytes()),
        ("required unknown names", fill(
            r#"{"properties":{"a":{}},"required":["#, |n| format!(r#""{n}","#), "]}",
        ).into_bytes()),
        ("all required", {
            let required = (0..3000).fold(String::new(), |list, n| format!(r#"{list}"{n}","#));
            let required = required.trim_end_matches(',');
            fill(
                &format!(r#"{{"required":[{required}],"properties":{{"#),
                |n| format!(r#""{n}":{{}},"#), "}}",
            ).into_bytes()
        }),
        ("one condition again and again", all_of(&|_| {
            r#"{"if":{"required":["a"]},"then":{"properties":{"b":{"minLength":1}}}},"#.into()
        })),
        ("conditions on each property", {
            let properties = (0..500).fold(String::new(), |list, n| format!(r#"{list}"{n}":{{}},"#));
            let properties = properties.trim_end_matches(',');
            fill(
                &format!(r#"{{"properties":{{{properties}}},"allOf":["#),
                |n| format!(r#"{{"if":{{"required":["{}"]}},"then":{{"properties":{{"{}":{{"type":"string"}}}}}}}},"#, n % 500, (n + 1) % 500),
                "]}",
            ).into_bytes()
        }),
        ("a chain of conditions", {
            let properties = (0..600).fold(String::new(), |list, n| format!(r#"{list}"{n}":{{}},"#));
            let properties = properties.trim_end_matches(',');
            fill(
                &format!(r#"{{"properties":{{{properties}}},"allOf":["#),
                |n| if n < 599 {
                    format!(r#"{{"if":{{"required":["{n}"]}},"then":{{"properties":{{"{}":{{"type":"string"}}}}}}}},"#, n + 1)
                } else { " ".repeat(MAX_BYTES) },
                "]}",
            ).into_bytes()
        }),
        ("rules across", all_of(&|_| r#"{"anyOf":[{"required":["a"]},{"required":["b"]}]},"#.into())),
        ("rules across nothing", all_of(&|n| format!(r#"{{"anyOf":[{{"required":["{n}"]}}]}},"#))),
        ("one rule across many", fill(
            r#"{"properties":{"a":{},"b":{}},"allOf":[{"oneOf":["#, |_| r#"{"required":["a"]},"#.into(), "]}]}",
        ).into_bytes()),
        ("references as activity", fill(
            r#"{"properties":{"a":{},"b":{}},"allOf":[{"if":{"anyOf":["#, |_| r#"{"$ref":""},"#.into(),
            r#"]},"then":{"anyOf":[{"required":["a"]},{"required":["b"]}]}}]}"#,
        ).into_bytes()),
        ("a deep condition", {
            let (open, close) = (r#"{"not":"#.repeat(100), "}".repeat(100));
            format!(r#"{{"properties":{{"a":{{}},"b":{{}}}},"allOf":[{{"if":{open}{{"required":["a"]}}{close},"then":{{"properties":{{"b":{{}}}}}}}}]}}"#).into_bytes()
        }),
        ("a deep schema", {
            let (open, close) = (r#"{"properties":{"a":"#.repeat(60), "}}".repeat(60));
            format!("{open}1{close}").into_bytes()
        }),
        ("deep schemas", properties(&|_| format!("{}{}", "[".repeat(120), "]".repeat(120)))),
        ("envelopes of rules", {
            let (open, close) = (r#"{"if":{"anyOf":[]},"then":"#.repeat(60), "}".repeat(60));
            format!(r#"{{"properties":{{"a":{{}}}},"allOf":[{open}{{}}{close}]}}"#).into_bytes()
        }),
        ("dependent on everything", {
            let properties = (0..1500).fold(String::new(), |list, n| format!(r#"{list}"{n}":{{}},"#));
            let all = (0..1500).fold(String::new(), |list, n| format!(r#"{list}"{n}","#));
            fill(
                &format!(r#"{{"properties":{{{}}},"dependentRequired":{{"0":[{}]}}"#,
                    properties.trim_end_matches(','), all.trim_end_matches(',')),
                |_| " ".repeat(MAX_BYTES), "}",
            ).into_bytes()
        }),
        ("a day between days", properties(&|_| r#"{"type":"string","format":"date","formatMinimum":"0001-02-03","formatMaximum":"9876-11-28"}"#.into())),
        ("long date bounds", format!(
            r#"{{"properties":{{"d":{{"type":"string","format":"date","formatMinimum":"{}"}}}}}}"#, "9".repeat(MAX_BYTES - 100)
        ).into_bytes()),
        ("long titles", format!(r#"{{"title":"{}"}}"#, "é".repeat(MAX_BYTES / 2 - 20)).into_bytes()),
        ("long names", fill(r#"{"properties":{"#, |n| format!(r#""{}{n}":{{}},"#, "/".repeat(1000)), "}}").into_bytes()),
    ];
    let mut cases: Vec<Case> = cases.into_iter().map(named).collect();
    for pattern in [
        "a",
        r"\\p{L}{20}",
        r"\\p{L}{100}",
        "(((a{9}){9}){9}){9}",
        "[^a]{255}",
        ".{1000}",
        "(?=a)",
    ] {
        cases.push((
            format!("pattern {pattern}"),
            properties(&|_| format!(r#"{{"type":"string","pattern":"{pattern}"}}"#)),
        ));
    }
    cases
}
