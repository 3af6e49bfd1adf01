//! Answers as JSON text, against a fixed set of forms.

use std::sync::LazyLock;

use entreat_core::document::Notation;
use entreat_core::{Answers, Catalogue, CheckError, Form, Violations};
use entreat_testkit::{arbitrary, samples};
use serde_json::{Map, Value};

use super::Meter;

/// The forms that answers are checked against.
pub static FORMS: LazyLock<Vec<Form>> =
    LazyLock::new(|| {
        let every_rule = include_str!("../seeds/definition/every-rule");
        let every_rule = Form::from_text(&every_rule[1..], Notation::Json);
        let mut forms = vec![
            every_rule.expect("the form with every rule is sound"),
            samples::minimal(),
            samples::comprehensive(),
        ];
        forms.extend((0..13).map(|seed| {
            Form::from_value(&arbitrary::form(seed)).expect("arbitrary forms are sound")
        }));
        forms
    });

/// Checks answers. The first byte chooses the form, the rest is the text.
pub fn run(data: &[u8], meter: &mut Meter) {
    let Some((choice, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    judge(&FORMS[usize::from(*choice) % FORMS.len()], text, meter);
}

/// Checks one text and asserts that parsed JSON is judged alike.
pub fn judge(form: &Form, text: &str, meter: &mut Meter) {
    let by_text = match meter.call("Form::check_text", || form.check_text(text)) {
        Ok(answers) => Ok(answers),
        Err(CheckError::Invalid(violations)) => Err(violations),
        Err(_) => return,
    };
    if let Err(violations) = &by_text {
        let english = Catalogue::default().messages(["en"]);
        meter.call("Violations::errors", || violations.errors(&english));
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        assert!(
            by_text.is_err(),
            "text that is no JSON is accepted: {text:?}"
        );
        return;
    };
    let by_value = meter.call("Form::check", || form.check(&value));
    meter.call("Form::normalise", || form.normalise(&value));
    if has_long_numbers(text) {
        return;
    }
    match (&by_text, &by_value) {
        (Ok(by_text), Ok(by_value)) => {
            let revealed = by_text.reveal().to_json();
            assert_eq!(revealed, by_value.reveal().to_json(), "{text:?}");
            assert_stable(form, by_text, &revealed);
        }
        (Err(by_text), Err(by_value)) => {
            assert_eq!(broken(by_text), broken(by_value), "{text:?}");
        }
        (by_text, by_value) => panic!(
            "as text: {by_text:?}\nas a value: {by_value:?}\n{text:?}",
            by_text = by_text.as_ref().err(),
            by_value = by_value.as_ref().err(),
        ),
    }
}

fn broken(violations: &Violations) -> Vec<(&str, &str)> {
    let pair = |violation| {
        let field = violations.field_of(violation);
        (field, entreat_core::Violation::constraint(violation).key())
    };
    violations.iter().map(pair).collect()
}

/// Asserts that what was accepted is accepted again.
fn assert_stable(form: &Form, answers: &Answers<'_>, revealed: &Map<String, Value>) {
    let mut again = revealed.clone();
    for field in form.fields() {
        // Not to be filled in again: it was cleared, or is out of play.
        if field.default().is_some() && answers.get(field.id()).is_none() {
            again.insert(field.id().to_owned(), Value::Null);
        }
    }
    let again = Value::Object(again);
    match form.check(&again) {
        Ok(answers) => assert_eq!(&answers.reveal().to_json(), revealed),
        Err(violations) => panic!("accepted once, then {violations}: {again}"),
    }
}

/// Whether a number has more digits than parsed JSON keeps.
fn has_long_numbers(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E');
    text.split(|c| !is_part(c)).any(|number| {
        let digits = number.bytes().filter(u8::is_ascii_digit).count();
        let is_whole = number.bytes().all(|b| b.is_ascii_digit());
        let has_exponent = digits > 0 && number.contains(['e', 'E']);
        has_exponent || digits > if is_whole { 18 } else { 15 }
    })
}
