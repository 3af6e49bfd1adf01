//! Exports a form as JSON Schema 2020-12.
//!
//! The schema describes normalised answers (see [`Form::normalise`]): defaults filled in,
//! cleared and inactive fields left out. Bounds on days are expressed twice: as patterns, which
//! every validator runs, and as `formatMinimum` and related keywords, for validators that
//! support them. Bounds on date-times use the keywords only. What a schema cannot express
//! (comparing two fields, custom validators, the URL guard, the content of files) is left out;
//! the form still checks it.

use serde_json::{Value, json};

use super::date_pattern::{date_pattern, date_patterns};
use super::imported::ImportMetadata;
use super::property::{
    Schema, annotations, default_json, items, number_type, put, put_options, restore,
};
use crate::answer::Answer;
use crate::condition::{Comparison, Condition, Test};
use crate::form::{CrossCheck, DateBound, DateRules, Field, FileRules, Form, Kind};
use crate::form::{text, url};
use crate::number::Number;
use crate::pattern::Pattern;

/// Matches a visible character, which a required text must have.
pub(super) const NOT_BLANK: &str = r"[^\s\u0085]";

/// The annotation for the heading of a section. JSON Schema has no such keyword.
pub(super) const SECTION: &str = "x-section";

/// Exports a form as JSON Schema 2020-12, with conditions as `if`/`then`.
///
/// ```
/// use entreat_core::{Form, schema::json_schema};
/// use serde_json::json;
///
/// let form = Form::from_value(&json!({
///     "id": "f", "title": "F",
///     "fields": [{"id": "port", "type": "number", "label": "Port", "required": true,
///                 "validation": {"minimum": 1, "multipleOf": 1}}],
/// }))?;
/// let schema = json_schema(&form);
/// assert_eq!(schema["properties"]["port"]["type"], "integer");
/// assert_eq!(schema["required"], json!(["port"]));
/// # Ok::<(), entreat_core::Problems>(())
/// ```
pub fn json_schema(form: &Form) -> Value {
    let mut schema = Schema::new();
    schema.insert(
        "$schema".into(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    schema.insert("title".into(), form.title().into());
    put(&mut schema, "description", form.description());
    schema.insert("type".into(), "object".into());
    let mut properties = Schema::new();
    let mut required = Vec::new();
    let mut all_of = Vec::new();
    for (index, field) in form.fields().iter().enumerate() {
        let mut property = annotations(field);
        if !may_be_left_out(form, field) {
            put(&mut property, "default", default_json(field));
        }
        if field.is_sensitive() {
            property.insert("writeOnly".into(), true.into());
        }
        put(&mut property, SECTION, field.section());
        if field.active_when().is_empty() && field.checked_when().is_empty() {
            property.append(&mut rules(form, field));
            if must_be_present(form, field) {
                required.push(Value::from(field.id()));
            }
        } else {
            add_conditional(form, index, &mut property, &mut all_of);
        }
        properties.insert(field.id().into(), property.into());
    }
    all_of.extend(
        form.rules()
            .iter()
            .filter_map(|rule| cross_rule(form, rule.check())),
    );
    schema.insert("properties".into(), properties.into());
    schema.insert("required".into(), required.into());
    schema.insert("additionalProperties".into(), false.into());
    put(&mut schema, "dependentRequired", dependent_required(form));
    if !all_of.is_empty() {
        schema.insert("allOf".into(), all_of.into());
    }
    put(&mut schema, "$defs", definitions(form));
    for (key, value) in ImportMetadata::of_form(form)
        .and_then(ImportMetadata::keywords)
        .into_iter()
        .flatten()
    {
        schema.insert(key.clone(), value.clone());
    }
    schema.into()
}

/// Whether an active field must be present in an answer.
fn must_be_present(form: &Form, field: &Field) -> bool {
    field.is_required() && !field.is_fixed() && !form.allows_partial()
}

/// Whether a required field may stay without an answer, as `allow_partial` lets it. Its default is
/// a suggestion for the person: readers of the schema would take it for the answer.
fn may_be_left_out(form: &Form, field: &Field) -> bool {
    field.is_required() && !field.is_fixed() && form.allows_partial()
}

/// Adds a conditional field, whose rules apply only while its conditions hold.
fn add_conditional(form: &Form, index: usize, property: &mut Schema, all_of: &mut Vec<Value>) {
    let field = &form.fields()[index];
    let active = conjunction(form, field.active_when());
    let checked = conjunction(form, field.checked_when());
    let then = |mut rules: Schema, required: bool| {
        let mut then = Schema::new();
        let mut properties = Schema::new();
        properties.insert(field.id().into(), std::mem::take(&mut rules).into());
        then.insert("properties".into(), properties.into());
        if required {
            then.insert("required".into(), json!([field.id()]));
        }
        Value::from(then)
    };
    let required = must_be_present(form, field);
    match (active, checked) {
        (Some(active), None) => {
            all_of.push(json!({"if": active, "then": then(rules(form, field), required)}));
        }
        (Some(active), Some(checked)) => {
            all_of.push(json!({"if": active, "then": then(type_only(form, field), false)}));
            let both = json!({"allOf": [active, checked]});
            all_of.push(json!({"if": both, "then": then(rules(form, field), required)}));
        }
        (None, Some(checked)) => {
            property.append(&mut type_only(form, field));
            all_of.push(json!({"if": checked, "then": then(rules(form, field), required)}));
        }
        (None, None) => {}
    }
}

/// All rules of a field.
fn rules(form: &Form, field: &Field) -> Schema {
    let mut schema = Schema::new();
    let required = must_be_present(form, field);
    match field.kind() {
        Kind::Text(text) if text.is_json => {}
        Kind::Text(text) => {
            schema.insert("type".into(), "string".into());
            put(&mut schema, "minLength", text.min_length);
            let max_length = text.max_length.unwrap_or(text::DEFAULT_MAX_LENGTH);
            put(&mut schema, "maxLength", Some(max_length));
            put(
                &mut schema,
                "pattern",
                text.pattern.as_ref().map(Pattern::as_str),
            );
            put(&mut schema, "format", text.format.map(crate::Format::name));
            if required {
                put_not_blank(&mut schema);
            }
        }
        Kind::Number(rules) => {
            schema.insert("type".into(), number_type(rules).into());
            let bound = |bound: Option<Number>| bound.map(Number::to_json);
            put(&mut schema, "minimum", bound(rules.minimum));
            put(&mut schema, "maximum", bound(rules.maximum));
            put(
                &mut schema,
                "exclusiveMinimum",
                bound(rules.exclusive_minimum),
            );
            put(
                &mut schema,
                "exclusiveMaximum",
                bound(rules.exclusive_maximum),
            );
            let step = rules.multiple_of.filter(|step| *step != Number::from(1));
            put(&mut schema, "multipleOf", bound(step));
        }
        Kind::Boolean => {
            schema.insert("type".into(), "boolean".into());
        }
        Kind::Date(rules) => {
            schema = date_type(rules);
            let minimum = rules.minimum.as_ref().map(DateBound::as_str);
            let maximum = rules.maximum.as_ref().map(DateBound::as_str);
            put(&mut schema, "formatMinimum", minimum);
            put(&mut schema, "formatMaximum", maximum);
            if !rules.has_time {
                put(&mut schema, "allOf", date_patterns(minimum, maximum));
            }
        }
        Kind::Select(options) => {
            schema.insert("type".into(), "string".into());
            put_options(&mut schema, options, "oneOf");
        }
        Kind::MultiSelect(rules) => {
            schema.insert("type".into(), "array".into());
            schema.insert("items".into(), items(&rules.options));
            schema.insert("uniqueItems".into(), true.into());
            let at_least = match (rules.min_items, required) {
                (min, false) => min,
                (min, true) => Some(min.unwrap_or(1).max(1)),
            };
            put(&mut schema, "minItems", at_least);
            put(&mut schema, "maxItems", rules.max_items);
        }
        Kind::Url(rules) => {
            schema.insert("type".into(), "string".into());
            schema.insert("format".into(), "uri".into());
            let max_length = rules.max_length.unwrap_or(url::DEFAULT_MAX_LENGTH);
            put(&mut schema, "maxLength", Some(max_length));
            if required {
                put_not_blank(&mut schema);
            }
        }
        Kind::File(rules) => schema = file(rules),
    }
    if field.is_fixed() {
        put_fixed(field, &mut schema);
    }
    restore(form, field, &mut schema);
    schema
}

fn put_not_blank(schema: &mut Schema) {
    if schema.contains_key("pattern") {
        schema.insert("allOf".into(), json!([{"pattern": NOT_BLANK}]));
    } else {
        schema.insert("pattern".into(), NOT_BLANK.into());
    }
}

/// Restricts a read-only or hidden field to its default.
fn put_fixed(field: &Field, schema: &mut Schema) {
    if !field.rendering().hidden {
        schema.insert("readOnly".into(), true.into());
    }
    match default_json(field) {
        Some(default) => schema.insert("const".into(), default),
        None => schema.insert("not".into(), json!({})),
    };
}

/// The type of a field, which applies even while its rules do not.
fn type_only(form: &Form, field: &Field) -> Schema {
    if field.is_fixed() {
        return rules(form, field);
    }
    let mut schema = Schema::new();
    let name = match field.kind() {
        Kind::Text(text) if text.is_json => return schema,
        Kind::Text(_) | Kind::Select(_) | Kind::Url(_) => "string",
        Kind::Number(_) => "number",
        Kind::Boolean => "boolean",
        Kind::Date(rules) => return date_type(rules),
        Kind::MultiSelect(_) => {
            schema.insert("items".into(), json!({"type": "string"}));
            "array"
        }
        Kind::File(rules) if rules.max_items > 1 => "array",
        Kind::File(_) => "object",
    };
    schema.insert("type".into(), name.into());
    schema
}

fn date_type(rules: &DateRules) -> Schema {
    let mut schema = Schema::new();
    schema.insert("type".into(), "string".into());
    schema.insert("format".into(), rules.format_name().into());
    schema
}

/// The schema of one upload.
pub(super) fn upload(max_size: u64) -> Value {
    json!({
        "type": "object",
        "properties": {
            "filename": {"type": "string", "minLength": 1, "maxLength": 255},
            "content_type": {"type": "string"},
            "size": {"type": "integer", "minimum": 0, "maximum": max_size},
            "content": {"type": ["string", "object"]},
        },
        "required": ["filename", "content_type", "size", "content"],
    })
}

fn file(rules: &FileRules) -> Schema {
    let upload = upload(rules.max_size);
    if rules.max_items <= 1 {
        return upload.as_object().cloned().unwrap_or_default();
    }
    let mut schema = Schema::new();
    schema.insert("type".into(), "array".into());
    schema.insert("items".into(), upload);
    put(&mut schema, "minItems", rules.min_items);
    schema.insert("maxItems".into(), rules.max_items.into());
    schema
}

fn dependent_required(form: &Form) -> Option<Value> {
    let id = |index: &usize| Value::from(form.fields()[*index].id());
    let dependents: Schema = form
        .fields()
        .iter()
        .filter(|field| !field.dependencies().is_empty())
        .map(|field| {
            let others = field.dependencies().iter().map(id).collect();
            (field.id().to_owned(), others)
        })
        .collect();
    (!dependents.is_empty()).then(|| dependents.into())
}

fn cross_rule(form: &Form, rule: &CrossCheck) -> Option<Value> {
    let id = |index: &usize| Value::from(form.fields()[*index].id());
    let each = |indices: &[usize]| -> Vec<Value> {
        indices
            .iter()
            .map(|index| json!({"required": [id(index)]}))
            .collect()
    };
    match rule {
        CrossCheck::AtLeastOne(indices) => Some(if_any_active(
            form,
            indices,
            json!({"anyOf": each(indices)}),
        )),
        CrossCheck::ExactlyOne(indices) => Some(if_any_active(
            form,
            indices,
            json!({"oneOf": each(indices)}),
        )),
        CrossCheck::AllOrNone(indices) => {
            let all: Vec<Value> = indices.iter().map(id).collect();
            Some(json!({"if": {"anyOf": each(indices)}, "then": {"required": all}}))
        }
        CrossCheck::Compare(..) => None,
    }
}

/// Disables a rule that requires an answer while all of its fields are inactive.
fn if_any_active(form: &Form, indices: &[usize], rule: Value) -> Value {
    if !all_conditional(form, indices) {
        return rule;
    }
    let active: Vec<Value> = indices.iter().map(|index| reference(*index)).collect();
    json!({"if": {"anyOf": active}, "then": rule})
}

fn all_conditional(form: &Form, indices: &[usize]) -> bool {
    indices
        .iter()
        .all(|index| !form.fields()[*index].active_when().is_empty())
}

/// One definition for each conditional field that other conditions refer to: an inactive field
/// counts as empty. Sharing the definitions keeps chains of conditions linear in size.
fn definitions(form: &Form) -> Option<Value> {
    let mut referenced = vec![false; form.fields().len()];
    for field in form.fields() {
        for condition in field.active_when().iter().chain(field.checked_when()) {
            condition.each_field(&mut |index| referenced[index] = true);
        }
    }
    for rule in form.rules() {
        if let CrossCheck::AtLeastOne(indices) | CrossCheck::ExactlyOne(indices) = rule.check()
            && all_conditional(form, indices)
        {
            for index in indices {
                referenced[*index] = true;
            }
        }
    }
    let definitions: Schema = form
        .conditional()
        .iter()
        .filter(|index| referenced[**index])
        .filter_map(|index| {
            let active = conjunction(form, form.fields()[*index].active_when())?;
            Some((definition_name(*index), active))
        })
        .collect();
    (!definitions.is_empty()).then(|| definitions.into())
}

fn definition_name(index: usize) -> String {
    format!("active-{index}")
}

/// A schema that is valid while a conditional field is active.
fn reference(index: usize) -> Value {
    json!({"$ref": format!("#/$defs/{}", definition_name(index))})
}

fn conjunction(form: &Form, conditions: &[Condition]) -> Option<Value> {
    match conditions {
        [] => None,
        [condition] => Some(condition_schema(form, condition)),
        several => Some(json!({"allOf": all(form, several)})),
    }
}

fn all(form: &Form, conditions: &[Condition]) -> Vec<Value> {
    conditions
        .iter()
        .map(|c| condition_schema(form, c))
        .collect()
}

fn condition_schema(form: &Form, condition: &Condition) -> Value {
    match condition {
        Condition::And(conditions) => json!({"allOf": all(form, conditions)}),
        Condition::Or(conditions) => json!({"anyOf": all(form, conditions)}),
        Condition::Not(condition) => json!({"not": condition_schema(form, condition)}),
        Condition::Test { field, test } => test_schema(form, *field, test),
    }
}

fn test_schema(form: &Form, index: usize, test: &Test) -> Value {
    let field = &form.fields()[index];
    // Positive tests are false for an inactive field; negative tests negate them.
    let positive = |value: Option<Value>| {
        let mut schema = Schema::new();
        if let Some(value) = value {
            let mut properties = Schema::new();
            properties.insert(field.id().into(), value);
            schema.insert("properties".into(), properties.into());
        }
        schema.insert("required".into(), json!([field.id()]));
        if field.active_when().is_empty() {
            Value::from(schema)
        } else {
            json!({"allOf": [reference(index), schema]})
        }
    };
    let list = |answers: &[Answer<'static>]| -> Vec<Value> {
        answers.iter().map(Answer::to_json).collect()
    };
    match test {
        Test::Equals(value) => positive(Some(json!({"const": value.to_json()}))),
        Test::NotEquals(value) => {
            json!({"not": positive(Some(json!({"const": value.to_json()})))})
        }
        Test::In(values) => positive(Some(json!({"enum": list(values)}))),
        Test::NotIn(values) => json!({"not": positive(Some(json!({"enum": list(values)})))}),
        Test::Contains(part) if matches!(field.kind(), Kind::MultiSelect(_)) => {
            positive(Some(json!({"type": "array", "contains": {"const": part}})))
        }
        Test::Contains(part) => positive(Some(json!({"type": "string", "pattern": escape(part)}))),
        Test::Order(comparison, value) => positive(Some(order_schema(field, *comparison, value))),
        Test::Regex(pattern) => {
            positive(Some(json!({"type": "string", "pattern": pattern.as_str()})))
        }
        Test::IsNotEmpty => positive(None),
        Test::IsEmpty => json!({"not": positive(None)}),
    }
}

fn order_schema(field: &Field, comparison: Comparison, value: &Answer<'static>) -> Value {
    let is_date = matches!(field.kind(), Kind::Date(_));
    let key = match (comparison, is_date) {
        (Comparison::Gt, false) => "exclusiveMinimum",
        (Comparison::Gte, false) => "minimum",
        (Comparison::Lt, false) => "exclusiveMaximum",
        (Comparison::Lte, false) => "maximum",
        (Comparison::Gt, true) => "formatExclusiveMinimum",
        (Comparison::Gte, true) => "formatMinimum",
        (Comparison::Lt, true) => "formatExclusiveMaximum",
        (Comparison::Lte, true) => "formatMaximum",
        // Conditions spell these `equals` and `not_equals`.
        (Comparison::Eq | Comparison::Ne, _) => "const",
    };
    let value = value.to_json();
    let mut schema = Schema::new();
    if let Kind::Date(rules) = field.kind() {
        schema = date_type(rules);
        if let Some(day) = value.as_str().filter(|_| !rules.has_time) {
            schema.insert("pattern".into(), date_pattern(comparison, day).into());
        }
    } else {
        schema.insert("type".into(), "number".into());
    }
    schema.insert(key.into(), value);
    schema.into()
}

/// Escapes a text so that the pattern matches it literally.
fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\^$.|?*+()[]{}/-".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
