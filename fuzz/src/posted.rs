//! Forms as the page of a question reads them: pairs, and parts of a multipart body.
//!
//! Not a part of the library, like `message.rs`: the tests of the service include this file.

use std::sync::LazyLock;

use entreat_core::{Form, CheckSettings};
use entreat_service::fuzzing;
use entreat_testkit::{arbitrary, samples};
use serde_json::{Value, json};

/// The forms that are posted.
static FORMS: LazyLock<Vec<Form>> =
    LazyLock::new(|| {
        let options: Vec<String> = (0..100).map(|n| format!("option {n}")).collect();
        let choices = json!({"id": "choices", "title": "Choices", "fields": [
        {"id": "m", "type": "multi_select", "label": "Many", "options": options},
        {"id": "s", "type": "select", "label": "One", "options": ["a\r\nb", "c\rd", "e"]},
        {"id": "f", "type": "file", "label": "Files", "validation": {"maxItems": 3}},
        {"id": "z", "type": "date", "label": "When", "validation": {"format": "date-time"}}]});
        let mut forms = vec![
            samples::minimal(),
            samples::comprehensive(),
            Form::from_value(&choices).expect("it is valid"),
        ];
        forms.extend((0..13).map(|seed| {
            Form::from_value(&arbitrary::form(seed)).expect("arbitrary forms are valid")
        }));
        forms
    });

/// Reads what was posted. The first byte chooses the form and the type of the body, the second the
/// size of the pieces in which the body comes.
pub(crate) fn run(data: &[u8]) {
    let [choice, piece, body @ ..] = data else {
        return;
    };
    let form = &FORMS[usize::from(choice >> 1) % FORMS.len()];
    let kind = if choice & 1 == 0 {
        "application/x-www-form-urlencoded"
    } else {
        "multipart/form-data; boundary=B"
    };
    let Some(answers) = fuzzing::posted(form, kind, body, usize::from(*piece)) else {
        return;
    };
    for id in answers.keys() {
        assert!(form.field(id).is_some(), "there is no field {id:?}");
    }
    let at_once = fuzzing::posted(form, kind, body, usize::MAX);
    assert_eq!(at_once.as_ref(), Some(&answers), "pieces make a difference");
    let answers = Value::Object(answers);
    let progress = form.progress(&answers, &CheckSettings::default());
    drop(progress);
}
