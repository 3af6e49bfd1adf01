//! `select`: one option of a list. Enter chooses the highlighted one.

use entreat_core::form::Options;
use ratatui_core::text::{Line, Span};
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::{DrawContext, Editor, KeyOutcome, RenderedField, as_text};
use crate::full::event::Key;
use crate::full::list::{List, ListRow};
use crate::full::theme::truncate;
use crate::safe_text::one_line;

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

    fn draw(&self, context: DrawContext<'_>) -> RenderedField {
        let theme = context.theme;
        if context.is_inline {
            let sign = |value: &str| match &self.chosen {
                // A default is chosen already; otherwise Enter chooses.
                Some(chosen) => theme.radio(chosen == value),
                None => "",
            };
            let keys = context.texts.keys;
            let arrows = theme.symbol("\u{2191}\u{2193}", "Up/Down");
            return RenderedField {
                keys: vec![(arrows, keys.choose), keys.search, ("Enter", keys.send)],
                ..draw_inline(&self.list, sign, context)
            };
        }
        let chosen = match &self.chosen {
            Some(value) => Span::raw(truncate(self.list.title(value), context.width)),
            None => Span::styled((context.texts.selected)(0), theme.dim()),
        };
        let sign = |value: &str| theme.radio(self.chosen.as_deref() == Some(value));
        RenderedField {
            rows: vec![Line::from(chosen)],
            cursor: None,
            below: draw_list(&self.list, sign, context),
            help: context.texts.help.select,
            keys: Vec::new(),
        }
    }
}

/// Draws a list in place: the search beside the question, the visible options below it.
pub(super) fn draw_inline(
    list: &List,
    sign: impl Fn(&str) -> &'static str,
    context: DrawContext<'_>,
) -> RenderedField {
    let (theme, texts) = (context.theme, context.texts);
    let query = truncate(&one_line(list.query()), context.width.saturating_sub(1));
    let cursor = (0, query.width());
    let rows = list.window(context.max_rows);
    let mut below: Vec<Line<'static>> = rows
        .map(|row| {
            let (mark, style) = if row.is_highlighted {
                ("> ", theme.key())
            } else {
                ("  ", theme.normal())
            };
            let sign = sign(row.value);
            let room = context.full_width.saturating_sub(mark.len() + sign.width());
            Line::from(vec![
                Span::styled(mark, theme.key()),
                Span::styled(sign, style),
                Span::styled(truncate(row.title, room), style),
            ])
        })
        .collect();
    let (found, all) = (list.found(), list.len());
    let words = match found {
        0 => Some(texts.no_match.to_owned()),
        _ if found > context.max_rows => Some((texts.matches)(found, all)),
        _ => None,
    };
    if let Some(words) = words {
        let words = truncate(&words, context.full_width);
        below.push(Line::from(Span::styled(words, theme.dim())));
    }
    RenderedField {
        rows: vec![Line::from(query)],
        cursor: Some(cursor),
        below,
        ..RenderedField::default()
    }
}

/// Draws the search and the visible options, each with the sign of its value.
pub(super) fn draw_list(
    list: &List,
    sign: impl Fn(&str) -> &'static str,
    context: DrawContext<'_>,
) -> Vec<Line<'static>> {
    let rows = list.window(context.max_rows);
    let rows = rows.map(|row| draw_item(&row, sign(row.value), context));
    draw_search(list, context).into_iter().chain(rows).collect()
}

/// Draws one option. Its title is the asker's text, so it follows the bar.
fn draw_item(row: &ListRow<'_>, sign: &'static str, context: DrawContext<'_>) -> Line<'static> {
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
fn draw_search(list: &List, context: DrawContext<'_>) -> Option<Line<'static>> {
    let (found, all) = (list.found(), list.len());
    if list.query().is_empty() && all <= 10 {
        return None;
    }
    let (theme, texts) = (context.theme, context.texts);
    let words = if list.query().is_empty() {
        (texts.options)(all)
    } else {
        (texts.found)(found, all)
    };
    Some(if list.query().is_empty() {
        Line::from(Span::styled(words, theme.dim()))
    } else {
        Line::from(vec![
            Span::styled(texts.search, theme.key()),
            Span::raw(truncate(&one_line(list.query()), 30)),
            Span::styled(format!("   {words}"), theme.dim()),
        ])
    })
}
