//! Runs every console session of the documentation in a shell and compares its output.
//!
//! In a block of the language `console`, a line after `$ ` is typed, and the lines that follow are
//! the expected output, stderr before stdout as in a terminal. A block whose last word is a file
//! name is written to that file first.

use std::fs;
use std::path::Path;
use std::process::Command;

const ASKING: &str = include_str!("../../../../docs/asking.md");
const FORMS: &str = include_str!("../../../../docs/forms.md");
const URLS: &str = include_str!("../../../../docs/urls.md");

/// The blocks of a page: line, info string, text.
pub(crate) fn blocks(page: &str) -> Vec<(usize, &str, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, &str, String)> = None;
    for (i, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, _, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, Some(info)) => open = Some((i + 1, info, String::new())),
            (None, None) => {}
        }
    }
    blocks
}

pub(crate) fn file_name(info: &str) -> Option<&str> {
    let word = info.split_whitespace().next_back()?;
    let is_file = [".json", ".yaml", ".toml"]
        .iter()
        .any(|ending| word.ends_with(ending));
    is_file.then_some(word)
}

fn type_in(folder: &Path, command: &str) -> String {
    let folder_of_binary = Path::new(env!("CARGO_BIN_EXE_entreat")).parent();
    let folder_of_binary = folder_of_binary.expect("the binary is in a folder");
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}\n}} 2>&1")])
        .env_clear()
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", folder_of_binary.display()),
        )
        .current_dir(folder)
        .output()
        .expect("there is a shell");
    String::from_utf8(output.stdout).expect("sessions are text")
}

/// Checks all sessions of a page.
fn check(page: &str) {
    let folder = tempfile::tempdir().expect("a folder for the files of the page");
    let folder = folder.path();
    let mut sessions = 0;
    for (line, info, text) in blocks(page) {
        if let Some(file) = file_name(info) {
            fs::write(folder.join(file), &text).expect("a file of the page is written");
        }
        if info != "console" {
            continue;
        }
        sessions += 1;
        let commands = text.lines().filter_map(|line| line.strip_prefix("$ "));
        let printed: String = commands
            .map(|command| format!("$ {command}\n") + &type_in(folder, command))
            .collect();
        assert_eq!(printed, text, "the session at line {line}");
    }
    assert!(sessions > 0);
}

#[test]
fn sessions_of_the_page_about_asking_print_what_it_says() {
    check(ASKING);
}

#[test]
fn sessions_of_the_form_reference_print_what_the_page_says() {
    check(FORMS);
}

#[test]
fn sessions_of_the_page_about_urls_print_what_it_says() {
    check(URLS);
}
