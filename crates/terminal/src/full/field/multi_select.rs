//! `multi_select`: any number of options, answered in the order of the list.
//!
//! Enter and Space both toggle the highlighted option: Enter on an option must never mean "none".

use std::collections::HashSet;

use entreat_core::form::Options;
use ratatui_core::text::{Line, Span};
use serde_json::Value;

use super::select::{draw_inline, draw_list};
use super::{DrawContext, Editor, KeyOutcome, RenderedField};
use crate::full::event::Key;
use crate::full::list::List;

pub(super) struct MultiSelectEditor {
    list: List,
    /// All options in order.
    options: Options,
    chosen: HashSet<String>,
    /// Loaded values that are not options, for the form to reject.
    unknown: Vec<Value>,
}

impl MultiSelectEditor {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            list: List::new(options),
            options: options.clone(),
            chosen: HashSet::new(),
            unknown: Vec::new(),
        }
    }
}

impl Editor for MultiSelectEditor {
    fn load(&mut self, answer: &Value) {
        self.chosen.clear();
        self.unknown.clear();
        for item in answer.as_array().into_iter().flatten() {
            match item.as_str() {
                Some(value) if self.options.contains(value) => {
                    self.chosen.insert(value.to_owned());
                }
                _ => self.unknown.push(item.clone()),
            }
        }
    }

    fn answer(&self) -> Option<Value> {
        let chosen = self.options.values();
        let chosen = chosen.filter(|value| self.chosen.contains(*value));
        let mut all: Vec<Value> = chosen.map(Value::from).collect();
        all.extend(self.unknown.iter().cloned());
        (!all.is_empty()).then(|| all.into())
    }

    fn key(&mut self, key: Key) -> KeyOutcome {
        match key {
            Key::Enter | Key::Char(' ') => match self.list.highlighted() {
                Some(value) => {
                    if !self.chosen.remove(value) {
                        self.chosen.insert(value.to_owned());
                    }
                    self.unknown.clear();
                    KeyOutcome::Changed
                }
                None => KeyOutcome::Moved,
            },
            Key::Delete => {
                let is_empty = self.chosen.is_empty() && self.unknown.is_empty();
                self.chosen.clear();
                self.unknown.clear();
                KeyOutcome::from_edit(Some(!is_empty))
            }
            key if self.list.key(key) => KeyOutcome::Moved,
            _ => KeyOutcome::Ignored,
        }
    }

    fn paste(&mut self, text: &str) -> KeyOutcome {
        self.list.type_in(text);
        KeyOutcome::Moved
    }

    fn leave(&mut self) {
        self.list.stop_searching();
    }

    fn draw(&self, context: DrawContext<'_>) -> RenderedField {
        let theme = context.theme;
        let sign = |value: &str| theme.check(self.chosen.contains(value));
        if context.is_inline {
            let keys = context.texts.keys;
            let arrows = theme.symbol("\u{2191}\u{2193}", "Up/Down");
            return RenderedField {
                keys: vec![
                    (arrows, keys.choose),
                    ("Space", keys.select),
                    keys.search,
                    ("Tab", keys.send),
                ],
                ..draw_inline(&self.list, sign, context)
            };
        }
        let count = (context.texts.selected)(self.chosen.len() + self.unknown.len());
        RenderedField {
            rows: vec![Line::from(Span::styled(count, theme.dim()))],
            cursor: None,
            below: draw_list(&self.list, sign, context),
            help: context.texts.help.multi_select,
            keys: Vec::new(),
        }
    }
}
