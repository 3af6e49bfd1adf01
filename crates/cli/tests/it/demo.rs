//! `entreat demo`: the main job, from the question to the answer.

use std::io::Read as _;

use crate::http::{self, Answer};
use crate::session::Session;
use crate::{command, entreat_with};

#[test]
fn a_demo_can_answer_by_itself() {
    let answer = r#"{"approve": false, "reason": "The tests are red."}"#;
    let run = entreat_with(&["demo", "--answer", "-"], answer);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = serde_json::json!({"approve": false, "reason": "The tests are red."});
    assert_eq!(run.json_lines(), [expected]);
    let steps = [
        "Starting Entreat",
        "A sample question is asked",
        "http://127.0.0.1:",
        "Answering it",
        "Answered.",
    ];
    let mut rest = &*run.stderr;
    for step in steps {
        let (_, after) = rest.split_once(step).expect("every step is told, in order");
        rest = after;
    }
}

#[test]
fn an_answer_that_is_not_valid_is_told_field_by_field() {
    let run = entreat_with(
        &["demo", "--answer", "-"],
        r#"{"approve": true, "token": "x"}"#,
    );
    assert_eq!(run.code, 1);
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr
            .contains("token: Deployment token must be at least 8"),
        "{}",
        run.stderr
    );
    let run = entreat_with(&["demo", "--answer", "-"], "no JSON");
    assert_eq!(run.code, 2);
}

/// A demo that waits, and the address and path of its question.
fn start(args: &[&str]) -> (Session, String, String) {
    let mut all = vec!["demo", "--no-browser"];
    all.extend(args);
    let session = Session::spawn(command(&all));
    let link = session.line_with("http://127.0.0.1:");
    let link = link.trim().trim_start_matches("http://");
    let (address, path) = link.split_once('/').expect("a link has a path");
    (session, address.to_owned(), format!("/{path}"))
}

fn get(address: &str, path: &str) -> Answer {
    http::send(address, &format!("GET {path}"), None, "")
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let (_, rest) = text.split_once(before).expect("the page has it");
    rest.split_once(after).expect("it ends").0
}

#[test]
fn a_person_answers_on_the_page_and_the_answer_is_printed() {
    let form = r#"{"id": "g", "title": "Who are you?", "fields": [
        {"id": "name", "type": "text", "label": "Your name", "required": true}]}"#;
    let folder = tempfile::tempdir().expect("there is a place for folders");
    let path = folder.path().join("form.json");
    std::fs::write(&path, form).expect("it can be written");
    let (session, address, link) = start(&["--form", path.to_str().expect("it is text")]);
    let mut page = String::new();
    let mut stream = http::begin(&address, &format!("GET {link}"), None, "");
    stream.read_to_string(&mut page).expect("the page is text");
    assert!(page.contains("Who are you?"), "{page}");
    let cookie = between(&page, "set-cookie: ", ";");
    let csrf = between(&page, "name=\"_csrf\" value=\"", "\"");
    let here = between(&page, "action=\"", "\"");

    let body = format!("_csrf={csrf}&_f=0&f.name=Ada&_do=send");
    let lines = format!("cookie: {cookie}\r\norigin: null\r\n");
    let sent = http::read_answer(http::begin_with(
        &address,
        &format!("POST {here}"),
        &lines,
        &body,
    ));
    assert_eq!(sent.status, 303);
    // The page that shows the outcome can still be fetched.
    let closing = http::read_answer(http::begin_with(
        &address,
        &format!("GET {here}"),
        &lines,
        "",
    ));
    assert!(closing.body.contains("Answer sent"), "{}", closing.body);
    let run = session.wait();
    assert_eq!((run.code, &*run.stdout), (0, "{\"name\":\"Ada\"}\n"));
}

#[test]
fn the_page_follows_the_file_of_its_form() {
    let form = |title: &str| {
        format!("id: g\ntitle: {title}\nfields:\n  - {{id: a, type: text, label: A}}\n")
    };
    let folder = tempfile::tempdir().expect("there is a place for folders");
    let path = folder.path().join("form.yaml");
    std::fs::write(&path, form("Before")).expect("it can be written");
    let (session, address, link) = start(&["--form", path.to_str().expect("it is text")]);
    assert!(get(&address, &link).body.contains("Before"));

    std::fs::write(&path, "id: g\nfields: nothing\n").expect("it can be written");
    session.line_with("The page was not updated.");
    assert!(get(&address, &link).body.contains("Before"));
    std::fs::write(&path, form("After")).expect("it can be written");
    session.line_with("The form has changed");
    let mut moved = String::new();
    let mut stream = http::begin(&address, &format!("GET {link}"), None, "");
    stream.read_to_string(&mut moved).expect("the head is text");
    assert!(moved.starts_with("HTTP/1.1 303"), "{moved}");
    let cookie = between(&moved, "set-cookie: ", ";");
    let next = between(&moved, "location: ", "\r\n");
    let lines = format!("cookie: {cookie}\r\n");
    let page = http::read_answer(http::begin_with(
        &address,
        &format!("GET {next}"),
        &lines,
        "",
    ));
    assert!(page.body.contains("After"), "{}", page.body);
    session.kill();
}
