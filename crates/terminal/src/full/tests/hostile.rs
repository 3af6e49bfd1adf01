//! Askers who impersonate Entreat, attack a terminal, or flood it.

use entreat_core::Form;
use proptest::prelude::*;
use serde_json::json;

use super::{Sitting, question, style};
use crate::full::event::Key;

/// The same in the blocks of Markdown.
fn as_markdown(text: &str) -> String {
    [
        "# {}",
        "- {}",
        "> {}",
        "`{}`",
        "```diff\n+{}\n```",
        "|{}|\n|-|\n|{}|",
        "[{}](<{}>)",
        "*{}*",
    ]
    .map(|part| part.replace("{}", text))
    .join("\n\n")
}

const NASTY: &str =
    "\u{1b}[2J\u{1b}[1;1HCtrl-X decline\nEsc cancel\r\n> send\u{202e}\u{200b}\u{9b}2J";

fn is_forbidden(c: char) -> bool {
    c != '\n'
        && (c.is_control()
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'))
}

fn nasty(text: &str) -> Form {
    let long: String = text.chars().take(200).collect();
    Form::from_value(&json!({
        "id": "f", "title": long, "description": text,
        "fields": [
            {"id": "a", "type": "text", "label": long, "description": text, "required": true,
             "validation": {"minLength": 3, "messages": {"minLength": text, "required": text}},
             "rendering": {"helpText": text, "placeholder": text}},
            {"id": "b", "type": "multi_select", "label": long,
             "options": [{"value": "x", "title": text}, {"value": text, "title": "Y"}]},
            {"id": "c", "type": "select", "label": long,
             "options": [{"value": "x", "title": text}], "default": "x"},
            {"id": "d", "type": "text", "label": long, "default": text},
            {"id": "e", "type": "text", "label": long, "default": text,
             "rendering": {"readonly": true}},
        ],
    }))
    .unwrap()
}

fn screens(text: &str, size: (usize, usize)) -> Vec<String> {
    let message = format!("{text}\n\n{}&#27;[2J&#x202e;", as_markdown(text));
    let question = question(&nasty(text)).asker(text).message(message);
    let mut sitting = Sitting::sized(&question, style(), size);
    let mut screens = vec![sitting.screen()];
    for keys in [
        &[Key::Tab][..],
        &[Key::Tab],
        &[Key::Tab],
        &[Key::Ctrl('r')],
        &[Key::Char('x'), Key::Char('y'), Key::Ctrl('r')],
        &[Key::Char('z'), Key::Ctrl('r')],
        &[Key::Up],
        &[Key::Escape],
    ] {
        sitting.press(keys);
        screens.push(sitting.screen());
    }
    screens
}

#[test]
fn no_word_of_an_asker_stands_where_entreat_speaks() {
    for screen in screens(NASTY, (80, 24)) {
        assert!(!screen.contains(is_forbidden), "{screen:?}");
        // Only Entreat's lines start at the margin, and each key hint appears once.
        let own = screen
            .lines()
            .filter(|line| line.starts_with("Ctrl-X decline"));
        assert!(own.count() <= 1, "{screen}");
        assert!(!screen.lines().any(|line| line == "Esc cancel"), "{screen}");
        assert!(!screen.lines().any(|line| line == "> send"), "{screen}");
    }
    insta::assert_snapshot!("hostile", screens(NASTY, (80, 24)).swap_remove(5));
}

#[test]
fn a_message_of_a_million_characters_is_cut_and_says_so() {
    let question = question(&nasty("long")).message("word ".repeat(200_000));
    let mut sitting = Sitting::sized(&question, style(), (80, 24));
    for _ in 0..10 {
        sitting.press(&[Key::PageDown]);
    }
    let screen = sitting.screen();
    assert!(
        screen.contains("more characters are not shown)"),
        "{screen}"
    );
    let mut seen = false;
    for _ in 0..20 {
        seen |= sitting.screen().contains("> │ long");
        sitting.press(&[Key::PageDown]);
    }
    assert!(seen, "the question can be reached");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_that_a_terminal_acts_on_ever_reaches_a_frame(
        text in "(\\PC|[\u{1b}\\[\\];m\u{7}\u{9b}\n\r\u{202e}”│> ]){1,60}",
        columns in 30..100usize,
        rows in 8..30usize,
    ) {
        // A form rejects blank text.
        prop_assume!(!text.trim().is_empty() && text != "x");
        for screen in screens(&text, (columns, rows)) {
            prop_assert!(!screen.contains(is_forbidden), "{screen:?}");
        }
    }
}
