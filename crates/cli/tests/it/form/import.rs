//! `entreat form import`.

use serde_json::{Value, json};

use crate::{entreat, entreat_with};

fn import(document: &Value, flags: &[&str]) -> (Value, String) {
    let args = [&["form", "import", "-"], flags].concat();
    let run = entreat_with(&args, document.to_string());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let form = serde_json::from_str(&run.stdout).expect("the form is JSON");
    (form, run.stderr)
}

#[test]
fn a_schema_becomes_a_form_that_is_sound() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let (form, talk) = import(&schema, &[]);
    assert_eq!((&form["id"], talk.as_str()), (&json!("imported"), ""));
    assert_eq!(form["fields"][0]["id"], "name");
    let run = entreat_with(&["form", "lint", "-"], form.to_string());
    assert_eq!(run.code, 0);
}

#[test]
fn what_a_form_does_not_enforce_is_told_on_stderr() {
    let schema = json!({"type": "object",
        "properties": {"name": {"type": "string", "pattern": "(?=a)"}}});
    let (_, talk) = import(&schema, &[]);
    assert!(
        talk.starts_with("stdin: /properties/name/pattern: "),
        "{talk}"
    );
    assert_eq!(talk.lines().count(), 1);
}

#[test]
fn a_title_comes_from_the_flag_the_message_or_the_schema() {
    let bare = json!({"type": "object", "properties": {}});
    let titled = json!({"type": "object", "properties": {}, "title": "Profile"});
    let params = json!({"message": "Who are you?", "requestedSchema": titled});
    let title = |document: &Value, flags: &[&str]| import(document, flags).0["title"].clone();
    assert_eq!(title(&bare, &[]), "Question");
    assert_eq!(title(&titled, &[]), "Profile");
    assert_eq!(title(&params, &[]), "Who are you?");
    assert_eq!(title(&params, &["--title", "Mine"]), "Mine");
    assert_eq!(import(&params, &["--id", "mine"]).0["id"], "mine");
}

#[test]
fn what_is_no_object_is_no_schema() {
    for text in ["[]", "hello", "{\"requestedSchema\": 1}", ""] {
        let run = entreat_with(&["form", "import", "-"], text);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{text}");
        assert!(run.stderr.starts_with("entreat: stdin is not a schema: "));
    }
}

#[test]
fn text_that_cannot_be_read_is_no_schema() {
    let run = entreat_with(&["form", "import", "-"], "{\"type\": \"object\"");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("[syntax]"));
    assert_eq!(entreat(&["form", "import", "absent.json"]).code, 2);
}

#[test]
fn a_schema_for_something_else_than_an_object_is_refused() {
    let run = entreat_with(&["form", "import", "-"], r#"{"type":"string"}"#);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("is not a schema that can be imported"));
}
