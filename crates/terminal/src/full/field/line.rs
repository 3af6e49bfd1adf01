//! A single-line editor: all of `number`, and the base of `date` and `url`.

use serde_json::Value;

use super::{DrawContext, Editor, KeyOutcome, RenderedField, as_text, draw_edit};
use crate::full::edit::Edit;
use crate::full::event::Key;

/// Returns its input as text, so that no digit of a number is lost.
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

    /// Returns the input, trimmed.
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

    fn key(&mut self, key: Key) -> KeyOutcome {
        match key {
            Key::Enter => KeyOutcome::Next,
            key => KeyOutcome::from_edit(self.edit.key(key)),
        }
    }

    fn paste(&mut self, text: &str) -> KeyOutcome {
        KeyOutcome::from_edit(Some(self.edit.insert(text)))
    }

    fn draw(&self, context: DrawContext<'_>) -> RenderedField {
        draw_edit(&self.edit, context, self.is_secret)
    }
}
