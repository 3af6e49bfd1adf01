//! Imports any `requestedSchema` as a form.
//!
//! Any schema can be shown. What the form language can express becomes part of the form; the
//! rest is preserved in its metadata (see `imported.rs`), with a notice if it is not enforced.
//! Nested types are answered as JSON text. Schemas exported by
//! [`json_schema`](super::json_schema) round-trip, conditions included.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::imported::SourceKeywords;
use crate::document::push_token;
use crate::form::Form;
use crate::problem::{Problem, ProblemCode, Problems};

mod condition;
mod property;

/// A form imported from a schema.
#[derive(Clone, Debug)]
pub struct Import {
    /// The form. Its definition can be saved and loaded again.
    pub form: Form,
    /// Differences from the schema that the respondent should know of.
    pub notices: Vec<Notice>,
}

/// A part of a schema that the form shows differently or does not enforce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// A JSON pointer into the schema.
    pub pointer: String,
    /// A message for people.
    pub message: String,
}

/// Imports a schema as a form with the title of the schema.
///
/// Fails only if the value is not a schema of an object.
///
/// ```
/// use entreat_core::schema::import;
/// use serde_json::json;
///
/// let import = import(&json!({
///     "type": "object",
///     "properties": {"mail": {"type": "string", "format": "email", "x-vendor": 1}},
///     "required": ["mail"],
/// }))?;
/// assert!(import.form.check(&json!({"mail": "a+b@example.technology"})).is_ok());
/// assert!(import.form.check(&json!({"mail": "nobody"})).is_err());
/// # Ok::<(), entreat_core::Problems>(())
/// ```
pub fn import(schema: &Value) -> Result<Import, Problems> {
    import_as(schema, "imported", "Question")
}

/// The title of a question if neither its message nor its schema has one.
const UNTITLED: &str = "Question";
/// The longest message that is the title of its question, in characters.
const MAX_HEADING: usize = 80;

/// Imports the schema of a question that was asked in these words. A message of one short line is
/// the form's title, in place of the schema's own, which is often the name of a class.
///
/// ```
/// use entreat_core::schema::import_question;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "title": "Who", "properties": {}});
/// assert_eq!(import_question(&schema, "Who are you?")?.form.title(), "Who are you?");
/// assert_eq!(import_question(&schema, "")?.form.title(), "Who");
/// # Ok::<(), entreat_core::Problems>(())
/// ```
pub fn import_question(schema: &Value, message: &str) -> Result<Import, Problems> {
    let message = message.trim();
    let is_heading = !message.is_empty()
        && !message.contains(['\n', '\r'])
        && message.chars().count() <= MAX_HEADING;
    if is_heading && schema.get("title").is_some() {
        let mut schema = schema.clone();
        if let Some(members) = schema.as_object_mut() {
            members.remove("title");
        }
        return import_as(&schema, "question", message);
    }
    let title = if message.is_empty() {
        UNTITLED
    } else {
        message
    };
    import_as(schema, "question", title)
}

/// Imports a schema as a form with this id, and this title unless the schema has one.
///
/// Fails only if the value is not a schema of an object.
pub fn import_as(schema: &Value, id: &str, title: &str) -> Result<Import, Problems> {
    let Some(schema) = schema.as_object() else {
        return reject("A schema is an object.");
    };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return reject("A `requestedSchema` has the type `object`.");
    }
    let mut draft = Draft::read(schema, id, title);
    // Each round moves what the loader rejects from the form to the metadata.
    for _ in 0..MAX_REPAIRS {
        match Form::from_value(&draft.definition()) {
            Ok(form) => {
                return Ok(Import {
                    form,
                    notices: draft.notices.list,
                });
            }
            Err(problems) => draft.repair(&problems),
        }
    }
    draft.fall_back_to_json();
    let form = Form::from_value(&draft.definition())?;
    Ok(Import {
        form,
        notices: draft.notices.list,
    })
}

/// Each repair removes a key of a field, and a field has few keys that can be invalid.
const MAX_REPAIRS: usize = 6;

fn reject(message: &str) -> Result<Import, Problems> {
    Err(Problems::one("", ProblemCode::WrongType, message))
}

/// A definition under construction.
struct Draft {
    head: Map<String, Value>,
    fields: Vec<Map<String, Value>>,
    /// Conditions and rules across fields.
    validation: Map<String, Value>,
    /// The keywords that the conditions were read from, to restore them if they are rejected.
    conditions: Map<String, Value>,
    /// The properties of the schema, to fall back to JSON text.
    properties: Map<String, Value>,
    unplaced: SourceKeywords,
    notices: Notices,
}

impl Draft {
    fn read(schema: &Map<String, Value>, id: &str, title: &str) -> Self {
        let mut rest = schema.clone();
        rest.remove("type");
        let mut head = Map::new();
        head.insert("id".into(), id.into());
        let title = take_text(&mut rest, "title").unwrap_or_else(|| title.to_owned());
        head.insert("title".into(), title.into());
        if let Some(description) = take_text(&mut rest, "description") {
            head.insert("description".into(), description.into());
        }
        if rest.get("additionalProperties") == Some(&Value::Bool(false)) {
            rest.remove("additionalProperties");
        }
        if rest.get("$schema").is_some_and(Value::is_string) {
            rest.remove("$schema");
        }
        let mut draft = Self {
            head,
            fields: Vec::new(),
            validation: Map::new(),
            conditions: Map::new(),
            properties: Map::new(),
            unplaced: SourceKeywords::default(),
            notices: Notices::default(),
        };
        match rest.remove("properties") {
            Some(Value::Object(properties)) => draft.properties = properties,
            Some(other) => {
                rest.insert("properties".into(), other);
            }
            None => {}
        }
        let required = take_required(&mut rest, &draft.properties);
        let conditional = condition::take(&mut rest, &draft.properties);
        draft.read_properties(&required, &conditional);
        draft.conditions = conditional.source;
        draft.validation = conditional.validation;
        for key in rest.keys() {
            let enforced = matches!(key.as_str(), "$id" | "$comment" | "examples" | "required");
            if !enforced && !key.starts_with("x-") {
                let message = format!("`{key}` is kept but not enforced.");
                draft.notices.add(&[key], message);
            }
        }
        draft.unplaced.keywords = rest;
        draft
    }

    fn read_properties(
        &mut self,
        required: &HashSet<String>,
        conditional: &condition::Conditional,
    ) {
        for (id, base) in &self.properties {
            let merged = conditional.property(id, base);
            let mut property = property::read(id, &merged);
            let is_required = required.contains(id) || conditional.requires(id);
            if is_required {
                property.field.insert("required".into(), true.into());
                property.drop_implied_by_required();
            }
            if let Some(condition) = conditional.shown_if(id) {
                let hints = property.field.entry("rendering").or_insert(json!({}));
                hints["conditionalDisplay"] = condition.clone();
            }
            if let Some(others) = conditional.dependencies(id) {
                property.field.insert("dependencies".into(), others.clone());
            }
            if property.is_json {
                self.unplaced.json.push(id.as_str().into());
            }
            if !property.rest.is_empty() {
                self.unplaced
                    .properties
                    .insert(id.clone(), property.rest.into());
            }
            for message in property.notices {
                self.notices.add(&["properties", id], message);
            }
            self.fields.push(property.field);
        }
    }

    fn definition(&self) -> Value {
        let mut definition = self.head.clone();
        let fields = self.fields.iter().cloned().map(Value::Object).collect();
        definition.insert("fields".into(), fields);
        if !self.validation.is_empty() {
            definition.insert("validation".into(), self.validation.clone().into());
        }
        definition.insert("metadata".into(), self.unplaced.clone().into_metadata());
        definition.into()
    }

    /// Moves what the loader rejected from the form to the metadata.
    fn repair(&mut self, problems: &Problems) {
        for problem in problems {
            if self.repair_field(problem) {
                continue;
            }
            // The problem is in the references between fields: restore all of their keywords.
            self.validation.clear();
            for (key, value) in std::mem::take(&mut self.conditions) {
                let message = format!("`{key}` is kept but not enforced.");
                self.notices.add(&[&key], message);
                self.unplaced.keywords.insert(key, value);
            }
            for field in &mut self.fields {
                field.remove("dependencies");
                field.remove("rendering");
            }
        }
    }

    /// Removes a rule or the default of a field. Returns false if the problem is elsewhere.
    fn repair_field(&mut self, problem: &Problem) -> bool {
        let mut steps = problem.pointer.split('/').skip(1);
        let (Some("fields"), Some(index)) = (steps.next(), steps.next()) else {
            return false;
        };
        let Some(field) = index
            .parse()
            .ok()
            .and_then(|i: usize| self.fields.get_mut(i))
        else {
            return false;
        };
        let id = field["id"].as_str().unwrap_or_default().to_owned();
        let (keyword, value) = match (steps.next(), steps.next()) {
            (Some("default"), _) => ("default", field.remove("default")),
            (Some("validation"), Some(rule)) => {
                let rules = field.get_mut("validation").and_then(Value::as_object_mut);
                (rule, rules.and_then(|rules| rules.remove(rule)))
            }
            _ => return false,
        };
        let Some(value) = value else {
            // Already removed because of another problem.
            return true;
        };
        let keyword = property::keyword(field, keyword);
        let message = format!("`{keyword}` is kept but not enforced: {}", problem.message);
        self.notices.add(&["properties", &id, keyword], message);
        let keywords = self
            .unplaced
            .properties
            .entry(id)
            .or_insert_with(|| json!({}));
        keywords[keyword] = value;
        true
    }

    /// The last resort: makes every field JSON text.
    fn fall_back_to_json(&mut self) {
        self.validation.clear();
        self.unplaced.json.clear();
        self.unplaced.properties.clear();
        self.fields.clear();
        for (id, schema) in &self.properties {
            let property = property::as_json(id, schema);
            self.unplaced.json.push(id.as_str().into());
            self.unplaced
                .properties
                .insert(id.clone(), property.rest.into());
            self.fields.push(property.field);
        }
    }
}

/// Collects notices up to a total size.
#[derive(Default)]
struct Notices {
    list: Vec<Notice>,
    bytes: usize,
}

/// The total size at which collecting stops.
const MAX_NOTICE_BYTES: usize = 8 * 1024 * 1024;

impl Notices {
    fn add(&mut self, path: &[&str], message: String) {
        if self.bytes > MAX_NOTICE_BYTES {
            return;
        }
        let mut pointer = String::new();
        for step in path {
            push_token(&mut pointer, step);
        }
        self.bytes += pointer.len() + message.len();
        self.list.push(Notice { pointer, message });
    }
}

fn take_text(schema: &mut Map<String, Value>, key: &str) -> Option<String> {
    let text = schema.get(key)?.as_str().filter(|text| !text.is_empty())?;
    let text = text.to_owned();
    schema.remove(key);
    Some(text)
}

/// Takes the required properties out of a schema, unless `required` names unknown properties.
fn take_required(
    schema: &mut Map<String, Value>,
    properties: &Map<String, Value>,
) -> HashSet<String> {
    let listed = schema.get("required").and_then(Value::as_array);
    let names: Option<HashSet<String>> = listed.and_then(|names| {
        let known = |name: &Value| {
            let name = name.as_str()?;
            properties.contains_key(name).then(|| name.to_owned())
        };
        names.iter().map(known).collect()
    });
    if let Some(names) = names {
        schema.remove("required");
        return names;
    }
    // Left in the schema for the asker; the properties that exist are still required.
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    listed
        .filter(|name| properties.contains_key(*name))
        .map(str::to_owned)
        .collect()
}
