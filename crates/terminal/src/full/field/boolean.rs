//! `boolean`: yes or no, side by side. Neither is preselected.

use ratatui_core::text::{Line, Span};
use serde_json::Value;

use super::{DrawContext, Editor, KeyOutcome, RenderedField};
use crate::full::event::Key;

pub(super) struct BooleanEditor {
    on: Option<bool>,
    is_required: bool,
}

impl BooleanEditor {
    pub(super) fn new(is_required: bool) -> Self {
        Self {
            on: None,
            is_required,
        }
    }

    fn set(&mut self, on: Option<bool>) -> KeyOutcome {
        if on == self.on {
            return KeyOutcome::Moved;
        }
        self.on = on;
        KeyOutcome::Changed
    }
}

impl Editor for BooleanEditor {
    fn load(&mut self, answer: &Value) {
        let on = match answer {
            Value::Bool(on) => Some(*on),
            Value::String(word) => word.parse().ok(),
            _ => None,
        };
        self.set(on);
    }

    fn answer(&self) -> Option<Value> {
        self.on.map(Value::from)
    }

    fn key(&mut self, key: Key) -> KeyOutcome {
        match key {
            Key::Enter => KeyOutcome::Next,
            // Of the languages that there are texts for, German says “ja”.
            Key::Char('y' | 'Y' | 'j' | 'J') | Key::Left => self.set(Some(true)),
            Key::Char('n' | 'N') | Key::Right => self.set(Some(false)),
            Key::Char(' ') => self.set(Some(self.on != Some(true))),
            Key::Delete | Key::Backspace => self.set(None),
            // Other letters are mistakes, and must not trigger anything else.
            Key::Char(_) => KeyOutcome::Moved,
            _ => KeyOutcome::Ignored,
        }
    }

    fn paste(&mut self, _: &str) -> KeyOutcome {
        KeyOutcome::Moved
    }

    fn draw(&self, context: DrawContext<'_>) -> RenderedField {
        let (theme, texts) = (context.theme, context.texts);
        let side = |on: bool, word: &'static str| {
            let is_chosen = self.on == Some(on);
            let style = if is_chosen {
                theme.highlighted()
            } else {
                theme.normal()
            };
            [
                Span::styled(theme.radio(is_chosen), style),
                Span::styled(word, style),
            ]
        };
        let mut spans = side(true, texts.yes).to_vec();
        spans.push(Span::raw("   "));
        spans.extend(side(false, texts.no));
        RenderedField {
            rows: vec![Line::from(spans)],
            cursor: None,
            below: Vec::new(),
            help: if self.is_required {
                texts.help.boolean
            } else {
                texts.help.optional_boolean
            },
            keys: vec![texts.keys.answer, ("Enter", texts.keys.send)],
        }
    }
}
