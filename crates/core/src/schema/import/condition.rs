//! Reads conditions and rules across fields from schemas that Entreat exported.
//!
//! The shapes are those of `full.rs`. If any entry has another shape, none is converted: a
//! partial set of conditions would have a different meaning.

use serde_json::{Map, Value, json};

/// The conditions, rules and dependencies between the properties of a schema.
#[derive(Default)]
pub(super) struct Conditional {
    /// The form's `validation`.
    pub(super) validation: Map<String, Value>,
    /// The keywords that these were read from.
    pub(super) source: Map<String, Value>,
    entries: Vec<Entry>,
    dependencies: Map<String, Value>,
}

/// Rules of one property that apply under a condition.
struct Entry {
    id: String,
    condition: Value,
    rules: Map<String, Value>,
    is_required: bool,
    /// Whether the condition shows the field, rather than enabling its rules.
    shows: bool,
}

const KEYWORDS: [&str; 3] = ["allOf", "$defs", "dependentRequired"];

/// Takes the conditions out of a schema, if all of them can be converted.
pub(super) fn take(
    schema: &mut Map<String, Value>,
    properties: &Map<String, Value>,
) -> Conditional {
    let Some(mut conditional) = read(schema, properties) else {
        return Conditional::default();
    };
    for keyword in KEYWORDS {
        if let Some(value) = schema.remove(keyword) {
            conditional.source.insert(keyword.into(), value);
        }
    }
    conditional
}

fn read(schema: &Map<String, Value>, properties: &Map<String, Value>) -> Option<Conditional> {
    let mut conditional = Conditional::default();
    if let Some(dependencies) = schema.get("dependentRequired") {
        conditional
            .dependencies
            .clone_from(dependencies.as_object()?);
        let known = |id: &Value| id.as_str().is_some_and(|id| properties.contains_key(id));
        for (id, others) in &conditional.dependencies {
            if !properties.contains_key(id) || !others.as_array()?.iter().all(known) {
                return None;
            }
        }
    }
    let mut rules = Vec::new();
    let mut actions = Map::new();
    if let Some(entries) = schema.get("allOf") {
        for entry in entries.as_array()? {
            let entry = entry.as_object()?;
            if let Some(rule) = cross_rule(entry) {
                rules.push(rule);
            } else {
                let entry = conditional.read_entry(entry, properties)?;
                if !entry.shows {
                    let action = json!({"condition": entry.condition, "action": "validate"});
                    actions.insert(entry.id.clone(), action);
                }
                conditional.entries.push(entry);
            }
        }
    }
    if !rules.is_empty() {
        conditional.validation.insert("rules".into(), rules.into());
    }
    if !actions.is_empty() {
        conditional
            .validation
            .insert("dependencies".into(), actions.into());
    }
    Some(conditional)
}

impl Conditional {
    /// Reads `{"if": …, "then": {"properties": {ID: …}, "required": [ID]}}`.
    fn read_entry(
        &self,
        entry: &Map<String, Value>,
        properties: &Map<String, Value>,
    ) -> Option<Entry> {
        let then = entry.get("then")?.as_object()?;
        let (id, rules) = single_member(then.get("properties")?.as_object()?)?;
        let base = properties.get(id)?.as_object()?;
        let is_required = match then.get("required") {
            Some(required) => *required == json!([id]) && then.len() == 2,
            None => false,
        };
        if entry.len() != 2 || (then.len() == 2) != is_required {
            return None;
        }
        let earlier = self.entries.iter().find(|other| other.id == *id);
        let shows = earlier.is_none() && !base.contains_key("type");
        let mut condition = entry.get("if")?;
        if let Some(earlier) = earlier {
            // The rules of a conditionally shown field apply if both conditions hold.
            let both = condition.get("allOf")?.as_array()?;
            let [active, checked] = both.as_slice() else {
                return None;
            };
            if condition_of(active)? != earlier.condition {
                return None;
            }
            condition = checked;
        }
        Some(Entry {
            id: id.clone(),
            condition: condition_of(condition)?,
            rules: rules.as_object()?.clone(),
            is_required,
            shows,
        })
    }

    /// A property merged with its conditional rules.
    pub(super) fn property(&self, id: &str, base: &Value) -> Value {
        let mut merged = base.clone();
        for entry in self.entries.iter().filter(|entry| entry.id == id) {
            for (key, value) in &entry.rules {
                merged[key] = value.clone();
            }
        }
        merged
    }

    pub(super) fn requires(&self, id: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.id == id && entry.is_required)
    }

    pub(super) fn shown_if(&self, id: &str) -> Option<&Value> {
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.id == id && entry.shows)?;
        Some(&entry.condition)
    }

    pub(super) fn dependencies(&self, id: &str) -> Option<&Value> {
        self.dependencies.get(id)
    }
}

/// Reads `at_least_one`, `exactly_one` and `all_or_none`.
fn cross_rule(entry: &Map<String, Value>) -> Option<Value> {
    let each = |list: &Value| -> Option<Vec<Value>> {
        let ids = list.as_array()?.iter().map(required_alone);
        ids.map(|id| Some(Value::from(id?))).collect()
    };
    if let Some((key, list)) = single_member(entry) {
        let rule = match key.as_str() {
            "anyOf" => "at_least_one",
            "oneOf" => "exactly_one",
            _ => return None,
        };
        return Some(json!({"rule": rule, "fields": each(list)?}));
    }
    let all = entry.get("then")?.as_object()?;
    let is_reference = |active: &Value| active.get("$ref").is_some();
    let any_active = entry.get("if")?.get("anyOf").and_then(Value::as_array);
    if any_active.is_some_and(|list| list.iter().all(is_reference)) {
        return cross_rule(all);
    }
    let (_, all) = single_member(all).filter(|(key, _)| *key == "required")?;
    let any = entry.get("if")?.as_object()?;
    let (_, any) = single_member(any).filter(|(key, _)| *key == "anyOf")?;
    let fields = each(any)?;
    (*all == Value::from(fields.clone())).then(|| json!({"rule": "all_or_none", "fields": fields}))
}

/// Converts a schema that `full.rs` exported for a condition.
fn condition_of(schema: &Value) -> Option<Value> {
    let object = schema.as_object()?;
    let list = |operator: &str, parts: &Value| {
        let parts: Option<Vec<Value>> = parts.as_array()?.iter().map(condition_of).collect();
        Some(json!({"operator": operator, "conditions": parts?}))
    };
    match single_member(object) {
        Some((key, parts)) if key == "allOf" => {
            // The `$ref` says that an inactive field is empty, which the form language implies.
            if let [first, test] = parts.as_array()?.as_slice()
                && first.get("$ref").is_some()
            {
                return condition_of(test);
            }
            list("and", parts)
        }
        Some((key, parts)) if key == "anyOf" => list("or", parts),
        Some((key, inner)) if key == "not" => negation_of(inner),
        Some((key, _)) if key == "required" => {
            Some(json!({"operator": "is_not_empty", "field": required_alone(schema)?}))
        }
        _ => test_of(object),
    }
}

fn negation_of(inner: &Value) -> Option<Value> {
    let mut condition = condition_of(inner)?;
    let opposite = match condition["operator"].as_str()? {
        "equals" => "not_equals",
        "in" => "not_in",
        "is_not_empty" => "is_empty",
        _ => return Some(json!({"operator": "not", "condition": condition})),
    };
    condition["operator"] = opposite.into();
    Some(condition)
}

/// Reads `{"properties": {ID: …}, "required": [ID]}`.
fn test_of(object: &Map<String, Value>) -> Option<Value> {
    let (id, value) = single_member(object.get("properties")?.as_object()?)?;
    if object.len() != 2 || object.get("required") != Some(&json!([id])) {
        return None;
    }
    let value = value.as_object()?;
    let (operator, operand) = if let Some((key, operand)) = single_member(value) {
        match key.as_str() {
            "const" => ("equals", operand),
            "enum" => ("in", operand),
            _ => return None,
        }
    } else if let Some(items) = value.get("contains") {
        ("contains", items.get("const")?)
    } else {
        // The pattern of a day repeats the bound beside it.
        let is_day = value.contains_key("format");
        let (key, operand) = value.iter().find(|(key, _)| {
            !(*key == "type" || *key == "format" || is_day && *key == "pattern")
        })?;
        let operator = match key.as_str() {
            "pattern" => "regex",
            "minimum" | "formatMinimum" => "gte",
            "maximum" | "formatMaximum" => "lte",
            "exclusiveMinimum" | "formatExclusiveMinimum" => "gt",
            "exclusiveMaximum" | "formatExclusiveMaximum" => "lt",
            _ => return None,
        };
        (operator, operand)
    };
    Some(json!({"operator": operator, "field": id, "value": operand}))
}

/// The id of `{"required": [ID]}`.
fn required_alone(schema: &Value) -> Option<&str> {
    let (key, list) = single_member(schema.as_object()?)?;
    match list.as_array()?.as_slice() {
        [id] if key == "required" => id.as_str(),
        _ => None,
    }
}

/// The member of an object that has exactly one.
fn single_member(object: &Map<String, Value>) -> Option<(&String, &Value)> {
    let mut members = object.iter();
    let member = members.next()?;
    members.next().is_none().then_some(member)
}
