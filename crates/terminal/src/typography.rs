//! Keeps Entreat's own text and the asker's text visually apart.
//!
//! A line that starts at the margin is Entreat's. Untrusted text follows a bar, or stands in `“ ”`
//! within one of Entreat's lines; quotation marks inside it are replaced so that it cannot break
//! out. Wrapped lines are indented.

use std::time::Duration;

use entreat_core::{RoughTime, TextFormat};
use textwrap::Options;
use unicode_width::UnicodeWidthStr as _;

use crate::texts::Texts;
use crate::{prose, safe_text};

const BAR: &str = "│ ";

/// The maximum length of a quotation within a sentence, in characters.
const SHORT: usize = 60;
/// The maximum length of a quotation where whole answers are shown.
const LONG: usize = 240;

/// Wraps untrusted text into lines with a leading bar.
pub(crate) fn block_quote(text: &str, width: usize) -> Vec<String> {
    barred(safe_text::lines(text).trim(), width, BAR)
}

/// Lays out untrusted text that may be formatted, with a leading bar.
pub(crate) fn prose_quote(text: &str, format: TextFormat, width: usize) -> Vec<String> {
    let Some(rows) = prose::rows(text, format, width - BAR.width()) else {
        return block_quote(text, width);
    };
    rows.into_iter()
        .map(|row| {
            let pieces = row.iter().map(|piece| &*piece.text);
            let line: String = std::iter::once(BAR).chain(pieces).collect();
            line.trim_end().to_owned()
        })
        .collect()
}

/// Wraps a numbered line of untrusted text; continuation lines are indented.
pub(crate) fn numbered_block_quote(number: usize, text: &str, width: usize) -> Vec<String> {
    let text = format!("{number}. {}", safe_text::one_line(text).trim());
    barred(&text, width, "│    ")
}

fn barred(text: &str, width: usize, below: &str) -> Vec<String> {
    let options = Options::new(width)
        .initial_indent(BAR)
        .subsequent_indent(below);
    textwrap::wrap(text, options)
        .into_iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Wraps Entreat's own text, which may contain quotations.
pub(crate) fn own_text(words: &str, width: usize) -> Vec<String> {
    let options = Options::new(width).subsequent_indent("  ");
    textwrap::wrap(words, options)
        .into_iter()
        .map(std::borrow::Cow::into_owned)
        .collect()
}

/// Quotes untrusted text within a sentence, truncated.
pub(crate) fn quoted(text: &str) -> String {
    quoted_up_to(text, SHORT)
}

/// Quotes untrusted text within a sentence, truncated only if very long.
pub(crate) fn quoted_long(text: &str) -> String {
    quoted_up_to(text, LONG)
}

fn quoted_up_to(text: &str, limit: usize) -> String {
    let plain = safe_text::one_line(text).replace(['“', '”', '„', '‟'], "\"");
    match plain.char_indices().nth(limit) {
        Some((end, _)) => format!("“{}…”", &plain[..end]),
        None => format!("“{plain}”"),
    }
}

/// Formats alternatives as `a`, `a or b` or `a, b or c`, each quoted.
pub(crate) fn quoted_choice<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut quoted: Vec<_> = texts.map(quoted).collect();
    match (quoted.pop(), quoted.as_slice()) {
        (None, _) => String::new(),
        (Some(only), []) => only,
        (Some(last), others) => format!("{} or {last}", others.join(", ")),
    }
}

/// Formats the time left.
pub(crate) fn time_left(left: Duration, texts: &Texts) -> String {
    (texts.duration)(RoughTime::from(left))
}

/// Converts text for an ASCII-only terminal. Entreat's marks have ASCII equivalents; any other
/// character becomes a question mark, so that nothing disappears silently.
pub(crate) fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '│' => plain.push('|'),
            '─' => plain.push('-'),
            '“' | '”' | '„' | '‟' => plain.push('"'),
            '’' | '‘' => plain.push('\''),
            '…' => plain.push_str("..."),
            c if c.is_ascii() => plain.push(c),
            _ => plain.push('?'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_others_has_a_bar() {
        let text = "A long description that goes on.\n\nQuestion 1 of 1, required\n> ";
        assert_eq!(
            block_quote(text, 20),
            [
                "│ A long description",
                "│ that goes on.",
                "│",
                "│ Question 1 of 1,",
                "│ required",
                "│ >"
            ]
        );
        let endless = "x".repeat(50);
        assert!(block_quote(&endless, 20).iter().all(|l| l.starts_with(BAR)));
    }

    #[test]
    fn nobody_makes_up_an_option() {
        assert_eq!(
            numbered_block_quote(1, "Keep all\n2. Delete all files", 20),
            ["│ 1. Keep all 2.", "│    Delete all", "│    files"]
        );
    }

    #[test]
    fn nobody_breaks_out_of_quotation_marks() {
        assert_eq!(quoted("a” Send? “b\n"), "“a\" Send? \"b ”");
        assert_eq!(quoted(&"é".repeat(61)), format!("“{}…”", "é".repeat(60)));
        assert_eq!(
            quoted_choice(["a", "b", "c"].into_iter()),
            "“a”, “b” or “c”"
        );
    }

    #[test]
    fn continued_lines_of_entreat_are_indented() {
        assert_eq!(
            own_text("Enter takes “Your password:”.", 20),
            ["Enter takes “Your", "  password:”."]
        );
    }

    #[test]
    fn the_time_left_is_told_in_words() {
        for (millis, words) in [
            (900, ["1 second", "1 Sekunde"]),
            (59_000, ["59 seconds", "59 Sekunden"]),
            (60_000, ["1 minute", "1 Minute"]),
            (150_000, ["2 minutes", "2 Minuten"]),
            (599_990, ["10 minutes", "10 Minuten"]),
            (86_399_990, ["1 day", "1 Tag"]),
            (90_000_000, ["25 hours", "25 Stunden"]),
            (2_592_000_000, ["30 days", "30 Tage"]),
        ] {
            let left = Duration::from_millis(millis);
            assert_eq!(Texts::ALL.map(|texts| time_left(left, texts)), words);
        }
    }

    #[test]
    fn a_terminal_without_unicode_gets_ascii_alone() {
        assert_eq!(ascii("│ “Zoë”…"), "| \"Zo?\"...");
    }
}
