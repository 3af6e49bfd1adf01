//! `url`: typed, with warnings shown at once.

use entreat_core::url_guard::{Warning, inspect};
use ratatui_core::text::{Line, Span};
use serde_json::Value;

use super::line::LineEditor;
use super::{DrawContext, Editor, KeyOutcome, RenderedField};
use crate::full::event::Key;

pub(super) struct UrlEditor(LineEditor);

impl UrlEditor {
    pub(super) fn new(is_secret: bool) -> Self {
        Self(LineEditor::new(is_secret))
    }

    /// Returns the URL guard's warnings; none while the input is not yet a URL.
    fn warnings(&self) -> Vec<Warning> {
        let card = inspect(self.0.typed(), None);
        match card.highlight {
            Some(_) => card.warnings,
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

    fn key(&mut self, key: Key) -> KeyOutcome {
        self.0.key(key)
    }

    fn paste(&mut self, text: &str) -> KeyOutcome {
        self.0.paste(text.trim())
    }

    fn draw(&self, context: DrawContext<'_>) -> RenderedField {
        let theme = context.theme;
        let mut below = Vec::new();
        for warning in self.warnings() {
            let words = context.messages.url_warning(warning);
            let lines = textwrap::wrap(&words, context.full_width.saturating_sub(2).max(10));
            for (i, line) in lines.iter().enumerate() {
                let sign = if i == 0 { "! " } else { "  " };
                below.push(Line::from(vec![
                    Span::styled(sign, theme.warning()),
                    Span::styled(line.clone().into_owned(), theme.warning()),
                ]));
            }
        }
        RenderedField {
            below,
            ..self.0.draw(context)
        }
    }
}
