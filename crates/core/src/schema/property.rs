//! Exports one field as a property: the code shared by the full schema and the projections.

use serde_json::{Map, Value, json};

use super::imported::ImportMetadata;
use crate::form::{Field, Form, NumberRules, Options};

/// A schema object.
pub(super) type Schema = Map<String, Value>;

/// Title and description. A label that equals the id is left out.
pub(super) fn annotations(field: &Field) -> Schema {
    let mut schema = Schema::new();
    if field.label() != field.id() {
        schema.insert("title".into(), field.label().into());
    }
    put(&mut schema, "description", field.description());
    schema
}

pub(super) fn put<V: Into<Value>>(schema: &mut Schema, key: &str, value: Option<V>) {
    if let Some(value) = value {
        schema.insert(key.into(), value.into());
    }
}

/// `integer` if only whole numbers are valid, else `number`.
pub(super) fn number_type(rules: &NumberRules) -> &'static str {
    if rules.is_integer() {
        "integer"
    } else {
        "number"
    }
}

/// Adds `enum` for plain options, else the titled options under the keyword `titled`.
pub(super) fn put_options(schema: &mut Schema, options: &Options, titled: &str) {
    if options.are_titled() {
        let list = options
            .iter()
            .map(|(value, title)| json!({"const": value, "title": title}))
            .collect();
        schema.insert(titled.into(), list);
    } else {
        let list = options.values().collect();
        schema.insert("enum".into(), list);
    }
}

/// The `items` of a multi-select.
pub(super) fn items(options: &Options) -> Value {
    let mut items = Schema::new();
    if !options.are_titled() {
        items.insert("type".into(), "string".into());
    }
    put_options(&mut items, options, "anyOf");
    items.into()
}

pub(super) fn default_json(field: &Field) -> Option<Value> {
    field.default().map(crate::answer::Answer::to_json)
}

/// Restores the keywords that an import could not convert.
pub(super) fn restore(form: &Form, field: &Field, schema: &mut Schema) {
    let keywords = ImportMetadata::of_form(form).and_then(|mark| mark.property(field.id()));
    for (key, value) in keywords.into_iter().flatten() {
        schema.insert(key.clone(), value.clone());
    }
}
