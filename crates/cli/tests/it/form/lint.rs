//! `entreat form lint`.

use serde_json::Value;

use crate::{entreat, entreat_with};

#[test]
fn a_sound_form_is_silent_on_stdout() {
    let run = entreat(&[
        "form",
        "lint",
        "greeting.json",
        "deploy.yaml",
        "deploy.toml",
    ]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert_eq!(
        run.stderr,
        "greeting.json: no problems found\ndeploy.yaml: no problems found\ndeploy.toml: no problems found\n"
    );
}

#[test]
fn every_problem_has_its_line() {
    let run = entreat(&["form", "lint", "broken.json"]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    insta::assert_snapshot!("lint", run.stdout);
}

#[test]
fn json_is_one_array_with_an_object_for_each_file() {
    let run = entreat(&["form", "lint", "--json", "broken.json", "greeting.json"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (1, "greeting.json: no problems found\n")
    );
    insta::assert_snapshot!("lint_json", run.stdout);
}

#[test]
fn a_message_of_several_lines_stays_on_one() {
    let run = entreat(&["form", "lint", "twice.toml"]);
    assert_eq!(
        (run.code, run.stdout.lines().count()),
        (1, 1),
        "{}",
        run.stdout
    );
    assert!(run.stdout.starts_with("twice.toml: "));
}

#[test]
fn an_unreadable_file_outweighs_problems_and_the_others_are_still_checked() {
    let run = entreat(&[
        "form",
        "lint",
        "absent.json",
        "broken.json",
        "greeting.json",
    ]);
    assert_eq!(run.code, 2);
    assert!(run.stdout.starts_with("broken.json: "));
    assert!(run.stderr.starts_with("entreat: cannot read absent.json: "));
    assert!(run.stderr.ends_with("greeting.json: no problems found\n"));
}

#[test]
fn an_unreadable_file_is_told_to_programs_too() {
    let run = entreat(&["form", "lint", "--json", "absent.json", "greeting.json"]);
    let reports: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 2);
    assert_eq!(reports[0]["valid"], false);
    assert!(
        reports[0]["error"]
            .as_str()
            .unwrap()
            .contains("absent.json")
    );
    assert_eq!(reports[1]["valid"], true);
    assert_eq!(reports[1].get("error"), None);
}

#[test]
fn a_declared_validator_is_no_problem() {
    let run = entreat(&["form", "lint", "custom.json"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("[unknown_validator]"));
    let run = entreat(&["form", "lint", "custom.json", "--validator", "no_admin"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
}

#[test]
fn stdin_is_json_or_yaml_by_its_first_character_and_toml_by_name() {
    let json = include_str!("../forms/greeting.json");
    let yaml = include_str!("../forms/deploy.yaml");
    let toml = include_str!("../forms/deploy.toml");
    for text in [json, yaml] {
        let run = entreat_with(&["form", "lint", "-"], text);
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (0, "stdin: no problems found\n")
        );
    }
    assert_eq!(entreat_with(&["form", "lint", "-"], toml).code, 1);
    let run = entreat_with(&["form", "lint", "-", "--notation", "toml"], toml);
    assert_eq!(run.code, 0);
}

#[test]
fn text_that_is_no_document_is_a_problem_of_the_form() {
    let run = entreat_with(&["form", "lint", "--json", "-"], "{\"id\": ");
    let reports: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 1);
    assert_eq!(reports[0]["file"], "-");
    assert_eq!(reports[0]["problems"][0]["code"], "syntax");
}
