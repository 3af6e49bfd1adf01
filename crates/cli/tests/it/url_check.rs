//! `entreat url check`.

use serde_json::{Value, json};

use crate::{entreat, entreat_with};

#[test]
fn keys_stand_in_the_promised_order() {
    let run = entreat(&["url", "check", "https://example.com/"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(
        run.stdout,
        "{\"url\":\"https://example.com/\",\"verdict\":\"allow\",\"reason\":null,\
         \"action\":\"allow\",\"warnings\":[],\"highlight\":\"example.com\"}\n"
    );
}

#[test]
fn one_blocked_url_is_a_finding_and_all_are_judged() {
    let run = entreat(&["url", "check", "http://127.1/", "https://example.com/"]);
    let verdicts = run.json_lines();
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert_eq!(verdicts[0]["verdict"], "block");
    assert_eq!(verdicts[0]["reason"], "loopback");
    assert_eq!(verdicts[1]["verdict"], "allow");
}

#[test]
fn what_only_warns_a_person_is_not_blocked() {
    let run = entreat(&["url", "check", "http://example.com/"]);
    let verdict = &run.json_lines()[0];
    assert_eq!((run.code, &verdict["verdict"]), (0, &json!("allow")));
    assert_eq!(
        (&verdict["action"], &verdict["warnings"]),
        (&json!("warn"), &json!(["not_https"]))
    );
}

#[test]
fn the_asking_server_is_taken_from_the_flag_or_the_line() {
    let warnings = |run: crate::Run| run.json_lines()[0]["warnings"].clone();
    let url = "https://example.net/";
    let run = entreat(&["url", "check", "--server", "mcp.example.com", url]);
    assert_eq!(warnings(run), json!(["third_party_domain"]));
    let line = json!({"url": url, "server": "example.net"}).to_string();
    let run = entreat_with(
        &["url", "check", "--lines", "--server", "mcp.example.com"],
        line,
    );
    assert_eq!(warnings(run), json!([]));
}

#[test]
fn every_list_of_addresses_must_pass() {
    let lines = [
        json!({"url": "https://a.example.com/", "dns": [["93.184.215.14"]]}),
        json!({"url": "https://b.example.com/", "dns": [["93.184.215.14"], ["127.0.0.1"]]}),
        json!({"url": "https://c.example.com/", "dns": [["10.0.0.1", "93.184.215.14"]]}),
        json!({"url": "https://d.example.com/", "dns": [[]]}),
        json!({"url": "https://e.example.com/", "dns": []}),
        json!({"url": "https://93.184.215.14/", "dns": [["127.0.0.1"]]}),
    ];
    let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
    let run = entreat_with(&["url", "check", "--lines"], lines.join("\n"));
    let reasons: Vec<_> = run
        .json_lines()
        .iter()
        .map(|v| v["reason"].clone())
        .collect();
    assert_eq!(run.code, 1);
    assert_eq!(
        json!(reasons),
        json!([null, "dns_loopback", "dns_private", "dns_empty", null, null])
    );
}

#[test]
fn a_line_is_a_url_a_json_string_or_an_object() {
    let lines = "https://example.com/ \r\n\n\"https://example.com/\\u0009\"\n{\"url\":\"x\"}\n";
    for args in [&["url", "check", "--lines"], &["url", "check", "-"]] {
        let run = entreat_with(args, lines);
        let verdicts = run.json_lines();
        let urls: Vec<_> = verdicts.iter().map(|v| &v["url"]).collect();
        assert_eq!((run.code, run.stderr.as_str()), (1, ""));
        assert_eq!(
            json!(urls),
            json!(["https://example.com/ ", "https://example.com/\t", "x"])
        );
        assert_eq!(verdicts[0]["reason"], "raw_control");
        assert_eq!(verdicts[2]["highlight"], json!(null));
    }
}

#[test]
fn a_line_that_is_none_of_these_is_trouble_and_the_others_are_judged() {
    let bad: [&[u8]; 6] = [
        b"{\"url\":\"https://example.com/\"",
        b"{\"url\":\"https://example.com/\",\"url\":\"https://example.com/\"}",
        b"{\"dns\":[]}",
        b"{\"url\":\"https://example.com/\",\"dns\":[[\"nowhere\"]]}",
        b"\"https://example.com/",
        b"https://example.com/\xff",
    ];
    for line in bad {
        let lines = [line, b"\nhttp://10.0.0.1/\n"].concat();
        let run = entreat_with(&["url", "check", "--lines"], lines);
        assert_eq!((run.code, run.json_lines().len()), (2, 1), "{run:?}");
        assert!(run.stderr.starts_with("entreat: stdin: line 1"), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 1);
    }
}

#[test]
fn lines_may_come_from_files() {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/urls.txt");
    std::fs::write(path, "https://example.com/\n").unwrap();
    let run = entreat_with(
        &["url", "check", "--lines", path, "-"],
        "https://example.org/",
    );
    assert_eq!((run.code, run.json_lines().len()), (0, 2));
    let run = entreat(&["url", "check", "--lines", "absent.txt"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("cannot read absent.txt"));
}

#[test]
fn a_url_is_needed() {
    let run = entreat(&["url", "check"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}

/// Checks every case of a file of test vectors and pairs it with the binary's output.
fn judge_vectors(vectors: &str) -> Vec<(Value, Value)> {
    let cases: Vec<Value> = vectors
        .lines()
        .map(|line| serde_json::from_str(line).expect("a vector is JSON"))
        .filter(|case: &Value| case.get("redirects").is_none())
        .collect();
    // Unknown keys are ignored.
    let lines: Vec<_> = cases.iter().map(Value::to_string).collect();
    let run = entreat_with(&["url", "check", "--lines"], lines.join("\n"));
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let printed = run.json_lines();
    assert_eq!(printed.len(), cases.len());
    cases.into_iter().zip(printed).collect()
}

#[test]
fn every_verdict_of_the_vectors_holds() {
    let vectors = include_str!("../../../core/tests/it/vectors/url_verdicts.jsonl");
    for (case, printed) in judge_vectors(vectors) {
        assert_eq!(printed["verdict"], case["verdict"], "{case}");
        assert_eq!(
            printed["reason"].is_null(),
            case["verdict"] == "allow",
            "{case}"
        );
    }
}

#[test]
fn every_warning_of_the_vectors_holds() {
    let vectors = include_str!("../../../core/tests/it/vectors/url_warnings.jsonl");
    for (case, printed) in judge_vectors(vectors) {
        let set = |warnings: &Value| {
            let mut set = warnings.as_array().cloned().unwrap_or_default();
            set.sort_by_key(ToString::to_string);
            set
        };
        assert_eq!(printed["action"], case["action"], "{case}");
        assert_eq!(set(&printed["warnings"]), set(&case["warnings"]), "{case}");
        if let Some(highlight) = case.get("highlight") {
            assert_eq!(&printed["highlight"], highlight, "{case}");
        }
    }
}
