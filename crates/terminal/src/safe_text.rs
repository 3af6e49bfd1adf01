//! Text of others, made fit for a terminal.
//!
//! Everything that an asker or a file name brings passes through here before it is shown.
//! What a terminal would act on is dropped, not escaped: a label should read as its author
//! meant it, and the rest of an escape sequence means nothing to a person.
//!
//! The machine is written by hand, because the crates for it either work on bytes or trust
//! their own parser with unchecked UTF-8, on input that is hostile by definition.

use entreat_core::is_acted_on;

/// The text on one line.
pub(crate) fn one_line(text: &str) -> String {
    strip(text, ' ')
}

/// The text with its lines kept.
pub(crate) fn lines(text: &str) -> String {
    strip(text, '\n')
}

/// Drops escape sequences, control characters, and what turns the direction of text.
fn strip(text: &str, line_end: char) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut state = State::Text;
    for c in text.chars() {
        state = state.after(c);
        match state {
            State::Text => match c {
                '\n' | '\u{85}' | '\u{2028}' | '\u{2029}' => safe.push(line_end),
                '\t' => safe.push(' '),
                c if is_acted_on(c) => {}
                c => safe.push(c),
            },
            State::Escape | State::Sequence | State::Message | State::Last => {}
        }
    }
    safe
}

/// Where in an escape sequence a character stands.
#[derive(Clone, Copy)]
enum State {
    /// Outside of any.
    Text,
    /// Behind ESC.
    Escape,
    /// Behind CSI: colours, cursor movements.
    Sequence,
    /// Behind OSC, DCS and their like: titles, links, the clipboard.
    Message,
    /// The end of a sequence, which belongs to it.
    Last,
}

impl State {
    fn after(self, c: char) -> Self {
        match (self, c) {
            // ESC, CSI, OSC and their like begin anew wherever they stand.
            (_, '\u{1b}') | (Self::Escape, ' '..='/') => Self::Escape,
            (_, '\u{9b}') | (Self::Escape, '[') | (Self::Sequence, ' '..='?') => Self::Sequence,
            (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')
            | (Self::Escape, ']' | 'P' | 'X' | '^' | '_') => Self::Message,
            (Self::Escape, '0'..='~')
            | (Self::Sequence, '@'..='~')
            | (Self::Message, '\u{7}' | '\u{9c}') => Self::Last,
            // A terminal would wait on; here a line's end bounds what can be swallowed.
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
