//! Imports one property as a field.

use serde_json::{Map, Value, json};

use super::super::date_pattern::date_patterns;
use super::super::full::{NOT_BLANK, SECTION};
use crate::format::Format;
use crate::parse::Source;

/// A property while it is converted to a field.
pub(super) struct Property {
    pub(super) field: Map<String, Value>,
    /// Keywords that the field cannot express.
    pub(super) rest: Map<String, Value>,
    pub(super) is_json: bool,
    pub(super) notices: Vec<String>,
}

/// The schema keyword of a rule of a field.
pub(super) fn keyword<'r>(field: &Map<String, Value>, rule: &'r str) -> &'r str {
    match rule {
        "minimum" if field["type"] == "date" => "formatMinimum",
        "maximum" if field["type"] == "date" => "formatMaximum",
        rule => rule,
    }
}

/// Converts a property of any shape.
pub(super) fn read(id: &str, schema: &Value) -> Property {
    let Some(object) = schema.as_object() else {
        return as_json(id, schema);
    };
    let mut property = Property::named(id, object.clone());
    let is_supported = match object.get("type").and_then(Value::as_str) {
        Some("string") => property.string(),
        Some(kind @ ("number" | "integer")) => property.number(kind),
        Some("boolean") => {
            property.set_type("boolean");
            true
        }
        Some("array") => property.array() || property.files(),
        Some("object") => property.upload(),
        Some(_) => false,
        None => property.choice("select") || property.constant(),
    };
    if !is_supported {
        return as_json(id, schema);
    }
    property.rest.remove("type");
    property.take_fixed();
    property.take_annotations();
    // One notice per keyword, so the id is shortened; the pointer has all of it.
    let shown: String = id.chars().take(64).collect();
    for key in property.rest.keys() {
        if !is_annotation(key) {
            let message = format!("`{key}` of `{shown}` is kept but not enforced.");
            property.notices.push(message);
        }
    }
    property
}

/// Converts a property to a field that is answered as JSON text.
pub(super) fn as_json(id: &str, schema: &Value) -> Property {
    let rest = schema.as_object().cloned();
    let mut property = Property::named(id, rest.unwrap_or_default());
    property.set_type("text");
    property.is_json = true;
    property.take_annotations();
    property.notices.push(format!(
        "`{id}` has a type that a form does not have; it is answered as JSON text."
    ));
    property
}

/// Whether a keyword is an annotation, which does not affect validity.
fn is_annotation(keyword: &str) -> bool {
    keyword.starts_with("x-")
        || matches!(
            keyword,
            "$comment" | "examples" | "deprecated" | "title" | "description" | "enumNames"
        )
}

impl Property {
    fn named(id: &str, mut rest: Map<String, Value>) -> Self {
        let mut field = Map::new();
        field.insert("id".into(), id.into());
        field.insert("type".into(), Value::Null);
        let title = rest.get("title").and_then(Value::as_str);
        let label = title.filter(|title| !title.is_empty()).map(str::to_owned);
        if label.is_some() {
            rest.remove("title");
        }
        let unnamed = if id.is_empty() { "(unnamed)" } else { id };
        let label = label.unwrap_or_else(|| unnamed.to_owned());
        field.insert("label".into(), label.into());
        if let Some(Value::String(description)) = rest.get("description") {
            field.insert("description".into(), description.as_str().into());
            rest.remove("description");
        }
        Self {
            field,
            rest,
            is_json: false,
            notices: Vec::new(),
        }
    }

    fn set_type(&mut self, name: &str) {
        self.field.insert("type".into(), name.into());
    }

    fn set_rule(&mut self, rule: &str, value: Value) {
        let rules = self.field.entry("validation").or_insert(json!({}));
        rules[rule] = value;
    }

    fn set_hint(&mut self, hint: &str, value: Value) {
        let hints = self.field.entry("rendering").or_insert(json!({}));
        hints[hint] = value;
    }

    /// Moves a keyword to a rule, if its value has the right type.
    fn move_rule(&mut self, keyword: &str, rule: &str, is_valid: fn(&Value) -> bool) {
        if self.rest.get(keyword).is_some_and(is_valid)
            && let Some(value) = self.rest.remove(keyword)
        {
            self.set_rule(rule, value);
        }
    }

    fn string(&mut self) -> bool {
        if self.choice("select") {
            return true;
        }
        let format = self.rest.get("format").and_then(Value::as_str);
        let is_plain = !["minLength", "maxLength", "pattern"]
            .iter()
            .any(|key| self.rest.contains_key(*key));
        match format {
            Some("date" | "date-time") if is_plain => {
                self.set_type("date");
                let day = self.rest.get("format") == Some(&json!("date"));
                self.move_rule("format", "format", |_| true);
                if day {
                    // The default of a date field.
                    self.field.remove("validation");
                }
                let bound = |key: &str| self.rest.get(key).and_then(Value::as_str);
                let patterns = date_patterns(bound("formatMinimum"), bound("formatMaximum"));
                if patterns.is_some() && self.rest.get("allOf") == patterns.as_ref() {
                    self.rest.remove("allOf");
                }
                self.move_rule("formatMinimum", "minimum", Value::is_string);
                self.move_rule("formatMaximum", "maximum", Value::is_string);
            }
            _ => {
                self.set_type("text");
                self.move_rule("minLength", "minLength", is_count);
                self.move_rule("maxLength", "maxLength", is_count);
                self.move_rule("pattern", "pattern", Value::is_string);
                if self.fits_own_format() {
                    self.move_rule("format", "format", Value::is_string);
                }
            }
        }
        true
    }

    /// Whether forms support the format, and the property's own value matches it. A URL with an
    /// umlaut works in browsers but is not a `uri`.
    fn fits_own_format(&self) -> bool {
        let format = self.rest.get("format").and_then(Value::as_str);
        let known = Format::WORDS.iter().find(|(name, _)| format == Some(*name));
        let own = self.rest.get("const").or_else(|| self.rest.get("default"));
        let own = own.and_then(Value::as_str).filter(|text| !text.is_empty());
        known.is_some_and(|(_, format)| own.is_none_or(|text| format.matches(text)))
    }

    fn number(&mut self, kind: &str) -> bool {
        self.set_type("number");
        for key in [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ] {
            self.move_rule(key, key, Value::is_number);
        }
        if kind == "integer" {
            let step = self
                .field
                .get("validation")
                .and_then(|v| v.get("multipleOf"));
            let is_whole = |step: &Value| step.as_f64().is_some_and(|f| f.fract() == 0.0);
            match step.cloned() {
                None => self.set_rule("multipleOf", 1.into()),
                Some(step) if is_whole(&step) => {}
                // An integer with a fractional step: the step goes to the metadata.
                Some(step) => {
                    self.rest.insert("multipleOf".into(), step);
                    self.set_rule("multipleOf", 1.into());
                }
            }
        }
        true
    }

    fn array(&mut self) -> bool {
        let Some(items) = self.rest.get("items").and_then(Value::as_object) else {
            return false;
        };
        let extra = items
            .keys()
            .any(|key| !["type", "enum", "anyOf", "oneOf"].contains(&key.as_str()));
        let is_string = items.get("type").is_none_or(|kind| kind == "string");
        let Some(options) = options(items).filter(|_| is_string && !extra) else {
            return false;
        };
        self.field.insert("options".into(), options);
        self.set_type("multi_select");
        self.rest.remove("items");
        if self.rest.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.rest.remove("uniqueItems");
        }
        self.move_rule("minItems", "minItems", is_count);
        self.move_rule("maxItems", "maxItems", is_count);
        true
    }

    /// Converts an upload, in the shape that Entreat exports.
    fn upload(&mut self) -> bool {
        let Some(size) = max_size(&self.rest) else {
            return false;
        };
        self.set_type("file");
        self.set_rule("maxSize", size);
        self.rest.remove("properties");
        self.rest.remove("required");
        true
    }

    /// Converts a list of uploads.
    fn files(&mut self) -> bool {
        let items = self.rest.get("items").and_then(Value::as_object);
        let is_list = self.rest.get("maxItems").and_then(Value::as_u64) > Some(1);
        let Some(size) = items.and_then(max_size).filter(|_| is_list) else {
            return false;
        };
        self.set_type("file");
        self.set_rule("maxSize", size);
        self.rest.remove("items");
        self.move_rule("minItems", "minItems", is_count);
        self.move_rule("maxItems", "maxItems", is_count);
        true
    }

    /// Converts an enumeration of texts in any spelling.
    fn choice(&mut self, kind: &str) -> bool {
        let Some(options) = options(&self.rest) else {
            return false;
        };
        self.field.insert("options".into(), options);
        self.set_type(kind);
        for key in ["enum", "oneOf", "anyOf"] {
            if self.rest.contains_key(key) {
                self.rest.remove(key);
                break;
            }
        }
        // `enumNames` stays in the schema: a client without titled options reads it.
        true
    }

    /// Infers the type of a `const` without one.
    fn constant(&mut self) -> bool {
        match self.rest.get("const") {
            Some(Value::String(_)) => self.set_type("text"),
            Some(Value::Number(_)) => self.set_type("number"),
            Some(Value::Bool(_)) => self.set_type("boolean"),
            _ => return false,
        }
        true
    }

    /// Converts a field that cannot be changed: read-only, or hidden without `readOnly`.
    fn take_fixed(&mut self) {
        if let Some(value) = self.rest.remove("const") {
            self.field.insert("default".into(), value);
            self.rest.remove("default");
        } else if self.rest.get("not") == Some(&json!({})) {
            self.rest.remove("not");
        } else {
            return;
        }
        if self.rest.get("readOnly") == Some(&Value::Bool(true)) {
            self.rest.remove("readOnly");
            self.set_hint("readonly", true.into());
        } else {
            self.set_hint("hidden", true.into());
        }
    }

    /// Converts keywords that do not depend on the type.
    fn take_annotations(&mut self) {
        let heading = self.rest.get(SECTION).and_then(Value::as_str);
        if heading.is_some_and(|heading| !heading.is_empty())
            && let Some(heading) = self.rest.remove(SECTION)
        {
            self.field.insert("section".into(), heading);
        }
        if self.rest.get("writeOnly") == Some(&Value::Bool(true)) {
            self.rest.remove("writeOnly");
            self.field.insert("sensitive".into(), true.into());
        }
        if let Some(default) = self.rest.shift_remove("default") {
            if Source::is_empty(&&default) {
                // Meaningless to a form, but maybe not to the asker.
                self.rest.insert("default".into(), default);
            } else {
                self.field.insert("default".into(), default);
            }
        }
    }

    /// Removes rules that a required field implies.
    pub(super) fn drop_implied_by_required(&mut self) {
        let blank = json!([{"pattern": NOT_BLANK}]);
        if self.rest.get("allOf") == Some(&blank) {
            self.rest.remove("allOf");
            self.notices.retain(|notice| !notice.starts_with("`allOf`"));
        }
        let Some(rules) = self
            .field
            .get_mut("validation")
            .and_then(Value::as_object_mut)
        else {
            return;
        };
        if rules
            .get("pattern")
            .is_some_and(|pattern| pattern == NOT_BLANK)
        {
            rules.remove("pattern");
        }
        if rules.is_empty() {
            self.field.remove("validation");
        }
    }
}

/// The maximum size, if this is the schema of an upload.
fn max_size(upload: &Map<String, Value>) -> Option<Value> {
    let size = upload.get("properties")?.get("size")?.get("maximum")?;
    let expected = super::super::full::upload(size.as_u64()?);
    let same = ["type", "properties", "required"]
        .iter()
        .all(|key| upload.get(*key) == expected.get(*key));
    same.then(|| size.clone())
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|f| f >= 0.0 && f.fract() == 0.0)
}

/// The options of an enumeration: plain, titled, or with `enumNames`.
fn options(schema: &Map<String, Value>) -> Option<Value> {
    if let Some(values) = schema.get("enum") {
        let values = distinct(values.as_array()?)?;
        let titles = schema.get("enumNames").and_then(Value::as_array);
        let Some(titles) = titles.filter(|titles| titles.len() == values.len()) else {
            return Some(values.into());
        };
        let titles = titles
            .iter()
            .map(|title| title.as_str().filter(|t| !t.is_empty()));
        let Some(titles) = titles.collect::<Option<Vec<_>>>() else {
            return Some(values.into());
        };
        let option = |(value, title)| json!({"value": value, "title": title});
        return Some(values.iter().zip(titles).map(option).collect());
    }
    let list = schema
        .get("oneOf")
        .or_else(|| schema.get("anyOf"))?
        .as_array()?;
    let mut seen = Vec::new();
    let mut read = Vec::new();
    for option in list {
        let option = option.as_object()?;
        if option.keys().any(|key| key != "const" && key != "title") {
            return None;
        }
        let value = option.get("const")?.as_str()?;
        let title = option.get("title").and_then(Value::as_str);
        let title = title.filter(|title| !title.is_empty()).unwrap_or(value);
        if seen.contains(&value) {
            return None;
        }
        seen.push(value);
        read.push(json!({"value": value, "title": title}));
    }
    Some(read.into())
}

fn distinct(values: &[Value]) -> Option<Vec<Value>> {
    let mut seen = std::collections::HashSet::new();
    let mut list = Vec::new();
    for value in values {
        if seen.insert(value.as_str()?) {
            list.push(value.clone());
        }
    }
    Some(list)
}
