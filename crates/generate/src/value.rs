//! A value for a field, whatever its type.

use entreat_core::Field;
use entreat_core::form::Kind;
use fastrand::Rng;
use regex_syntax::hir::Hir;
use serde_json::Value;

use super::{choice, date, file, number, text, url};

/// A value that the field's own rules accept; `None` where none was found.
pub(super) fn value(field: &Field, tree: Option<&Hir>, rng: &mut Rng) -> Option<Value> {
    match field.kind() {
        Kind::Text(rules) => text::text(rules, tree, rng).map(Value::from),
        Kind::Number(rules) => number::number(rules, rng),
        Kind::Boolean => Some(rng.bool().into()),
        Kind::Date(rules) => date::date(rules, rng).map(Value::from),
        Kind::Select(options) => choice::one(options, rng),
        Kind::MultiSelect(rules) => choice::several(rules, rng),
        Kind::Url(rules) => url::url(rules, rng).map(Value::from),
        Kind::File(rules) => file::files(rules, rng),
    }
}

/// Makes values for a field as defined, and panics if the form rejects one.
#[cfg(test)]
pub(super) fn valid_values(mut field: Value) -> Vec<Value> {
    use entreat_core::Form;
    use serde_json::json;

    field["id"] = "v".into();
    field["label"] = "V".into();
    field["required"] = true.into();
    let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [field]})).unwrap();
    let pattern = field["validation"]["pattern"].as_str();
    let tree = pattern.map(|pattern| entreat_core::pattern::syntax_tree(pattern).unwrap());
    let mut rng = Rng::with_seed(5);
    let made = (0..MADE).filter_map(|_| value(&form.fields()[0], tree.as_ref(), &mut rng));
    made.inspect(|value| {
        let is_valid = form.check(&json!({"v": value})).is_ok();
        assert!(is_valid, "{value} in {field}");
    })
    .collect()
}

/// How many values [`valid_values`] tries to make.
#[cfg(test)]
pub(super) const MADE: usize = 200;
