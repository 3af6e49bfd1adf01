//! Conditions of rules over the arguments of a call, in the words of forms.

use std::collections::HashMap;

use entreat_core::{CheckSettings, Form};
use serde_json::{Map, Value, json};

use crate::json::RawObject;

/// The field that is active if the condition holds.
const PROBE: &str = "probe";
/// Where the condition is in the form that stands for it.
const CONDITION: &str = "conditionalDisplay";
/// The deepest nesting of conditions.
const MAX_DEPTH: usize = 32;
/// No argument of a call is longer.
const MAX_TEXT: usize = 16 << 20;

/// A condition over the top-level arguments of a call: the
/// [conditions of forms](entreat_core::Condition), with names of arguments in place of fields.
///
/// Arguments have no declared types, so the operator and its value decide: `gt` with a number
/// compares numbers, `contains` and `regex` take texts.
///
/// ```
/// use entreat_gateway::When;
/// use serde_json::json;
///
/// let when = When::from_value(&json!({"operator": "regex", "field": "path", "value": "^/etc/"}))?;
/// # let _ = when;
/// assert!(When::from_value(&json!({"operator": "likes", "field": "path", "value": 1})).is_err());
/// # Ok::<(), entreat_gateway::InvalidCondition>(())
/// ```
#[derive(Clone, Debug)]
pub struct When {
    form: Form,
    operands: Vec<Operand>,
}

/// Why a condition is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(pointer))]
pub struct InvalidCondition {
    /// A JSON pointer to the place in the condition.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        String::new()
    } else {
        format!("at {pointer}: ")
    }
}

/// An argument as one type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Operand {
    argument: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Number,
    Boolean,
    Day,
    Moment,
    /// Only whether there is one.
    Any,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    Yes,
    No,
    /// An argument is not of the type that the condition tests.
    Unsure,
}

impl When {
    /// Reads a condition. The error is the first problem in it.
    pub fn from_value(condition: &Value) -> Result<Self, InvalidCondition> {
        let mut operands = Operands::default();
        let condition = operands.renamed(condition, MAX_DEPTH);
        let operands = operands.list;
        let mut fields: Vec<Value> = operands
            .iter()
            .enumerate()
            .map(|(index, operand)| operand.field(index))
            .collect();
        let probe = fields.len();
        fields.push(json!({"id": PROBE, "type": "text", "label": PROBE,
            "rendering": {CONDITION: condition}}));
        let form = json!({"id": "when", "title": "When", "fields": fields});
        match Form::from_value(&form) {
            Ok(form) => Ok(Self { form, operands }),
            Err(problems) => {
                let place = format!("/fields/{probe}/rendering/{CONDITION}");
                let first = (&problems).into_iter().next();
                Err(InvalidCondition {
                    pointer: first
                        .and_then(|problem| problem.pointer.strip_prefix(&place))
                        .unwrap_or_default()
                        .to_owned(),
                    message: first.map_or_else(String::new, |problem| problem.message.clone()),
                })
            }
        }
    }

    /// Tests the arguments of a call, as raw JSON.
    pub(super) fn test(&self, arguments: &str) -> Met {
        let Some(arguments) = RawObject::parse(arguments) else {
            return Met::Unsure;
        };
        let mut answers = Map::new();
        for (index, operand) in self.operands.iter().enumerate() {
            let text = arguments.get(&operand.argument).unwrap_or("null");
            let Ok(value) = serde_json::from_str(text) else {
                return Met::Unsure;
            };
            answers.insert(id(index), value);
        }
        let answers = Value::Object(answers);
        let progress = self.form.progress(&answers, &CheckSettings::default());
        let is_odd = |(index, operand): (usize, &Operand)| {
            let id = id(index);
            let is_given = !matches!(&answers[&id], Value::Null)
                && answers[&id].as_str().is_none_or(|text| !text.is_empty());
            operand.kind != Kind::Any && is_given && progress.answer(&id).is_none()
        };
        if self.operands.iter().enumerate().any(is_odd) {
            Met::Unsure
        } else if progress.is_active(PROBE) {
            Met::Yes
        } else {
            Met::No
        }
    }
}

impl Operand {
    fn field(&self, index: usize) -> Value {
        let mut label: String = self.argument.chars().take(200).collect();
        if label.trim().is_empty() {
            label = id(index);
        }
        let (name, rules) = match self.kind {
            Kind::Text | Kind::Any => ("text", json!({"maxLength": MAX_TEXT})),
            Kind::Number => ("number", json!({})),
            Kind::Boolean => ("boolean", json!({})),
            Kind::Day => ("date", json!({"format": "date"})),
            Kind::Moment => ("date", json!({"format": "date-time"})),
        };
        let mut field = json!({"id": id(index), "type": name, "label": label});
        if rules != json!({}) {
            field["validation"] = rules;
        }
        field
    }
}

fn id(index: usize) -> String {
    format!("argument-{index}")
}

#[derive(Default)]
struct Operands {
    list: Vec<Operand>,
    known: HashMap<Operand, usize>,
}

impl Operands {
    /// The condition with ids of fields in place of names, which may have any characters.
    fn renamed(&mut self, condition: &Value, depth: usize) -> Value {
        let mut condition = condition.clone();
        let Some(depth) = depth.checked_sub(1) else {
            return condition;
        };
        if let Some(parts) = condition
            .get_mut("conditions")
            .and_then(Value::as_array_mut)
        {
            for part in parts {
                *part = self.renamed(part, depth);
            }
        }
        if let Some(inner) = condition.get_mut("condition") {
            *inner = self.renamed(inner, depth);
        }
        if let Some(argument) = condition.get("field").and_then(Value::as_str) {
            let operand = Operand {
                argument: argument.to_owned(),
                kind: kind_of(&condition),
            };
            condition["field"] = self.id_of(operand).into();
        }
        condition
    }

    fn id_of(&mut self, operand: Operand) -> String {
        let next = self.list.len();
        let index = *self.known.entry(operand).or_insert_with_key(|operand| {
            self.list.push(operand.clone());
            next
        });
        id(index)
    }
}

/// The type that a condition tests.
fn kind_of(condition: &Value) -> Kind {
    let operator = condition.get("operator").and_then(Value::as_str);
    let value = condition.get("value");
    let value = match value {
        Some(Value::Array(items)) => items.first(),
        other => other,
    };
    match (operator, value) {
        (Some("is_empty" | "is_not_empty"), _) => Kind::Any,
        (Some("gt" | "gte" | "lt" | "lte"), Some(Value::String(text))) => {
            if text.parse::<f64>().is_ok() {
                Kind::Number
            } else if text.contains(['T', 't']) {
                Kind::Moment
            } else {
                Kind::Day
            }
        }
        (_, Some(Value::Bool(_))) => Kind::Boolean,
        (_, Some(Value::Number(_))) => Kind::Number,
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(condition: &Value, arguments: &str) -> Met {
        When::from_value(condition).unwrap().test(arguments)
    }

    #[test]
    fn operators_and_values_decide_which_type_is_tested() {
        for (operator, value, arguments, expected) in [
            ("equals", json!(true), r#"{"a b":true}"#, Met::Yes),
            ("equals", json!(true), r#"{"a b":false}"#, Met::No),
            ("equals", json!(true), "{}", Met::No),
            ("equals", json!(true), r#"{"a b":"yes"}"#, Met::Unsure),
            ("gt", json!(10), r#"{"a b":10.5}"#, Met::Yes),
            ("gt", json!(10), r#"{"a b":10}"#, Met::No),
            ("gt", json!(10), r#"{"a b":[11]}"#, Met::Unsure),
            (
                "lt",
                json!("2026-01-01"),
                r#"{"a b":"2025-12-31"}"#,
                Met::Yes,
            ),
            ("contains", json!("rm"), r#"{"a b":"rm -rf"}"#, Met::Yes),
            ("contains", json!("rm"), r#"{"a b":["rm"]}"#, Met::Unsure),
            (
                "regex",
                json!("^/etc/"),
                r#"{"a b":"/etc/passwd"}"#,
                Met::Yes,
            ),
            ("regex", json!("^/etc/"), r#"{"a b":"/tmp/etc/"}"#, Met::No),
            ("in", json!(["a", "b"]), r#"{"a b":"b"}"#, Met::Yes),
            ("not_equals", json!("x"), "{}", Met::Yes),
        ] {
            let condition = json!({"operator": operator, "field": "a b", "value": value});
            assert_eq!(
                met(&condition, arguments),
                expected,
                "{condition} {arguments}"
            );
        }
        let is_empty = json!({"operator": "is_empty", "field": "x"});
        assert_eq!(met(&is_empty, r#"{"x":{"y":1}}"#), Met::No);
        assert_eq!(met(&is_empty, r#"{"x":null}"#), Met::Yes);
        assert_eq!(met(&is_empty, r#"{"x":1,"x":null}"#), Met::Unsure);
    }

    #[test]
    fn one_argument_may_be_tested_as_several_types() {
        let condition = json!({"operator": "or", "conditions": [
            {"operator": "not", "condition": {"operator": "is_empty", "field": "n"}},
            {"operator": "equals", "field": "m", "value": "all"},
        ]});
        assert_eq!(met(&condition, r#"{"n":7}"#), Met::Yes);
        assert_eq!(met(&condition, r#"{"m":"all"}"#), Met::Yes);
        assert_eq!(met(&condition, r#"{"m":"one"}"#), Met::No);
    }

    #[test]
    fn padding_does_not_hide_a_text() {
        let condition = json!({"operator": "contains", "field": "x", "value": "secret"});
        let padded = format!(r#"{{"x":"{}secret"}}"#, " a".repeat(400_000));
        assert_eq!(met(&condition, &padded), Met::Yes);
    }

    #[test]
    fn problems_have_their_place_in_the_condition() {
        let condition = json!({"operator": "and", "conditions": [
            {"operator": "likes", "field": "x", "value": 1}]});
        let error = When::from_value(&condition).unwrap_err();
        assert_eq!(error.pointer, "/conditions/0/operator");
        assert!(
            error
                .to_string()
                .starts_with("at /conditions/0/operator: `likes`")
        );
        assert!(When::from_value(&json!("always")).is_err());
        assert!(
            When::from_value(&json!({"operator": "regex", "field": "x", "value": "("})).is_err()
        );
    }
}
