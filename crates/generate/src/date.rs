//! Days and moments within bounds.

use entreat_core::form::DateRules;
use fastrand::Rng;
use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan as _};

use super::chance;

/// About ten years.
const REACH_DAYS: i64 = 3650;
const DAY: i64 = 24 * 60 * 60;

/// Where a date may lie, in days or, for moments, in seconds since the epoch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) low: Option<i64>,
    pub(super) high: Option<i64>,
}

impl Span {
    /// The span that the rules leave.
    pub(super) fn of(rules: &DateRules) -> Self {
        let parse = |text: &str| parse(text, rules.has_time);
        Self {
            // Rounded inwards: a bound may have a fraction of a second.
            low: rules.minimum.as_ref().and_then(|bound| {
                let (whole, has_fraction) = parse(bound.as_str())?;
                Some(whole + i64::from(has_fraction))
            }),
            high: rules
                .maximum
                .as_ref()
                .and_then(|bound| Some(parse(bound.as_str())?.0)),
        }
    }

    /// What lies in both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            low: self.low.max(other.low),
            high: match (self.high, other.high) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }
}

/// A date that the rules accept.
pub(super) fn date(rules: &DateRules, rng: &mut Rng) -> Option<String> {
    within(Span::of(rules), rules.has_time, rng).or_else(|| {
        // Bounds less than a second apart.
        let bound = rules.minimum.as_ref().or(rules.maximum.as_ref())?;
        Some(bound.as_str().to_owned())
    })
}

/// A date in a span.
pub(super) fn within(span: Span, has_time: bool, rng: &mut Rng) -> Option<String> {
    let reach = if has_time {
        REACH_DAYS * DAY
    } else {
        REACH_DAYS
    };
    let now = if has_time { 20_500 * DAY } else { 20_500 };
    let (low, high) = match (span.low, span.high) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low, low + reach),
        (None, Some(high)) => (high - reach, high),
        (None, None) => (now - reach, now + reach),
    };
    if low > high {
        return None;
    }
    let place = match rng.u8(..12) {
        0 => low,
        1 => high,
        _ => rng.i64(low..=high),
    };
    if has_time {
        moment(place, rng)
    } else {
        day(place)
    }
}

/// Some day around the present.
pub(super) fn any_day(rng: &mut Rng) -> String {
    let days = rng.i64(10_000..30_000);
    day(days).unwrap_or_else(|| "2026-02-28".to_owned())
}

/// Days or seconds since the epoch, and whether a fraction of a second was cut.
pub(super) fn parse(text: &str, has_time: bool) -> Option<(i64, bool)> {
    if has_time {
        let moment: Timestamp = text.parse().ok()?;
        let nanosecond = moment.subsec_nanosecond();
        Some((
            moment.as_second() - i64::from(nanosecond < 0),
            nanosecond != 0,
        ))
    } else {
        let day: Date = text.parse().ok()?;
        let days = day.since(Date::constant(1970, 1, 1)).ok()?.get_days();
        Some((days.into(), false))
    }
}

fn day(days: i64) -> Option<String> {
    let day = Date::constant(1970, 1, 1).checked_add(days.days()).ok()?;
    (day.year() >= 0).then(|| day.to_string())
}

fn moment(seconds: i64, rng: &mut Rng) -> Option<String> {
    let moment = Timestamp::from_second(seconds).ok()?;
    if chance(rng, 60) {
        return Some(moment.to_string());
    }
    let minutes = rng.i32(-11..=13) * 60 + *rng.choice(&[0, 30, 45])?;
    let local = Offset::from_seconds(minutes * 60).ok()?.to_datetime(moment);
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.abs() / 60, minutes.abs() % 60);
    (0..=9999)
        .contains(&local.year())
        .then(|| format!("{local}{sign}{hours:02}:{rest:02}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::value::valid_values;

    #[test]
    fn dates_keep_their_bounds() {
        for validation in [
            json!({}),
            json!({"minimum": "2024-02-29", "maximum": "2024-02-29"}),
            json!({"minimum": "9999-12-30"}),
            json!({"maximum": "0001-01-02"}),
            json!({"format": "date-time"}),
            json!({"format": "date-time", "minimum": "2026-01-01T00:00:00.5+02:00",
                   "maximum": "2026-01-01T00:00:02+02:00"}),
            json!({"format": "date-time", "minimum": "2026-01-01T00:00:00.5Z",
                   "maximum": "2026-01-01T00:00:00.6Z"}),
            json!({"format": "date-time", "maximum": "1969-12-31T23:59:59.5Z"}),
        ] {
            let dates = valid_values(json!({"type": "date", "validation": validation}));
            assert!(!dates.is_empty(), "none under {validation}");
        }
    }
}
