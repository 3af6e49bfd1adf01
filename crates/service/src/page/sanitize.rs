//! Sanitizes untrusted text on pages.
//!
//! Text of askers, answers and files may contain invisible characters, such as those that change
//! the text direction. All templates remove them: [`SanitizedHtml`] is the default HTML escaper
//! (`askama.toml`). Values that are sent back unchanged, such as that of an input, use
//! `|escape("exact")`.

use std::borrow::Cow;
use std::fmt;

use askama::filters::{Escaper, Html};
use entreat_core::is_unsafe_to_display;

/// Escapes text for HTML and removes invisible characters.
#[derive(Clone, Copy)]
pub(crate) struct SanitizedHtml;

impl Escaper for SanitizedHtml {
    fn write_escaped_str<W: fmt::Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        // Fast path: nearly all text needs no change. Saves a tenth of rendering a page.
        if text.bytes().all(|byte| UNCHANGED[usize::from(byte)]) {
            return dest.write_str(text);
        }
        Html.write_escaped_str(dest, &sanitize(text))
    }
}

/// Printable ASCII without special characters of HTML.
static UNCHANGED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        table[byte as usize] = !matches!(byte, b'"' | b'&' | b'\'' | b'<' | b'>');
        byte += 1;
    }
    table
};

/// Removes invisible characters; line breaks and tabs stay.
pub(super) fn sanitize(text: &str) -> Cow<'_, str> {
    let is_removed = |c: char| !matches!(c, '\n' | '\t') && is_unsafe_to_display(c);
    if !text.contains(is_removed) {
        return text.into();
    }
    text.chars().filter(|c| !is_removed(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_in_any_script_and_what_turns_or_hides_goes() {
        for (given, expected) in [
            ("a\tb\nc – ü", "a\tb\nc – ü"),
            ("שלום עולם 12", "שלום עולם 12"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("x\u{202e}gpj.exe\u{2066}", "xgpj.exe"),
            ("\u{61c}a\u{200e}b\u{200f}c\u{202a}\u{2069}", "abc"),
            ("pay\u{200b}pal\u{feff}\0\u{1b}", "paypal"),
        ] {
            assert_eq!(sanitize(given), expected, "{given:?}");
        }
    }
}
