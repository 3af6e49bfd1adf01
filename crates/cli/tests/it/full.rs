//! `entreat ask` with the whole screen, in a pseudo-terminal.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::screen::Screen;

const ENTER: &str = "\r";
const TAB: &str = "\t";
const BACK_TAB: &str = "\x1b[Z";
const UP: &str = "\x1b[A";
const DOWN: &str = "\x1b[B";
const ESCAPE: &str = "\x1b";
const CTRL_C: &str = "\x03";
const CTRL_R: &str = "\x12";
const CTRL_U: &str = "\x15";
const CTRL_X: &str = "\x18";

const EVERY: &[&str] = &["ask", "every.yaml", "--asker", "Deploy robot"];

fn every(size: (u16, u16), variables: &[(&str, &str)]) -> Screen {
    let screen = Screen::with(EVERY, size, variables);
    screen.wait_for("> │ Name");
    screen
}

#[test]
fn every_type_is_filled_in_reviewed_and_sent() {
    let mut screen = every((80, 24), &[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.txt");
    std::fs::write(&path, "hello").unwrap();
    insta::assert_snapshot!("full_begin", screen.frame());

    screen.press("webserver");
    screen.press_for(TAB, "> │ Notes");
    screen.press("one\rtwo");
    insta::assert_snapshot!("full_lines", {
        screen.wait_for("two");
        screen.frame()
    });
    screen.press_for(TAB, "> │ Token");
    screen.press_for("hunter2", "•••••••");
    assert!(!screen.frame().contains("hunter2"));
    screen.press_for(TAB, "> │ Cores");
    screen.press_for("\x7f32", "Why so many cores?");
    screen.press_for(TAB, "> │ Back it up");
    screen.press_for("y", "(•) Yes");
    screen.press_for(ENTER, "> │ Region");
    screen.press_for("asi", "Search: asi ");
    insta::assert_snapshot!("full_search", screen.frame());
    screen.press_for(ENTER, "> │ Roles");
    screen.press(DOWN);
    screen.press_for(" ", "2 selected");
    screen.press_for(TAB, "> │ First day");
    screen.press_for("2026-02-27", "2026-02-27");
    screen.press_for(DOWN, "February 2026");
    screen.press_for("\x1b[C", "2026-02-28");
    insta::assert_snapshot!("full_calendar", screen.frame());
    screen.press_for(TAB, "> │ Hook");
    screen.press_for("https://a@example.com/", "! The text before the @");
    screen.press(CTRL_U);
    screen.press_for("https://example.com/", "https://example.com/");
    screen.press_for(TAB, "> │ Key file");
    // A pasted path arrives in one piece.
    let start = path.to_str().unwrap().strip_suffix("y.txt").unwrap();
    screen.press(&format!("\x1b[200~{start}\x1b[201~"));
    screen.wait_for(&start[start.len() - 6..]);
    screen.press_for(TAB, "key.txt");
    screen.press_for(ENTER, "> │ Why so many cores?");
    screen.press("Many users");
    screen.press_for(ENTER, "[ Send to “Deploy robot” ]");
    insta::assert_snapshot!("full_review", screen.frame());
    screen.press(ENTER);
    let (code, stdout) = screen.finish();
    assert_eq!(code, 0);
    let sent: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        sent,
        json!({"name": "webserver", "notes": "one\ntwo", "token": "hunter2", "cores": 32,
            "backup": true, "region": "as", "roles": ["web", "mail"], "start": "2026-02-28",
            "hook": "https://example.com/", "why": "Many users", "owner": "operations",
            "key": {"filename": "key.txt", "content_type": "text/plain", "size": 5,
                    "content": "aGVsbG8="}})
    );
}

#[test]
fn errors_stand_in_their_place_and_one_can_go_back() {
    let mut screen = every((80, 24), &[]);
    screen.press("X");
    screen.press_for(CTRL_R, "3 answers need correcting.");
    insta::assert_snapshot!("full_errors", screen.frame());
    screen.press_for(TAB, "> │ Notes");
    screen.press_for(BACK_TAB, "> │ Name");
    screen.press(CTRL_U);
    screen.press("web");
    screen.press_for(CTRL_R, "2 answers need correcting.");
    screen.press(CTRL_C);
    assert_eq!(screen.finish().0, 4);
}

#[test]
fn a_review_leads_back_to_an_answer() {
    let mut screen = Screen::start(&["ask", "secret.yaml"]);
    screen.wait_for("> │ User");
    screen.press("ada");
    screen.press_for(TAB, "> │ Token");
    screen.press("hunter2hunter2");
    screen.press_for(CTRL_R, "[ Send ]");
    screen.press(UP);
    screen.press_for(ENTER, "> │ Days");
    screen.press(CTRL_U);
    screen.press("9");
    screen.press_for(ENTER, "[ Send ]");
    screen.press(ENTER);
    let (code, stdout) = screen.finish();
    let expected = "{\"user\":\"ada\",\"token\":\"hunter2hunter2\",\"days\":9}\n";
    assert_eq!((code, stdout.as_str()), (0, expected));
}

#[test]
fn a_window_may_be_resized_down_to_forty_columns() {
    let mut screen = every((80, 24), &[]);
    screen.resize(40, 10);
    screen.wait_until("narrow keys", |screen| {
        screen.contents().contains("^R review")
    });
    insta::assert_snapshot!("full_narrow", screen.frame());
    screen.press("web");
    screen.press_for(CTRL_R, "> │ Back it up");
    insta::assert_snapshot!("full_narrow_errors", screen.frame());
    screen.resize(20, 5);
    screen.wait_for("Too small.");
    screen.resize(100, 30);
    screen.wait_for("Shift-Tab back");
    screen.press(CTRL_C);
    assert_eq!(screen.finish().0, 4);
}

#[test]
fn colours_are_left_out_when_nobody_wants_them() {
    for (variables, expected) in [(&[][..], true), (&[("NO_COLOR", "1")], false)] {
        let mut screen = every((80, 24), variables);
        assert_eq!(screen.is_coloured(), expected, "{variables:?}");
        screen.press(CTRL_C);
        screen.finish();
    }
}

#[test]
fn a_locale_without_unicode_gets_ascii() {
    let mut screen = Screen::with(EVERY, (80, 24), &[("LC_ALL", "C")]);
    screen.wait_for("> | Name");
    let frame = screen.frame();
    assert!(frame.is_ascii(), "{frame}");
    insta::assert_snapshot!("full_ascii", frame);
    screen.press(CTRL_C);
    screen.finish();
}

#[test]
fn plain_lines_are_had_by_flag_and_by_environment() {
    for (args, variables) in [
        (&["ask", "greeting.json", "--plain"][..], &[][..]),
        (&["ask", "greeting.json"], &[("ACCESSIBLE", "1")]),
        (&["ask", "greeting.json"], &[("TERM", "dumb")]),
    ] {
        let mut screen = Screen::with(args, (80, 24), variables);
        screen.wait_for("\n>");
        assert!(!screen.is_full());
        insta::assert_snapshot!("full_plain", screen.frame());
        screen.press("Ada\r");
        assert_eq!(screen.finish(), (0, "{\"name\":\"Ada\"}\n".to_owned()));
    }
}

#[test]
fn every_decision_has_its_code() {
    for (keys, code, words) in [
        (&[CTRL_X][..], 3, "the question was declined"),
        (&["x", CTRL_X, CTRL_X], 3, "the question was declined"),
        (&[ESCAPE], 4, "the question was cancelled"),
        (&[CTRL_C], 4, "the question was cancelled"),
        (&["\x04"], 4, "the question was cancelled"),
    ] {
        let mut screen = Screen::start(&["ask", "secret.yaml", "--json"]);
        screen.wait_for("> │ User");
        assert!(screen.is_full() && !screen.is_as_before());
        for key in keys {
            screen.press(key);
            if *key == "x" {
                screen.wait_for("* x");
            }
        }
        screen.wait_for(words);
        let (ended, stdout) = screen.finish();
        assert_eq!(ended, code, "{keys:?}");
        let record: Value = serde_json::from_str(&stdout).unwrap();
        assert!(record.get("result").is_none(), "{record}");
    }
    let screen = Screen::start(&["ask", "secret.yaml", "--timeout", "1s"]);
    screen.wait_for("timed out");
    assert_eq!(screen.finish().0, 5);
}

#[test]
fn whatever_ends_it_from_outside_gives_the_screen_back() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let screen = every((80, 24), &[]);
        let process = Pid::from_raw(screen.process()).unwrap();
        kill_process(process, signal).unwrap();
        screen.wait_for("the question was cancelled");
        assert_eq!(screen.finish().0, code);
    }
}

#[test]
fn more_time_can_be_had() {
    let mut screen = Screen::start(&["ask", "greeting.json", "--timeout", "90s"]);
    screen.wait_for("? Your name");
    // The extension is as long as the timeout allows.
    screen.press_for("\x14", "You now have 6 minutes.");
    screen.press("Ada");
    screen.press(ENTER);
    assert_eq!(screen.finish().0, 0);
}

#[test]
fn hostile_texts_and_endless_lists_do_nothing() {
    let nasty = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[1;1H\u{9b}31mEsc cancel\u{202e}\u{200b}";
    let options: Vec<Value> = (0..10_000)
        .map(|i| {
            let words = if i % 100 == 76 { nasty } else { "" };
            json!({"value": format!("v{i}"), "title": format!("{words} {i}")})
        })
        .collect();
    let form = json!({"id": "f", "title": nasty, "description": "word ".repeat(20_000),
    "fields": [
        {"id": "a", "type": "select", "label": nasty, "description": nasty,
         "required": true, "options": options, "rendering": {"helpText": nasty}},
        {"id": "b", "type": "text", "label": nasty, "default": nasty},
    ]});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.json");
    std::fs::write(&path, form.to_string()).unwrap();
    let path = path.to_str().unwrap();
    let mut screen = Screen::start(&["ask", path, "--asker", nasty, "--message", nasty]);
    screen.wait_for("Ctrl-X decline");
    screen.press_for(DOWN, "10000 options; type to search");
    screen.press_for("9876", "Search: 9876 ");
    insta::assert_snapshot!("full_hostile", screen.frame());
    screen.press_for(ENTER, "Esc cancel 9876");
    screen.press(CTRL_R);
    screen.press_for("", "[ Send to");
    screen.press(ENTER);
    let (code, stdout) = screen.finish();
    assert_eq!(code, 0);
    assert_eq!(
        serde_json::from_str::<Value>(&stdout).unwrap()["a"],
        "v9876"
    );
}

#[test]
fn a_script_runs_on_the_screen_step_by_step() {
    let mut screen = Screen::start(&["ask", "--script", "script.json"]);
    screen.wait_for("> │ Go on?");
    insta::assert_snapshot!("full_script", screen.frame());
    screen.press_for("y", "Careful now.");
    screen.press_for(ENTER, "Good bye.");
    screen.press("later");
    screen.press_for(ENTER, "[ Send ]");
    screen.press(ENTER);
    let (code, stdout) = screen.finish();
    assert_eq!(
        (code, stdout.as_str()),
        (0, "{\"go\":true,\"why\":\"later\"}\n")
    );
}
