//! Strict parsing of dates and date-times.
//!
//! The grammar is exactly that of RFC 3339. `jiff` alone would also accept week dates, time zone
//! names and basic ISO 8601 forms, which tools on the receiving end may not.

use jiff::Timestamp;
use jiff::civil::{Date, Time};

/// Parses `2026-02-28`; rejects days that do not exist.
pub(crate) fn parse_date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year = i16::from(two_digits(bytes, 0)?) * 100 + i16::from(two_digits(bytes, 2)?);
    Date::new(year, two_digits(bytes, 5)?, two_digits(bytes, 8)?).ok()
}

/// Parses `2026-02-28T09:30:00.5+01:00`; the offset is required.
pub(crate) fn parse_date_time(text: &str) -> Option<Timestamp> {
    let date = parse_date(text.get(..10)?)?;
    if !matches!(text.as_bytes().get(10)?, b'T' | b't') {
        return None;
    }
    let (time, offset_minutes) = parse_time(text.get(11..)?)?;
    let local = date.to_datetime(time);
    // Counting from the epoch needs no time zone database.
    let since_epoch = local
        .duration_since(jiff::civil::DateTime::constant(1970, 1, 1, 0, 0, 0, 0))
        .checked_sub(jiff::SignedDuration::from_mins(offset_minutes))?;
    // The year 9999 ends a day after the last instant that `jiff` can represent; later times are
    // clamped to it.
    let limit = if since_epoch.is_negative() {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Some(Timestamp::from_duration(since_epoch).unwrap_or(limit))
}

/// Whether the text is an RFC 3339 `full-time`.
pub(crate) fn is_time(text: &str) -> bool {
    parse_time(text).is_some()
}

/// Parses a time of day and its offset from UTC in minutes.
fn parse_time(text: &str) -> Option<(Time, i64)> {
    let bytes = text.as_bytes();
    if bytes.get(2) != Some(&b':') || bytes.get(5) != Some(&b':') {
        return None;
    }
    let hour = two_digits(bytes, 0)?;
    let minute = two_digits(bytes, 3)?;
    let second = two_digits(bytes, 6)?;
    let mut rest = bytes.get(8..)?;
    let mut nanoseconds = 0;
    if let [b'.', after @ ..] = rest {
        let digits = after.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return None;
        }
        // Digits beyond nanoseconds are accepted and ignored.
        for place in 0..9 {
            let digit = after[..digits].get(place).map_or(0, |b| b - b'0');
            nanoseconds = nanoseconds * 10 + i32::from(digit);
        }
        rest = &after[digits..];
    }
    let offset_minutes = match rest {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), offset @ ..] if offset.len() == 5 && offset[2] == b':' => {
            let (hours, minutes) = (two_digits(offset, 0)?, two_digits(offset, 3)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let minutes = i64::from(hours) * 60 + i64::from(minutes);
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    // A leap second only ever occurs at 23:59:60 UTC.
    let second = if second == 60 {
        let utc = (i64::from(hour) * 60 + i64::from(minute) - offset_minutes).rem_euclid(1440);
        if utc != 1439 {
            return None;
        }
        59
    } else {
        second
    };
    let time = Time::new(hour, minute, second, nanoseconds).ok()?;
    Some((time, offset_minutes))
}

fn two_digits(bytes: &[u8], at: usize) -> Option<i8> {
    let pair = bytes.get(at..at + 2)?;
    if !pair.iter().all(u8::is_ascii_digit) {
        return None;
    }
    i8::try_from((pair[0] - b'0') * 10 + (pair[1] - b'0')).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_exist_are_dates() {
        for good in [
            "2026-02-28",
            "2024-02-29",
            "2000-02-29",
            "0001-01-01",
            "9999-12-31",
        ] {
            assert!(parse_date(good).is_some(), "{good}");
        }
        for bad in [
            "2026-02-30",
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-01-00",
            "2026-1-1",
            "20260101",
            "2026-01-01 ",
            "2026-01-01T",
            "+026-01-01",
            "２０２６-01-01",
            "2026-W01-1",
            "",
            "aaaa-bb-cc",
            "2026/01/01",
        ] {
            assert!(parse_date(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_moment_needs_an_offset_and_is_compared_across_offsets() {
        let utc = parse_date_time("2026-03-01T08:00:00Z").unwrap();
        assert_eq!(parse_date_time("2026-03-01T09:00:00+01:00"), Some(utc));
        assert_eq!(parse_date_time("2026-03-01t09:00:00.000+01:00"), Some(utc));
        assert!(parse_date_time("2026-03-01T08:00:00.25Z").unwrap() > utc);
        assert!(parse_date_time("2016-12-31T23:59:60Z").is_some());
        assert!(parse_date_time("9999-12-31T23:59:59Z").is_some());
        assert!(parse_date_time("2016-12-31T15:59:60-08:00").is_some());
        for bad in [
            "2026-03-01T08:00:00",
            "2026-03-01 08:00:00Z",
            "2026-03-01T08:00Z",
            "2026-03-01",
            "2026-03-01T24:00:00Z",
            "2026-03-01T08:60:00Z",
            "2026-03-01T08:00:60Z",
            "2026-03-01T08:00:00.Z",
            "2026-03-01T08:00:00+0100",
            "2026-03-01T08:00:00+24:00",
            "2026-03-01T08:00:00Z[UTC]",
            "2026-02-30T08:00:00Z",
            "2026-03-01T8:00:00Z",
        ] {
            assert!(parse_date_time(bad).is_none(), "{bad}");
        }
    }
}
