//! Definitions in the words of other form languages.

use entreat_core::Form;
use serde_json::json;

#[test]
fn words_of_other_form_languages_lead_to_ours() {
    for (field, hint) in [
        (json!({"type": "password"}), "set `sensitive` to true."),
        (
            json!({"type": "email"}),
            "set `validation.format` to `email`.",
        ),
        (
            json!({"type": "integer"}),
            "set `validation.multipleOf` to 1.",
        ),
        (
            json!({"type": "number", "min": 1}),
            "Put the rule `minimum` into `validation`.",
        ),
        (
            json!({"type": "text", "pattern": "x"}),
            "Put the rule `pattern` into `validation`.",
        ),
    ] {
        let mut whole = json!({"id": "a", "label": "A"});
        whole
            .as_object_mut()
            .unwrap()
            .extend(field.as_object().unwrap().clone());
        let problems =
            Form::from_value(&json!({"id": "f", "title": "F", "fields": [whole]})).unwrap_err();
        let problem = problems.iter().next().unwrap();
        assert!(problem.message.ends_with(hint), "{}", problem.message);
    }
}
