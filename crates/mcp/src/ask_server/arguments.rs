//! The arguments of a tool call, checked against the tool's schema.
//!
//! Models misremember names and send JSON as text. What is clear is taken; everything else is
//! refused with what the tool takes and what was probably meant.

use entreat_core::closest;
use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

use crate::malformed::{described, shortened};

/// Why a call is refused, in words for the model.
pub(super) type Refusal = String;

/// Earlier names of arguments, which still work.
const ALIASES: &[(&str, &str)] = &[("prompt", "question"), ("message", "context")];

/// Names that models use for arguments, too different for [`closest`].
const SYNONYMS: &[(&str, &str)] = &[
    ("allow_multiple", "multiple"),
    ("answers", "choices"),
    ("async", "wait"),
    ("background", "context"),
    ("blocking", "wait"),
    ("boolean", "confirm"),
    ("default_value", "default"),
    ("description", "context"),
    ("details", "context"),
    ("env", "secret_to"),
    ("fields", "form"),
    ("id", "question"),
    ("json_schema", "schema"),
    ("multi_select", "multiple"),
    ("options", "choices"),
    ("properties", "schema"),
    ("query", "question"),
    ("reason", "context"),
    ("requested_schema", "schema"),
    ("secret", "secret_to"),
    ("text", "question"),
    ("timeout", "timeout_seconds"),
    ("timeout_ms", "timeout_seconds"),
    ("title", "question"),
    ("yes_no", "confirm"),
];

/// Arguments whose names and types are those of the tool.
pub(super) struct Arguments(JsonObject);

impl Arguments {
    /// Checks the arguments of a call.
    pub(super) fn read(tool: &Tool, given: JsonObject) -> Result<Self, Refusal> {
        let properties = tool.input_schema.get("properties");
        let Some(properties) = properties.and_then(Value::as_object) else {
            return Ok(Self(given));
        };
        let mut members = JsonObject::new();
        for (name, value) in given {
            // Models write null for "none".
            if value.is_null() {
                continue;
            }
            let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
            let name = match alias {
                Some((_, now)) if properties.contains_key(*now) => (*now).to_owned(),
                _ => name,
            };
            let Some(schema) = properties.get(&name) else {
                return Err(unknown(&name, &tool.name, properties));
            };
            let value = of_type(&name, schema, value)?;
            if members.insert(name.clone(), value).is_some() {
                return Err(format!(
                    "`{name}` is given twice, once under its earlier name."
                ));
            }
        }
        let required = tool.input_schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.find(|name| !members.contains_key(*name)) {
            let about = properties[missing]["description"].as_str();
            return Err(format!(
                "`{missing}` is required. {}",
                about.unwrap_or_default()
            ));
        }
        Ok(Self(members))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A text that is not blank.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let Some(text) = self.0.get(name).and_then(Value::as_str) else {
            return Ok(None);
        };
        if text.trim().is_empty() {
            return Err(format!("`{name}` is empty."));
        }
        Ok(Some(text))
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    /// A whole number within bounds, which are those of the schema.
    pub(super) fn count(
        &self,
        name: &str,
        (minimum, maximum): (u64, u64),
    ) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let number = value
            .as_u64()
            .filter(|number| (minimum..=maximum).contains(number));
        number.map(Some).ok_or_else(|| {
            let wanted = whole_number(&minimum.into(), &maximum.into());
            format!("`{name}` must be {wanted}; {value} was sent.")
        })
    }
}

fn whole_number(minimum: &Value, maximum: &Value) -> String {
    format!("a whole number from {minimum} to {maximum}")
}

fn unknown(name: &str, tool: &str, properties: &JsonObject) -> Refusal {
    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
    let synonym = SYNONYMS.iter().find(|(synonym, _)| *synonym == name);
    let meant = synonym
        .map(|(_, name)| *name)
        .filter(|name| properties.contains_key(*name));
    let meant = match meant.or_else(|| closest(name, &known)) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None => ".".to_owned(),
    };
    let name = shortened(name);
    format!(
        "`{tool}` has no argument `{name}`{meant} It takes {}.",
        list(&known)
    )
}

/// Checks a value against the `type` of its schema. JSON in a text is read.
fn of_type(name: &str, schema: &Value, value: Value) -> Result<Value, Refusal> {
    let Some(wanted) = schema["type"].as_str() else {
        return Ok(value);
    };
    if is_of(wanted, &value) {
        return Ok(value);
    }
    let inner = value
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    if let Some(inner) = inner.filter(|inner| is_of(wanted, inner)) {
        return Ok(inner);
    }
    // A single choice is a list of one.
    if wanted == "array" && !value.is_object() {
        return Err(format!(
            "`{name}` must be a list, such as [\"yes\", \"no\"]."
        ));
    }
    // How such an object looks is in its description.
    let about = schema["description"]
        .as_str()
        .filter(|_| wanted == "object");
    let about = about.map(|about| format!(" {about}")).unwrap_or_default();
    let wanted = match wanted {
        "object" => "an object".to_owned(),
        "array" => "a list".to_owned(),
        "integer" => whole_number(&schema["minimum"], &schema["maximum"]),
        "boolean" => "true or false".to_owned(),
        _ => "a string".to_owned(),
    };
    Err(format!(
        "`{name}` must be {wanted}; {} was sent.{about}",
        described(&value)
    ))
}

fn is_of(wanted: &str, value: &Value) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        // Out of bounds is told apart later.
        "integer" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => value.is_string(),
    }
}

/// Names in a sentence: "`a`, `b` and `c`".
pub(super) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
