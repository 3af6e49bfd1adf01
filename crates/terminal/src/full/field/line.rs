//! A line that is typed: all of `number`, and what `date` and `url` build on.

use serde_json::Value;

use super::{Drawn, Editor, Said, Sheet, as_text, draw_edit};
use crate::full::edit::Edit;
use crate::full::event::Key;

/// Passes on what is typed as text, so that no digit of a number is lost.
pub(super) struct LineEditor {
    edit: Edit,
    is_secret: bool,
}

impl LineEditor {
    pub(super) fn new(is_secret: bool) -> Self {
        Self {
            edit: Edit::new(false),
            is_secret,
        }
    }

    /// What was typed, without blanks around it.
    pub(super) fn typed(&self) -> &str {
        self.edit.text().trim()
    }

    pub(super) fn set(&mut self, text: &str) {
        self.edit.set(text);
    }
}

impl Editor for LineEditor {
    fn load(&mut self, answer: &Value) {
        self.set(&as_text(answer));
    }

    fn answer(&self) -> Option<Value> {
        let typed = self.typed();
        (!typed.is_empty()).then(|| typed.into())
    }

    fn key(&mut self, key: Key) -> Said {
        match key {
            Key::Enter => Said::Next,
            key => Said::of_edit(self.edit.key(key)),
        }
    }

    fn paste(&mut self, text: &str) -> Said {
        Said::of_edit(Some(self.edit.insert(text)))
    }

    fn draw(&self, sheet: Sheet) -> Drawn {
        draw_edit(&self.edit, sheet, self.is_secret)
    }
}
