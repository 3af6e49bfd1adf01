//! `number`: passed on as it is typed, so that no digit is lost.

use serde_json::Value;

use super::{Drawn, Editor, Said, Sheet, as_text, draw_edit};
use crate::full::edit::Edit;
use crate::full::event::Key;

pub(super) struct NumberEditor {
    edit: Edit,
    is_secret: bool,
}

impl NumberEditor {
    pub(super) fn new(is_secret: bool) -> Self {
        Self {
            edit: Edit::new(false),
            is_secret,
        }
    }
}

impl Editor for NumberEditor {
    fn load(&mut self, answer: &Value) {
        self.edit.set(&as_text(answer));
    }

    fn answer(&self) -> Option<Value> {
        let typed = self.edit.text().trim();
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
