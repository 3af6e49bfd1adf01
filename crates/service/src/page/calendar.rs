//! Formats dates for `displayFormat` and for browser inputs.

use std::borrow::Cow;

use entreat_core::jiff::civil::{Date, DateTime, Time};

use super::texts::Texts;

/// Formats a date or time in the form author's format: `DD.MM.YYYY`, `dddd, D MMMM YYYY HH:mm`.
///
/// `None` if the text is not a date.
pub(super) fn display(text: &str, format: &str, texts: &Texts) -> Option<String> {
    let (local, _) = split(text);
    let moment: DateTime = if local.contains('T') {
        local.parse().ok()?
    } else {
        local.parse::<Date>().ok()?.to_datetime(Time::midnight())
    };
    let mut out = String::with_capacity(format.len() + 8);
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let run = rest.chars().take_while(|c| *c == first).count() * first.len_utf8();
        let (token, after) = rest.split_at(run);
        let month = usize::from(moment.month().unsigned_abs());
        let weekday = usize::from(moment.weekday().to_monday_zero_offset().unsigned_abs());
        let part: Cow<'_, str> = match token {
            "YYYY" => format!("{:04}", moment.year()).into(),
            "YY" => format!("{:02}", moment.year().rem_euclid(100)).into(),
            "MMMM" => texts.calendar.months[month - 1].into(),
            "MMM" => texts.calendar.months[month - 1].chars().take(3).collect(),
            "MM" => format!("{month:02}").into(),
            "M" => month.to_string().into(),
            "DD" => format!("{:02}", moment.day()).into(),
            "D" => moment.day().to_string().into(),
            "dddd" => texts.calendar.weekdays[weekday].into(),
            "ddd" => texts.calendar.weekdays[weekday].chars().take(3).collect(),
            "HH" => format!("{:02}", moment.hour()).into(),
            "H" => moment.hour().to_string().into(),
            "mm" => format!("{:02}", moment.minute()).into(),
            "ss" => format!("{:02}", moment.second()).into(),
            other => other.into(),
        };
        out.push_str(&part);
        rest = after;
    }
    Some(out)
}

/// Formats a date or time as this language writes it, such as `1 March 2026, 10:00 (+01:00)`. The
/// offset stays: it is part of the answer.
pub(super) fn readable(text: &str, texts: &Texts) -> Option<String> {
    let (local, offset) = split(text);
    if !local.contains('T') {
        return display(text, texts.date_format, texts);
    }
    let shown = display(text, texts.time_format, texts)?;
    Some(match offset {
        "Z" | "z" | "+00:00" => format!("{shown} (UTC)"),
        offset => format!("{shown} (UTC{offset})"),
    })
}

/// Splits an RFC 3339 time into local time and offset: `2026-03-01T10:00` and `+01:00`.
pub(super) fn split(text: &str) -> (&str, &str) {
    let Some(time) = text.find(['T', 't']) else {
        return (text, "");
    };
    match text[time..].find(['Z', 'z', '+', '-']) {
        Some(offset) => text.split_at(time + offset),
        None => (text, ""),
    }
}

/// Joins a local time and an offset. Malformed input stays malformed, for the check to reject.
pub(super) fn join(local: &str, offset: &str) -> String {
    if local.is_empty() {
        return String::new();
    }
    let local = match local.matches(':').count() {
        0 => format!("{local}T00:00:00"),
        1 => format!("{local}:00"),
        _ => local.to_owned(),
    };
    let offset = match offset.trim() {
        "" | "Z" | "z" => "Z".to_owned(),
        offset => offset.replace('\u{2212}', "-"),
    };
    format!("{local}{offset}")
}

#[cfg(test)]
mod tests {
    use super::super::texts::Texts;
    use super::*;

    #[test]
    fn dates_are_shown_in_the_authors_format_and_the_readers_language() {
        let [english, german] = Texts::ALL;
        assert_eq!(
            display("2026-03-01", "DD.MM.YYYY", english).unwrap(),
            "01.03.2026"
        );
        assert_eq!(
            display("2026-03-01", "dddd, D. MMMM YYYY", german).unwrap(),
            "Sonntag, 1. März 2026"
        );
        assert_eq!(
            display("2026-03-01T09:05:00+01:00", "MMM D, HH:mm", english).unwrap(),
            "Mar 1, 09:05"
        );
        assert_eq!(display("soon", "DD.MM.YYYY", english), None);
    }

    #[test]
    fn dates_without_a_format_are_written_as_the_reader_writes_them() {
        let [english, german] = Texts::ALL;
        for (date, in_english, in_german) in [
            ("2026-03-01", "1 March 2026", "1. März 2026"),
            (
                "2026-03-01T09:05:00+01:00",
                "1 March 2026, 09:05 (UTC+01:00)",
                "1. März 2026, 09:05 (UTC+01:00)",
            ),
            (
                "2026-03-01T09:05:00Z",
                "1 March 2026, 09:05 (UTC)",
                "1. März 2026, 09:05 (UTC)",
            ),
        ] {
            assert_eq!(readable(date, english).unwrap(), in_english);
            assert_eq!(readable(date, german).unwrap(), in_german);
        }
        assert_eq!(readable("soon", english), None);
    }

    #[test]
    fn a_moment_comes_apart_and_together() {
        assert_eq!(
            split("2026-03-01T10:00:00+01:00"),
            ("2026-03-01T10:00:00", "+01:00")
        );
        assert_eq!(split("2026-03-01T10:00:00Z"), ("2026-03-01T10:00:00", "Z"));
        assert_eq!(split("2026-03-01"), ("2026-03-01", ""));
        assert_eq!(
            join("2026-03-01T10:00", "+01:00"),
            "2026-03-01T10:00:00+01:00"
        );
        assert_eq!(join("2026-03-01T10:00:30", ""), "2026-03-01T10:00:30Z");
        assert_eq!(join("2026-03-01", "-05:00"), "2026-03-01T00:00:00-05:00");
        assert_eq!(join("", "+01:00"), "");
    }
}
