//! Support for the code that `#[derive(Form)]` generates. Not part of the public API.

use serde_json::{Map, Value};

use super::field_type::{FieldDraft, FieldType};
use super::{Choice, FormMismatch};
use crate::answer::Answers;
use crate::form::Form;
use crate::form::definition::FIELD_KEYS;
use crate::problem::Problems;

pub use std::sync::LazyLock;

pub fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    Value::Object(entries.collect())
}

pub fn list<const N: usize>(items: [Value; N]) -> Value {
    Value::Array(items.into())
}

pub fn scalar(value: impl Into<Value>) -> Value {
    value.into()
}

/// The value of a variant that an attribute names.
pub fn variant<T: Choice>(choice: &T) -> Value {
    choice.value().into()
}

/// Builds a field's definition from its attributes and its type.
pub fn field<T: FieldType>(attributes: Value) -> Value {
    let Value::Object(mut definition) = attributes else {
        return attributes;
    };
    let rules = match definition.remove("validation") {
        Some(Value::Object(rules)) => rules,
        _ => Map::new(),
    };
    let mut draft = FieldDraft::new(rules);
    T::describe(&mut draft);
    draft.fill(&mut definition);
    let mut field = Map::new();
    for key in FIELD_KEYS {
        field.extend(definition.remove_entry(*key));
    }
    field.extend(definition);
    Value::Object(field)
}

/// Loads a form from the definitions of the struct and of its fields.
pub fn load<const N: usize>(form: Value, fields: [Value; N]) -> Result<Form, Problems> {
    let mut definition = form;
    if let Value::Object(definition) = &mut definition {
        definition.insert("fields".to_owned(), Value::Array(fields.into()));
    }
    Form::from_value(&definition)
}

/// Removes the answer to a field and converts it to the field's Rust type.
pub fn take<T: FieldType>(
    answers: &mut Answers<'_>,
    field: &'static str,
) -> Result<T, FormMismatch> {
    T::from_answer(answers.take(field)).ok_or_else(|| FormMismatch {
        form: answers.form().id().to_owned(),
        field,
    })
}

/// A type that can represent the missing answer of a field that was not shown.
#[diagnostic::on_unimplemented(
    message = "a field with `show_if` may have no answer, and `{Self}` always needs one",
    label = "make this `Option<{Self}>`"
)]
pub trait MayBeAbsent {}

impl<T> MayBeAbsent for Option<T> {}
impl<T> MayBeAbsent for Vec<T> {}

/// Compiles only for types that a field with `show_if` can have.
pub const fn may_be_absent<T: MayBeAbsent>() {}
