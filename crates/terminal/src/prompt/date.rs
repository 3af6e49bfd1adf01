//! `date`: typed in ISO 8601, whatever a page would show.

use entreat_core::form::{DateBound, DateRules};

pub(super) const MOMENT: &str = "A date and time with an offset, such as 2026-02-28T09:30:00+01:00";

pub(super) fn hint(rules: &DateRules) -> String {
    let what = if rules.has_time {
        MOMENT
    } else {
        "A date as YYYY-MM-DD"
    };
    // Bounds were parsed as dates, so they need no sanitizing.
    let bound = |bound: &Option<DateBound>| bound.as_ref().map(|b| b.as_str().to_owned());
    match (bound(&rules.minimum), bound(&rules.maximum)) {
        (Some(first), Some(last)) => format!("{what}, from {first} to {last}."),
        (Some(first), None) => format!("{what}, not before {first}."),
        (None, Some(last)) => format!("{what}, not after {last}."),
        (None, None) => format!("{what}."),
    }
}
