//! Sanitizes untrusted text for the terminal.
//!
//! All text of askers and all file names pass through here before display. Control sequences are
//! dropped, not escaped: a label should read as its author meant it, and the remains of an escape
//! sequence mean nothing to a person.
//!
//! The state machine is written by hand because the available crates either work on bytes or
//! trust their own parser with unchecked UTF-8, on input that is hostile by definition.

use entreat_core::is_unsafe_to_display;

/// Sanitizes text and joins it into one line.
pub(crate) fn one_line(text: &str) -> String {
    strip(text, ' ')
}

/// Sanitizes text and keeps its line breaks.
pub(crate) fn lines(text: &str) -> String {
    strip(text, '\n')
}

/// Drops escape sequences, control characters and bidirectional controls.
fn strip(text: &str, line_end: char) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut state = State::Text;
    for c in text.chars() {
        state = state.after(c);
        match state {
            State::Text => match c {
                '\n' | '\u{85}' | '\u{2028}' | '\u{2029}' => safe.push(line_end),
                '\t' => safe.push(' '),
                c if is_unsafe_to_display(c) => {}
                c => safe.push(c),
            },
            State::Escape | State::Sequence | State::Message | State::Last => {}
        }
    }
    safe
}

/// The position of a character relative to an escape sequence.
#[derive(Clone, Copy)]
enum State {
    /// Outside any sequence.
    Text,
    /// After ESC.
    Escape,
    /// After CSI: colours, cursor movements.
    Sequence,
    /// After OSC, DCS and similar: titles, links, the clipboard.
    Message,
    /// The final character of a sequence.
    Last,
}

impl State {
    fn after(self, c: char) -> Self {
        match (self, c) {
            // ESC, CSI, OSC and similar start a new sequence in any state.
            (_, '\u{1b}') | (Self::Escape, ' '..='/') => Self::Escape,
            (_, '\u{9b}') | (Self::Escape, '[') | (Self::Sequence, ' '..='?') => Self::Sequence,
            (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')
            | (Self::Escape, ']' | 'P' | 'X' | '^' | '_') => Self::Message,
            (Self::Escape, '0'..='~')
            | (Self::Sequence, '@'..='~')
            | (Self::Message, '\u{7}' | '\u{9c}') => Self::Last,
            // A terminal would keep waiting; here a line end bounds what can be swallowed.
            (Self::Message, c) if c != '\n' => Self::Message,
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_stay_and_what_a_terminal_acts_on_goes() {
        for (given, shown) in [
            ("über 日本 👍🏽", "über 日本 👍🏽"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\u{1b}]0;title\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\b", "ab"),
            ("a\u{9b}2Jb\u{9d}52;c;aGk=\u{9c}c", "abc"),
            ("a\u{1b}(Bb\u{1b}cc", "abc"),
            ("a\u{1b}[\u{1b}[2Jb", "ab"),
            ("a\rb\u{8}c\u{7f}d\0", "abcd"),
            ("x\u{202e}gpj.exe\u{2066}", "xgpj.exe"),
            ("a\tb\nc\u{2028}d", "a b c d"),
            ("a\u{1b}]open\nb", "a b"),
            ("a\u{1b}", "a"),
            ("pay\u{200b}pal\u{e0041}\u{feff}\u{ad}", "paypal"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
        ] {
            assert_eq!(one_line(given), shown, "{given:?}");
        }
        assert_eq!(lines("a\r\n\u{1b}[1mb"), "a\nb");
    }

    /// Characters that matter, mixed with any others.
    fn hostile() -> impl Strategy<Value = String> {
        let c = prop_oneof![
            proptest::sample::select(vec![
                '\u{1b}', '[', ']', '\\', ';', 'm', '\u{7}', '\u{9b}', '\u{9c}', '\u{9d}', '\n',
                '\r', '\u{202e}', '\u{2066}', '\u{85}',
            ]),
            any::<char>(),
        ];
        proptest::collection::vec(c, 0..60).prop_map(|chars| chars.into_iter().collect())
    }

    fn is_forbidden(c: char) -> bool {
        matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_acts_on_ever_comes_out(text in hostile()) {
            prop_assert!(!one_line(&text).contains(is_forbidden));
            prop_assert!(!lines(&text).contains(|c| c != '\n' && is_forbidden(c)));
        }

        #[test]
        fn text_without_such_characters_is_left_alone(text in "[a-zA-Z0-9 äß日\\[\\];.]{0,40}") {
            prop_assert_eq!(one_line(&text), text);
        }
    }
}
