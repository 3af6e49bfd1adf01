//! Plants violations in a tiny workspace and sees the command fail.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A checkout with two sibling crates that keep every rule.
fn checkout(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if root.exists() {
        fs::remove_dir_all(&root).unwrap();
    }
    write(
        &root,
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n",
    );
    for sibling in ["mcp", "service"] {
        let folder = format!("crates/{sibling}");
        let manifest = format!("[package]\nname = \"entreat-{sibling}\"\nedition = \"2024\"\n");
        write(&root, &format!("{folder}/Cargo.toml"), &manifest);
        write(&root, &format!("{folder}/src/lib.rs"), "//! A sibling.\n");
    }
    write(
        &root,
        "README.md",
        "See [the service](crates/service/src/lib.rs).\n",
    );
    let made = Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(&root)
        .status();
    assert!(made.unwrap().success());
    root
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn tidy(root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("tidy")
        .current_dir(root)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn tidy_passes_where_every_rule_is_kept() {
    let output = tidy(&checkout("kept"));
    assert_eq!(stdout(&output), "");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "2 Rust files, median 1 lines, 0 above 500\n"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn tidy_fails_when_siblings_see_each_other() {
    let root = checkout("edge");
    let manifest = "[package]\nname = \"entreat-service\"\nedition = \"2024\"\n\n\
                    [dependencies]\nentreat-mcp = { path = \"../mcp\" }\n";
    write(&root, "crates/service/Cargo.toml", manifest);
    let output = tidy(&root);
    assert_eq!(
        stdout(&output),
        "crates/service/Cargo.toml:6: edges: `entreat-service` may not use `entreat-mcp`: \
         of our crates it may use entreat-core, entreat-engine, entreat-wire here\n"
    );
    assert!(
        output
            .stderr
            .ends_with(b"error: 1 violation of the house rules\n")
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn tidy_fails_on_a_long_file_even_before_git_tracks_it() {
    let root = checkout("size");
    let long = format!("//! Long.\n{}", "// line\n".repeat(800));
    write(&root, "crates/mcp/src/long.rs", &long);
    let output = tidy(&root);
    assert!(stdout(&output).starts_with("crates/mcp/src/long.rs:801: size: split this file"));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn tidy_does_not_look_at_what_git_ignores() {
    let root = checkout("ignored");
    write(&root, ".gitignore", "/target\n");
    write(&root, "target/made.rs", &"\n".repeat(2000));
    assert_eq!(tidy(&root).status.code(), Some(0));
}

#[test]
fn tidy_reports_every_violation_and_not_only_the_first() {
    let root = checkout("several");
    write(&root, "crates/mcp/src/bare.rs", "fn bare() {}\n");
    write(&root, "README.md", "See [nothing](docs/nothing.md).\n");
    let text = stdout(&tidy(&root));
    let starts: Vec<&str> = text
        .lines()
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    assert_eq!(starts, ["README.md:1", "crates/mcp/src/bare.rs:1"]);
}
