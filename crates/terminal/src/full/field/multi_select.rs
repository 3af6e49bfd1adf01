//! `multi_select`: any options of a list, in the order in which they stand there.
//!
//! Enter and Space both choose what is pointed at: Enter on an option must never mean "none".

use std::collections::HashSet;

use entreat_core::form::Options;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::select::{draw_item, draw_search};
use super::{Drawn, Editor, Said, Sheet};
use crate::full::event::Key;
use crate::full::list::List;

pub(super) struct MultiSelectEditor {
    list: List,
    /// All options in order.
    options: Options,
    chosen: HashSet<String>,
    /// What was given and is no option: for the form to refuse.
    strange: Vec<Value>,
}

impl MultiSelectEditor {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            list: List::new(options),
            options: options.clone(),
            chosen: HashSet::new(),
            strange: Vec::new(),
        }
    }
}

impl Editor for MultiSelectEditor {
    fn load(&mut self, answer: &Value) {
        self.chosen.clear();
        self.strange.clear();
        for item in answer.as_array().into_iter().flatten() {
            match item.as_str() {
                Some(value) if self.options.contains(value) => {
                    self.chosen.insert(value.to_owned());
                }
                _ => self.strange.push(item.clone()),
            }
        }
    }

    fn answer(&self) -> Option<Value> {
        let chosen = self.options.values();
        let chosen = chosen.filter(|value| self.chosen.contains(*value));
        let mut all: Vec<Value> = chosen.map(Value::from).collect();
        all.extend(self.strange.iter().cloned());
        (!all.is_empty()).then(|| all.into())
    }

    fn key(&mut self, key: Key) -> Said {
        match key {
            Key::Enter | Key::Char(' ') => match self.list.pointed_at() {
                Some(value) => {
                    if !self.chosen.remove(value) {
                        self.chosen.insert(value.to_owned());
                    }
                    self.strange.clear();
                    Said::Changed
                }
                None => Said::Moved,
            },
            Key::Delete => {
                let is_empty = self.chosen.is_empty() && self.strange.is_empty();
                self.chosen.clear();
                self.strange.clear();
                Said::of_edit(Some(!is_empty))
            }
            key if self.list.key(key) => Said::Moved,
            _ => Said::Nothing,
        }
    }

    fn paste(&mut self, text: &str) -> Said {
        self.list.type_in(text);
        Said::Moved
    }

    fn leave(&mut self) {
        self.list.stop_searching();
    }

    fn draw(&self, sheet: Sheet) -> Drawn {
        let ink = sheet.ink;
        let count = match self.chosen.len() + self.strange.len() {
            0 => "(nothing chosen)".to_owned(),
            count => format!("{count} chosen"),
        };
        let rows = self.list.window(sheet.rows);
        let rows = rows.map(|seen| {
            let is_chosen = self.chosen.contains(seen.value);
            draw_item(&seen, ink.check(is_chosen), sheet)
        });
        let mut below: Vec<_> = draw_search(&self.list, ink).into_iter().collect();
        below.extend(rows);
        Drawn {
            rows: vec![Line::from(Span::styled(count, ink.dim()))],
            cursor: None,
            below,
            help: "Space or Enter chooses, Tab goes on, letters search, Delete chooses nothing.",
        }
    }
}
