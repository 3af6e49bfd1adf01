//! Typed lines and the answers they give, field by field.

use std::io;

use entreat_terminal::plain::Plain;
use entreat_terminal::{Console, Reply};
use serde_json::{Map, Value, json};

use crate::script::{english, fields, fill};

/// The answers to a form of one field after these lines.
fn answer(field: Value, lines: &[&str]) -> Value {
    let form = fields(json!([field]));
    let outcome = fill(&form, lines);
    assert_eq!(outcome.reply, Reply::Answered, "{}", outcome.screen);
    let answers = form.check(&outcome.draft).unwrap();
    answers.reveal().to_json().into()
}

#[test]
fn negative_numbers_exponents_and_long_ones_can_be_typed() {
    let number = json!({"id": "n", "type": "number", "label": "N"});
    assert_eq!(answer(number.clone(), &["-12"]), json!({"n": -12}));
    assert_eq!(answer(number.clone(), &[" -1.5e3 "]), json!({"n": -1500.0}));
    let form = fields(json!([number]));
    let outcome = fill(&form, &["123456789012345678901234567890"]);
    let answers = form.check(&outcome.draft).unwrap();
    let text = serde_json::to_string(&answers.reveal()).unwrap();
    assert_eq!(text, r#"{"n":123456789012345678901234567890}"#);
}

#[test]
fn enter_alone_is_no_answer_to_a_required_boolean_and_leaves_an_optional_one_out() {
    let required = json!({"id": "b", "type": "boolean", "label": "B", "required": true});
    assert_eq!(answer(required, &["", "n"]), json!({"b": false}));
    let optional = json!({"id": "b", "type": "boolean", "label": "B"});
    assert_eq!(answer(optional.clone(), &[""]), json!({}));
    assert_eq!(answer(optional, &["no"]), json!({"b": false}));
    let on = json!({"id": "b", "type": "boolean", "label": "B", "required": true, "default": true});
    assert_eq!(answer(on.clone(), &[""]), json!({"b": true}));
    assert_eq!(answer(on, &["n"]), json!({"b": false}));
}

#[test]
fn a_required_multi_select_does_not_take_nothing() {
    let field = json!({"id": "m", "type": "multi_select", "label": "M", "required": true,
                       "options": ["a", "b"]});
    assert_eq!(
        answer(field.clone(), &["", ",", ":empty", "b,1"]),
        json!({"m": ["b", "a"]})
    );
    let outcome = fill(&fields(json!([field])), &[""]);
    assert!(
        outcome.screen.contains("│ M is required"),
        "{}",
        outcome.screen
    );
}

#[test]
fn a_cleared_optional_field_is_left_out_and_a_default_is_taken_by_enter() {
    let field = json!({"id": "t", "type": "text", "label": "T", "default": "x"});
    assert_eq!(answer(field.clone(), &[""]), json!({"t": "x"}));
    assert_eq!(answer(field.clone(), &[":empty"]), json!({}));
    assert_eq!(answer(field, &["-"]), json!({"t": "-"}));
    let select = json!({"id": "s", "type": "select", "label": "S", "required": true,
                        "options": ["a", "b"], "default": "b"});
    assert_eq!(answer(select, &[""]), json!({"s": "b"}));
}

#[test]
fn an_answer_may_begin_with_a_colon_and_keeps_its_spaces() {
    let field = json!({"id": "t", "type": "text", "label": "T"});
    assert_eq!(answer(field.clone(), &["::back"]), json!({"t": ":back"}));
    assert_eq!(answer(field, &["  a  "]), json!({"t": "  a  "}));
}

#[test]
fn a_required_field_may_be_left_for_later_where_the_form_allows_it() {
    let form = crate::script::form(json!({"id": "f", "title": "F", "allow_partial": true,
        "fields": [{"id": "t", "type": "text", "label": "T", "required": true}]}));
    let outcome = fill(&form, &[""]);
    assert_eq!(outcome.reply, Reply::Answered);
    assert_eq!(outcome.draft, json!({}));
}

#[test]
fn a_field_that_a_later_answer_brings_in_is_asked_though_it_stands_above() {
    let form = fields(json!([
        {"id": "why", "type": "text", "label": "Why", "required": true, "rendering": {
            "conditionalDisplay": {"operator": "equals", "field": "sure", "value": false}}},
        {"id": "sure", "type": "boolean", "label": "Sure", "required": true},
    ]));
    let outcome = fill(&form, &["n", "because", ""]);
    assert_eq!(outcome.draft, json!({"sure": false, "why": "because"}));
}

#[test]
fn a_field_that_is_judged_under_a_condition_does_not_hold_up_what_may_lift_it() {
    let form = crate::script::form(json!({"id": "f", "title": "F",
        "fields": [
            {"id": "code", "type": "text", "label": "Code", "validation": {"minLength": 5}},
            {"id": "strict", "type": "boolean", "label": "Strict", "required": true},
        ],
        "validation": {"dependencies": {"code": {
            "condition": {"operator": "not_equals", "field": "strict", "value": false},
            "action": "validate"}}},
    }));
    assert_eq!(fill(&form, &["abc", "n", ""]).reply, Reply::Answered);
    let outcome = fill(&form, &["abc", "y", "abcde", ""]);
    assert_eq!(outcome.reply, Reply::Answered);
    assert_eq!(outcome.draft["code"], "abcde");
}

#[test]
fn dependencies_are_asked_for_at_the_end() {
    let form = fields(json!([
        {"id": "user", "type": "text", "label": "User", "dependencies": ["pass"]},
        {"id": "pass", "type": "text", "label": "Pass", "sensitive": true},
    ]));
    let outcome = fill(&form, &["ada", "", "", "secret", ""]);
    assert_eq!(outcome.reply, Reply::Answered);
    assert!(outcome.screen.contains("│ User also needs: Pass"));
    assert_eq!(outcome.draft, json!({"user": "ada", "pass": "secret"}));
}

#[test]
fn an_objection_of_the_host_program_leads_to_the_review() {
    let mut validators = entreat_core::Validators::default();
    validators.register("never", |_: &entreat_core::Answers<'_>| {
        Err(entreat_core::ValidatorError::new("", "Not on a Friday"))
    });
    let definition = json!({"id": "f", "title": "F",
        "fields": [{"id": "t", "type": "text", "label": "T"}],
        "validation": {"custom_validators": ["never"]}});
    let form = entreat_core::Form::with_validators(&definition, &validators).unwrap();
    let outcome = fill(&form, &["x", "", "y", "1", "z", ":decline"]);
    assert_eq!(outcome.reply, Reply::Declined);
    assert!(outcome.screen.contains("│ Not on a Friday"));
    assert!(
        outcome
            .screen
            .contains("This cannot be sent: number to change / :decline / :cancel")
    );
}

#[test]
fn a_line_that_is_no_text_is_told_and_asked_again() {
    /// Fails once, then answers.
    struct Stumbling(bool, String);

    impl Console for Stumbling {
        fn say(&mut self, line: &str) -> io::Result<()> {
            self.1.push_str(line);
            self.1.push(' ');
            Ok(())
        }

        fn read_line(&mut self, _: &str) -> io::Result<Option<String>> {
            if std::mem::replace(&mut self.0, true) {
                return Ok(Some("Ada".to_owned()));
            }
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the line is not UTF-8",
            ))
        }

        fn read_secret(&mut self, _: &str) -> io::Result<Option<String>> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn width(&self) -> usize {
            0
        }
    }

    let messages = english();
    let mut console = Stumbling(false, String::new());
    let form = entreat_testkit::samples::minimal();
    let mut draft = Map::new();
    let reply = Plain::new(&form, &messages).fill(&mut console, &mut draft);
    assert_eq!(reply.unwrap(), Reply::Answered);
    let told: Vec<_> = console.1.split_whitespace().collect();
    assert!(told.join(" ").contains("a line must be text"));

    // Any other error ends the dialogue, and the answers so far are kept.
    let form = fields(json!([
        {"id": "a", "type": "text", "label": "A"},
        {"id": "b", "type": "text", "label": "B", "sensitive": true},
    ]));
    let mut draft = Map::new();
    let reply = Plain::new(&form, &messages).fill(&mut console, &mut draft);
    assert_eq!(reply.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(Value::from(draft), json!({"a": "Ada"}));
}
