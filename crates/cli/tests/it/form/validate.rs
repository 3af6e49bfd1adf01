//! `entreat form validate`.

use std::io::{BufRead, BufReader, Write};

use serde_json::json;

use crate::{command, entreat, entreat_with, finish};

fn validate(form: &str, answer: &str, flags: &[&str]) -> crate::Run {
    let args = [&["form", "validate", form, "-"], flags].concat();
    entreat_with(&args, answer)
}

#[test]
fn a_valid_answer_comes_back_in_field_order_with_defaults_and_secrets() {
    let answer = r#"{"key":"k3y","stage":"live","host":"example.com"}"#;
    let run = validate("deploy.yaml", answer, &[]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(
        run.stdout,
        "{\"valid\":true,\"values\":{\"host\":\"example.com\",\"port\":443,\
         \"stage\":\"live\",\"key\":\"k3y\"}}\n"
    );
}

#[test]
fn an_invalid_answer_comes_back_with_every_error() {
    let run = validate("deploy.yaml", r#"{"port":0,"stage":"prod"}"#, &[]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    insta::assert_snapshot!("validate_errors", run.stdout);
}

#[test]
fn a_big_integer_is_not_rounded() {
    for digits in ["9007199254740993", "12345678901234567890123456789012345678"] {
        let answer = format!(r#"{{"host":"a.example.com","port":{digits}}}"#);
        let run = validate("deploy.yaml", &answer, &[]);
        let expected = format!("\"port\":{digits}}}}}\n");
        assert!(run.stdout.ends_with(&expected), "{}", run.stdout);
    }
}

#[test]
fn what_a_partial_answer_left_out_stands_beside_the_values() {
    let run = validate("partial.json", r#"{"first":"a"}"#, &[]);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.stdout,
        "{\"valid\":true,\"values\":{\"first\":\"a\"},\"missing\":[\"second\"]}\n"
    );
}

#[test]
fn answers_may_be_yaml_or_toml_by_their_ending() {
    let run = entreat(&["form", "validate", "deploy.yaml", "answer.yaml"]);
    let values = json!({"host": "example.com", "port": 443, "stage": "live"});
    assert_eq!(run.json_lines(), [json!({"valid": true, "values": values})]);
    let run = entreat(&["form", "validate", "deploy.yaml", "answer.toml"]);
    assert_eq!(run.json_lines()[0]["values"]["port"], 8080);
    let run = entreat(&["form", "validate", "greeting.json", "answer.toml"]);
    assert_eq!(run.code, 1);
    let run = entreat(&["form", "validate", "greeting.json", "twice.toml"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("twice.toml is not an answer"));
}

#[test]
fn the_form_may_come_from_stdin_but_not_both() {
    let form = include_str!("../forms/deploy.yaml");
    let run = entreat_with(&["form", "validate", "-", "answer.yaml"], form);
    assert_eq!(run.code, 0);
    for args in [
        ["form", "validate", "-", "-"],
        ["form", "validate", "-", "--lines"],
    ] {
        let run = entreat_with(&args, form);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains("stdin"));
    }
}

#[test]
fn unknown_answers_are_errors_unless_they_are_to_be_ignored() {
    let answer = r#"{"name":"Ada","age":36}"#;
    let run = validate("greeting.json", answer, &[]);
    assert_eq!(run.code, 1);
    let error = &run.json_lines()[0]["errors"][0];
    assert_eq!(error["constraint"], "additionalProperties");
    let run = validate("greeting.json", answer, &["--unknown", "ignore"]);
    assert_eq!(
        run.json_lines(),
        [json!({"valid": true, "values": {"name": "Ada"}})]
    );
}

#[test]
fn references_are_refused_unless_their_kind_is_allowed() {
    let answer = r#"{"file":{"filename":"a.txt","content_type":"text/plain","size":3,
        "content":{"type":"s3","location":"s3://bucket/a.txt"}}}"#;
    let run = validate("upload.json", answer, &["--allow-reference", "url"]);
    assert_eq!(run.code, 1);
    let flags = ["--allow-reference", "url", "--allow-reference", "s3"];
    let run = validate("upload.json", answer, &flags);
    assert_eq!(run.code, 0, "{}", run.stdout);
}

#[test]
fn messages_speak_the_language_of_the_flag_or_the_locale() {
    let message = |run: crate::Run| run.json_lines()[0]["errors"][0]["message"].to_string();
    let german = "\"Your name muss ausgefüllt werden\"";
    let english = "\"Your name is required\"";
    assert_eq!(message(validate("greeting.json", "{}", &[])), english);
    let flags = ["--language", "xx,de-AT"];
    assert_eq!(message(validate("greeting.json", "{}", &flags)), german);

    let args = ["form", "validate", "greeting.json", "-"];
    let in_locale = |variables: &[(&str, &str)], args: &[&str]| {
        let mut command = command(args);
        command.envs(variables.iter().copied());
        message(finish(command, b"{}"))
    };
    assert_eq!(in_locale(&[("LANG", "de_DE.UTF-8")], &args), german);
    let overruled = [
        ("LC_ALL", ""),
        ("LC_MESSAGES", "de_AT"),
        ("LANG", "en_GB.UTF-8"),
    ];
    assert_eq!(in_locale(&overruled, &args), german);
    assert_eq!(
        in_locale(&[("LC_ALL", "C"), ("LANG", "de_DE")], &args),
        english
    );
    let args = [&args[..], &["--language", "en"]].concat();
    assert_eq!(in_locale(&[("LANG", "de_DE.UTF-8")], &args), english);
}

#[test]
fn an_answer_that_is_not_json_is_trouble_not_an_invalid_answer() {
    for answer in [
        "name: Ada",
        "{\"name\":",
        "",
        "{\"name\":\"a\",\"name\":\"b\"}",
    ] {
        let run = validate("greeting.json", answer, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{answer}");
        assert!(
            run.stderr
                .starts_with("entreat: stdin: the answers cannot be read")
        );
    }
}

#[test]
fn why_an_answer_is_not_json_is_said_once() {
    let run = validate("greeting.json", "{", &[]);
    assert_eq!(
        run.stderr,
        "entreat: stdin: the answers cannot be read: EOF while parsing an object at line 1 column 1\n"
    );
}

#[test]
fn json_that_is_no_object_is_an_invalid_answer() {
    let run = validate("greeting.json", "[1]", &[]);
    assert_eq!(run.code, 1);
    assert_eq!(run.json_lines()[0]["errors"][0]["constraint"], "type");
}

#[test]
fn a_broken_form_is_trouble_and_its_problems_are_told() {
    let run = validate("broken.json", "{}", &[]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr
            .starts_with("entreat: broken.json is not a valid form\n")
    );
    assert!(run.stderr.contains("did you mean `title`?"));
}

#[test]
fn a_declared_validator_lets_every_answer_pass() {
    let answer = r#"{"user":"admin"}"#;
    assert_eq!(validate("custom.json", answer, &[]).code, 2);
    let run = validate("custom.json", answer, &["--validator", "no_admin"]);
    assert_eq!(run.code, 0);
}

#[test]
fn an_answer_is_needed_unless_lines_are() {
    let run = entreat(&["form", "validate", "greeting.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("<ANSWER>"));
}

#[test]
fn lines_give_one_verdict_each_and_a_bad_line_stops_nothing() {
    let lines = b"{\"name\":\"Ada\"}\r\n\n  \n{}\n{\"name\"\n\"\xff\"\n{\"name\":\"Bob\"}";
    let run = entreat_with(&["form", "validate", "greeting.json", "--lines"], lines);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    insta::assert_snapshot!("validate_lines", run.stdout);
}

#[test]
fn lines_that_are_all_valid_are_clean() {
    let lines = "{\"name\":\"Ada\"}\n{\"name\":\"Bob\"}\n";
    let run = entreat_with(
        &["form", "validate", "greeting.json", "-", "--lines"],
        lines,
    );
    assert_eq!((run.code, run.json_lines().len()), (0, 2));
    let run = entreat_with(&["form", "validate", "greeting.json", "--lines"], "");
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
}

#[test]
fn a_verdict_comes_before_the_next_line_is_sent() {
    let mut child = command(&["form", "validate", "greeting.json", "--lines"])
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for valid in [true, false, true] {
        let answer: &[u8] = if valid {
            b"{\"name\":\"Ada\"}\n"
        } else {
            b"{}\n"
        };
        stdin.write_all(answer).unwrap();
        let mut verdict = String::new();
        stdout.read_line(&mut verdict).unwrap();
        assert!(verdict.starts_with(&format!("{{\"valid\":{valid},")));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn whoever_stops_listening_has_what_they_wanted() {
    let mut child = command(&["form", "validate", "greeting.json", "--lines"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child.stdin.take().unwrap().write_all(b"{}\n{}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
