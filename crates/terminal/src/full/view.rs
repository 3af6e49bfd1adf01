//! Draws a model: a header, the form, and a footer with the keys.
//!
//! A line that starts with a bar is the asker's text, also where a mark of Entreat's precedes the
//! bar. All other lines are Entreat's, with untrusted text in quotation marks. Answers are to the
//! right of their label, or below it on narrow screens.

mod body;
mod form;
mod review;

use std::time::Duration;

use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::model::{Leaving, Model, Pane};
use super::theme::{Theme, truncate};
use crate::texts::Texts;
use crate::typography::{quoted, time_left};

pub(crate) use body::{Body, wrapped};

/// The smallest usable window.
const MIN_SIZE: (usize, usize) = (30, 8);
/// From this many columns, answers are beside their labels.
const WIDE_COLUMNS: usize = 60;
/// From this many rows, there is room for horizontal rules.
const ROWS_FOR_RULES: usize = 14;

/// A whole screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<Line<'static>>,
    /// Column and row.
    pub(crate) cursor: Option<(usize, usize)>,
}

impl Frame {
    /// A screen without a cursor.
    pub(crate) fn new(lines: Vec<Line<'static>>, theme: Theme) -> Self {
        let lines = lines.into_iter().map(|line| theme.to_terminal(line));
        Self {
            lines: lines.collect(),
            cursor: None,
        }
    }
}

/// The visible part of the body.
pub(super) struct Viewport {
    pub(super) first: usize,
    /// The maximum of `first`.
    pub(super) last: usize,
    pub(super) rows: usize,
}

pub(super) fn is_too_small((columns, rows): (usize, usize)) -> bool {
    columns < MIN_SIZE.0 || rows < MIN_SIZE.1
}

pub(super) fn draw(model: &Model) -> Frame {
    let theme = Theme::new(model.style);
    let (columns, rows) = model.size;
    if is_too_small(model.size) {
        return too_small(model, theme, rows);
    }
    let below = footer(model, theme);
    let body = body(model, theme);
    let viewport = viewport_of(model, &body, below.len());
    let is_more_above = viewport.first > 0;
    let is_more_below = viewport.first < viewport.last;
    let mut lines = vec![header(model, theme)];
    if rows >= ROWS_FOR_RULES {
        lines.push(rule(
            columns,
            theme,
            is_more_above.then_some(model.texts.more_above),
        ));
    }
    let above = lines.len();
    let cursor = body.cursor.and_then(|(column, row)| {
        let row = row.checked_sub(viewport.first)?;
        (row < viewport.rows).then_some((column, row + above))
    });
    let body = body
        .lines
        .into_iter()
        .skip(viewport.first)
        .take(viewport.rows);
    lines.extend(body);
    lines.resize(above + viewport.rows, Line::default());
    if rows >= ROWS_FOR_RULES {
        lines.push(rule(
            columns,
            theme,
            is_more_below.then_some(model.texts.more_below),
        ));
    }
    lines.extend(below);
    let lines = lines
        .into_iter()
        .map(|line| theme.to_terminal(line))
        .collect();
    Frame { lines, cursor }
}

pub(super) fn viewport(model: &Model) -> Viewport {
    let theme = Theme::new(model.style);
    viewport_of(model, &body(model, theme), footer(model, theme).len())
}

fn body(model: &Model, theme: Theme) -> Body {
    match model.pane {
        Pane::Form => form::draw(model, theme),
        Pane::Review { at } => review::draw(model, at, theme),
    }
}

fn viewport_of(model: &Model, body: &Body, footer: usize) -> Viewport {
    let rules = if model.size.1 >= ROWS_FOR_RULES { 2 } else { 0 };
    let rows = model.size.1.saturating_sub(1 + rules + footer);
    let last = body.lines.len().saturating_sub(rows);
    // Shows as much above the focus as fits, and the focus from its first row.
    let wanted = body.focus.end.saturating_sub(rows).min(body.focus.start);
    let first = model.scroll.unwrap_or(wanted).min(last);
    Viewport { first, last, rows }
}

fn header(model: &Model, theme: Theme) -> Line<'static> {
    let width = model.size.0;
    let time = model.time.map(|time| {
        let style = if time.is_short {
            theme.warning()
        } else {
            theme.normal()
        };
        let sign = if time.is_short { "! " } else { "" };
        Span::styled(
            format!(
                "{sign}{}",
                (model.texts.time_left)(&clock(time.left, model.texts))
            ),
            style,
        )
    });
    let taken = time.as_ref().map_or(0, |time| time.content.width() + 2);
    let texts = model.texts;
    let who = |asker: Option<&str>| match (asker, model.pane) {
        (Some(asker), Pane::Form) => (texts.asks)(asker),
        (None, Pane::Form) => texts.question.to_owned(),
        (Some(asker), Pane::Review { .. }) => (texts.your_answers_to)(asker),
        (None, Pane::Review { .. }) => texts.your_answers.to_owned(),
    };
    let room = width.saturating_sub(taken);
    let asker = model.asker.as_deref().map(quoted);
    let mut words = who(asker.as_deref());
    if let Some(asker) = &asker
        && words.width() > room
        && let Some(start) = asker.strip_suffix('”')
    {
        // The closing mark is Entreat's, and must not be cut off.
        let others = who(Some("”")).width();
        let start = truncate(start, room.saturating_sub(others));
        words = who(Some(&format!("{start}”")));
    }
    let who = truncate(&words, room);
    let gap = width.saturating_sub(who.width() + taken.saturating_sub(2));
    let mut spans = vec![Span::styled(who, theme.bold())];
    if let Some(time) = time {
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(time);
    }
    Line::from(spans)
}

/// Formats `4:59`; what is far away is told in words, such as `2 days`.
pub(crate) fn clock(left: Duration, texts: &Texts) -> String {
    let seconds = left.as_millis().div_ceil(1000);
    if seconds < 3600 {
        format!("{}:{:02}", seconds / 60, seconds % 60)
    } else {
        time_left(left, texts)
    }
}

fn rule(width: usize, theme: Theme, words: Option<&str>) -> Line<'static> {
    let words = words.map(|words| format!(" {words} ")).unwrap_or_default();
    let line = theme.rule().repeat(width.saturating_sub(words.width()));
    Line::from(vec![
        Span::styled(line, theme.dim()),
        Span::styled(words, theme.key()),
    ])
}

fn footer(model: &Model, theme: Theme) -> Vec<Line<'static>> {
    let (width, texts) = (model.size.0, model.texts);
    let named = texts.keys;
    let mut lines = Vec::new();
    if let Some(leaving) = model.leaving {
        let words = match leaving {
            Leaving::Cancel => texts.leave_form_again,
            Leaving::Decline => texts.decline_again,
        };
        let mut words = wrapped(words, width, theme.warning());
        words.truncate(2);
        lines.extend(words);
        lines.push(Line::from(Span::styled(texts.stay, theme.normal())));
        return lines;
    }
    if let Some(status) = &model.status {
        lines.push(Line::from(Span::styled(
            truncate(status, width),
            theme.warning(),
        )));
    }
    let on_form: &[(&str, &str)] = &[
        ("Tab", named.next),
        ("Shift-Tab", named.back),
        ("Ctrl-R", named.review),
    ];
    let on_answer: &[(&str, &str)] = &[("Enter", named.change), ("Up/Down", named.choose)];
    let on_send: &[(&str, &str)] = &[
        ("Enter", named.send),
        ("Up", named.choose),
        ("Shift-Tab", named.back),
    ];
    let moves = match model.pane {
        Pane::Form => on_form,
        Pane::Review { at } if at < model.questions().len() => on_answer,
        Pane::Review { .. } => on_send,
    };
    lines.push(keys(moves, width, texts, theme));
    let mut ways_out = vec![("Ctrl-X", named.decline), ("Esc", named.cancel)];
    if model.time.is_some_and(|time| time.extensions_left > 0) {
        ways_out.push(("Ctrl-T", named.more_time));
    }
    lines.push(keys(&ways_out, width, texts, theme));
    lines
}

/// Draws keys and their effects, abbreviated if the window is narrow.
pub(super) fn keys(
    keys: &[(&str, &str)],
    width: usize,
    texts: &Texts,
    theme: Theme,
) -> Line<'static> {
    let named = keys
        .iter()
        .map(|(key, words)| (texts.key_name(key), *words));
    let named: Vec<(String, &str)> = named.collect();
    let length: usize = named.iter().map(|(k, w)| k.width() + w.width() + 4).sum();
    let is_tight = length > width + 3;
    let mut spans = Vec::new();
    for (i, ((english, _), (key, words))) in keys.iter().zip(named).enumerate() {
        let short = english.replace("Ctrl-", "^").replace("Shift-", "S-");
        let key = if is_tight && short != *english {
            short
        } else {
            key
        };
        if i > 0 {
            spans.push(Span::raw(if is_tight { "  " } else { "   " }));
        }
        spans.push(Span::styled(key, theme.key()));
        spans.push(Span::raw(format!(" {words}")));
    }
    Line::from(spans)
}

fn too_small(model: &Model, theme: Theme, rows: usize) -> Frame {
    let lines = (model.texts.window_needs)(MIN_SIZE.0, MIN_SIZE.1);
    let mut lines: Vec<Line<'static>> = lines.into_iter().map(Line::from).collect();
    lines.truncate(rows);
    Frame::new(lines, theme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_as_clocks_tell_it_once_it_is_short() {
        let told = |seconds| clock(Duration::from_secs(seconds), Texts::ENGLISH);
        assert_eq!([told(0), told(61), told(3599)], ["0:00", "1:01", "59:59"]);
        assert_eq!([told(3723), told(86_395)], ["62 minutes", "1 day"]);
    }
}
