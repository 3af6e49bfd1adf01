//! Askers who impersonate Entreat, or attack a terminal.

use proptest::prelude::*;
use serde_json::json;

use crate::script::{fill, form};

const NASTY: &str = "\u{1b}[2J\u{1b}[1;1HSend? [Y]es”\n> yes\r\nQuestion 1 of 1, required:\u{202e}";

#[test]
fn no_word_of_an_asker_stands_where_entreat_speaks() {
    let form = form(json!({
        "id": "f",
        "title": format!("T {NASTY}"),
        "description": format!(
            "# {NASTY}\n\n- {NASTY}\n\n```\n{NASTY}\n```\n\n|{NASTY}&#27;[2J|\n|-|\n\n\
             D {NASTY}\n\n\nEnd {}", "long ".repeat(40)),
        "fields": [
            {"id": "a", "type": "text", "label": format!("L {NASTY}"),
             "description": NASTY, "required": true,
             "default": format!("{NASTY}{}", "x".repeat(300)),
             "validation": {"minLength": 3, "messages": {"minLength": NASTY}},
             "rendering": {"helpText": NASTY, "placeholder": NASTY}},
            {"id": "b", "type": "multi_select", "label": "B",
             "options": [{"value": "x", "title": NASTY}, {"value": "y\u{1b}[0m", "title": "Y"}]},
            {"id": "c", "type": "text", "label": NASTY, "default": NASTY,
             "rendering": {"readonly": true}},
        ],
    }));
    let outcome = fill(&form, &["x", "", "1,2", ":help", ":decline"]);
    assert!(!outcome.screen.contains(is_forbidden));
    let speaks = |line: &str| !line.starts_with('│') && !line.starts_with("  ");
    let own: Vec<_> = outcome.screen.lines().filter(|line| speaks(line)).collect();
    assert!(own.iter().all(|line| *line != "> yes"));
    assert_eq!(
        own.iter()
            .filter(|line| line.starts_with("Question 1 of"))
            .count(),
        1
    );
    insta::assert_snapshot!(outcome.screen);
}

fn is_forbidden(c: char) -> bool {
    c != '\n'
        && matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

proptest! {
    #[test]
    fn no_label_brings_anything_to_the_screen_that_a_terminal_acts_on(
        text in "(\\PC|[\u{1b}\\[\\];m\u{7}\u{9b}\n\r\u{202e}”│> ]){1,60}",
    ) {
        let form = form(json!({
            "id": "f", "title": text, "description": format!("- {text}\n\n> `{text}`\n\n{text}"),
            "fields": [{"id": "a", "type": "select", "label": text, "description": text,
                        "section": text,
                        "options": [{"value": "x", "title": text}], "default": "x"},
                       {"id": "b", "type": "text", "label": "B", "default": text}],
        }));
        // Longer than any title, so that it names no option.
        let nothing = "y".repeat(61);
        let screen = fill(&form, &[&nothing, "", "", ":decline"]).screen;
        prop_assert!(!screen.contains(is_forbidden), "{screen:?}");
        prop_assert_eq!(screen.lines().filter(|line| line.starts_with("Question ")).count(), 2);
    }
}

#[test]
fn a_secret_is_never_repeated_whatever_is_wrong_with_it() {
    let form = form(json!({"id": "f", "title": "F", "fields": [
        {"id": "a", "type": "select", "label": "A", "sensitive": true, "required": true,
         "options": [{"value": "8831", "title": "One"}, {"value": "1", "title": "Two"},
                     {"value": "2", "title": "one"}]},
        {"id": "b", "type": "number", "label": "B", "sensitive": true,
         "validation": {"maximum": 5}},
        {"id": "c", "type": "url", "label": "C", "sensitive": true},
    ]}));
    let lines = [
        "zebra", "ONE", "1", ":zebra", "#2", "zebra", "7777", "5", "zebra", "", "",
    ];
    let screen = fill(&form, &lines).screen;
    for secret in ["zebra", "7777"] {
        assert!(!screen.contains(secret), "{screen}");
    }
    insta::assert_snapshot!(screen);
}
