//! `select`: one option of a list. The one that is pointed at is chosen by Enter.

use entreat_core::form::Options;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::{Drawn, Editor, Said, Sheet, as_text};
use crate::full::event::Key;
use crate::full::ink::{Ink, cut};
use crate::full::list::{List, Seen};

pub(super) struct SelectEditor {
    list: List,
    chosen: Option<String>,
}

impl SelectEditor {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            list: List::new(options),
            chosen: None,
        }
    }
}

impl Editor for SelectEditor {
    fn load(&mut self, answer: &Value) {
        let chosen = as_text(answer);
        self.list.point_at(&chosen);
        self.chosen = Some(chosen).filter(|chosen| !chosen.is_empty());
    }

    fn answer(&self) -> Option<Value> {
        self.chosen.clone().map(Value::from)
    }

    fn key(&mut self, key: Key) -> Said {
        match key {
            Key::Enter => match self.list.pointed_at() {
                Some(value) => {
                    self.chosen = Some(value.to_owned());
                    Said::Next
                }
                // What was typed fits none: nothing is chosen, and nobody goes on by mistake.
                None => Said::Moved,
            },
            Key::Delete => {
                let was_chosen = self.chosen.take().is_some();
                Said::of_edit(Some(was_chosen))
            }
            Key::Backspace if self.list.query().is_empty() => {
                let was_chosen = self.chosen.take().is_some();
                Said::of_edit(Some(was_chosen))
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
        let chosen = match &self.chosen {
            Some(value) => Span::raw(cut(self.list.title(value), sheet.width)),
            None => Span::styled("(nothing chosen)", ink.dim()),
        };
        let is_chosen = |value: &str| self.chosen.as_deref() == Some(value);
        let rows = self.list.window(sheet.rows);
        let rows = rows.map(|seen| draw_item(&seen, ink.radio(is_chosen(seen.value)), sheet));
        let mut below: Vec<_> = draw_search(&self.list, ink).into_iter().collect();
        below.extend(rows);
        Drawn {
            rows: vec![Line::from(chosen)],
            cursor: None,
            below,
            help: "Arrows move, Enter chooses, letters search, Delete chooses nothing.",
        }
    }
}

/// One option. Its title is the asker's, and stands behind the bar.
pub(super) fn draw_item(seen: &Seen<'_>, sign: &'static str, sheet: Sheet) -> Line<'static> {
    let ink = sheet.ink;
    let (mark, style) = if seen.is_pointed_at {
        ("> ", ink.pointed())
    } else {
        ("  ", ink.own())
    };
    let title = cut(seen.title, sheet.wide.saturating_sub(8));
    Line::from(vec![
        Span::styled(mark, ink.key()),
        ink.bar(),
        Span::styled(sign, style),
        Span::styled(title, style),
    ])
}

/// What is searched for, and how many were found; nothing for a list that is all on the screen.
pub(super) fn draw_search(list: &List, ink: Ink) -> Option<Line<'static>> {
    let (found, all) = (list.found(), list.len());
    if list.query().is_empty() && all <= 10 {
        return None;
    }
    let words = match (list.query().is_empty(), found) {
        (true, _) => format!("{all} options; type to search"),
        (false, 0) => format!("none of {all} fits"),
        (false, found) => format!("{found} of {all} fit"),
    };
    Some(if list.query().is_empty() {
        Line::from(Span::styled(words, ink.dim()))
    } else {
        Line::from(vec![
            Span::styled("Search: ", ink.key()),
            Span::raw(cut(&crate::safe_text::one_line(list.query()), 30)),
            Span::styled(format!("   {words}"), ink.dim()),
        ])
    })
}
