//! `entreat ask` through pipes.

use serde_json::json;

use crate::http::Page;
use crate::session::Session;
use crate::{Run, entreat, entreat_with};

const ASK: &[&str] = &["ask", "secret.yaml"];

/// Returns the last line of stderr.
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
fn every_way_not_to_answer_has_its_code_and_its_sentence() {
    for (typed, code, words) in [
        ("ada\n:decline\n", 3, "the question was declined"),
        ("ada\n:cancel\n", 4, "the question was cancelled"),
        (
            "ada\n",
            4,
            "the input ended before the answers were sent, so the question was cancelled",
        ),
    ] {
        let run = entreat_with(ASK, typed);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{typed:?}");
        assert_eq!(last_words(&run), format!("entreat: not answered: {words}"));
    }
}

/// Answers the only question of a page.
fn answer(session: &Session, name: &str) {
    let page = Page::open(&session.line_with("http://127.0.0.1:"));
    assert_eq!(page.post(&format!("f.name={name}"), "send").status, 303);
}

#[test]
fn where_nobody_can_answer_the_question_waits_on_a_page_and_never_answers_itself() {
    let mut session = Session::start(&["ask", "greeting.json"]);
    session.close_stdin();
    session.wait_for("nobody can answer here: stdin is empty and not a terminal");
    answer(&session, "Ada");
    let run = session.wait();
    assert_eq!((run.code, run.stdout.as_str()), (0, "{\"name\":\"Ada\"}\n"));

    let run = entreat(&["ask", "greeting.json", "--timeout", "1s"]);
    assert_eq!((run.code, run.stdout.as_str()), (5, ""));
}

#[test]
fn a_page_can_be_asked_for() {
    let session = Session::start(&["ask", "greeting.json", "--browser", "--field", "name"]);
    answer(&session, "Zo%C3%AB");
    let run = session.wait();
    assert_eq!((run.code, run.stdout.as_str()), (0, "Zoë\n"));
}

#[test]
fn a_shell_can_read_the_answers() {
    let typed = "it's $(me)\nhunter2hunter2\n\n\n";
    let run = entreat_with(&["ask", "secret.yaml", "--env"], typed);
    let expected = "USER='it'\\''s $(me)'\nTOKEN='hunter2hunter2'\nDAYS='7'\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected));
    let run = entreat_with(&["ask", "secret.yaml", "--field", "user"], typed);
    assert_eq!((run.code, run.stdout.as_str()), (0, "it's $(me)\n"));
}

#[test]
fn answers_can_be_filled_in_beforehand() {
    let args = [
        "ask",
        "secret.yaml",
        "--default",
        "user=ada",
        "--default",
        "days=9",
    ];
    let run = entreat_with(&args, "\nhunter2hunter2\n\n\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let result = &run.json_lines()[0];
    assert_eq!(
        (&result["user"], &result["days"]),
        (&json!("ada"), &json!(9))
    );
}

#[test]
fn a_form_can_be_named_in_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let form = std::fs::read("tests/it/forms/greeting.json").expect("the form");
    std::fs::write(folder.path().join("hello.json"), form).expect("a file");
    let folder = folder.path().to_str().expect("a name that is text");
    let run = entreat_with(&["ask", "--template", "hello", "--forms", folder], "Ada\n");
    assert_eq!((run.code, run.stdout.as_str()), (0, "{\"name\":\"Ada\"}\n"));
    let run = entreat(&["ask", "--template", "helo", "--forms", folder]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("did you mean `hello`?"),
        "{}",
        run.stderr
    );
}

#[test]
fn one_line_is_asked_for_and_printed_as_it_is() {
    let run = entreat_with(&["ask", "--prompt", "Which branch?"], "main \"x\"\n");
    assert_eq!((run.code, run.stdout.as_str()), (0, "main \"x\"\n"));
    let args = ["ask", "--prompt", "Token?", "--sensitive", "--json"];
    let run = entreat_with(&args, "hunter2\n");
    assert_eq!(run.json_lines()[0]["mode"], "inline");
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
}

#[test]
fn a_script_says_and_asks_step_by_step() {
    let run = entreat_with(&["ask", "--script", "script.json"], "y\nlater\n\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json_lines()[0], json!({"go": true, "why": "later"}));
    insta::assert_snapshot!("ask_script", run.stderr);
    let run = entreat_with(&["ask", "--script", "script.json"], "n\n\n");
    assert!(!run.stderr.contains("Careful now."), "{}", run.stderr);
}

#[test]
fn a_deadline_ends_it_while_the_person_sits_at_a_prompt() {
    let session = Session::start(&["ask", "greeting.json", "--timeout", "1s", "--json"]);
    let run = session.wait();
    assert_eq!(run.code, 5);
    let words = "> \nentreat: not answered: the question timed out; nothing was sent\n";
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
    // The program that asked is the asker, and gets its secrets.
    assert_eq!(record["result"]["token"], "hunter2hunter2");
    let run = entreat_with(&["ask", "secret.yaml", "--json"], ":decline\n");
    assert_eq!(
        (run.code, &run.json_lines()[0]["status"]),
        (3, &json!("declined"))
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
        assert_eq!(entreat_with(&["ask", form], ":decline\n").code, 3, "{form}");
    }
}

#[test]
fn a_broken_form_is_told_with_all_its_problems() {
    let run = entreat(&["ask", "broken.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let problems = entreat(&["form", "lint", "broken.json"]).stdout;
    assert_eq!(
        run.stderr,
        format!("entreat: broken.json is not a valid form\n{problems}")
    );
}

#[test]
fn what_cannot_be_asked_is_wrong_usage() {
    for (args, words) in [
        (&["ask", "-"][..], "the answers are read from there"),
        (
            &["ask", "greeting.json", "--keys", "k"],
            "add --store PATH or --keep",
        ),
        (&["ask", "absent.json"], "cannot read absent.json"),
        (
            &["ask", "greeting.json", "--timeout", "1.5h"],
            "a whole number with ms, s, m, h or d",
        ),
        (
            &["ask", "greeting.json", "--timeout", "500ms"],
            "a person has 1s to 30d to answer",
        ),
        (
            &["ask", "greeting.json", "--timeout", "721h"],
            "a person has 1s to 30d to answer",
        ),
        (&["ask"], "required arguments were not provided"),
        (
            &["ask", "greeting.json", "--field", "nmae"],
            "the form has no field `nmae`; did you mean `name`?",
        ),
        (
            &["ask", "greeting.json", "--default", "nmae=x"],
            "the form has no field `nmae`; did you mean `name`?",
        ),
        (
            &["ask", "secret.yaml", "--default", "days=900"],
            "--default is invalid",
        ),
        (
            &["ask", "greeting.json", "--template", "x"],
            "cannot be used with",
        ),
        (&["ask", "--template", "x"], "set it with --forms"),
        (&["ask", "--prompt", ""], "the question is empty"),
        // Its validator is a function of some host program.
        (&["ask", "custom.json"], "custom.json is not a valid form"),
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
