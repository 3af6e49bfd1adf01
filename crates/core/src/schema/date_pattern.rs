//! Date bounds, expressed as patterns.
//!
//! JSON Schema has no keyword that compares dates, and validators ignore non-standard ones such
//! as `formatMinimum`. But dates have a fixed width, so a pattern can compare them. Date-times
//! cannot be compared that way: their offsets differ.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::condition::Comparison;

/// Returns a pattern that matches dates (`2026-02-28`) that compare with `day` in this way.
pub(super) fn date_pattern(comparison: Comparison, day: &str) -> String {
    let (above, equal) = match comparison {
        Comparison::Lt => (false, false),
        Comparison::Lte => (false, true),
        Comparison::Gt => (true, false),
        Comparison::Gte | Comparison::Eq | Comparison::Ne => (true, true),
    };
    let mut pattern = String::from("^(?:");
    // The first digit that differs decides.
    for (i, digit) in day.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        let range = match (above, digit) {
            (true, '9') | (false, '0') => continue,
            (true, '8') => "9".to_owned(),
            (false, '1') => "0".to_owned(),
            (true, digit) => format!("[{}-9]", char::from(digit as u8 + 1)),
            (false, digit) => format!("[0-{}]", char::from(digit as u8 - 1)),
        };
        // Writing to a string cannot fail.
        let _ = write!(pattern, "{}{range}|", &day[..i]);
    }
    if equal {
        pattern.push_str(day);
    } else {
        pattern.pop();
    }
    pattern.push(')');
    pattern
}

/// Returns the patterns for inclusive bounds, or `None` if there are no bounds.
pub(super) fn date_patterns(minimum: Option<&str>, maximum: Option<&str>) -> Option<Value> {
    let minimum = minimum.map(|day| date_pattern(Comparison::Gte, day));
    let maximum = maximum.map(|day| date_pattern(Comparison::Lte, day));
    let patterns: Vec<Value> = minimum
        .into_iter()
        .chain(maximum)
        .map(|pattern| json!({"pattern": pattern}))
        .collect();
    (!patterns.is_empty()).then(|| patterns.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Pattern, PatternBudget};

    #[test]
    fn patterns_compare_days_as_the_calendar_does() {
        let days = [
            "0001-01-01",
            "1999-12-31",
            "2025-09-30",
            "2026-01-01",
            "2026-03-15",
            "2026-03-16",
            "2030-10-09",
            "9999-12-31",
        ];
        for bound in days {
            for (word, comparison) in Comparison::WORDS {
                if matches!(comparison, Comparison::Eq | Comparison::Ne) {
                    continue;
                }
                let source = date_pattern(*comparison, bound);
                let pattern = Pattern::compile(&source, &mut PatternBudget::default()).unwrap();
                for day in days {
                    let expected = comparison.accepts(day.cmp(bound));
                    assert_eq!(
                        pattern.is_match(day),
                        expected,
                        "{day} {word} {bound}: {source}"
                    );
                }
            }
        }
    }
}
