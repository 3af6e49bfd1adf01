//! A form from any `requestedSchema`.
//!
//! Nothing in a schema makes it unshowable. What the form language can say becomes part of
//! the form; what it cannot is kept beside it (see `imported.rs`), with a notice where that
//! means that it is not enforced. Nested types are answered as JSON text. The schemas that
//! [`json_schema`](super::json_schema) writes come back whole, conditions included.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::imported::SourceKeywords;
use crate::document::push_token;
use crate::form::Form;
use crate::problem::{Problem, ProblemCode, Problems};

mod condition;
mod property;

/// A form that was made from a schema.
#[derive(Clone, Debug)]
pub struct Import {
    /// The form; its definition can be printed and loaded again.
    pub form: Form,
    /// What the person who answers should know about it.
    pub notices: Vec<Notice>,
}

/// Something in a schema that a form shows differently or does not enforce.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// JSON pointer into the schema.
    pub pointer: String,
    /// A sentence about it.
    pub message: String,
}

/// Makes a form of a schema, titled by the schema's own title.
///
/// Fails only when the value is not a schema for an object at all.
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

/// Makes a form of a schema under this id, and this title unless the schema has one.
pub fn import_as(schema: &Value, id: &str, title: &str) -> Result<Import, Problems> {
    let Some(schema) = schema.as_object() else {
        return refuse("A schema is an object.");
    };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return refuse("A `requestedSchema` has the type `object`.");
    }
    let mut draft = Draft::read(schema, id, title);
    // Whatever the loader finds wrong is moved out of the form and kept; each round leaves
    // less to complain about.
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
    draft.give_up_on_fields();
    let form = Form::from_value(&draft.definition())?;
    Ok(Import {
        form,
        notices: draft.notices.list,
    })
}

/// Each repair of a field takes a key away; a field has few that can be wrong.
const MAX_REPAIRS: usize = 6;

fn refuse(message: &str) -> Result<Import, Problems> {
    Err(Problems::one("", ProblemCode::WrongType, message))
}

/// A definition in the making.
struct Draft {
    head: Map<String, Value>,
    fields: Vec<Map<String, Value>>,
    /// Conditions and rules over the form.
    validation: Map<String, Value>,
    /// What the conditions were read from, should they have to go back.
    conditions: Map<String, Value>,
    /// The schema's own properties, should a field have to be answered as JSON text.
    properties: Map<String, Value>,
    kept: SourceKeywords,
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
            kept: SourceKeywords::default(),
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
        draft.kept.keywords = rest;
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
                self.kept.json.push(id.as_str().into());
            }
            if !property.rest.is_empty() {
                self.kept
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
        definition.insert("metadata".into(), self.kept.clone().into_metadata());
        definition.into()
    }

    /// Moves what the loader refused out of the form.
    fn repair(&mut self, problems: &Problems) {
        for problem in problems {
            if self.repair_field(problem) {
                continue;
            }
            // The problem lies in what ties fields together: all of that goes back.
            self.validation.clear();
            for (key, value) in std::mem::take(&mut self.conditions) {
                let message = format!("`{key}` is kept but not enforced.");
                self.notices.add(&[&key], message);
                self.kept.keywords.insert(key, value);
            }
            for field in &mut self.fields {
                field.remove("dependencies");
                field.remove("rendering");
            }
        }
    }

    /// Takes one rule or the default away from a field; false if that is not where it is.
    fn repair_field(&mut self, problem: &Problem) -> bool {
        let mut steps = problem.pointer.split('/').skip(1);
        let (Some("fields"), Some(place)) = (steps.next(), steps.next()) else {
            return false;
        };
        let Some(field) = place
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
            // Taken away already, because of another problem.
            return true;
        };
        let keyword = property::keyword(field, keyword);
        let message = format!("`{keyword}` is kept but not enforced: {}", problem.message);
        self.notices.add(&["properties", &id, keyword], message);
        let kept = self.kept.properties.entry(id).or_insert_with(|| json!({}));
        kept[keyword] = value;
        true
    }

    /// The last resort: everything is answered as JSON text.
    fn give_up_on_fields(&mut self) {
        self.validation.clear();
        self.kept.json.clear();
        self.kept.properties.clear();
        self.fields.clear();
        for (id, schema) in &self.properties {
            let property = property::as_json(id, schema);
            self.kept.json.push(id.as_str().into());
            self.kept
                .properties
                .insert(id.clone(), property.rest.into());
            self.fields.push(property.field);
        }
    }
}

/// Notices as they come up, bounded by their size as problems are.
#[derive(Default)]
struct Notices {
    list: Vec<Notice>,
    bytes: usize,
}

/// More would help nobody.
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

/// The required properties; names that are no property stay where they are.
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
    // Kept as it is for whoever asked; those that exist are required all the same.
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    listed
        .filter(|name| properties.contains_key(*name))
        .map(str::to_owned)
        .collect()
}
