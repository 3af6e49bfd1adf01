//! `number`: passed on as typed, so that no digit is lost.

use entreat_core::form::NumberRules;

pub(super) fn hint(rules: &NumberRules) -> String {
    let what = if rules.is_integer() {
        "A whole number"
    } else {
        "A number"
    };
    let range = match (rules.minimum, rules.maximum) {
        (Some(min), Some(max)) => Some(format!(" from {min} to {max}")),
        (Some(min), None) => Some(format!(", {min} or more")),
        (None, Some(max)) => Some(format!(", {max} or less")),
        (None, None) => None,
    };
    let above = rules.exclusive_minimum.map(|n| format!(", more than {n}"));
    let below = rules.exclusive_maximum.map(|n| format!(", less than {n}"));
    let step = rules
        .multiple_of
        .filter(|step| step.as_integer() != Some(1))
        .map(|step| format!(", a multiple of {step}"));
    let bounds: String = [range, above, below, step].into_iter().flatten().collect();
    format!("{what}{bounds}.")
}
