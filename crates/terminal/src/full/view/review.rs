//! Everything once more before it is sent.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::WIDE;
use super::paper::Paper;
use crate::full::ink::{Ink, cut};
use crate::full::model::Model;
use crate::review;
use crate::safe_text::one_line;
use crate::typography::quoted;

pub(super) fn draw(model: &Model, at: usize, ink: Ink) -> Paper {
    let width = model.size.0;
    let mut paper = Paper::default();
    let progress = model.progress();
    if model.questions().is_empty() {
        introduce_nothing(&mut paper, model, ink);
    }
    let mut number = 0;
    for field in progress.active() {
        let is_pointed_at = !field.is_fixed() && number == at;
        number += usize::from(!field.is_fixed());
        let answer = progress.answer(field.id());
        let mut words = answer.map_or_else(
            || review::NO_ANSWER.to_owned(),
            |answer| review::in_full(field, answer),
        );
        if field.is_fixed() {
            words.push_str(", not to be changed");
        }
        let start = paper.lines.len();
        answer_rows(
            &mut paper,
            width,
            &one_line(field.label()),
            &words,
            is_pointed_at,
            ink,
        );
        if is_pointed_at {
            paper.focus = start..paper.lines.len();
        }
    }
    paper.blank();
    let start = paper.lines.len();
    let is_send = at >= number;
    let words = match &model.asker {
        Some(asker) => format!("[ Send to {} ]", quoted(asker)),
        None => "[ Send ]".to_owned(),
    };
    let words = cut(&words, width.saturating_sub(2));
    paper.push(vec![
        Span::styled(if is_send { "> " } else { "  " }, ink.key()),
        Span::styled(words, if is_send { ink.pointed() } else { ink.own() }),
    ]);
    if is_send {
        paper.focus = start..paper.lines.len();
    }
    let help = if number == 0 {
        "Enter sends it."
    } else if is_send {
        "Enter sends this. Up points at an answer to change."
    } else {
        "Enter changes this answer. Down leads to sending."
    };
    paper.own(help, width, ink.dim());
    paper
}

/// A label and its answer, side by side where there is room.
fn answer_rows(
    paper: &mut Paper,
    width: usize,
    label: &str,
    answer: &str,
    is_pointed_at: bool,
    ink: Ink,
) {
    let is_wide = width >= WIDE;
    let label_width = if is_wide {
        (width / 3).min(32)
    } else {
        width.saturating_sub(4)
    };
    let column = if is_wide { label_width + 6 } else { 6 };
    let style = if is_pointed_at {
        ink.pointed()
    } else {
        ink.own()
    };
    let labels = textwrap::wrap(label, label_width.max(10));
    let answers = textwrap::wrap(answer, width.saturating_sub(column).max(10));
    let mut answers = answers.into_iter();
    for (i, row) in labels.iter().enumerate() {
        let mark = if is_pointed_at && i == 0 { "> " } else { "  " };
        let mut spans = vec![
            Span::styled(mark, ink.key()),
            ink.bar(),
            Span::styled(row.clone().into_owned(), style),
        ];
        if is_wide && let Some(answer) = answers.next() {
            let gap = column.saturating_sub(4 + row.width());
            spans.push(Span::raw(" ".repeat(gap)));
            spans.push(Span::styled(answer.into_owned(), ink.strong()));
        }
        paper.push(spans);
    }
    for answer in answers {
        let answer = Span::styled(answer.into_owned(), ink.strong());
        paper.indented(column, &Line::from(answer));
    }
}

/// A form that asks nothing still says something.
fn introduce_nothing(paper: &mut Paper, model: &Model, ink: Ink) {
    let width = model.size.0;
    let title = one_line(model.form.title());
    let parts = [
        model.message.as_deref(),
        Some(&*title),
        model.form.description(),
    ];
    for text in parts.into_iter().flatten() {
        paper.theirs(text, width, ink, ink.own());
    }
    for notice in &model.notices {
        paper.own(&one_line(notice), width, ink.warning());
    }
    paper.blank();
    paper.own("There is nothing to fill in.", width, ink.own());
    paper.blank();
}
