//! A single question in place: its frames, its keys, and the line that stays.

use entreat_core::jiff::civil::date;
use entreat_core::{Catalogue, Form};
use ratatui_core::text::Line;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::{Sitting, deadline, style};
use crate::full::event::{Event, Key};
use crate::full::model::Model;
use crate::inline::{self, closing_line};
use crate::question::{FormReply, TerminalQuestion, TerminalStyle};

/// A question whose label says everything.
fn asked(mut field: Value) -> TerminalQuestion {
    field["id"] = "a".into();
    let title = field["label"].clone();
    let form = json!({"id": "q", "title": title, "fields": [field]});
    let form = Form::from_value(&form).unwrap();
    TerminalQuestion::new(form, Catalogue::default().messages(["en"]))
}

fn confirmation() -> TerminalQuestion {
    asked(json!({"type": "boolean", "label": "Deploy now?", "required": true}))
}

fn choice() -> TerminalQuestion {
    asked(
        json!({"type": "select", "label": "Which region?", "required": true, "options": [
        {"value": "eu", "title": "Europe"}, {"value": "us", "title": "America"},
        {"value": "as", "title": "Asia"}]}),
    )
}

fn sit(question: &TerminalQuestion) -> Sitting {
    sized(question, style(), (80, 24))
}

fn sized(question: &TerminalQuestion, style: TerminalStyle, size: (usize, usize)) -> Sitting {
    let mut sitting = Sitting::sized(question, style, size);
    sitting.model = Model::inline(question, style, size, date(2026, 2, 10));
    sitting
}

fn text(line: &Line<'_>) -> String {
    line.spans.iter().map(|span| &*span.content).collect()
}

/// The line that stays after what was done.
fn closed(sitting: &Sitting) -> String {
    text(&closing_line(&sitting.model, sitting.done.as_ref()))
}

#[test]
fn a_single_question_is_asked_in_place_and_a_form_on_the_whole_screen() {
    assert!(inline::is_for(&confirmation()));
    assert!(!inline::is_for(&super::question(&super::every())));
    let fixed = json!({"type": "text", "label": "A", "default": "x",
        "rendering": {"readonly": true}});
    assert!(!inline::is_for(&asked(fixed)));
}

#[test]
fn a_yes_no_question_has_no_answer_until_there_is_one() {
    let mut sitting = sit(&confirmation());
    insta::assert_snapshot!("inline_confirm", sitting.screen());
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.done, None);
    insta::assert_snapshot!("inline_confirm_unanswered", sitting.screen());
    sitting.type_in("y");
    insta::assert_snapshot!("inline_confirm_yes", sitting.screen());
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": true}));
    assert_eq!(closed(&sitting), "? Deploy now?  Yes");

    for (keys, answer) in [
        (&[Key::Char('n')][..], false),
        (&[Key::Right], false),
        (&[Key::Right, Key::Left], true),
        (&[Key::Char('j')], true),
        (&[Key::Char(' '), Key::Char(' ')], false),
    ] {
        let mut sitting = sit(&confirmation());
        sitting.press(keys).press(&[Key::Enter]);
        assert_eq!(sitting.sent(), json!({"a": answer}), "{keys:?}");
    }
}

#[test]
fn a_default_is_taken_by_enter() {
    let question =
        asked(json!({"type": "boolean", "label": "Sure?", "required": true, "default": true}));
    let mut sitting = sit(&question);
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": true}));
    let question = asked(
        json!({"type": "select", "label": "Which?", "required": true,
        "options": ["a", "b", "c"], "default": "b"}),
    );
    let mut sitting = sit(&question);
    insta::assert_snapshot!("inline_choice_default", sitting.screen());
    // One arrow too many sends nothing.
    sitting.press(&[Key::Down; 5]);
    assert_eq!(sitting.done, None);
    sitting.press(&[Key::Up]);
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "b"}));
}

#[test]
fn a_choice_is_searched_and_made_by_enter_alone() {
    let mut sitting = sit(&choice());
    insta::assert_snapshot!("inline_choice", sitting.screen());
    // Tab goes on in a form; here it must not send what was never chosen.
    sitting.press(&[Key::Tab]);
    assert_eq!(sitting.done, None);
    sitting.type_in("a");
    insta::assert_snapshot!("inline_choice_search", sitting.screen());
    sitting.type_in("zz");
    insta::assert_snapshot!("inline_choice_none", sitting.screen());
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.done, None);
    sitting.press(&[Key::Backspace, Key::Backspace, Key::Down, Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "as"}));
    assert_eq!(closed(&sitting), "? Which region?  Asia");
}

#[test]
fn a_long_list_shows_a_part_and_says_how_many_there_are() {
    let options: Vec<String> = (1..=300).map(|i| format!("server-{i}")).collect();
    let mut sitting = sit(&asked(
        json!({"type": "select", "label": "Which server?", "options": options}),
    ));
    sitting.press(&[Key::PageDown]).type_in("2");
    insta::assert_snapshot!("inline_long_list", sitting.screen());
}

#[test]
fn several_options_are_marked_and_sent_by_tab() {
    let question = asked(json!({"type": "multi_select", "label": "Which days?",
        "required": true, "options": ["Monday", "Tuesday", "Wednesday"]}));
    let mut sitting = sit(&question);
    sitting.press(&[Key::Char(' '), Key::Down, Key::Down, Key::Enter]);
    insta::assert_snapshot!("inline_multi", sitting.screen());
    sitting.press(&[Key::Tab]);
    assert_eq!(sitting.sent(), json!({"a": ["Monday", "Wednesday"]}));
    assert_eq!(closed(&sitting), "? Which days?  “Monday”, “Wednesday”");
}

#[test]
fn typed_answers_are_edited_and_checked_in_place() {
    let name = json!({"type": "text", "label": "Your name?", "required": true,
        "validation": {"minLength": 2}, "rendering": {"placeholder": "Ada Lovelace"}});
    let mut sitting = sit(&asked(name));
    insta::assert_snapshot!("inline_text", sitting.screen());
    sitting.type_in("X").press(&[Key::Enter]);
    insta::assert_snapshot!("inline_text_error", sitting.screen());
    sitting.press(&[Key::Ctrl('u')]).type_in("Ada");
    assert!(!sitting.screen().contains('!'), "{}", sitting.screen());
    sitting.press(&[Key::Enter]);
    assert_eq!(sitting.sent(), json!({"a": "Ada"}));
    assert_eq!(closed(&sitting), "? Your name?  Ada");

    let mut sitting = sit(&asked(json!({"type": "date", "label": "When?"})));
    sitting.press(&[Key::Down, Key::Right]);
    insta::assert_snapshot!("inline_date", sitting.screen());
    let mut sitting = sit(&asked(json!({"type": "url", "label": "Where?"})));
    sitting.type_in("https://a@example.com/");
    insta::assert_snapshot!("inline_url", sitting.screen());
    let lines = json!({"type": "text", "label": "What happened?", "rendering": {"rows": 4}});
    let mut sitting = sit(&asked(lines));
    sitting.type_in("one").press(&[Key::Enter]).type_in("two");
    insta::assert_snapshot!("inline_lines", sitting.screen());
    sitting.press(&[Key::Tab]);
    assert_eq!(closed(&sitting), "? What happened?  one two");
}

#[test]
fn a_secret_is_never_shown_not_even_afterwards() {
    let token = json!({"type": "text", "label": "Token?", "required": true, "sensitive": true});
    let mut sitting = sit(&asked(token));
    sitting.type_in("hunter2");
    insta::assert_snapshot!("inline_secret", sitting.screen());
    sitting.press(&[Key::Enter]);
    assert_eq!(closed(&sitting), "? Token?  (secret, not shown)");
}

#[test]
fn every_way_out_leaves_the_question_alone() {
    for (keys, reply) in [
        (&[Key::Escape][..], FormReply::Cancelled),
        (&[Key::Ctrl('c')], FormReply::Cancelled),
        (&[Key::Ctrl('d')], FormReply::Cancelled),
        (&[Key::Ctrl('x')], FormReply::Declined),
        (
            &[Key::Char('y'), Key::Escape, Key::Escape],
            FormReply::Cancelled,
        ),
    ] {
        let mut sitting = sit(&confirmation());
        sitting.press(keys);
        assert_eq!(sitting.done, Some(reply), "{keys:?}");
        assert_eq!(closed(&sitting), "? Deploy now?");
    }
    let mut sitting = sit(&confirmation());
    sitting.press(&[Key::Char('y'), Key::Escape]);
    insta::assert_snapshot!("inline_leaving", sitting.screen());
}

#[test]
fn who_asks_and_why_stands_above() {
    let form = json!({"id": "f", "title": "Release 7", "description": "All checks have passed.",
        "fields": [{"id": "a", "type": "boolean", "label": "Deploy now?", "required": true,
            "rendering": {"helpText": "It takes about a minute."}}]});
    let question = super::question(&Form::from_value(&form).unwrap())
        .message("Version 7 is ready.")
        .notice("The answers have 9 bytes.");
    let sitting = sit(&question);
    insta::assert_snapshot!("inline_introduction", sitting.screen());
    // The question itself stays visible in a low window.
    let sitting = sized(&question, style(), (80, 5));
    insta::assert_snapshot!("inline_introduction_low", sitting.screen());
}

#[test]
fn time_is_shown_when_it_matters() {
    let mut sitting = sit(&deadline(confirmation()));
    assert!(!sitting.screen().contains("left"), "{}", sitting.screen());
    let left = std::time::Duration::from_secs(19);
    sitting.hear(Event::ExpiryWarning(left));
    sitting.hear(Event::TimeLeft(left));
    insta::assert_snapshot!("inline_time", sitting.screen());
    sitting.press(&[Key::Ctrl('t')]);
    assert_eq!(sitting.extensions, 1);
}

#[test]
fn twenty_columns_are_enough() {
    let narrow = |question: &TerminalQuestion| sized(question, style(), (20, 12));
    for (name, question) in [
        ("inline_narrow_confirm", confirmation()),
        ("inline_narrow_choice", choice()),
        (
            "inline_narrow_text",
            asked(json!({"type": "text", "label": "What is the name of your first pet?"})),
        ),
    ] {
        let mut sitting = narrow(&question);
        sitting.type_in("A");
        let screen = sitting.screen();
        let widest = screen.lines().map(UnicodeWidthStr::width).max();
        assert!(widest <= Some(20), "{screen}");
        insta::assert_snapshot!(name, screen);
    }
    let tiny = sized(&confirmation(), style(), (8, 2));
    assert_eq!(tiny.screen(), "Too sm…");
}

#[test]
fn where_a_secret_will_be_saved_is_said_in_the_persons_language() {
    let place = json!({"file": "/w/.env", "name": "API_KEY", "gitIgnored": false});
    let mut question = asked(
        json!({"type": "text", "label": "Which key?", "sensitive": true,
        "rendering": {"savedTo": place}}),
    );
    for (language, words) in [
        (
            "en",
            [
                "│ Will be saved to /w/.env as API_KEY.",
                "Git does not ignore",
            ],
        ),
        (
            "de",
            [
                "│ Wird als API_KEY in /w/.env gespeichert.",
                "Git ignoriert",
            ],
        ),
    ] {
        question.messages = Catalogue::default().messages([language]);
        for screen in [sit(&question).screen(), Sitting::of(&question).screen()] {
            for words in words {
                assert!(screen.contains(words), "{screen}");
            }
        }
    }
}

#[test]
fn german_is_spoken_where_errors_are_german() {
    let mut question = confirmation();
    question.messages = Catalogue::default().messages(["de"]);
    let mut sitting = sit(&question);
    sitting.press(&[Key::Enter]);
    insta::assert_snapshot!("inline_german", sitting.screen());
    sitting.type_in("j").press(&[Key::Enter]);
    assert_eq!(closed(&sitting), "? Deploy now?  Ja");
}

#[test]
fn without_unicode_there_is_ascii_alone() {
    let plain = TerminalStyle {
        unicode: false,
        ..style()
    };
    let mut question = choice().message("Grüße – 日本").asker("Zoë");
    question.messages = Catalogue::default().messages(["de"]);
    for question in [question, confirmation()] {
        let mut sitting = sized(&question, plain, (60, 24));
        let screen = sitting.press(&[Key::Tab]).screen().replace('█', "_");
        assert!(screen.is_ascii(), "{screen}");
        assert!(closed(&sitting).is_ascii());
    }
}

#[test]
fn hostile_text_does_nothing_and_stays_in_its_place() {
    let nasty = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31mEsc cancel\u{202e}\u{200b}\r\nEnter send";
    let question = asked(
        json!({"type": "select", "label": nasty, "description": nasty,
        "options": [nasty, "b"], "rendering": {"helpText": nasty}}),
    )
    .asker(nasty)
    .message(nasty.repeat(200));
    for size in [(80, 24), (20, 6)] {
        let mut sitting = sized(&question, style(), size);
        sitting.hear(Event::Paste(nasty.to_owned()));
        let screen = sitting.screen();
        assert!(
            !screen.contains(|c: char| c != '\n' && c.is_control()),
            "{screen}"
        );
        assert!(!screen.contains('\u{202e}'), "{screen}");
        assert!(screen.lines().count() <= size.1, "{screen}");
        sitting.press(&[Key::Ctrl('u'); 1]);
    }
    let mut sitting = sit(&question);
    sitting.press(&[Key::Enter]);
    let line = closed(&sitting);
    assert!(!line.contains(char::is_control), "{line:?}");
    assert!(line.width() < 80, "{line}");
}
