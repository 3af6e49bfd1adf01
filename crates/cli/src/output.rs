//! Output: JSON for programs, and text sanitized for the terminal.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Write};

use entreat::core::is_unsafe_to_display;
use entreat::core::jiff::Timestamp;
use entreat::engine::Subject;
use entreat::{CancelReason, Outcome, UnixTime};
use serde::Serialize;

/// Writes one JSON document as a single line.
pub(crate) fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes one JSON document, indented.
pub(crate) fn document(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes rows in columns under a header; nothing if there are no rows.
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

/// Sanitizes each line for the terminal; see [`sanitize`].
pub(crate) fn sanitize_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.lines().map(sanitize).collect();
    lines.join("\n")
}

/// Sanitizes untrusted text for the terminal: joins it into one line and escapes characters that a
/// terminal would act on.
pub(crate) fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => safe.push(' '),
            c if is_unsafe(c) => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "{}", c.escape_unicode());
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Sanitizes a path, or the name of a program, for the terminal; see [`sanitize`].
pub(crate) fn sanitize_path(path: impl AsRef<OsStr>) -> String {
    sanitize(&path.as_ref().to_string_lossy()).into_owned()
}

/// Formats a time in UTC, to the second.
pub(crate) fn time(moment: UnixTime) -> String {
    let millis = i64::try_from(moment.as_millis()).unwrap_or(i64::MAX);
    // Out of the calendar's range: print the number.
    Timestamp::from_millisecond(millis).map_or_else(
        |_| millis.to_string(),
        |moment| moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    )
}

/// Explains why a question has no answer; empty if it has one.
pub(crate) fn why_unanswered(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Completed) => "",
        Some(Outcome::Declined) => "the question was declined",
        Some(Outcome::TimedOut) => "the question timed out; nothing was sent",
        Some(Outcome::Cancelled(CancelReason::MaxRetriesExceeded)) => {
            "there were too many invalid answers"
        }
        Some(Outcome::Cancelled(_)) => "the question was cancelled",
        // Not reached for an awaited outcome.
        None => "the question is still open",
    }
}

/// Cuts text to a number of characters.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.chars().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    let start: String = text.chars().take(most.saturating_sub(1)).collect();
    Cow::Owned(format!("{}…", start.trim_end()))
}

/// Formats the subject of a question on one line: a form's title, or a URL.
pub(crate) fn subject(subject: &Subject) -> String {
    let text = match subject {
        Subject::Form(form) => form.title(),
        Subject::Url(url) => url,
    };
    sanitize(text).into_owned()
}

/// Whether a terminal acts on a character, or it starts a new line.
fn is_unsafe(c: char) -> bool {
    is_unsafe_to_display(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_on_its_line_and_moves_no_cursor() {
        assert_eq!(sanitize("über"), "über");
        assert_eq!(
            sanitize("a\nb\u{1b}[2Jc\u{202e}"),
            "a b\\u{1b}[2Jc\\u{202e}"
        );
    }

    #[test]
    fn moments_are_told_in_utc() {
        let time = |millis| time(UnixTime::from_millis(millis));
        assert_eq!(time(1_706_889_000_999), "2024-02-02T15:50:00Z");
        assert_eq!(time(u64::MAX), i64::MAX.to_string());
    }
}
