//! Assertions whose messages list every error.

use std::fmt::Write as _;

use entreat_core::{Answers, Catalogue, Form, Problems, Violations};
use serde_json::Value;

/// Asserts that the form accepts the answer, and returns the typed answers.
///
/// # Panics
///
/// When the answer is not valid; the message lists every error as a person would read it.
///
/// ```
/// use entreat_testkit::{assert_valid, samples};
/// use serde_json::json;
///
/// let answers = assert_valid(&samples::minimal(), &json!({"name": "Ada"}));
/// assert_eq!(answers.get("name").and_then(|name| name.as_str()), Some("Ada"));
/// ```
#[track_caller]
pub fn assert_valid(form: &Form, answer: &Value) -> Answers<'static> {
    match form.check(answer) {
        Ok(answers) => answers.into_owned(),
        Err(violations) => fail(&format!(
            "form `{}` should accept the answer, but:\n{}",
            form.id(),
            rendered(&violations)
        )),
    }
}

/// Asserts that the answer breaks exactly these rules, as pairs of field and rule in the
/// order in which they are reported.
///
/// # Panics
///
/// When other rules are broken, or none; the message lists what was expected and every error.
///
/// ```
/// use entreat_testkit::{assert_breaks, samples};
/// use serde_json::json;
///
/// assert_breaks(
///     &samples::minimal(),
///     &json!({"nmae": "Ada"}),
///     &[("name", "required"), ("nmae", "additionalProperties")],
/// );
/// ```
#[track_caller]
pub fn assert_breaks(form: &Form, answer: &Value, expected: &[(&str, &str)]) {
    let Err(violations) = form.check(answer) else {
        if expected.is_empty() {
            return;
        }
        fail(&format!(
            "form `{}` should refuse the answer for:\n{}but accepts it",
            form.id(),
            pairs(expected)
        ));
    };
    let found: Vec<_> = violations
        .iter()
        .map(|violation| (violations.field_of(violation), violation.constraint().key()))
        .collect();
    if found != expected {
        fail(&format!(
            "form `{}` should refuse the answer for:\n{}but refuses it for:\n{}",
            form.id(),
            pairs(expected),
            rendered(&violations)
        ));
    }
}

/// Asserts that a definition has exactly these problems, as pairs of JSON pointer and code
/// in the order in which they are reported. An empty list asserts that it is valid.
///
/// # Panics
///
/// When it has others; the message lists every problem.
///
/// ```
/// use entreat_testkit::assert_problems;
/// use serde_json::json;
///
/// assert_problems(
///     &json!({"id": "f", "title": "F", "fields": [{"id": "a", "type": "txt", "label": "A"}]}),
///     &[("/fields/0/type", "bad_value")],
/// );
/// ```
#[track_caller]
pub fn assert_problems(definition: &Value, expected: &[(&str, &str)]) {
    let problems = Form::from_value(definition).err();
    let codes: Vec<_> = problems
        .iter()
        .flatten()
        .map(|problem| (problem.pointer.as_str(), problem.code.to_string()))
        .collect();
    let found: Vec<_> = codes
        .iter()
        .map(|(pointer, code)| (*pointer, code.as_str()))
        .collect();
    if found != expected {
        let listed = problems
            .as_ref()
            .map_or_else(|| "none".to_owned(), Problems::to_string);
        fail(&format!(
            "the definition should have these problems:\n{}but has:\n{listed}",
            pairs(expected)
        ));
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "an assertion's way to say no")]
fn fail(message: &str) -> ! {
    panic!("{message}")
}

fn rendered(violations: &Violations) -> String {
    let mut text = String::new();
    for error in violations.errors(&Catalogue::default().messages(["en"])) {
        let _ = writeln!(
            text,
            "  {}: {} [{}]",
            error.field, error.message, error.constraint
        );
    }
    text
}

fn pairs(expected: &[(&str, &str)]) -> String {
    if expected.is_empty() {
        return "  nothing\n".to_owned();
    }
    expected
        .iter()
        .fold(String::new(), |mut text, (place, name)| {
            let _ = writeln!(text, "  {place} [{name}]");
            text
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::samples;

    #[test]
    #[should_panic(expected = "should accept the answer, but:\n  name:")]
    fn a_refused_answer_is_shown_with_its_errors() {
        assert_valid(&samples::minimal(), &json!({}));
    }

    #[test]
    #[should_panic(expected = "name [enum]\nbut refuses it for:\n  name:")]
    fn another_broken_rule_is_shown_beside_the_expected_one() {
        assert_breaks(&samples::minimal(), &json!({}), &[("name", "enum")]);
    }

    #[test]
    #[should_panic(expected = "but accepts it")]
    fn an_accepted_answer_breaks_nothing() {
        assert_breaks(
            &samples::minimal(),
            &json!({"name": "x"}),
            &[("name", "required")],
        );
    }

    #[test]
    fn the_order_of_errors_is_part_of_the_assertion() {
        let answer = samples::three_errors();
        let expected = [
            ("service_name", "minLength"),
            ("port", "maximum"),
            ("region", "enum"),
        ];
        assert_breaks(&samples::comprehensive(), &answer, &expected);
        let turned = [expected[1], expected[0], expected[2]];
        let outcome = std::panic::catch_unwind(|| {
            assert_breaks(&samples::comprehensive(), &answer, &turned);
        });
        assert!(outcome.is_err());
    }

    #[test]
    fn a_sound_definition_has_no_problems() {
        assert_problems(samples::minimal().definition(), &[]);
    }

    #[test]
    #[should_panic(expected = "but has:\n/id: ")]
    fn other_problems_are_shown() {
        let definition =
            json!({"title": "F", "fields": [{"id": "a", "type": "text", "label": "A"}]});
        assert_problems(&definition, &[]);
    }
}
