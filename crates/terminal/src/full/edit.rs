//! A text editor: the text being typed and the cursor.
//!
//! The cursor moves by grapheme clusters. Control characters are never inserted; other characters
//! that a terminal acts on stay in the text and are shown as a replacement character.

use entreat_core::is_unsafe_to_display;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::event::Key;

/// More than any field accepts; a longer paste is truncated.
const MAX_BYTES: usize = 1 << 20;
/// Shown in place of an unprintable character.
const REPLACEMENT: &str = "\u{fffd}";

#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    text: String,
    /// A byte offset on a grapheme boundary.
    cursor: usize,
    /// Whether the text may have several lines.
    has_lines: bool,
}

/// A text wrapped into screen rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<String>,
    /// Row and column of the cursor.
    pub(crate) cursor: (usize, usize),
}

impl Edit {
    pub(crate) fn new(has_lines: bool) -> Self {
        Self {
            has_lines,
            ..Self::default()
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces the text and puts the cursor at its end.
    pub(crate) fn set(&mut self, text: &str) {
        // A default may have line breaks in a single-line field.
        self.has_lines |= text.contains('\n');
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    pub(crate) fn clear(&mut self) {
        self.set("");
    }

    /// Inserts text at the cursor; line breaks become spaces in a single-line field.
    pub(crate) fn insert(&mut self, text: &str) -> bool {
        let room = MAX_BYTES.saturating_sub(self.text.len());
        let mut typed = String::new();
        for c in text.replace("\r\n", "\n").chars() {
            let c = match c {
                '\n' | '\r' if self.has_lines => '\n',
                '\n' | '\r' | '\t' => ' ',
                c if c.is_control() => continue,
                c => c,
            };
            if typed.len() + c.len_utf8() > room {
                break;
            }
            typed.push(c);
        }
        self.text.insert_str(self.cursor, &typed);
        self.cursor += typed.len();
        // The inserted text may form a grapheme cluster with what follows.
        while !self.is_boundary(self.cursor) {
            self.cursor += 1;
        }
        !typed.is_empty()
    }

    /// Handles a key; `None` if it has no effect here, else whether the text changed.
    pub(crate) fn key(&mut self, key: Key) -> Option<bool> {
        let before = self.text.len();
        match key {
            Key::Char(c) => return Some(self.insert(c.encode_utf8(&mut [0; 4]))),
            Key::Enter if self.has_lines => return Some(self.insert("\n")),
            Key::Left => self.cursor = self.left(),
            Key::Right => self.cursor = self.right(),
            Key::WordLeft => self.cursor = self.word_left(),
            Key::WordRight => self.cursor = self.word_right(),
            Key::Home | Key::Ctrl('a') => self.cursor = self.line_start(),
            Key::End | Key::Ctrl('e') => self.cursor = self.line_end(),
            Key::Up if self.has_lines && self.line_start() > 0 => self.vertical(false),
            Key::Down if self.has_lines && self.line_end() < self.text.len() => {
                self.vertical(true);
            }
            Key::Backspace => self.cut(self.left()),
            Key::Delete => self.cut(self.right()),
            Key::Ctrl('w') => self.cut(self.word_left()),
            Key::Ctrl('u') => self.cut(self.line_start()),
            Key::Ctrl('k') => self.cut(self.line_end()),
            _ => return None,
        }
        Some(self.text.len() != before)
    }

    /// Wraps the text into rows of this width, with `mask` in place of each character if given.
    pub(crate) fn rows(&self, width: usize, mask: Option<char>) -> Rows {
        let width = width.max(2);
        let mut rows = vec![String::new()];
        let mut column = 0;
        let mut cursor = (0, 0);
        for (offset, character) in self.text.grapheme_indices(true) {
            if offset == self.cursor {
                cursor = (rows.len() - 1, column);
            }
            if character == "\n" {
                rows.push(String::new());
                column = 0;
                continue;
            }
            let mut one = [0; 4];
            let shown = match mask {
                Some(mask) => mask.encode_utf8(&mut one),
                None if character.contains(is_unsafe_to_display) => REPLACEMENT,
                None => character,
            };
            let wide = shown.width();
            // One column is reserved for the cursor after the last character.
            if column + wide >= width {
                rows.push(String::new());
                column = 0;
                if offset == self.cursor {
                    cursor = (rows.len() - 1, 0);
                }
            }
            if let Some(row) = rows.last_mut() {
                row.push_str(shown);
            }
            column += wide;
        }
        if self.cursor == self.text.len() {
            cursor = (rows.len() - 1, column);
        }
        Rows { rows, cursor }
    }

    fn is_boundary(&self, offset: usize) -> bool {
        offset >= self.text.len()
            || self.text.is_char_boundary(offset)
                && self
                    .text
                    .grapheme_indices(true)
                    .any(|(start, _)| start == offset)
    }

    /// Removes the text between the cursor and an offset.
    fn cut(&mut self, offset: usize) {
        let (start, end) = (offset.min(self.cursor), offset.max(self.cursor));
        self.text.replace_range(start..end, "");
        self.cursor = start;
        while !self.is_boundary(self.cursor) {
            self.cursor += 1;
        }
    }

    fn left(&self) -> usize {
        let before = self.text[..self.cursor].grapheme_indices(true).next_back();
        before.map_or(0, |(offset, _)| offset)
    }

    fn right(&self) -> usize {
        let mut rest = self.text[self.cursor..].graphemes(true);
        self.cursor + rest.next().map_or(0, str::len)
    }

    fn word_left(&self) -> usize {
        let mut words = self.text[..self.cursor].unicode_word_indices();
        words.next_back().map_or(0, |(offset, _)| offset)
    }

    fn word_right(&self) -> usize {
        let mut words = self.text[self.cursor..].unicode_word_indices();
        let next = words.next();
        next.map_or(self.text.len(), |(offset, word)| {
            self.cursor + offset + word.len()
        })
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor]
            .rfind('\n')
            .map_or(0, |offset| offset + 1)
    }

    fn line_end(&self) -> usize {
        let end = self.text[self.cursor..].find('\n');
        end.map_or(self.text.len(), |offset| self.cursor + offset)
    }

    /// Moves to the same column of the next or previous line, as far as it has one.
    fn vertical(&mut self, down: bool) {
        let start = self.line_start();
        let column = self.text[start..self.cursor].graphemes(true).count();
        let target = if down {
            self.line_end() + 1
        } else {
            self.cursor = start - 1;
            self.line_start()
        };
        self.cursor = target;
        let end = self.line_end();
        let mut offsets = self.text[target..end].grapheme_indices(true);
        self.cursor = offsets
            .nth(column)
            .map_or(end, |(offset, _)| target + offset);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(keys: &[Key]) -> Edit {
        let mut edit = Edit::new(false);
        for key in keys {
            edit.key(*key);
        }
        edit
    }

    #[test]
    fn the_cursor_moves_by_what_people_take_for_a_character() {
        let mut edit = Edit::new(false);
        edit.insert("a👍🏽é");
        edit.key(Key::Left);
        edit.key(Key::Backspace);
        assert_eq!(edit.text(), "aé");
        edit.key(Key::Char('b'));
        assert_eq!(edit.text(), "abé");
    }

    #[test]
    fn words_and_lines_can_be_removed_at_once() {
        let mut edit = Edit::new(true);
        edit.insert("one two\nthree four");
        edit.key(Key::Ctrl('w'));
        assert_eq!(edit.text(), "one two\nthree ");
        edit.key(Key::Ctrl('u'));
        assert_eq!(edit.text(), "one two\n");
        edit.key(Key::Up);
        edit.key(Key::WordRight);
        edit.key(Key::Ctrl('k'));
        assert_eq!(edit.text(), "one\n");
    }

    #[test]
    fn a_pasted_text_has_no_controls_and_lines_only_where_they_fit() {
        let mut edit = typed(&[]);
        edit.insert("a\r\nb\tc\u{1b}[2J\u{7}");
        assert_eq!(edit.text(), "a b c[2J");
        let mut edit = Edit::new(true);
        edit.insert("a\r\nb");
        assert_eq!(edit.text(), "a\nb");
    }

    #[test]
    fn what_a_terminal_would_act_on_is_shown_as_a_stand_in() {
        let mut edit = Edit::new(false);
        edit.set("a\u{202e}b");
        assert_eq!(edit.rows(20, None).rows, ["a\u{fffd}b"]);
        assert_eq!(edit.rows(20, Some('*')).rows, ["***"]);
    }

    #[test]
    fn long_texts_go_on_in_the_next_row_with_room_for_the_cursor() {
        let mut edit = Edit::new(false);
        edit.insert("abcdef日");
        let rows = edit.rows(4, None);
        assert_eq!(rows.rows, ["abc", "def", "日"]);
        assert_eq!(rows.cursor, (2, 2));
    }

    proptest! {
        #[test]
        fn no_keys_ever_put_the_cursor_within_a_character(
            keys in proptest::collection::vec(0..17usize, 0..60),
            width in 0..9usize,
        ) {
            let mut edit = Edit::new(true);
            for key in keys {
                let key = [
                    Key::Char('a'), Key::Char('\u{301}'), Key::Char('👍'), Key::Char('\u{1f3fd}'),
                    Key::Char(' '), Key::Enter, Key::Left, Key::Right, Key::Up, Key::Down,
                    Key::Backspace, Key::Delete, Key::WordLeft, Key::WordRight, Key::Home,
                    Key::End, Key::Ctrl('w'),
                ][key];
                edit.key(key);
                prop_assert!(edit.is_boundary(edit.cursor));
                let rows = edit.rows(width, None);
                prop_assert!(rows.cursor.0 < rows.rows.len());
            }
        }
    }
}
