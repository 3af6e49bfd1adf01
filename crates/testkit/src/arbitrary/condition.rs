//! Conditions between fields: display, actions, dependencies.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::field::Draft;
use super::{often, one_of};

/// Ties fields to others, and returns the form's `validation`.
pub(super) fn connect(drafts: &mut [Draft], rng: &mut Rng) -> Map<String, Value> {
    // A field looks only at fields that come before it here, so there are no circles; the
    // order is not that of the form, so some look ahead.
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    if rng.bool() {
        rng.shuffle(&mut order);
    }
    let mut actions = Map::new();
    for (rank, &place) in order.iter().enumerate() {
        let before = &order[..rank];
        if often(rng, 25)
            && let Some(condition) = condition(drafts, before, 3, rng)
        {
            drafts[place].hint("conditionalDisplay", condition);
        }
        if often(rng, 20)
            && let Some(entry) = entry(drafts, place, before, rng)
        {
            actions.insert(drafts[place].id.clone(), entry);
        }
        if often(rng, 12) {
            depend(drafts, place, rng);
        }
    }
    let mut validation = Map::new();
    if !actions.is_empty() {
        validation.insert("dependencies".into(), actions.into());
    }
    validation
}

/// One action on a field, or a list of them.
fn entry(drafts: &[Draft], place: usize, before: &[usize], rng: &mut Rng) -> Option<Value> {
    let others: Vec<usize> = (0..drafts.len()).filter(|other| *other != place).collect();
    let action = |rng: &mut Rng| {
        let action = one_of(&["show", "hide", "enable", "disable", "validate"], rng);
        // Whether rules apply never decides whether a field is there: any field will do.
        let looked_at = if action == "validate" {
            &others
        } else {
            before
        };
        Some(json!({"condition": condition(drafts, looked_at, 3, rng)?, "action": action}))
    };
    let first = action(rng)?;
    if often(rng, 70) {
        return Some(first);
    }
    Some(json!([first, action(rng)?]))
}

fn depend(drafts: &mut [Draft], place: usize, rng: &mut Rng) {
    let others: Vec<&str> = drafts
        .iter()
        .enumerate()
        .filter(|(other, draft)| *other != place && !draft.values.is_empty())
        .map(|(_, draft)| draft.id.as_str())
        .collect();
    if let Some(other) = rng.choice(others) {
        let other = json!([other]);
        drafts[place]
            .definition
            .insert("dependencies".into(), other);
    }
}

/// A condition over some of the fields, nested up to `depth`.
fn condition(drafts: &[Draft], places: &[usize], depth: usize, rng: &mut Rng) -> Option<Value> {
    if depth > 1 && often(rng, 30) {
        return Some(match rng.u8(..3) {
            0 => json!({"operator": "not",
                        "condition": condition(drafts, places, depth - 1, rng)?}),
            n => {
                let parts: Option<Vec<Value>> = (0..rng.usize(1..=3))
                    .map(|_| condition(drafts, places, depth - 1, rng))
                    .collect();
                let operator = if n == 1 { "and" } else { "or" };
                json!({"operator": operator, "conditions": parts?})
            }
        });
    }
    let draft = &drafts[*rng.choice(places)?];
    let mut operators = vec!["is_empty", "is_not_empty"];
    if !draft.values.is_empty() {
        operators.extend::<&[&str]>(match draft.kind {
            "text" | "url" => &["equals", "not_equals", "in", "not_in", "contains", "regex"],
            "number" | "date" => &[
                "equals",
                "not_equals",
                "in",
                "not_in",
                "gt",
                "gte",
                "lt",
                "lte",
            ],
            "select" => &["equals", "equals", "not_equals", "in", "not_in", "regex"],
            "boolean" => &["equals", "equals", "not_equals", "in"],
            "multi_select" => &["equals", "not_equals", "contains", "contains"],
            _ => &[],
        });
    }
    let operator = one_of(&operators, rng);
    let value = match operator {
        "is_empty" | "is_not_empty" => {
            return Some(json!({"operator": operator, "field": draft.id}));
        }
        "in" | "not_in" => json!([draft.value(rng)?, draft.value(rng)?]),
        "contains" => part(&draft.value(rng)?)?,
        "regex" => one_of(&["e", "^[a-z]", "\\d", "^.{1,8}$", "o|a"], rng).into(),
        _ => draft.value(rng)?,
    };
    Some(json!({"operator": operator, "field": draft.id, "value": value}))
}

/// An item of a list, or the beginning of a text.
fn part(value: &Value) -> Option<Value> {
    match value {
        Value::Array(items) => items.first().cloned(),
        Value::String(text) => Some(text.chars().take(3).collect::<String>().into()),
        _ => None,
    }
}
