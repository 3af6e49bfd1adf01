//! The help texts, as snapshots.

use crate::entreat;

fn help(command: &[&str]) -> String {
    let run = entreat(&[command, &["--help"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    run.stdout
}

#[test]
fn every_command_explains_itself() {
    for (name, command) in [
        ("entreat", &[][..]),
        ("demo", &["demo"]),
        ("serve", &["serve"]),
        ("rpc", &["rpc"]),
        ("setup", &["setup"]),
        ("config", &["config"]),
        ("doctor", &["doctor"]),
        ("ask", &["ask"]),
        ("attach", &["attach"]),
        ("call", &["call"]),
        ("list", &["list"]),
        ("status", &["status"]),
        ("cancel", &["cancel"]),
        ("reassign", &["reassign"]),
        ("backup", &["backup"]),
        ("restore", &["restore"]),
        ("inbox", &["inbox"]),
        ("wrap", &["wrap"]),
        ("gateway", &["gateway"]),
        ("gateway_status", &["gateway", "status"]),
        ("form", &["form"]),
        ("form_lint", &["form", "lint"]),
        ("form_validate", &["form", "validate"]),
        ("form_schema", &["form", "schema"]),
        ("form_import", &["form", "import"]),
        ("form_sample", &["form", "sample"]),
        ("url", &["url"]),
        ("url_check", &["url", "check"]),
        ("completions", &["completions"]),
    ] {
        insta::assert_snapshot!(format!("help_{name}"), help(command));
    }
}

#[test]
fn without_a_command_the_help_is_talk_and_the_usage_wrong() {
    for command in [&[][..], &["form"], &["url"]] {
        let run = entreat(command);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{command:?}");
        assert!(run.stderr.contains("Usage: entreat"));
    }
}

#[test]
fn the_version_is_the_crates() {
    let run = entreat(&["--version"]);
    let expected = format!("entreat {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((run.code, run.stdout), (0, expected));
}

#[test]
fn a_misspelt_command_is_wrong_usage_with_a_suggestion() {
    let run = entreat(&["form", "lnit", "x.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("'lint'"));
}

#[test]
fn the_form_of_the_help_is_sound() {
    let text = help(&[]);
    let start = text.find("{\"id\"").unwrap();
    let end = text.find("]}").unwrap() + 2;
    let run = crate::entreat_with(&["form", "lint", "-"], &text[start..end]);
    assert_eq!(run.code, 0, "{}", run.stdout);

    let text = help(&["form"]);
    let start = text.find("  id: deploy").unwrap();
    let end = text.find("Field types:").unwrap();
    let run = crate::entreat_with(&["form", "lint", "-"], &text[start..end]);
    assert_eq!(run.code, 0, "{}", run.stdout);
}
