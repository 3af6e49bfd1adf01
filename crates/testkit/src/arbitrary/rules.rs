//! Rules across fields.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::field::Draft;
use super::{often, one_of};

/// Adds rules to the form's `validation`.
pub(super) fn add(
    mut validation: Map<String, Value>,
    drafts: &[Draft],
    rng: &mut Rng,
) -> Map<String, Value> {
    let mut rules = Vec::new();
    if often(rng, 30) {
        rules.extend(compare(drafts, rng));
    }
    if often(rng, 30) {
        rules.extend(several(drafts, rng));
    }
    if !rules.is_empty() {
        validation.insert("rules".into(), rules.into());
    }
    validation
}

fn compare(drafts: &[Draft], rng: &mut Rng) -> Option<Value> {
    let mut pairs = Vec::new();
    for (i, left) in drafts.iter().enumerate() {
        for right in &drafts[i + 1..] {
            if left.kind != "file" && shape(left) == shape(right) {
                pairs.push((left, right));
            }
        }
    }
    let (left, right) = rng.choice(pairs)?;
    let operator = match left.kind {
        "number" | "date" => one_of(&["lt", "lte", "eq", "ne", "gte", "gt"], rng),
        _ => "ne",
    };
    let mut rule = json!({
        "rule": "compare", "left": left.id, "operator": operator, "right": right.id,
    });
    if rng.bool() {
        rule["message"] = "These two do not go together.".into();
    }
    Some(rule)
}

fn several(drafts: &[Draft], rng: &mut Rng) -> Option<Value> {
    let rule = one_of(&["at_least_one", "exactly_one", "all_or_none"], rng);
    // What is required is always answered: two such fields never make exactly one.
    let is_free = |draft: &&Draft| {
        !draft.is_fixed
            && !draft.values.is_empty()
            && (rule != "exactly_one" || !draft.definition.contains_key("required"))
    };
    let mut ids: Vec<&str> = drafts
        .iter()
        .filter(is_free)
        .map(|draft| draft.id.as_str())
        .collect();
    if ids.len() < 2 {
        return None;
    }
    rng.shuffle(&mut ids);
    ids.truncate(rng.usize(2..=3));
    Some(json!({"rule": rule, "fields": ids}))
}

/// The type, and for dates the format: days compare with days, moments with moments.
fn shape(draft: &Draft) -> (&str, Option<&Value>) {
    let format = draft
        .definition
        .get("validation")
        .and_then(|rules| rules.get("format"));
    (draft.kind, format.filter(|_| draft.kind == "date"))
}
