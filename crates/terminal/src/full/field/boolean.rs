//! `boolean`: yes or no, side by side.
//!
//! One that is required is shown off, and left so it says no. One that is not may also be left
//! without an answer.

use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{Drawn, Editor, Said, Sheet};
use crate::full::event::Key;

pub(super) struct BooleanEditor {
    on: Option<bool>,
    is_required: bool,
}

impl BooleanEditor {
    pub(super) fn new(is_required: bool) -> Self {
        Self {
            on: is_required.then_some(false),
            is_required,
        }
    }

    fn set(&mut self, on: Option<bool>) -> Said {
        let on = on.or(self.is_required.then_some(false));
        if on == self.on {
            return Said::Moved;
        }
        self.on = on;
        Said::Changed
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

    fn key(&mut self, key: Key) -> Said {
        match key {
            Key::Enter => Said::Next,
            Key::Char('y' | 'Y') | Key::Left => self.set(Some(true)),
            Key::Char('n' | 'N') | Key::Right => self.set(Some(false)),
            Key::Char(' ') => self.set(Some(self.on != Some(true))),
            Key::Delete | Key::Backspace => self.set(None),
            // Other letters are typed by mistake, and go nowhere else.
            Key::Char(_) => Said::Moved,
            _ => Said::Nothing,
        }
    }

    fn paste(&mut self, _: &str) -> Said {
        Said::Moved
    }

    fn draw(&self, sheet: Sheet) -> Drawn {
        let ink = sheet.ink;
        let side = |on: bool, word: &'static str| {
            let is_chosen = self.on == Some(on);
            let style = if is_chosen { ink.pointed() } else { ink.own() };
            [
                Span::styled(ink.radio(is_chosen), style),
                Span::styled(word, style),
            ]
        };
        let mut spans = side(true, "yes").to_vec();
        spans.push(Span::raw("   "));
        spans.extend(side(false, "no"));
        Drawn {
            rows: vec![Line::from(spans)],
            cursor: None,
            below: Vec::new(),
            help: if self.is_required {
                "y or n, or Space."
            } else {
                "y or n, or Space; Delete leaves it without an answer."
            },
        }
    }
}
