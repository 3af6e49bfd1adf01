//! Exports a form as the flat `requestedSchema` of MCP elicitation.
//!
//! Uses only the keywords of the era: some clients reject a request because of a single unknown
//! keyword. Losses are reported, and the lost rules are still enforced when the answer comes
//! back.

use serde::Serialize;
use serde_json::Value;

use super::Era;
use super::imported::ImportMetadata;
use super::property::{
    Schema, annotations, default_json, items, number_type, put, put_options, restore,
};
use crate::form::{CrossRule, DateBound, Field, Form, Kind, Options};
use crate::format::Format;
use crate::number::Number;
use crate::pattern::Pattern;

/// A form as the `requestedSchema` of an era.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Projection {
    /// The `requestedSchema`.
    pub requested_schema: Value,
    /// What the schema cannot express.
    pub losses: Vec<Loss>,
    /// Whether the question cannot be asked in form mode: it has a sensitive field, a file, or a
    /// required field without a type in the era.
    pub needs_url: bool,
}

/// A part of a form that a `requestedSchema` cannot express.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The id of the field; absent for the form as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The rule or property that is lost, such as `pattern` or `sensitive`.
    pub rule: String,
    /// A message for people.
    pub message: String,
}

/// Projects a form to the `requestedSchema` of an era.
///
/// ```
/// use entreat_core::{Form, schema::{Era, project}};
/// use serde_json::json;
///
/// let form = Form::from_value(&json!({
///     "id": "f", "title": "F",
///     "fields": [
///         {"id": "name", "type": "text", "label": "Name", "validation": {"pattern": "^a"}},
///         {"id": "key", "type": "text", "label": "Key", "sensitive": true},
///     ],
/// }))?;
/// let projection = project(&form, Era::V2026_07_28);
/// assert!(projection.needs_url);
/// let lost: Vec<_> = projection.losses.iter().map(|loss| loss.rule.as_str()).collect();
/// assert_eq!(lost, ["pattern", "sensitive"]);
/// # Ok::<(), entreat_core::Problems>(())
/// ```
pub fn project(form: &Form, era: Era) -> Projection {
    let mut writer = Writer {
        form,
        era,
        is_imported: ImportMetadata::of_form(form).is_some(),
        losses: Vec::new(),
        needs_url: false,
    };
    let mut properties = Schema::new();
    let mut required = Vec::new();
    for field in form.fields() {
        let Some(mut property) = writer.property(field) else {
            continue;
        };
        // `type` first, as is customary: it tells readers how to interpret the rest.
        if let Some(kind) = property.shift_remove("type") {
            property.shift_insert(0, "type".to_owned(), kind);
        }
        properties.insert(field.id().into(), property.into());
        let is_conditional = !field.active_when().is_empty() || !field.checked_when().is_empty();
        if field.is_required() && !is_conditional && !form.allows_partial() {
            required.push(Value::from(field.id()));
        }
    }
    writer.add_form_losses();
    let mut schema = Schema::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    for (key, value) in ImportMetadata::of_form(form)
        .and_then(ImportMetadata::keywords)
        .into_iter()
        .flatten()
    {
        schema.insert(key.clone(), value.clone());
    }
    Projection {
        requested_schema: schema.into(),
        losses: writer.losses,
        needs_url: writer.needs_url,
    }
}

struct Writer<'f> {
    form: &'f Form,
    era: Era,
    /// The form was imported from a schema, whose keywords are restored.
    is_imported: bool,
    losses: Vec<Loss>,
    needs_url: bool,
}

impl Writer<'_> {
    fn add_loss(&mut self, field: &Field, rule: &str, message: impl Into<String>) {
        self.losses.push(Loss {
            field: Some(field.id().to_owned()),
            rule: rule.to_owned(),
            message: message.into(),
        });
    }

    fn add_rule_loss(&mut self, field: &Field, rule: &str) {
        let message = format!(
            "`{rule}` of `{}` cannot be expressed in {}.",
            field.id(),
            self.era
        );
        self.add_loss(field, rule, message);
    }

    /// Restores a keyword beyond the era's subset if the form is imported; reports a loss
    /// otherwise.
    fn put_or_lose<V: Into<Value>>(
        &mut self,
        schema: &mut Schema,
        field: &Field,
        (rule, keyword): (&str, &str),
        value: Option<V>,
    ) {
        match value {
            Some(value) if self.is_imported => {
                schema.insert(keyword.into(), value.into());
            }
            Some(_) => self.add_rule_loss(field, rule),
            None => {}
        }
    }

    /// Converts a field to a property; `None` if it cannot be part of a form-mode request.
    fn property(&mut self, field: &Field) -> Option<Schema> {
        if field.rendering().hidden {
            return None;
        }
        if field.is_sensitive() {
            self.needs_url = true;
            let message = format!(
                "`{}` is a secret, and secrets do not go through forms.",
                field.id()
            );
            self.add_loss(field, "sensitive", message);
            return None;
        }
        let mut schema = annotations(field);
        match field.kind() {
            Kind::Text(text) if text.is_json => {}
            Kind::Text(text) => {
                schema.insert("type".into(), "string".into());
                put(&mut schema, "minLength", text.min_length);
                put(&mut schema, "maxLength", text.max_length);
                let pattern = text.pattern.as_ref().map(Pattern::as_str);
                if self.era == Era::V2025_11_25 {
                    put(&mut schema, "pattern", pattern);
                } else {
                    self.put_or_lose(&mut schema, field, ("pattern", "pattern"), pattern);
                }
                match text.format {
                    Some(
                        format @ (Format::Email | Format::Uri | Format::Date | Format::DateTime),
                    ) => put(&mut schema, "format", Some(format.name())),
                    other => {
                        let name = other.map(Format::name);
                        self.put_or_lose(&mut schema, field, ("format", "format"), name);
                    }
                }
            }
            Kind::Number(rules) => {
                schema.insert("type".into(), number_type(rules).into());
                put(&mut schema, "minimum", rules.minimum.map(Number::to_json));
                put(&mut schema, "maximum", rules.maximum.map(Number::to_json));
                let step = rules.multiple_of.filter(|step| *step != Number::from(1));
                for (rule, bound) in [
                    ("exclusiveMinimum", rules.exclusive_minimum),
                    ("exclusiveMaximum", rules.exclusive_maximum),
                    ("multipleOf", step),
                ] {
                    let bound = bound.map(Number::to_json);
                    self.put_or_lose(&mut schema, field, (rule, rule), bound);
                }
            }
            Kind::Boolean => put(&mut schema, "type", Some("boolean")),
            Kind::Date(rules) => {
                schema.insert("type".into(), "string".into());
                schema.insert("format".into(), rules.format_name().into());
                for (names, bound) in [
                    (("minimum", "formatMinimum"), &rules.minimum),
                    (("maximum", "formatMaximum"), &rules.maximum),
                ] {
                    let bound = bound.as_ref().map(DateBound::as_str);
                    self.put_or_lose(&mut schema, field, names, bound);
                }
            }
            Kind::Select(options) => self.put_select(&mut schema, field, options),
            Kind::MultiSelect(_) if self.era == Era::V2025_06_18 && !self.is_imported => {
                self.needs_url |= field.is_required();
                let message = format!("{} has no type for `{}`.", self.era, field.id());
                self.add_loss(field, "multi_select", message);
                return None;
            }
            Kind::MultiSelect(rules) => {
                schema.insert("type".into(), "array".into());
                put(&mut schema, "minItems", rules.min_items);
                put(&mut schema, "maxItems", rules.max_items);
                schema.insert("items".into(), items(&rules.options));
            }
            Kind::Url(rules) => {
                schema.insert("type".into(), "string".into());
                schema.insert("format".into(), "uri".into());
                put(&mut schema, "maxLength", rules.max_length);
                self.add_rule_loss(field, "allowedSchemes");
                if rules.policy.blocks_private() {
                    self.add_rule_loss(field, "blockPrivateIPs");
                }
                if rules.policy.blocks_localhost() {
                    self.add_rule_loss(field, "blockLocalhost");
                }
            }
            Kind::File(_) => {
                self.needs_url = true;
                let message = format!(
                    "`{}` is a file, and files do not go through forms.",
                    field.id()
                );
                self.add_loss(field, "file", message);
                return None;
            }
        }
        self.put_default(&mut schema, field);
        self.add_field_losses(field);
        restore(self.form, field, &mut schema);
        Some(schema)
    }

    fn put_select(&self, schema: &mut Schema, field: &Field, options: &Options) {
        schema.insert("type".into(), "string".into());
        let had_enum_names = ImportMetadata::of_form(self.form)
            .and_then(|mark| mark.property(field.id()))
            .is_some_and(|kept| kept.contains_key("enumNames"));
        let use_enum_names = self.era == Era::V2025_06_18 || had_enum_names;
        if use_enum_names && options.are_titled() {
            let values = options.values().collect();
            let titles = options.iter().map(|(_, title)| title).collect();
            schema.insert("enum".into(), values);
            schema.insert("enumNames".into(), titles);
        } else {
            put_options(schema, options, "oneOf");
        }
    }

    fn put_default(&mut self, schema: &mut Schema, field: &Field) {
        let Some(default) = default_json(field) else {
            return;
        };
        if self.era == Era::V2025_06_18 && !matches!(field.kind(), Kind::Boolean) {
            self.put_or_lose(schema, field, ("default", "default"), Some(default));
        } else {
            schema.insert("default".into(), default);
        }
    }

    fn add_field_losses(&mut self, field: &Field) {
        if field.rendering().readonly {
            self.add_rule_loss(field, "readonly");
        }
        if !field.active_when().is_empty() {
            self.add_rule_loss(field, "conditionalDisplay");
        }
        if !field.checked_when().is_empty() {
            self.add_rule_loss(field, "validate");
        }
        if !field.dependencies().is_empty() {
            self.add_rule_loss(field, "dependencies");
        }
    }

    fn add_form_losses(&mut self) {
        let rules = self.form.rules().iter().map(CrossRule::constraint);
        let rules = rules.map(|constraint| constraint.key().to_owned());
        let validators = self.form.validators().iter().map(|v| v.name.to_string());
        let lost: Vec<String> = rules.chain(validators).collect();
        for rule in lost {
            let message = format!(
                "The cross-field rule `{rule}` cannot be expressed in {}.",
                self.era
            );
            self.losses.push(Loss {
                field: None,
                rule,
                message,
            });
        }
    }
}
