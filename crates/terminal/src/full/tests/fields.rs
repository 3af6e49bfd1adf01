//! How each field type is filled in, and the submitted values.

use std::fs;

use serde_json::{Value, json};

use super::{Sitting, form, question};
use crate::full::event::{Event, Key};
use crate::question::FormReply;

fn one(field: &Value) -> Sitting {
    Sitting::new(&json!([field]))
}

#[test]
fn an_only_question_is_sent_by_enter() {
    let mut sitting = one(&json!({"id": "a", "type": "text", "label": "A"}));
    sitting.type_in("Ada").press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "Ada"}));
    assert_eq!(sitting.begun, 1);
}

#[test]
fn negative_numbers_and_exponents_can_be_typed() {
    for (typed, number) in [
        ("-12", json!(-12)),
        ("1.5e3", json!(1500.0)),
        ("-2E-2", json!(-0.02)),
    ] {
        let mut sitting = one(&json!({"id": "a", "type": "number", "label": "A"}));
        sitting.type_in(typed).press(&[Key::Enter]);
        assert_eq!(sitting.sent()["a"], number, "{typed}");
    }
}

#[test]
fn a_required_boolean_is_not_answered_by_enter_alone() {
    let field = json!({"id": "a", "type": "boolean", "label": "A", "required": true});
    let mut sitting = one(&field);
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.done, None);
    assert!(
        sitting.screen().contains("A is required"),
        "{}",
        sitting.screen()
    );
    sitting.press(&[Key::Char('n'), Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": false}));
    let mut sitting = one(&field);
    sitting.press(&[Key::Char(' '), Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": true}));
}

#[test]
fn an_optional_boolean_may_be_left_without_an_answer() {
    let field = json!({"id": "a", "type": "boolean", "label": "A"});
    let mut sitting = one(&field);
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({}));
    let mut sitting = one(&field);
    sitting.press(&[Key::Char('y'), Key::Delete, Key::Enter]);
    assert_eq!(sitting.sent(), json!({}));
}

#[test]
fn enter_on_an_option_chooses_it() {
    let options = json!({"id": "a", "type": "select", "label": "A", "required": true,
        "options": ["x", "y", "z"]});
    let mut sitting = one(&options);
    sitting.press(&[Key::Down, Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "y"}));
    let mut sitting = one(&options);
    sitting.type_in("z").press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "z"}));
    let mut sitting = one(&options);
    sitting.type_in("nope").press(&[Key::Enter]);
    assert_eq!(sitting.done, None);
}

#[test]
fn a_required_and_empty_multi_select_cannot_be_sent() {
    let mut sitting = one(&json!({"id": "a", "type": "multi_select", "label": "A",
        "required": true, "options": ["x", "y"]}));
    sitting.press(&[Key::Tab]);
    assert_eq!(sitting.done, None);
    assert!(
        sitting.screen().contains("A is required"),
        "{}",
        sitting.screen()
    );
    sitting.press(&[Key::Down, Key::Enter, Key::Up, Key::Char(' '), Key::Tab]);
    assert_eq!(sitting.sent(), json!({"a": ["x", "y"]}));
}

#[test]
fn a_cleared_answer_is_left_out_even_if_it_has_a_default() {
    for (field, keys) in [
        (
            json!({"type": "text", "default": "x"}),
            &[Key::Ctrl('u')][..],
        ),
        (json!({"type": "number", "default": 7}), &[Key::Backspace]),
        (json!({"type": "boolean", "default": true}), &[Key::Delete]),
        (
            json!({"type": "date", "default": "2026-02-28"}),
            &[Key::Ctrl('u')],
        ),
        (
            json!({"type": "url", "default": "https://example.com/"}),
            &[Key::Ctrl('u')],
        ),
        (
            json!({"type": "select", "default": "x", "options": ["x"]}),
            &[Key::Delete],
        ),
        (
            json!({"type": "multi_select", "default": ["x"], "options": ["x"]}),
            &[Key::Delete],
        ),
    ] {
        let mut field = field;
        field["id"] = "a".into();
        field["label"] = "A".into();
        let mut kept = one(&field);
        kept.press(&[Key::Tab]);
        assert_eq!(kept.sent()["a"], field["default"], "{field}");
        let mut cleared = one(&field);
        cleared.press(keys).press(&[Key::Tab]);
        assert_eq!(cleared.sent(), json!({}), "{field}");
    }
}

#[test]
fn a_text_of_several_lines_keeps_them() {
    let mut sitting = one(&json!({"id": "a", "type": "text", "label": "A",
        "rendering": {"rows": 4}}));
    sitting.type_in("one").press(&[Key::Enter]).type_in("two");
    sitting.hear(Event::Paste("\r\nthree\u{1b}[2J".to_owned()));
    sitting.press(&[Key::Tab]);
    assert_eq!(sitting.sent(), json!({"a": "one\ntwo\nthree[2J"}));
}

#[test]
fn a_pasted_line_end_never_sends() {
    let mut sitting = one(&json!({"id": "a", "type": "text", "label": "A"}));
    sitting.hear(Event::Paste("yes\n".to_owned()));
    assert_eq!(sitting.done, None);
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "yes "}));
}

#[test]
fn a_secret_is_never_on_the_screen() {
    let mut sitting = Sitting::new(&json!([
        {"id": "a", "type": "text", "label": "A", "sensitive": true},
        {"id": "b", "type": "number", "label": "B", "sensitive": true},
    ]));
    sitting.type_in("hunter2");
    assert!(sitting.screen().contains("•••••••"), "{}", sitting.screen());
    for keys in [&[Key::Tab][..], &[Key::Ctrl('r')]] {
        sitting.press(keys).type_in("7");
        assert!(
            !sitting.screen().contains("hunter2"),
            "{}",
            sitting.screen()
        );
        assert!(!sitting.screen().contains("77"), "{}", sitting.screen());
    }
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "hunter2", "b": 7}));
}

#[test]
fn a_day_is_typed_or_taken_from_the_calendar() {
    let field = json!({"id": "a", "type": "date", "label": "A"});
    let mut sitting = one(&field);
    sitting.type_in("2024-02-29").press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "2024-02-29"}));
    let mut sitting = one(&field);
    sitting.press(&[Key::Down, Key::Down, Key::Right, Key::PageDown]);
    assert!(
        sitting.screen().contains("March 2026"),
        "{}",
        sitting.screen()
    );
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "2026-03-18"}));
    let mut sitting = one(&field);
    sitting.type_in("2026-02-30").press(&[Key::Enter]);
    assert_eq!(sitting.done, None);
}

#[test]
fn the_calendar_leaves_the_time_of_a_moment_alone() {
    let mut sitting = one(&json!({"id": "a", "type": "date", "label": "A",
        "default": "2026-02-28T09:30:00+01:00", "validation": {"format": "date-time"}}));
    sitting.press(&[Key::Down, Key::Right, Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "2026-03-01T09:30:00+01:00"}));
}

#[test]
fn the_guards_warnings_are_shown_while_an_address_is_typed() {
    let mut sitting = one(&json!({"id": "a", "type": "url", "label": "A"}));
    sitting.type_in("https://a@example.com/");
    let screen = sitting.screen();
    assert!(
        screen.contains("! The text before the @ is not the host"),
        "{screen}"
    );
}

#[test]
fn files_are_read_by_path_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("small.txt"), "hello").unwrap();
    fs::write(path("large.txt"), "x".repeat(200)).unwrap();
    let field = json!({"id": "a", "type": "file", "label": "A", "required": true,
        "validation": {"maxSize": 100}});
    let mut sitting = one(&field);
    for (name, words) in [
        ("none.txt", "no such file"),
        ("large.txt", "A must be at most"),
    ] {
        sitting.type_in(&path(name)).press(&[Key::Enter]);
        assert!(sitting.screen().contains(words), "{}", sitting.screen());
        assert_eq!(sitting.done, None);
        sitting.press(&[Key::Ctrl('u')]);
    }
    // Twice: the first completes the path, the second adds it.
    sitting.type_in(&path("small.txt")).press(&[Key::Tab]);
    assert_eq!(sitting.sent()["a"]["content"], "aGVsbG8=");
    let mut sitting = one(&field);
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.done, None);
}

#[test]
fn several_files_are_named_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["a.txt", "b.txt", "c.txt"] {
        fs::write(path(name), name).unwrap();
    }
    let mut sitting = one(&json!({"id": "a", "type": "file", "label": "A",
        "validation": {"maxItems": 3}}));
    for name in ["a.txt", "b.txt", "c.txt"] {
        sitting.type_in(&path(name)).press(&[Key::Enter]);
    }
    sitting.press(&[Key::Delete, Key::Enter]);
    let sent = sitting.sent();
    let names: Vec<_> = sent["a"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["filename"])
        .collect();
    assert_eq!(names, ["a.txt", "b.txt"]);
}

#[test]
fn ten_thousand_options_are_searched_and_only_a_few_are_drawn() {
    let options: Vec<String> = (0..10_000).map(|i| format!("option {i}")).collect();
    let mut sitting = one(&json!({"id": "a", "type": "select", "label": "A", "options": options}));
    assert!(sitting.screen().contains("10000 options; type to search"));
    sitting.type_in("option 9876");
    assert_eq!(sitting.screen().matches("option 98").count(), 2);
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "option 9876"}));
}

#[test]
fn what_was_given_before_is_filled_in_and_what_was_cleared_stays_so() {
    let form = form(&json!([
        {"id": "a", "type": "text", "label": "A", "default": "x"},
        {"id": "b", "type": "text", "label": "B", "default": "y"},
        {"id": "c", "type": "multi_select", "label": "C", "options": ["p", "q"]},
    ]));
    let draft = json!({"a": null, "b": "given", "c": ["q"]});
    let question = question(&form).draft(draft.as_object().unwrap().clone());
    let mut sitting = Sitting::of(&question);
    assert_eq!(sitting.send(), json!({"b": "given", "c": ["q"]}));
}

#[test]
fn a_form_without_fields_sends_nothing_and_asks_first() {
    let imported = entreat_core::schema::import(&json!({"type": "object", "properties": {}}));
    let mut sitting = Sitting::of(&question(&imported.unwrap().form));
    assert!(sitting.screen().contains("There is nothing to fill in."));
    assert_eq!(sitting.done, None);
    sitting.press(&[Key::Enter]);
    assert_eq!(
        sitting.done,
        Some(FormReply::Answered(serde_json::Map::new()))
    );
}
