//! The schema of a form definition: what a model needs to know of the form language.

use entreat_core::{Condition, Format, Kind};
use serde_json::{Value, json};

/// The argument `form`.
pub(super) fn form_schema() -> Value {
    json!({
        "type": "object",
        "description": "Several questions at once. The answers are in `answers`, by field id.",
        "properties": {
            "id": {"type": "string", "description": "Not needed.", "pattern": "^[A-Za-z0-9_-]{1,128}$"},
            "title": {"type": "string", "maxLength": 256},
            "description": {"type": "string", "description": "Markdown."},
            "fields": {"type": "array", "minItems": 1, "maxItems": 100, "items": field_schema()},
            "validation": {
                "type": "object",
                "description": "Rules for several fields.",
                "properties": {
                    "rules": {"type": "array", "items": rule_schema()},
                    "dependencies": {
                        "type": "object",
                        "description": "By field id: `{\"condition\": …, \"action\": …}`, or a list \
                            of them. With `show` and `enable`, the field is part of the form only \
                            while the condition is true; with `hide` and `disable`, only while it \
                            is false; with `validate`, its rules apply only while it is true.",
                    },
                },
            },
            "allow_partial": {"type": "boolean", "default": false,
                "description": "Whether required fields may be left out."},
        },
        "required": ["title", "fields"],
        "examples": [example_form()],
    })
}

fn field_schema() -> Value {
    let option = json!({
        "type": "object",
        "properties": {"value": {"type": "string"}, "title": {"type": "string"}},
        "required": ["value", "title"],
    });
    json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
            "type": {"type": "string", "enum": Kind::NAMES},
            "label": {"type": "string", "maxLength": 256},
            "description": {"type": "string", "description": "Markdown."},
            "required": {"type": "boolean", "default": false},
            "default": {"description": "A value of the type; not for `file`."},
            "sensitive": {"type": "boolean", "description": "A secret: you do not receive it."},
            "section": {"type": "string", "description": "The heading of a section that starts here."},
            "options": {
                "type": "array",
                "description": "For `select` and `multi_select`.",
                "items": {"anyOf": [{"type": "string"}, option]},
            },
            "validation": validation_schema(),
            "rendering": rendering_schema(),
            "dependencies": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Ids of fields that must be answered if this one is.",
            },
            "accessibility": {
                "type": "object",
                "properties": {"ariaLabel": {"type": "string"}, "ariaDescribedBy": {"type": "string"}},
            },
        },
        "required": ["id", "type", "label"],
    })
}

fn validation_schema() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    let formats: Vec<String> = Format::NAMES
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let format = format!(
        "For `text`: {}. For `date`: `date` or `date-time`.",
        formats.join(", ")
    );
    let texts =
        |about: &str| json!({"type": "array", "items": {"type": "string"}, "description": about});
    json!({
        "type": "object",
        "description": "Rules of the type.",
        "properties": {
            "minLength": count, "maxLength": count,
            "pattern": {"type": "string", "description": "For `text`: a regular expression."},
            "format": {"type": "string", "description": format},
            "minimum": {"type": ["number", "string"], "description": "For `number` and `date`."},
            "maximum": {"type": ["number", "string"]},
            "exclusiveMinimum": {"type": "number"},
            "exclusiveMaximum": {"type": "number"},
            "multipleOf": {"type": "number", "description": "1 for whole numbers."},
            "minItems": count, "maxItems": count,
            "allowedSchemes": texts("For `url`; https only by default."),
            "blockPrivateIPs": {"type": "boolean", "description": "For `url`."},
            "blockLocalhost": {"type": "boolean", "description": "For `url`."},
            "maxSize": {"type": "integer", "description": "For `file`: bytes."},
            "allowedMimeTypes": texts("For `file`, such as `image/*`."),
            "allowedExtensions": texts("For `file`, such as `.png`."),
            "messages": {"type": "object", "description": "Your own error messages, by rule."},
        },
    })
}

fn rendering_schema() -> Value {
    let operators: Vec<String> = Condition::OPERATORS
        .iter()
        .map(|operator| format!("`{operator}`"))
        .collect();
    let condition = format!(
        "The field is part of the form only while this is true: `{{\"operator\": \"equals\", \
         \"field\": \"region\", \"value\": \"eu\"}}`. Operators: {}; `and` and `or` take \
         `conditions`, `not` takes `condition`.",
        operators.join(", ")
    );
    json!({
        "type": "object",
        "properties": {
            "conditionalDisplay": {"type": "object", "description": condition},
            "displayStyle": {"type": "string", "description": "For `number`: `slider`; for \
                `boolean`: `checkbox`, `toggle` or `radio`; for `select`: `dropdown`, `radio` or \
                `segmented`; for `multi_select`: `checkbox`, `multiselect_dropdown` or `chips`."},
            "placeholder": {"type": "string"},
            "helpText": {"type": "string"},
            "rows": {"type": "integer", "minimum": 1, "description": "For `text`: lines."},
            "step": {"type": "number"},
            "searchable": {"type": "boolean"},
            "readonly": {"type": "boolean"},
            "hidden": {"type": "boolean"},
        },
    })
}

fn rule_schema() -> Value {
    json!({
        "type": "object",
        "description": "`compare` has `left`, `operator` and `right`; the others have `fields`.",
        "properties": {
            "rule": {"type": "string", "enum": ["compare", "at_least_one", "exactly_one", "all_or_none"]},
            "left": {"type": "string"},
            "operator": {"type": "string", "enum": ["lt", "lte", "eq", "ne", "gte", "gt"]},
            "right": {"type": "string"},
            "fields": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "message": {"type": "string"},
        },
        "required": ["rule"],
    })
}

/// A form with a field of each type.
fn example_form() -> Value {
    json!({
        "title": "New release",
        "fields": [
            {"id": "version", "type": "text", "label": "Version", "required": true,
                "validation": {"pattern": "^[0-9]+[.][0-9]+[.][0-9]+$"}},
            {"id": "replicas", "type": "number", "label": "Replicas", "default": 2,
                "validation": {"minimum": 1, "maximum": 10, "multipleOf": 1}},
            {"id": "notify", "type": "boolean", "label": "Notify the team"},
            {"id": "day", "type": "date", "label": "Day", "validation": {"minimum": "2026-01-01"}},
            {"id": "region", "type": "select", "label": "Region", "required": true,
                "options": [{"value": "eu", "title": "Europe"}, {"value": "us", "title": "United States"}]},
            {"id": "steps", "type": "multi_select", "label": "Steps", "options": ["build", "test", "deploy"]},
            {"id": "issue", "type": "url", "label": "Issue"},
            {"id": "logo", "type": "file", "label": "Logo",
                "validation": {"allowedMimeTypes": ["image/*"], "maxSize": 1_048_576}},
        ],
    })
}

#[cfg(test)]
mod tests {
    use entreat_core::{Field, Form};

    use super::*;

    fn keys(schema: &Value) -> Vec<&str> {
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().map(String::as_str).collect()
    }

    #[test]
    fn models_get_an_example_of_every_field_type() {
        let example = example_form();
        let fields = example["fields"].as_array().unwrap();
        let types: Vec<&str> = fields.iter().filter_map(|it| it["type"].as_str()).collect();
        assert_eq!(types, Kind::NAMES);
    }

    #[test]
    fn models_get_every_key_of_forms_fields_and_rules() {
        let schema = form_schema();
        // The tool has `timeout_seconds`, and a model has no data that must come back to it.
        let elsewhere = ["timeout", "metadata"];
        let known = Form::KEYS.iter().filter(|key| !elsewhere.contains(key));
        for key in known {
            assert!(keys(&schema).contains(key), "{key}");
        }
        let field = &schema["properties"]["fields"]["items"];
        for key in Field::KEYS {
            assert!(keys(field).contains(key), "{key}");
        }
        // Options are in `options`, and can never be chosen twice.
        let told_by_options = ["enum", "uniqueItems"];
        for key in Kind::rule_keys().filter(|key| !told_by_options.contains(key)) {
            assert!(
                keys(&field["properties"]["validation"]).contains(&key),
                "{key}"
            );
        }
    }
}
