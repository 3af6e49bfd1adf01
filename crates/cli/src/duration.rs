//! Parses durations: `90`, `90s`, `500ms`, `5m`, `1h`, `30d`.
//!
//! Enforces no maximum: that is the engine's.

use std::time::Duration;

/// Parses a whole number of milliseconds, seconds, minutes, hours or days; seconds without a unit.
///
/// Saturates at the longest duration that can be represented.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(digits.len());
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(refusal()),
    };
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refusal());
    }
    // Digits only, so the one possible error is overflow.
    let number = number.parse().unwrap_or(u64::MAX);
    Ok(Duration::from_millis(number.saturating_mul(millis)))
}

fn refusal() -> String {
    "a duration is a whole number with ms, s, m, h or d, such as 90s or 5m".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_seconds_unless_a_unit_says_otherwise() {
        for (text, millis) in [
            ("90", 90_000),
            ("90s", 90_000),
            ("500ms", 500),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("30d", 2_592_000_000),
            ("0", 0),
            ("99999999999999999999h", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "", "s", "-1", "+1", "1.5h", "1 h", "1w", "1H", "½h", "1h30m", "٣s",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
