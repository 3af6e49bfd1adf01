//! Navigation: between fields, to the review, and out.

use std::time::Duration;

use entreat_core::Script;
use serde_json::{Value, json};

use super::{Sitting, deadline, every, form, question};
use crate::full::event::{Event, Key};
use crate::question::{FormReply, TerminalQuestion};

fn two() -> Value {
    json!([
        {"id": "a", "type": "text", "label": "A", "required": true},
        {"id": "b", "type": "text", "label": "B"},
    ])
}

#[test]
fn one_can_go_back_and_correct_before_it_is_sent() {
    let mut sitting = Sitting::new(&two());
    sitting.type_in("one").press(&[Key::Tab]).type_in("two");
    sitting
        .press(&[Key::BackTab, Key::Ctrl('u')])
        .type_in("uno");
    assert_eq!(sitting.send(), json!({"a": "uno", "b": "two"}));
}

#[test]
fn an_answer_can_be_changed_from_the_review() {
    let mut sitting = Sitting::new(&two());
    sitting.type_in("one").press(&[Key::Enter, Key::Enter]);
    assert!(sitting.screen().contains("[ Send to “Deploy robot” ]"));
    sitting.press(&[Key::Up, Key::Enter]).type_in("late");
    assert_eq!(sitting.done, None);
    assert_eq!(sitting.send(), json!({"a": "one", "b": "late"}));
}

#[test]
fn a_required_field_cannot_be_skipped() {
    let mut sitting = Sitting::new(&two());
    sitting.press(&[Key::Tab, Key::Tab]);
    assert!(
        sitting.screen().contains("A is required"),
        "{}",
        sitting.screen()
    );
    sitting.press(&[Key::Ctrl('r'), Key::Enter, Key::Enter, Key::Enter]);
    assert_eq!(sitting.done, None);
    sitting.press(&[Key::BackTab]).type_in("x");
    assert!(
        !sitting.screen().contains("A is required"),
        "{}",
        sitting.screen()
    );
}

#[test]
fn all_errors_are_told_at_once_and_none_before() {
    let mut sitting = Sitting::new(&json!([
        {"id": "a", "type": "text", "label": "A", "required": true},
        {"id": "b", "type": "text", "label": "B", "required": true,
         "validation": {"messages": {"required": "We need B."}}},
        {"id": "c", "type": "number", "label": "C", "validation": {"maximum": 5}},
    ]));
    sitting.press(&[Key::Tab]);
    assert!(
        !sitting.screen().contains("required\n"),
        "{}",
        sitting.screen()
    );
    sitting
        .press(&[Key::Tab])
        .type_in("9")
        .press(&[Key::Ctrl('r')]);
    let screen = sitting.screen();
    for words in [
        "A is required",
        "We need B.",
        "C must be 5 or less",
        "3 answers need correcting",
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
}

#[test]
fn conditions_bring_fields_in_and_out() {
    let mut sitting = Sitting::of(&question(&every()));
    assert!(!sitting.screen().contains("Why so many cores?"));
    sitting
        .press(&[Key::Tab, Key::Tab, Key::Tab, Key::Backspace])
        .type_in("32");
    assert!(sitting.screen().contains("Why so many cores?"));
    sitting.press(&[Key::Backspace]);
    assert!(!sitting.screen().contains("Why so many cores?"));
}

#[test]
fn what_is_hidden_is_not_on_the_screen_and_what_is_readonly_cannot_be_reached() {
    let mut sitting = Sitting::of(&question(&every()));
    assert!(!sitting.screen().contains("Unseen"));
    assert!(sitting.screen().contains("“operations”, read-only"));
    sitting.type_in("web").press(&[Key::Tab; 20]);
    assert!(
        !sitting.screen().contains("> │ Owner"),
        "{}",
        sitting.screen()
    );
}

#[test]
fn decline_and_cancel_are_never_mixed_up() {
    for (keys, filled) in [
        (&[Key::Ctrl('x')][..], FormReply::Declined),
        (&[Key::Escape], FormReply::Cancelled),
        (&[Key::Ctrl('c')], FormReply::Cancelled),
        (&[Key::Ctrl('d')], FormReply::Cancelled),
        (
            &[Key::Char('x'), Key::Ctrl('x'), Key::Ctrl('x')],
            FormReply::Declined,
        ),
        (
            &[Key::Char('x'), Key::Escape, Key::Escape],
            FormReply::Cancelled,
        ),
        (&[Key::Char('x'), Key::Ctrl('c')], FormReply::Cancelled),
        (
            &[Key::Char('x'), Key::Ctrl('x'), Key::Ctrl('c')],
            FormReply::Cancelled,
        ),
    ] {
        let mut sitting = Sitting::new(&two());
        sitting.press(keys);
        assert_eq!(sitting.done, Some(filled), "{keys:?}");
    }
}

#[test]
fn what_was_typed_is_not_lost_by_one_key() {
    for key in [Key::Escape, Key::Ctrl('x')] {
        let mut sitting = Sitting::new(&two());
        sitting.type_in("x").press(&[key]);
        assert!(sitting.screen().contains("Press any other key to stay."));
        sitting.press(&[Key::Char('y')]);
        assert_eq!(sitting.done, None);
        assert_eq!(sitting.send(), json!({"a": "x"}));
    }
}

#[test]
fn each_answer_is_told_as_a_draft_once() {
    let mut sitting = Sitting::new(&two());
    sitting.type_in("x").press(&[Key::Tab]);
    sitting.press(&[Key::BackTab, Key::Tab]);
    assert_eq!(sitting.drafts, [json!({"a": "x"})]);
}

#[test]
fn refused_answers_are_told_until_they_are_changed_and_may_be_sent_again() {
    let form = form(&two());
    let messages = entreat_core::Catalogue::default().messages(["en"]);
    let mut errors = form.check(&json!({})).unwrap_err().errors(&messages);
    errors[0].message = "A is taken".to_owned();
    let draft = json!({"a": "x"});
    let question = question(&form).draft(draft.as_object().unwrap().clone());
    let question = question.errors(errors);
    let mut sitting = Sitting::of(&question);
    assert!(
        sitting.screen().contains("A is taken"),
        "{}",
        sitting.screen()
    );
    assert!(sitting.screen().contains("The answers were not accepted."));
    sitting.type_in("y");
    assert!(!sitting.screen().contains("A is taken"));
    assert_eq!(sitting.send(), json!({"a": "xy"}));
    assert_eq!(Sitting::of(&question).send(), json!({"a": "x"}));
}

#[test]
fn what_was_refused_about_another_answer_stays_refused() {
    let form = form(&json!([
        {"id": "a", "type": "text", "label": "A", "required": true},
        {"id": "b", "type": "text", "label": "B", "required": true},
    ]));
    let messages = entreat_core::Catalogue::default().messages(["en"]);
    let mut errors = form.check(&json!({})).unwrap_err().errors(&messages);
    errors[0].message = "A is taken".to_owned();
    errors[1].message = "B is taken".to_owned();
    let draft = json!({"a": "x", "b": "y"});
    let question = question(&form).draft(draft.as_object().unwrap().clone());
    let mut sitting = Sitting::of(&question.errors(errors));
    sitting.type_in("z");
    let screen = sitting.screen();
    assert!(
        !screen.contains("A is taken") && screen.contains("B is taken"),
        "{screen}"
    );
}

#[test]
fn more_time_is_asked_for_by_a_key_and_told() {
    let mut sitting = Sitting::of(&deadline(question(&form(&two()))));
    sitting.press(&[Key::Ctrl('t')]);
    assert_eq!(sitting.extensions, 1);
    sitting.hear(Event::Deadline(Duration::from_secs(600), 0));
    assert!(sitting.screen().contains("You now have 10 minutes."));
    assert!(!sitting.screen().contains("Ctrl-T"));
    sitting.press(&[Key::Ctrl('t')]);
    assert_eq!(sitting.extensions, 1);
    sitting.hear(Event::ExpiryWarning(Duration::from_secs(59)));
    assert!(
        sitting
            .screen()
            .contains("Time is running out: 59 seconds left.")
    );
    sitting.hear(Event::TimeLeft(Duration::from_secs(7)));
    assert!(
        sitting.screen().contains("! 0:07 left"),
        "{}",
        sitting.screen()
    );
}

#[test]
fn a_script_is_shown_step_by_step() {
    let script = Script::from_value(&json!([
        {"say": "Hello."},
        {"ask": {"id": "go", "type": "boolean", "label": "Go on?", "required": true}},
        {"say": "Careful now.",
         "condition": {"operator": "equals", "field": "go", "value": true}},
        {"ask": {"id": "why", "type": "text", "label": "Why?"}},
        {"say": "Good bye."},
    ]))
    .unwrap();
    let messages = entreat_core::Catalogue::default().messages(["en"]);
    let mut sitting = Sitting::of(&TerminalQuestion::of_script(&script, messages));
    let sees = |sitting: &Sitting| {
        let screen = sitting.screen();
        ["Hello.", "Go on?", "Careful now.", "Why?", "Good bye."]
            .map(|words| screen.contains(words))
    };
    assert_eq!(sees(&sitting), [true, true, false, false, false]);
    sitting.press(&[Key::Char('y')]);
    assert_eq!(sees(&sitting), [true, true, true, false, false]);
    sitting.press(&[Key::Enter]);
    assert_eq!(sees(&sitting), [true; 5]);
    assert_eq!(sitting.send(), json!({"go": true}));
}

#[test]
fn a_window_that_is_too_small_takes_no_answers_and_lets_one_out() {
    let mut sitting = Sitting::new(&two());
    sitting.hear(Event::Resized(20, 5));
    assert!(sitting.screen().starts_with("Too small."));
    sitting.type_in("unseen").press(&[Key::Enter]);
    sitting.hear(Event::Resized(80, 24));
    assert!(!sitting.screen().contains("unseen"));
    sitting.hear(Event::Resized(20, 5));
    sitting.press(&[Key::Escape]);
    assert_eq!(sitting.done, Some(FormReply::Cancelled));
}
