//! Draws a model: who asks above, ways out below, the form in between.
//!
//! Whose words are whose: a line that begins with a bar is the asker's, also where the bar stands
//! behind a mark of Entreat's. All others are Entreat's, with what others wrote in quotation
//! marks. Answers stand to the right of their label, or below it where there is no room.

mod form;
mod paper;
mod review;

use std::time::Duration;

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::ink::{Ink, cut};
use super::model::{Leaving, Model, Pane};
use crate::typography::quoted;

pub(crate) use paper::Paper;

/// Below this, nothing could be read.
const LEAST: (usize, usize) = (30, 8);
/// From so many columns on, answers stand beside their labels.
const WIDE: usize = 60;
/// From so many rows on, there is room for rules.
const ROOMY: usize = 14;

/// A whole screen.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<Line<'static>>,
    /// Column and row.
    pub(crate) cursor: Option<(usize, usize)>,
}

/// What of the body is on the screen.
pub(super) struct Extent {
    pub(super) first: usize,
    /// The greatest that `first` may be.
    pub(super) last: usize,
    pub(super) rows: usize,
}

pub(super) fn is_too_small((columns, rows): (usize, usize)) -> bool {
    columns < LEAST.0 || rows < LEAST.1
}

pub(super) fn draw(model: &Model) -> Frame {
    let ink = Ink::new(model.look);
    let (columns, rows) = model.size;
    if is_too_small(model.size) {
        return too_small(ink, rows);
    }
    let below = footer(model, ink);
    let paper = body(model, ink);
    let extent = extent_of(model, &paper, below.len());
    let is_more_above = extent.first > 0;
    let is_more_below = extent.first < extent.last;
    let mut lines = vec![header(model, ink)];
    if rows >= ROOMY {
        lines.push(rule(
            columns,
            ink,
            is_more_above.then_some("PgUp: more above"),
        ));
    }
    let above = lines.len();
    let cursor = paper.cursor.and_then(|(column, row)| {
        let row = row.checked_sub(extent.first)?;
        (row < extent.rows).then_some((column, row + above))
    });
    let body = paper.lines.into_iter().skip(extent.first).take(extent.rows);
    lines.extend(body);
    lines.resize(above + extent.rows, Line::default());
    if rows >= ROOMY {
        lines.push(rule(
            columns,
            ink,
            is_more_below.then_some("PgDn: more below"),
        ));
    }
    lines.extend(below);
    let lines = lines.into_iter().map(|line| ink.on_paper(line)).collect();
    Frame { lines, cursor }
}

pub(super) fn extent(model: &Model) -> Extent {
    let ink = Ink::new(model.look);
    extent_of(model, &body(model, ink), footer(model, ink).len())
}

fn body(model: &Model, ink: Ink) -> Paper {
    match model.pane {
        Pane::Form => form::draw(model, ink),
        Pane::Review { at } => review::draw(model, at, ink),
    }
}

fn extent_of(model: &Model, paper: &Paper, footer: usize) -> Extent {
    let rules = if model.size.1 >= ROOMY { 2 } else { 0 };
    let rows = model.size.1.saturating_sub(1 + rules + footer);
    let last = paper.lines.len().saturating_sub(rows);
    // As much of what stands above as there is room for, and the focus from its first row on.
    let wanted = paper.focus.end.saturating_sub(rows).min(paper.focus.start);
    let first = model.scroll.unwrap_or(wanted).min(last);
    Extent { first, last, rows }
}

fn header(model: &Model, ink: Ink) -> Line<'static> {
    let width = model.size.0;
    let time = model.time.map(|time| {
        let style = if time.is_short {
            ink.warning()
        } else {
            ink.own()
        };
        let sign = if time.is_short { "! " } else { "" };
        Span::styled(format!("{sign}{} left", clock(time.left)), style)
    });
    let taken = time.as_ref().map_or(0, |time| time.content.width() + 2);
    let who = match (&model.asker, model.pane) {
        (Some(asker), Pane::Form) => format!("{} asks", quoted(asker)),
        (None, Pane::Form) => "You are asked".to_owned(),
        (Some(asker), Pane::Review { .. }) => format!("Your answers to {}", quoted(asker)),
        (None, Pane::Review { .. }) => "Your answers".to_owned(),
    };
    // The mark at the end is Entreat's, and stays.
    let who = match who.strip_suffix("” asks") {
        Some(start) if who.width() + taken > width => {
            format!("{}” asks", cut(start, width.saturating_sub(taken + 6)))
        }
        _ => cut(&who, width.saturating_sub(taken)),
    };
    let gap = width.saturating_sub(who.width() + taken.saturating_sub(2));
    let mut spans = vec![Span::styled(who, ink.strong())];
    if let Some(time) = time {
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(time);
    }
    Line::from(spans)
}

/// `4:59`, `1:02:03`.
fn clock(left: Duration) -> String {
    let seconds = left.as_millis().div_ceil(1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

fn rule(width: usize, ink: Ink, words: Option<&str>) -> Line<'static> {
    let words = words.map(|words| format!(" {words} ")).unwrap_or_default();
    let line = ink.rule().repeat(width.saturating_sub(words.width()));
    Line::from(vec![
        Span::styled(line, ink.dim()),
        Span::styled(words, ink.key()),
    ])
}

fn footer(model: &Model, ink: Ink) -> Vec<Line<'static>> {
    let width = model.size.0;
    let mut lines = Vec::new();
    if let Some(leaving) = model.leaving {
        let words = match leaving {
            Leaving::Cancel => "Esc again leaves, and what you typed is lost.",
            Leaving::Decline => "Ctrl-X again refuses to answer.",
        };
        let mut words = paper::wrapped(words, width, ink.warning());
        words.truncate(2);
        lines.extend(words);
        lines.push(Line::from(Span::styled("Any other key stays.", ink.own())));
        return lines;
    }
    if let Some(status) = &model.status {
        lines.push(Line::from(Span::styled(cut(status, width), ink.warning())));
    }
    let on_form: &[(&str, &str)] = &[("Tab", "next"), ("Shift-Tab", "back"), ("Ctrl-R", "review")];
    let on_answer: &[(&str, &str)] = &[("Enter", "change"), ("Up/Down", "choose")];
    let on_send: &[(&str, &str)] = &[("Enter", "send"), ("Up", "choose"), ("Shift-Tab", "back")];
    let moves = match model.pane {
        Pane::Form => on_form,
        Pane::Review { at } if at < model.questions().len() => on_answer,
        Pane::Review { .. } => on_send,
    };
    lines.push(keys(moves, width, ink));
    let mut ways_out = vec![("Ctrl-X", "decline"), ("Esc", "cancel")];
    if model.time.is_some_and(|time| time.extensions_left > 0) {
        ways_out.push(("Ctrl-T", "more time"));
    }
    lines.push(keys(&ways_out, width, ink));
    lines
}

/// Keys and what they do, in as few columns as there are.
pub(super) fn keys(keys: &[(&str, &str)], width: usize, ink: Ink) -> Line<'static> {
    let length: usize = keys.iter().map(|(k, w)| k.len() + w.len() + 4).sum();
    let is_tight = length > width + 3;
    let mut spans = Vec::new();
    for (i, (key, words)) in keys.iter().enumerate() {
        let key = if is_tight {
            key.replace("Ctrl-", "^").replace("Shift-", "S-")
        } else {
            (*key).to_owned()
        };
        if i > 0 {
            spans.push(Span::raw(if is_tight { "  " } else { "   " }));
        }
        spans.push(Span::styled(key, ink.key()));
        spans.push(Span::raw(format!(" {words}")));
    }
    Line::from(spans)
}

fn too_small(ink: Ink, rows: usize) -> Frame {
    let (columns, least_rows) = LEAST;
    let mut lines = vec![
        Line::from("Too small."),
        Line::from(format!("Needs {columns} x {least_rows}.")),
        Line::from("Esc cancels."),
    ];
    lines.truncate(rows);
    let lines = lines.into_iter().map(|line| ink.on_paper(line)).collect();
    Frame {
        lines,
        cursor: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_as_clocks_tell_it() {
        let told = |seconds| clock(Duration::from_secs(seconds));
        assert_eq!([told(0), told(61), told(3723)], ["0:00", "1:01", "1:02:03"]);
    }
}
