//! A value for a field, whatever its type.

use entreat_core::form::Kind;
use entreat_core::{Answer, Field};
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

/// A constant of a form as it would be answered.
pub(super) fn to_json(answer: &Answer<'_>) -> Value {
    match answer {
        Answer::Text(text) | Answer::Choice(text) | Answer::Url(text) => text.as_ref().into(),
        Answer::Number(number) => number.to_json(),
        Answer::Boolean(value) => (*value).into(),
        Answer::Date(date) => date.to_string().into(),
        Answer::Moment(moment) => moment.as_str().into(),
        Answer::Choices(choices) => choices.iter().map(|c| Value::from(c.as_ref())).collect(),
        Answer::Json(value) => value.as_ref().clone(),
        Answer::Files(_) => Value::Null,
    }
}
