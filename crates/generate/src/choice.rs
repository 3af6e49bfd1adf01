//! Choices from a field's options.

use entreat_core::form::{MultiSelectRules, Options};
use fastrand::Rng;
use serde_json::Value;

/// One of the options.
pub(super) fn one(options: &Options, rng: &mut Rng) -> Option<Value> {
    let values: Vec<&str> = options.values().collect();
    rng.choice(&values).map(|value| (*value).into())
}

/// As many different options as the rules want, in any order.
pub(super) fn several(rules: &MultiSelectRules, rng: &mut Rng) -> Option<Value> {
    let min = count(rules.min_items.unwrap_or(1)).max(1);
    let max = rules.max_items.map_or(usize::MAX, count);
    between(&rules.options, min, max, rng)
}

/// Between `min` and `max` different options.
pub(super) fn between(options: &Options, min: usize, max: usize, rng: &mut Rng) -> Option<Value> {
    let mut values: Vec<&str> = options.values().collect();
    let max = max.min(values.len());
    if min > max {
        return None;
    }
    rng.shuffle(&mut values);
    values.truncate(rng.usize(min..=max));
    Some(values.into_iter().map(Value::from).collect())
}

/// A count of a definition as one of this machine.
pub(super) fn count(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use entreat_core::{Form, Kind};
    use serde_json::json;

    use super::*;

    #[test]
    fn choices_differ_and_are_as_many_as_wanted() {
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "m", "type": "multi_select", "label": "M", "options": ["a", "b", "c", "d"],
             "validation": {"minItems": 2, "maxItems": 3}},
        ]}));
        let form = form.unwrap();
        let Kind::MultiSelect(rules) = form.fields()[0].kind() else {
            unreachable!("the field is a multi-select")
        };
        let mut rng = Rng::with_seed(8);
        for _ in 0..100 {
            let chosen = several(rules, &mut rng).unwrap();
            assert!(form.check(&json!({"m": chosen})).is_ok(), "{chosen}");
        }
        assert_eq!(between(&rules.options, 5, 9, &mut rng), None);
    }
}
