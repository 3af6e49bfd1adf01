//! Writing: JSON for programs, and text that cannot play tricks on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use entreat::core::is_acted_on;
use entreat::core::jiff::Timestamp;
use entreat::engine::Subject;
use entreat::{CancelReason, Outcome, UnixTime};
use serde::Serialize;

/// Writes one JSON document on a line of its own.
pub(crate) fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes one JSON document for people and programs alike.
pub(crate) fn document(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes rows in columns, under a head; nothing if there are none.
pub(crate) fn table<const N: usize>(
    out: &mut dyn Write,
    head: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let head = head.map(str::to_owned);
    let rows = || std::iter::once(&head).chain(rows);
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    });
    for row in rows() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:width$}  ");
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Several lines as they may be shown in a terminal, each as [`plain`] has it.
pub(crate) fn plain_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.lines().map(plain).collect();
    lines.join("\n")
}

/// Text of a form, a URL or a file name as it may be shown in a terminal: on one line, and
/// without characters that a terminal would act on.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => plain.push(' '),
            c if is_unsafe(c) => {
                // Writing to a string cannot fail.
                let _ = write!(plain, "{}", c.escape_unicode());
            }
            c => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// A moment in UTC, to the second.
pub(crate) fn time(moment: UnixTime) -> String {
    let millis = i64::try_from(moment.as_millis()).unwrap_or(i64::MAX);
    // A moment that no calendar has is told as the number it is.
    Timestamp::from_millisecond(millis).map_or_else(
        |_| millis.to_string(),
        |moment| moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    )
}

/// Why there is no answer to a question that was asked; nothing is said of one that has it.
pub(crate) fn why_unanswered(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Completed) => "",
        Some(Outcome::Declined) => "the question was declined",
        Some(Outcome::TimedOut) => "time ran out, and nothing was sent",
        Some(Outcome::Cancelled(CancelReason::MaxRetriesExceeded)) => {
            "the answers were refused as often as is allowed"
        }
        Some(Outcome::Cancelled(_)) => "the question was cancelled",
        // An outcome that is waited for is one; whoever asks gets to know all the same.
        None => "the question is still open",
    }
}

/// What is asked, on one line: a form's title, or a URL.
pub(crate) fn subject(subject: &Subject) -> String {
    let text = match subject {
        Subject::Form(form) => form.title(),
        Subject::Url(url) => url,
    };
    plain(text).into_owned()
}

/// What a terminal acts on, and separators that would begin a new line.
fn is_unsafe(c: char) -> bool {
    is_acted_on(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_on_its_line_and_moves_no_cursor() {
        assert_eq!(plain("über"), "über");
        assert_eq!(plain("a\nb\u{1b}[2Jc\u{202e}"), "a b\\u{1b}[2Jc\\u{202e}");
    }

    #[test]
    fn moments_are_told_in_utc() {
        let time = |millis| time(UnixTime::from_millis(millis));
        assert_eq!(time(1_706_889_000_999), "2024-02-02T15:50:00Z");
        assert_eq!(time(u64::MAX), i64::MAX.to_string());
    }
}
