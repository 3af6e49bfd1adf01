//! `entreat form sample`.

use crate::{entreat, entreat_with};

#[test]
fn samples_are_valid() {
    for form in [
        "greeting.json",
        "deploy.yaml",
        "upload.json",
        "partial.json",
    ] {
        let run = entreat(&["form", "sample", form, "--count", "20", "--seed", "7"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        let run = entreat_with(&["form", "validate", form, "--lines"], run.stdout);
        assert_eq!((run.code, run.json_lines().len()), (0, 20), "{form}");
    }
}

#[test]
fn a_seed_decides_the_samples() {
    let sample = |seed| entreat(&["form", "sample", "deploy.yaml", "--seed", seed]).stdout;
    assert_eq!(sample("5"), sample("5"));
    assert_ne!(sample("5"), sample("6"));
}

#[test]
fn an_invalid_sample_breaks_exactly_the_rule() {
    for (form, rule, key) in [
        ("greeting.json", "required", "required"),
        ("deploy.yaml", "minimum", "minimum"),
        ("deploy.yaml", "not_an_option", "enum"),
        ("upload.json", "unknown_field", "additionalProperties"),
        ("upload.json", "file_size_mismatch", "size"),
    ] {
        let run = entreat(&["form", "sample", form, "--invalid", rule]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{rule}");
        let run = entreat_with(&["form", "validate", form, "-"], run.stdout);
        let verdict = &run.json_lines()[0];
        assert_eq!(verdict["errors"].as_array().unwrap().len(), 1, "{verdict}");
        assert_eq!(verdict["errors"][0]["constraint"], key);
    }
}

#[test]
fn a_form_that_nobody_can_answer_has_no_samples() {
    let form = r#"{"id":"f","title":"F","fields":[{"id":"a","type":"text","label":"A",
        "required":true,"validation":{"pattern":"^x$","minLength":5}}]}"#;
    let run = entreat_with(&["form", "sample", "-"], form);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert_eq!(run.stderr, "stdin: no valid answer was found\n");
}

#[test]
fn a_rule_that_the_form_cannot_break_is_told_with_those_it_can() {
    let run = entreat(&["form", "sample", "greeting.json", "--invalid", "maxSize"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(
        run.stderr
            .starts_with("greeting.json: no answer breaks `maxSize` alone; ")
    );
    assert!(run.stderr.contains("required"));
}

#[test]
fn an_unknown_rule_is_wrong_usage_with_a_suggestion() {
    let run = entreat(&["form", "sample", "greeting.json", "--invalid", "minLenght"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("'minLength'"), "{}", run.stderr);
}

#[test]
fn a_broken_form_has_no_samples() {
    let run = entreat(&["form", "sample", "broken.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}
