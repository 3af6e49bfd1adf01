//! A form in the words of 2025-06-18, for clients that know no others.

use serde_json::{Map, Value, json};

/// The formats that the version has.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// A form that a client of 2025-06-18 can show.
pub(crate) struct Downgraded {
    pub(crate) message: String,
    schema: Value,
    /// For each field with titles: the title of each value, if it has only one.
    titles: Map<String, Value>,
}

impl Downgraded {
    /// Translates a form; `None` if the version has no words for it.
    pub(crate) fn of(message: &str, schema: &Value) -> Option<Self> {
        let mut schema = schema.clone();
        let mut titles = Map::new();
        for (name, property) in schema.get_mut("properties")?.as_object_mut()? {
            let property = property.as_object_mut()?;
            let kind = property.get("type")?.as_str()?.to_owned();
            match kind.as_str() {
                "string" => {
                    let format = property.get("format").and_then(Value::as_str);
                    if format.is_some_and(|format| !FORMATS.contains(&format)) {
                        return None;
                    }
                    if let Some(options) = property.remove("oneOf") {
                        titles.insert(name.clone(), name_options(property, &options)?);
                    }
                }
                "number" | "integer" | "boolean" => {}
                _ => return None,
            }
            if kind != "boolean" {
                property.remove("default");
            }
            // Unknown keywords make some clients reject the whole request; their rules are
            // checked when the answer comes.
            property.retain(|keyword, _| is_known(keyword));
        }
        if let Some(schema) = schema.as_object_mut() {
            schema.retain(|keyword, _| {
                matches!(keyword.as_str(), "type" | "properties" | "required")
            });
        }
        Some(Self {
            message: message.to_owned(),
            schema,
            titles,
        })
    }

    /// The parameters of the question.
    pub(crate) fn params(&self, message: &str) -> Value {
        json!({"message": message, "requestedSchema": self.schema})
    }

    /// Restores values in an answer that has titles in their place.
    pub(crate) fn restore(&self, mut content: Value) -> Value {
        for (name, values) in &self.titles {
            if let Some(answer) = content.get_mut(name)
                && let Some(title) = answer.as_str()
                && let Some(value) = values.get(title)
            {
                *answer = value.clone();
            }
        }
        content
    }
}

fn is_known(keyword: &str) -> bool {
    matches!(
        keyword,
        "type"
            | "title"
            | "description"
            | "minLength"
            | "maxLength"
            | "format"
            | "minimum"
            | "maximum"
            | "enum"
            | "enumNames"
            | "default"
    )
}

/// Writes titled options as `enum` and `enumNames`; returns the value of each title that is unique
/// and no value itself.
fn name_options(property: &mut Map<String, Value>, options: &Value) -> Option<Value> {
    let mut values = Vec::new();
    let mut names = Vec::new();
    for option in options.as_array()? {
        let value = option.get("const")?.as_str()?;
        let title = option.get("title").and_then(Value::as_str);
        values.push(Value::from(value));
        names.push(Value::from(title.unwrap_or(value)));
    }
    let mut by_title = Map::new();
    for (title, value) in names.iter().zip(&values) {
        let is_unique = names.iter().filter(|other| *other == title).count() == 1;
        if is_unique && !values.contains(title) {
            by_title.insert(title.as_str()?.to_owned(), value.clone());
        }
    }
    property.insert("enum".into(), values.into());
    property.insert("enumNames".into(), names.into());
    Some(by_title.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titled_options_become_names_and_titles_are_mapped_back() {
        let schema = json!({"type": "object", "properties": {
            "color": {"type": "string", "default": "g", "oneOf": [
                {"const": "r", "title": "Red"}, {"const": "g", "title": "Green"},
                {"const": "b", "title": "Green"}]},
            "ok": {"type": "boolean", "default": true},
            "n": {"type": "integer", "exclusiveMinimum": 1, "default": 3},
        }, "required": ["color"]});
        let downgraded = Downgraded::of("Pick", &schema).unwrap();
        assert_eq!(
            downgraded.params("Pick"),
            json!({"message": "Pick", "requestedSchema": {"type": "object", "properties": {
                "color": {"type": "string", "enum": ["r", "g", "b"],
                    "enumNames": ["Red", "Green", "Green"]},
                "ok": {"type": "boolean", "default": true},
                "n": {"type": "integer"},
            }, "required": ["color"]}})
        );
        let restored = |answer| downgraded.restore(json!({"color": answer}))["color"].clone();
        assert_eq!(restored("Red"), "r");
        assert_eq!(restored("g"), "g");
        // Two options have this title.
        assert_eq!(restored("Green"), "Green");
    }

    #[test]
    fn what_the_version_lacks_goes_to_a_page() {
        for property in [
            json!({"type": "array", "items": {"type": "string", "enum": ["a"]}}),
            json!({"type": "object"}),
            json!({"type": "string", "format": "ipv4"}),
            json!({}),
        ] {
            let schema = json!({"type": "object", "properties": {"x": property}});
            assert!(Downgraded::of("m", &schema).is_none());
        }
    }
}
