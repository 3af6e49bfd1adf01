//! Rejects contradictory bounds, and defaults outside of them.
//!
//! Covers literals only; the loader checks everything again.

use crate::errors::Errors;
use crate::field::FieldSpec;
use crate::literal::{Literal, LiteralValue};

/// Pairs of attributes of which the first must not exceed the second. If the flag is set, they
/// must not be equal either.
const PAIRS: &[(&str, &str, bool)] = &[
    ("min_length", "max_length", false),
    ("min_items", "max_items", false),
    ("min", "max", false),
    ("min", "exclusive_max", true),
    ("exclusive_min", "max", true),
    ("exclusive_min", "exclusive_max", true),
];

pub(crate) fn check(errors: &mut Errors, field: &FieldSpec) {
    for (low_key, high_key, is_strict) in PAIRS {
        let (Some(low), Some(high)) = (field.literal(low_key), field.literal(high_key)) else {
            continue;
        };
        if is_above(low, high) || (*is_strict && low.as_number() == high.as_number()) {
            let message =
                format!("`{low_key}` leaves nothing below `{high_key}`; change one of them");
            errors.add(low.span, message);
        }
    }
    if let Some(step) = field.literal("multiple_of")
        && step.as_number().is_some_and(|step| step <= 0.0)
    {
        errors.add(step.span, "`multiple_of` must be above 0");
    }
    if let Some(default) = field.default() {
        check_default(errors, field, default);
    }
}

fn check_default(errors: &mut Errors, field: &FieldSpec, default: &Literal) {
    let mut reject = |key: &str| {
        let message = format!("the default breaks the field's own `{key}`; change one of them");
        errors.add(default.span, message);
    };
    let above = |key: &str| {
        field
            .literal(key)
            .is_some_and(|bound| is_above(default, bound))
    };
    let below = |key: &str| {
        field
            .literal(key)
            .is_some_and(|bound| is_above(bound, default))
    };
    let at = |key: &str| {
        let bound = field.literal(key).and_then(Literal::as_number);
        bound.is_some() && bound == default.as_number()
    };
    if below("min") {
        reject("min");
    }
    if above("max") {
        reject("max");
    }
    if below("exclusive_min") || at("exclusive_min") {
        reject("exclusive_min");
    }
    if above("exclusive_max") || at("exclusive_max") {
        reject("exclusive_max");
    }
    let count = |key: &str| field.literal(key).and_then(Literal::as_count);
    let (low, high, size) = match &default.value {
        // An empty text means no default.
        LiteralValue::Text(text) if !text.is_empty() => {
            ("min_length", "max_length", text.chars().count() as u64)
        }
        LiteralValue::List(items) if !items.is_empty() => {
            ("min_items", "max_items", items.len() as u64)
        }
        _ => return,
    };
    if count(low).is_some_and(|min| size < min) {
        reject(low);
    }
    if count(high).is_some_and(|max| size > max) {
        reject(high);
    }
}

/// Whether one literal is certainly above the other.
fn is_above(a: &Literal, b: &Literal) -> bool {
    match (&a.value, &b.value) {
        (LiteralValue::Whole(a), LiteralValue::Whole(b)) => a > b,
        // Days in ISO 8601 sort like their texts. Date-times do not: they have offsets.
        (LiteralValue::Text(a), LiteralValue::Text(b)) => a.len() == 10 && b.len() == 10 && a > b,
        _ => match (a.as_number(), b.as_number()) {
            (Some(a), Some(b)) => a > b,
            _ => false,
        },
    }
}
