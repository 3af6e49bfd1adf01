//! `url`: typed, with what a person should know about it shown at once.

use entreat_core::url_guard::{Warning, inspect};
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::line::LineEditor;
use super::{Drawn, Editor, Said, Sheet};
use crate::full::event::Key;

pub(super) struct UrlEditor(LineEditor);

impl UrlEditor {
    pub(super) fn new(is_secret: bool) -> Self {
        Self(LineEditor::new(is_secret))
    }

    /// Warnings of the guard. Of what is not yet an address there is nothing to say.
    fn warnings(&self) -> Vec<&'static str> {
        let card = inspect(self.0.typed(), None);
        match card.highlight {
            Some(_) => card.warnings.iter().map(Warning::message).collect(),
            None => Vec::new(),
        }
    }
}

impl Editor for UrlEditor {
    fn load(&mut self, answer: &Value) {
        self.0.load(answer);
    }

    fn answer(&self) -> Option<Value> {
        self.0.answer()
    }

    fn key(&mut self, key: Key) -> Said {
        self.0.key(key)
    }

    fn paste(&mut self, text: &str) -> Said {
        self.0.paste(text.trim())
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
            ..self.0.draw(sheet)
        }
    }
}
