//! The text of others on a page: read as it stands, whatever is hidden in it.
//!
//! Askers, answers and files bring text that may hold characters which turn the direction of
//! what follows, or hide in a word. Every template leaves them out by itself: [`Shown`] is how
//! HTML is escaped here (`askama.toml`). What goes back to the server as it came, such as the
//! value of an input, is written with `|escape("exact")`.

use std::borrow::Cow;
use std::fmt;

use askama::filters::{Escaper, Html};
use entreat_core::is_acted_on;

/// Escapes text for HTML, without what is not for reading.
#[derive(Clone, Copy)]
pub(crate) struct Shown;

impl Escaper for Shown {
    fn write_escaped_str<W: fmt::Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        // Nearly all text is looked at once and needs nothing: a tenth of drawing a page.
        if text.bytes().all(|byte| AS_IT_IS[usize::from(byte)]) {
            return dest.write_str(text);
        }
        Html.write_escaped_str(dest, &shown(text))
    }
}

/// ASCII that is for reading and means nothing in HTML.
static AS_IT_IS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        table[byte as usize] = !matches!(byte, b'"' | b'&' | b'\'' | b'<' | b'>');
        byte += 1;
    }
    table
};

/// The text without what is not for reading; its lines and tabs stay.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    let is_left_out = |c: char| !matches!(c, '\n' | '\t') && is_acted_on(c);
    if !text.contains(is_left_out) {
        return text.into();
    }
    text.chars().filter(|c| !is_left_out(*c)).collect()
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
            assert_eq!(shown(given), expected, "{given:?}");
        }
    }
}
