//! Unreadable files, with every command.

use crate::{entreat, entreat_with};

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for file in ["absent.json", "."] {
        let run = entreat(&["form", "schema", file]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        let expected = format!("entreat: cannot read {file}: ");
        assert!(run.stderr.starts_with(&expected), "{}", run.stderr);
    }
}

#[test]
fn a_file_that_is_not_text_is_named() {
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/latin.json");
    std::fs::write(path, b"{\"id\":\"\xfc\"}").unwrap();
    let run = entreat(&["form", "lint", path]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr
            .ends_with("latin.json is not UTF-8 text: see byte 8\n")
    );
}

#[test]
fn a_file_over_the_limit_is_not_read_to_its_end() {
    let large = " ".repeat(1024 * 1024 + 1);
    let run = entreat_with(&["form", "lint", "-"], large);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("stdin is too large"));
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_is_too_large() {
    let run = entreat(&["form", "schema", "/dev/zero"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("/dev/zero is too large"));
}

#[test]
fn an_answer_may_be_larger_than_a_form() {
    let blanks = " ".repeat(2 * 1024 * 1024);
    let answer = format!("{{\"name\":{blanks}\"Ada\"}}");
    let run = entreat_with(&["form", "validate", "greeting.json", "-"], answer);
    assert_eq!(run.code, 0);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let form = format!("\u{feff}{}", include_str!("forms/greeting.json"));
    assert_eq!(entreat_with(&["form", "lint", "-"], form).code, 0);
    let run = entreat_with(
        &["form", "validate", "greeting.json", "-"],
        "\u{feff}{\"name\":\"Ada\"}",
    );
    assert_eq!(run.code, 0);
}

#[test]
fn a_file_name_moves_no_cursor() {
    let run = entreat(&["form", "lint", "\u{1b}[2J.json"]);
    assert!(
        run.stderr
            .starts_with("entreat: cannot read \\u{1b}[2J.json: ")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_trouble() {
    for args in [&["completions", "bash"][..], &["--help"]] {
        let mut command = crate::command(args);
        command.stdout(std::fs::File::create("/dev/full").unwrap());
        assert_eq!(crate::finish(command, b"").code, 2, "{args:?}");
    }
}
