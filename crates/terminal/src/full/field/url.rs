//! `url`: typed, with what a person should know about it shown at once.

use entreat_core::url_guard::{Warning, inspect};
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{Drawn, Editor, Said, Sheet, as_text, draw_edit};
use crate::full::edit::Edit;
use crate::full::event::Key;

pub(super) struct UrlEditor {
    edit: Edit,
    is_secret: bool,
}

impl UrlEditor {
    pub(super) fn new(is_secret: bool) -> Self {
        Self {
            edit: Edit::new(false),
            is_secret,
        }
    }

    /// Warnings of the guard. Of what is not yet an address there is nothing to say.
    fn warnings(&self) -> Vec<&'static str> {
        let card = inspect(self.edit.text().trim(), None);
        match card.highlight {
            Some(_) => card.warnings.iter().map(Warning::message).collect(),
            None => Vec::new(),
        }
    }
}

impl Editor for UrlEditor {
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
        Said::of_edit(Some(self.edit.insert(text.trim())))
    }

    fn draw(&self, sheet: Sheet) -> Drawn {
        let ink = sheet.ink;
        let mut below = Vec::new();
        for words in self.warnings() {
            let lines = textwrap::wrap(words, sheet.wide.saturating_sub(2).max(10));
            for (i, line) in lines.iter().enumerate() {
                let sign = if i == 0 { "! " } else { "  " };
                below.push(Line::from(vec![
                    Span::styled(sign, ink.warning()),
                    Span::styled(line.clone().into_owned(), ink.warning()),
                ]));
            }
        }
        Drawn {
            below,
            ..draw_edit(&self.edit, sheet, self.is_secret)
        }
    }
}
