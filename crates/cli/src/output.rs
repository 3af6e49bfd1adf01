//! Writing: JSON for programs, and text that cannot play tricks on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

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

/// Control characters, and those that turn the direction of the text after them.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_on_its_line_and_moves_no_cursor() {
        assert_eq!(plain("über"), "über");
        assert_eq!(plain("a\nb\u{1b}[2Jc\u{202e}"), "a b\\u{1b}[2Jc\\u{202e}");
    }
}
