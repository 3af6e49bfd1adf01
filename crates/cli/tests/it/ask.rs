//! `entreat ask` through pipes.

use serde_json::json;

use crate::session::Session;
use crate::{Run, entreat, entreat_with};

const ASK: &[&str] = &["ask", "secret.yaml"];

/// The last line of talk.
fn last_words(run: &Run) -> &str {
    run.stderr.lines().next_back().unwrap_or_default()
}

#[test]
fn answers_are_one_line_of_json_and_secrets_are_in_it_alone() {
    let run = entreat_with(ASK, "ada\nhunter2hunter2\n\n\n");
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (
            0,
            "{\"user\":\"ada\",\"token\":\"hunter2hunter2\",\"days\":7}\n"
        )
    );
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    insta::assert_snapshot!("ask_talk", run.stderr);
}

#[test]
fn wrong_answers_are_asked_again() {
    let run = entreat_with(ASK, "a\nada\nshort\nhunter2hunter2\n900\n9\n\n");
    assert_eq!((run.code, &run.json_lines()[0]["days"]), (0, &json!(9)));
    assert!(run.stderr.contains("Days must be 90 or less"));
    assert!(!run.stderr.contains("short\n"), "{}", run.stderr);
}

#[test]
fn every_way_not_to_answer_has_its_sentence() {
    for (typed, words) in [
        ("ada\n:decline\n", "the question was declined"),
        ("ada\n:cancel\n", "the question was cancelled"),
        (
            "",
            "the input ended before the answers were sent, and the question was cancelled",
        ),
        (
            "ada\n",
            "the input ended before the answers were sent, and the question was cancelled",
        ),
    ] {
        let run = entreat_with(ASK, typed);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{typed:?}");
        assert_eq!(last_words(&run), format!("entreat: not answered: {words}"));
    }
}

#[test]
fn a_deadline_ends_it_while_the_person_sits_at_a_prompt() {
    let session = Session::start(&["ask", "greeting.json", "--timeout", "1s", "--json"]);
    let run = session.wait();
    assert_eq!(run.code, 1);
    let words = "> \nentreat: not answered: time ran out, and nothing was sent\n";
    assert!(run.stderr.ends_with(words), "{}", run.stderr);
    assert_eq!(run.json_lines()[0]["status"], "timeout");
}

#[test]
fn the_whole_record_can_be_had() {
    let run = entreat_with(
        &["ask", "secret.yaml", "--json"],
        "ada\nhunter2hunter2\n\n\n",
    );
    let record = &run.json_lines()[0];
    assert_eq!(run.code, 0);
    assert_eq!(record["status"], "completed");
    assert_eq!(record["mode"], "terminal");
    assert_eq!(record["shown"], true);
    assert_eq!(record["timeoutMs"], 600_000);
    // The program that asked is the asker, and gets what it asked for.
    assert_eq!(record["result"]["token"], "hunter2hunter2");
    let run = entreat_with(&["ask", "secret.yaml", "--json"], ":decline\n");
    assert_eq!(
        (run.code, &run.json_lines()[0]["status"]),
        (1, &json!("declined"))
    );
}

#[test]
fn the_person_sees_who_asks_and_why() {
    let args = [
        "ask",
        "greeting.json",
        "--asker",
        "Bot\u{1b}[2J",
        "--message",
        "New\u{1b}[2J here",
    ];
    let run = entreat_with(&args, "Ada\n");
    assert_eq!(run.code, 0);
    assert!(run.stderr.starts_with("“Bot"), "{}", run.stderr);
    assert!(run.stderr.contains("│ New"), "{}", run.stderr);
    assert!(!run.stderr.contains('\u{1b}'));
}

#[test]
fn forms_of_every_notation_can_be_asked() {
    for form in ["greeting.json", "deploy.yaml", "deploy.toml"] {
        assert_eq!(entreat_with(&["ask", form], ":decline\n").code, 1, "{form}");
    }
}

#[test]
fn a_broken_form_is_told_with_all_its_problems() {
    let run = entreat(&["ask", "broken.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let problems = entreat(&["form", "lint", "broken.json"]).stdout;
    assert_eq!(
        run.stderr,
        format!("entreat: broken.json is not a sound form\n{problems}")
    );
}

#[test]
fn what_cannot_be_asked_is_wrong_usage() {
    for (args, words) in [
        (&["ask", "-"][..], "the answers are read there"),
        (
            &["ask", "greeting.json", "--keys", "k"],
            "add --store PATH or --keep",
        ),
        (&["ask", "absent.json"], "cannot read absent.json"),
        (
            &["ask", "greeting.json", "--timeout", "1.5h"],
            "a whole number with ms, s, m or h",
        ),
        (
            &["ask", "greeting.json", "--timeout", "500ms"],
            "`timeout` is 500 ms, below the minimum of 1000 ms",
        ),
        (
            &["ask", "greeting.json", "--timeout", "1h"],
            "above the maximum of 600000 ms",
        ),
        // Its validator is a function of some host program.
        (&["ask", "custom.json"], "custom.json is not a sound form"),
    ] {
        let run = entreat(args);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
        assert!(run.stderr.contains(words), "{args:?}: {}", run.stderr);
    }
}

#[test]
fn messages_are_in_the_persons_language() {
    let mut command = crate::command(&["ask", "greeting.json"]);
    command.env("LANG", "de_AT.UTF-8");
    let run = crate::finish(command, b"\nAda\n");
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("Your name muss"), "{}", run.stderr);
}
