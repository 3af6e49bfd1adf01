//! Numbers within bounds and on a step, exactly.
//!
//! Bounds and step are brought to whole units of a power of ten, and a multiple is drawn
//! there: nothing is rounded on the way, so `0.3` is a multiple of `0.1` here as well.

use entreat_core::Number;
use entreat_core::form::NumberRules;
use fastrand::Rng;
use serde_json::Value;

use super::chance;

/// How far from a lone bound a number may lie, in steps.
const REACH: i128 = 1000;

/// A number that the rules accept.
pub(super) fn number(rules: &NumberRules, rng: &mut Rng) -> Option<Value> {
    let mut finer = [0, 1, 2, 6];
    if rng.bool() {
        rng.shuffle(&mut finer);
    }
    let bounds = [
        rules.minimum,
        rules.maximum,
        rules.exclusive_minimum,
        rules.exclusive_maximum,
        rules.multiple_of,
    ];
    let places = bounds.into_iter().flatten().map(places).max().unwrap_or(0);
    finer
        .into_iter()
        .find_map(|finer| on_grid(rules, places + finer, rng))
        .or_else(|| at_a_bound(rules, rng))
}

/// A number of at most so many decimal places.
fn on_grid(rules: &NumberRules, places: u32, rng: &mut Rng) -> Option<Value> {
    let step = match rules.multiple_of {
        Some(step) => units(step, places)?,
        None => 1,
    };
    if step <= 0 {
        return None;
    }
    // A bound in whole steps: rounded down, and whether it is on a step.
    let steps = |bound: Number| {
        let bound = units(bound, places)?;
        Some((bound.div_euclid(step), bound.rem_euclid(step) == 0))
    };
    let (mut low, mut high) = (None::<i128>, None::<i128>);
    for (bound, is_exclusive) in [(rules.minimum, false), (rules.exclusive_minimum, true)] {
        if let Some(bound) = bound {
            let (floor, is_on_step) = steps(bound)?;
            low = low.max(Some(floor + i128::from(!is_on_step || is_exclusive)));
        }
    }
    for (bound, is_exclusive) in [(rules.maximum, false), (rules.exclusive_maximum, true)] {
        if let Some(bound) = bound {
            let (floor, is_on_step) = steps(bound)?;
            let most = floor - i128::from(is_on_step && is_exclusive);
            high = Some(high.map_or(most, |high| high.min(most)));
        }
    }
    let (low, high) = match (low, high) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low, low.checked_add(REACH)?),
        (None, Some(high)) => (high.checked_sub(REACH)?, high),
        (None, None) if chance(rng, 5) => {
            return Some(9_007_199_254_740_993_i64.into()).filter(|_| step == 1);
        }
        (None, None) => (-REACH, REACH),
    };
    if low > high {
        return None;
    }
    let steps = match rng.u8(..12) {
        0 => low,
        1 => high,
        _ => rng.i128(low..=high),
    };
    to_json(steps.checked_mul(step)?, places)
}

/// Bounds beyond the grid's reach: the bound itself, or the next number inside.
fn at_a_bound(rules: &NumberRules, rng: &mut Rng) -> Option<Value> {
    let next = |bound: Option<Number>, towards: fn(f64) -> f64| {
        bound.map(|bound| Value::from(towards(bound.as_f64())))
    };
    let candidates = [
        rules.minimum.map(Number::to_json),
        rules.maximum.map(Number::to_json),
        next(rules.exclusive_minimum, f64::next_up),
        next(rules.exclusive_maximum, f64::next_down),
    ];
    let candidates: Vec<Value> = candidates.into_iter().flatten().collect();
    rng.choice(&candidates).cloned()
}

/// The decimal places of a number, as it is written.
fn places(number: Number) -> u32 {
    let text = number.to_string();
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    u32::try_from(fraction.len()).unwrap_or(u32::MAX)
}

/// A number in units of ten to the minus `places`; `None` when it does not fit.
fn units(number: Number, places: u32) -> Option<i128> {
    let text = number.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let missing = usize::try_from(places).ok()?.checked_sub(fraction.len())?;
    // A number of 38 digits is the longest there is; more zeros cannot help.
    if missing > 40 {
        return None;
    }
    format!("{whole}{fraction}{}", "0".repeat(missing))
        .parse()
        .ok()
}

fn to_json(units: i128, places: u32) -> Option<Value> {
    let scale = 10_i128.checked_pow(places)?;
    if units % scale == 0 {
        return Some(Number::from(units / scale).to_json());
    }
    let sign = if units < 0 { "-" } else { "" };
    let (whole, fraction) = (
        units.unsigned_abs() / scale.unsigned_abs(),
        units.unsigned_abs() % scale.unsigned_abs(),
    );
    let places = usize::try_from(places).ok()?;
    format!("{sign}{whole}.{fraction:0places$}")
        .parse::<f64>()
        .ok()
        .map(Value::from)
}

#[cfg(test)]
mod tests {
    use entreat_core::Form;
    use serde_json::json;

    use crate::value::{MADE, valid_values};

    #[test]
    fn numbers_keep_every_rule() {
        for rules in [
            json!({}),
            json!({"minimum": 3, "maximum": 3}),
            json!({"minimum": 1, "maximum": 65535, "multipleOf": 1}),
            json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            json!({"exclusiveMinimum": 0.1, "exclusiveMaximum": 0.2}),
            json!({"minimum": -0.75, "maximum": 0.75, "multipleOf": 0.05}),
            json!({"multipleOf": 0.01}),
            json!({"maximum": -7, "multipleOf": 7}),
            json!({"minimum": 9_007_199_254_740_993_i64}),
            json!({"minimum": 1e300}),
            json!({"exclusiveMaximum": -1e300}),
        ] {
            let numbers = valid_values(json!({"type": "number", "validation": rules}));
            assert_eq!(numbers.len(), MADE, "{rules}");
        }
    }

    #[test]
    fn where_no_number_fits_none_is_made() {
        let rules = json!({"minimum": 1, "maximum": 2, "multipleOf": 5});
        let form = Form::from_value(&json!({"id": "f", "title": "F", "fields": [
            {"id": "n", "type": "number", "label": "N", "validation": rules},
        ]}));
        let form = form.unwrap();
        let value = crate::Generator::new(&form, 1).valid().unwrap();
        assert_eq!(value, json!({}));
    }
}
