//! Reads the content of a client's answer, for every protocol version.
//!
//! Mends what the person cannot: they only see the question, and would be asked the same again.

use entreat_core::{Form, Kind};
use serde_json::{Map, Value};

/// How many names of unknown members are logged, and how long each may be.
const MAX_NAMES: usize = 5;
const MAX_NAME: usize = 40;

/// Returns the answers in a client's content, for the form to check.
///
/// Members that the form did not ask for are left out. A required yes/no question that was left
/// out is a checkbox that was left off: it counts as no. Anything but an object is returned
/// unchanged.
pub(crate) fn answers_in(form: &Form, content: Option<Value>) -> Value {
    let content = content.unwrap_or_else(|| Map::new().into());
    let Some(members) = form.answers_in(&content) else {
        return content;
    };
    let mut answers = Map::new();
    let mut unknown = Vec::new();
    for (name, value) in members {
        if form.field(name).is_some() {
            answers.insert(name.clone(), value.clone());
        } else {
            unknown.push(name.as_str());
        }
    }
    if !unknown.is_empty() {
        tracing::info!(
            dropped = unknown.len(),
            names = names_of(&unknown),
            "a client's answer had members that were not asked for"
        );
    }
    for field in form.fields() {
        let is_left_off = matches!(field.kind(), Kind::Boolean)
            && field.is_required()
            && !field.is_fixed()
            && field.default().is_none();
        if is_left_off && answers.get(field.id()).is_none_or(Value::is_null) {
            answers.insert(field.id().to_owned(), false.into());
        }
    }
    answers.into()
}

/// Lists names for the log: the first ones, and only those that are identifiers, since others might
/// be something that a person typed.
fn names_of(names: &[&str]) -> String {
    let is_identifier = |name: &&&str| {
        !name.is_empty()
            && name.len() <= MAX_NAME
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '/'))
    };
    let safe: Vec<&str> = names
        .iter()
        .filter(is_identifier)
        .take(MAX_NAMES)
        .copied()
        .collect();
    safe.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Form {
        Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "name", "type": "text", "label": "Name"},
            {"id": "sure", "type": "boolean", "label": "Sure", "required": true},
            {"id": "news", "type": "boolean", "label": "News", "required": true, "default": true},
        ]}))
        .unwrap()
    }

    #[test]
    fn only_what_was_asked_for_is_taken() {
        let read = |content: Value| answers_in(&form(), Some(content));
        assert_eq!(
            read(json!({"name": "Ada", "sure": true, "_meta": {}, "extra": 1})),
            json!({"name": "Ada", "sure": true})
        );
        // Nothing known at all, and an envelope.
        assert_eq!(read(json!({"extra": 1})), json!({"sure": false}));
        assert_eq!(
            read(json!({"form_id": "f", "responses": {"sure": true, "extra": 1}})),
            json!({"sure": true})
        );
        assert_eq!(read(json!(["Ada"])), json!(["Ada"]));
    }

    #[test]
    fn a_required_checkbox_that_was_left_off_is_a_no() {
        assert_eq!(answers_in(&form(), None), json!({"sure": false}));
        let content = json!({"sure": null, "news": false});
        assert_eq!(
            answers_in(&form(), Some(content)),
            json!({"sure": false, "news": false})
        );
    }

    #[test]
    fn the_log_has_a_few_names_and_nothing_that_was_typed() {
        let names = ["_meta", "my secret: hunter2", "a", "b", "c", "d", "e"];
        assert_eq!(names_of(&names), "_meta, a, b, c, d");
        assert_eq!(names_of(&["x".repeat(41).as_str(), ""]), "");
    }
}
