//! `entreat ask` with a single question: in place in a pseudo-terminal, and through pipes.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::screen::Screen;
use crate::session::Session;
use crate::{command, entreat, entreat_with, is_refused};

const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";
const ESCAPE: &str = "\x1b";
const CTRL_C: &str = "\x03";
const CTRL_X: &str = "\x18";

const CONFIRM: &[&str] = &["ask", "--confirm", "Deploy now?"];
const CHOOSE: &[&str] = &["ask", "--choose", "eu,us,asia", "Which region?"];

#[test]
fn a_confirmation_takes_a_few_lines_and_leaves_one() {
    for (key, answer, code, stdout) in [("y", "Yes", 0, "yes\n"), ("n", "No", 1, "no\n")] {
        let mut screen = Screen::start(CONFIRM);
        screen.wait_for("? Deploy now?");
        assert!(!screen.is_full());
        // Nothing is preselected, so Enter alone answers nothing.
        screen.press_for(ENTER, "Answer this question");
        screen.press_for(key, &format!("(•) {answer}"));
        screen.press(ENTER);
        screen.wait_until("the line that stays", |screen| {
            screen.contents().trim_end() == format!("? Deploy now?  {answer}")
        });
        assert_eq!(screen.finish(), (code, stdout.to_owned()));
    }
}

#[test]
fn a_choice_is_searched_and_printed_as_it_is() {
    let mut screen = Screen::start(CHOOSE);
    screen.wait_for("> eu");
    insta::assert_snapshot!("inline_choose", screen.frame());
    screen.press_for(DOWN, "> us");
    screen.press_for("asi", "> asia");
    screen.press(ENTER);
    screen.wait_for("? Which region?  asia");
    assert_eq!(screen.finish(), (0, "asia\n".to_owned()));
}

#[test]
fn text_that_is_no_file_is_a_question() {
    let mut screen = Screen::start(&["ask", "Your name?", "--default", "Ada"]);
    screen.wait_for("? Your name?  Ada");
    screen.press(" Lovelace");
    screen.press(ENTER);
    assert_eq!(screen.finish(), (0, "Ada Lovelace\n".to_owned()));

    let run = entreat_with(&["ask", "Which branch?"], "main\n");
    assert_eq!((run.code, run.stdout.as_str()), (0, "main\n"));
    // A form that is missing is not a question.
    for name in ["form.json", "form.YAML", "form.toml"] {
        let run = entreat_with(&["ask", name], "main\n");
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("cannot read form."), "{}", run.stderr);
    }
}

#[test]
fn a_form_with_one_field_is_asked_in_place_too() {
    let mut screen = Screen::start(&["ask", "greeting.json", "--asker", "Door"]);
    screen.wait_for("? Your name");
    insta::assert_snapshot!("inline_form", screen.frame());
    screen.press("Ada");
    screen.press(ENTER);
    assert_eq!(screen.finish(), (0, "{\"name\":\"Ada\"}\n".to_owned()));
}

#[test]
fn every_way_out_has_its_code_and_gives_the_terminal_back() {
    for (keys, code) in [
        (&[CTRL_X][..], 3),
        (&[ESCAPE], 4),
        (&[CTRL_C], 4),
        (&["\x04"], 4),
    ] {
        let mut screen = Screen::start(CONFIRM);
        screen.wait_for("? Deploy now?");
        assert!(!screen.is_as_before());
        for key in keys {
            screen.press(key);
        }
        screen.wait_for("entreat: not answered");
        assert!(screen.frame().starts_with("? Deploy now?\nentreat:"));
        assert_eq!(screen.finish(), (code, String::new()));
    }
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let screen = Screen::start(CHOOSE);
        screen.wait_for("> eu");
        kill_process(Pid::from_raw(screen.process()).unwrap(), signal).unwrap();
        screen.wait_for("the question was cancelled");
        assert_eq!(screen.finish().0, code);
    }
    let screen = Screen::start(&["ask", "Your name?", "--timeout", "1s"]);
    screen.wait_for("timed out");
    assert_eq!(screen.finish().0, 5);
}

#[test]
fn a_window_of_twenty_columns_is_enough() {
    let mut screen = Screen::start(CHOOSE);
    screen.wait_for("> eu");
    screen.resize(20, 12);
    screen.wait_until("wrapped keys", |screen| {
        let contents = screen.contents();
        contents.contains("Enter send\n") && !contents.contains("   ")
    });
    insta::assert_snapshot!("inline_narrow", screen.frame());
    screen.resize(70, 20);
    screen.wait_until("one line of keys", |screen| {
        screen.contents().contains("Esc cancel   Ctrl-X decline")
    });
    screen.press_for(DOWN, "> us");
    screen.press(ENTER);
    screen.wait_for("? Which region?  us");
    assert_eq!(screen.finish(), (0, "us\n".to_owned()));
}

#[test]
fn colours_and_unicode_are_left_out_when_they_are_not_wanted() {
    let variables = [("NO_COLOR", "1"), ("LC_ALL", "C")];
    let mut screen = Screen::with(CHOOSE, (80, 24), &variables);
    screen.wait_for("> eu");
    assert!(screen.frame().is_ascii(), "{}", screen.frame());
    assert!(!screen.is_coloured());
    screen.press(CTRL_C);
    screen.finish();
}

#[test]
fn the_person_s_language_is_spoken() {
    for (args, variables) in [
        (CONFIRM, &[("LANG", "de_DE.UTF-8")][..]),
        (&["ask", "--confirm", "Deploy now?", "--lang", "de"], &[]),
    ] {
        let mut screen = Screen::with(args, (80, 24), variables);
        screen.wait_for("( ) Nein");
        screen.press_for(ENTER, "Beantworten Sie diese Frage");
        screen.press_for("j", "(•) Ja");
        screen.press(ENTER);
        screen.wait_for("? Deploy now?  Ja");
        // Scripts read the same in every language.
        assert_eq!(screen.finish(), (0, "yes\n".to_owned()));
    }
    let german = [CONFIRM, &["--lang", "de"]].concat();
    let run = entreat_with(&german, ":decline\n");
    let says = "entreat: nicht beantwortet: die Frage wurde abgelehnt";
    assert!(run.stderr.contains(says), "{}", run.stderr);
}

#[test]
fn lines_answer_a_question_too() {
    let run = entreat_with(CONFIRM, "\nyes\n");
    assert_eq!((run.code, run.stdout.as_str()), (0, "yes\n"));
    let run = entreat_with(CONFIRM, "n\n");
    assert_eq!((run.code, run.stdout.as_str()), (1, "no\n"));
    let run = entreat_with(CHOOSE, "2\n");
    assert_eq!((run.code, run.stdout.as_str()), (0, "us\n"));
    let with = |args: &[&str], typed: &str| {
        let run = entreat_with(args, typed);
        (run.code, run.stdout)
    };
    let defaults = [CONFIRM, &["--default", "no"]].concat();
    assert_eq!(with(&defaults, "\n"), (1, "no\n".to_owned()));
    let defaults = [CHOOSE, &["--default", "asia"]].concat();
    assert_eq!(with(&defaults, "\n"), (0, "asia\n".to_owned()));
    let defaults = ["ask", "Name?", "--default", "a=b"];
    assert_eq!(with(&defaults, "\n"), (0, "a=b\n".to_owned()));
    let run = entreat_with(&[CONFIRM, &["--json"]].concat(), "n\n");
    assert_eq!(run.code, 1);
    assert_eq!(run.json_lines()[0]["result"]["answer"], Value::Bool(false));
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_reason() {
    for (args, says) in [
        (&["ask", ""][..], "the question is empty"),
        (&["ask", "--confirm", ""], "--confirm is not possible"),
        (
            &["ask", "--confirm", "Sure?", "--default", "perhaps"],
            "--default must be yes or no",
        ),
        (
            &["ask", "--choose", "a,b", "Which?", "--default", "c"],
            "--default must be one of the choices: a, b",
        ),
        (
            &["ask", "--choose", "a,a", "Which?"],
            "--choose is not possible",
        ),
        (
            &["ask", "Token?", "--sensitive", "--default", "x"],
            "a secret has no --default",
        ),
        (
            &["ask", "greeting.json", "--sensitive"],
            "--sensitive needs a question",
        ),
        (
            &["ask", "Name?", "--default", "a", "--default", "b"],
            "has one --default",
        ),
        (&["ask", "Name?", "--timeout", "721h"], "1s to 30d"),
        (&["ask", "Name?", "--timeout", "999ms"], "1s to 30d"),
    ] {
        is_refused(args, says);
    }
}

#[test]
fn where_nobody_can_answer_no_input_fails_at_once() {
    for args in [&["ask", "Name?"][..], CONFIRM, &["ask", "secret.yaml"]] {
        let run = entreat(&[args, &["--no-input"]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{args:?}");
        let says = "nobody can answer here: stdin is empty and not a terminal";
        assert!(run.stderr.contains(says), "{}", run.stderr);
        assert!(!run.stderr.contains("http://"), "{}", run.stderr);
    }
    // Not even the question is written where it is clear from the start.
    let mut without_input = command(&["ask", "Name?", "--no-input"]);
    let output = without_input.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let says = "entreat: nobody can answer here: stdin is empty and not a terminal\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), says);
    // Where somebody can, nothing changes.
    let run = entreat_with(&["ask", "Name?", "--no-input"], "Ada\n");
    assert_eq!((run.code, run.stdout.as_str()), (0, "Ada\n"));
}

#[test]
fn a_person_may_take_a_month() {
    let mut session = Session::start(&["ask", "Name?", "--timeout", "30d", "--json"]);
    session.wait_for("> ");
    session.type_line("Ada");
    let run = session.wait();
    assert_eq!(run.json_lines()[0]["timeoutMs"], 2_592_000_000_u64);
}
