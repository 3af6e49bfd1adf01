//! `select`: one option of a list. Enter chooses the highlighted one.

use entreat_core::form::Options;
use ratatui_core::text::{Line, Span};
use serde_json::Value;

use super::{DrawContext, Editor, KeyOutcome, RenderedField, as_text};
use crate::full::event::Key;
use crate::full::list::{List, ListRow};
use crate::full::theme::{Theme, truncate};

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
        self.list.highlight(&chosen);
        self.chosen = Some(chosen).filter(|chosen| !chosen.is_empty());
    }

    fn answer(&self) -> Option<Value> {
        self.chosen.clone().map(Value::from)
    }

    fn key(&mut self, key: Key) -> KeyOutcome {
        match key {
            Key::Enter => match self.list.highlighted() {
                Some(value) => {
                    self.chosen = Some(value.to_owned());
                    KeyOutcome::Next
                }
                // The search has no match: choose nothing, and stay.
                None => KeyOutcome::Moved,
            },
            // In a search, Backspace edits the query.
            Key::Backspace if !self.list.query().is_empty() && self.list.key(key) => {
                KeyOutcome::Moved
            }
            Key::Delete | Key::Backspace => {
                KeyOutcome::from_edit(Some(self.chosen.take().is_some()))
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

    fn draw(&self, context: DrawContext) -> RenderedField {
        let theme = context.theme;
        let chosen = match &self.chosen {
            Some(value) => Span::raw(truncate(self.list.title(value), context.width)),
            None => Span::styled("(nothing selected)", theme.dim()),
        };
        let sign = |value: &str| theme.radio(self.chosen.as_deref() == Some(value));
        RenderedField {
            rows: vec![Line::from(chosen)],
            cursor: None,
            below: draw_list(&self.list, sign, context),
            help: "Arrows move, Enter selects, type to search, Delete clears.",
        }
    }
}

/// Draws the search and the visible options, each with the sign of its value.
pub(super) fn draw_list(
    list: &List,
    sign: impl Fn(&str) -> &'static str,
    context: DrawContext,
) -> Vec<Line<'static>> {
    let rows = list.window(context.max_rows);
    let rows = rows.map(|row| draw_item(&row, sign(row.value), context));
    draw_search(list, context.theme)
        .into_iter()
        .chain(rows)
        .collect()
}

/// Draws one option. Its title is the asker's text, so it follows the bar.
fn draw_item(row: &ListRow<'_>, sign: &'static str, context: DrawContext) -> Line<'static> {
    let theme = context.theme;
    let (mark, style) = if row.is_highlighted {
        ("> ", theme.highlighted())
    } else {
        ("  ", theme.normal())
    };
    let title = truncate(row.title, context.full_width.saturating_sub(8));
    Line::from(vec![
        Span::styled(mark, theme.key()),
        theme.bar(),
        Span::styled(sign, style),
        Span::styled(title, style),
    ])
}

/// Draws the search text and the number of matches; `None` for a short list without a search.
fn draw_search(list: &List, theme: Theme) -> Option<Line<'static>> {
    let (found, all) = (list.found(), list.len());
    if list.query().is_empty() && all <= 10 {
        return None;
    }
    let words = match (list.query().is_empty(), found) {
        (true, _) => format!("{all} options; type to search"),
        (false, 0) => format!("none of {all} match"),
        (false, found) => format!("{found} of {all} match"),
    };
    Some(if list.query().is_empty() {
        Line::from(Span::styled(words, theme.dim()))
    } else {
        Line::from(vec![
            Span::styled("Search: ", theme.key()),
            Span::raw(truncate(&crate::safe_text::one_line(list.query()), 30)),
            Span::styled(format!("   {words}"), theme.dim()),
        ])
    })
}
