//! `text`: one or several lines, masked if it is a secret.

use entreat_core::Field;
use entreat_core::form::TextRules;
use serde_json::Value;

use super::{DrawContext, Editor, KeyOutcome, RenderedField, as_text, draw_edit};
use crate::full::edit::Edit;
use crate::full::event::Key;

/// Fields that accept texts this long are multi-line.
const LONG: u64 = 300;

pub(super) struct TextEditor {
    edit: Edit,
    is_secret: bool,
    has_lines: bool,
}

impl TextEditor {
    pub(super) fn new(field: &Field, rules: &TextRules) -> Self {
        let is_secret = field.is_sensitive();
        let is_long = rules.max_length.is_some_and(|length| length >= LONG);
        let has_rows = field.rendering().rows.is_some_and(|rows| rows > 1);
        let has_lines = (has_rows || is_long) && !is_secret && rules.format.is_none();
        Self {
            edit: Edit::new(has_lines),
            is_secret,
            has_lines,
        }
    }
}

impl Editor for TextEditor {
    fn load(&mut self, answer: &Value) {
        let text = as_text(answer);
        self.has_lines |= text.contains('\n');
        self.edit.set(&text);
    }

    fn answer(&self) -> Option<Value> {
        (!self.edit.is_empty()).then(|| self.edit.text().into())
    }

    fn key(&mut self, key: Key) -> KeyOutcome {
        match (self.edit.key(key), key) {
            (None, Key::Enter) => KeyOutcome::Next,
            (changed, _) => KeyOutcome::from_edit(changed),
        }
    }

    fn paste(&mut self, text: &str) -> KeyOutcome {
        KeyOutcome::from_edit(Some(self.edit.insert(text)))
    }

    fn draw(&self, context: DrawContext<'_>) -> RenderedField {
        let help = match (self.is_secret, self.has_lines) {
            (true, _) => context.texts.help.secret,
            (false, true) => context.texts.help.lines,
            (false, false) => "",
        };
        let keys = context.texts.keys;
        RenderedField {
            help,
            keys: if self.has_lines {
                vec![("Enter", keys.new_line), ("Tab", keys.send)]
            } else {
                vec![("Enter", keys.send)]
            },
            ..draw_edit(&self.edit, context, self.is_secret)
        }
    }
}
