//! `entreat form schema`.

use serde_json::Value;

use crate::entreat;

#[test]
fn a_schema_is_one_json_document() {
    let run = entreat(&["form", "schema", "deploy.yaml"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    serde_json::from_str::<Value>(&run.stdout).unwrap();
}

#[test]
fn a_requested_schema_can_be_had_for_every_era() {
    for era in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let run = entreat(&["form", "schema", "deploy.yaml", "--mcp", era]);
        assert_eq!(run.code, 0);
        serde_json::from_str::<Value>(&run.stdout).unwrap();
    }
}

#[test]
fn json_holds_the_schema_and_what_it_lost() {
    let run = entreat(&[
        "form",
        "schema",
        "deploy.yaml",
        "--mcp",
        "2025-11-25",
        "--json",
    ]);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    let keys: Vec<_> = value.as_object().unwrap().keys().collect();
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(keys, ["requestedSchema", "losses", "needsUrl"]);
    assert!(value["losses"].is_array() && value["needsUrl"].is_boolean());
}

#[test]
fn an_unknown_era_is_wrong_usage_that_names_the_known_ones() {
    let run = entreat(&["form", "schema", "deploy.yaml", "--mcp", "2025-11-26"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("2025-11-25"));
}

#[test]
fn a_broken_form_has_no_schema() {
    let run = entreat(&["form", "schema", "broken.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("broken.json is not a valid form"));
}

#[test]
fn what_an_era_cannot_say_is_told_on_stderr() {
    let run = entreat(&["form", "schema", "deploy.yaml", "--mcp", "2025-11-25"]);
    assert_eq!(run.code, 0);
    insta::assert_snapshot!("schema_losses", run.stderr);
}
