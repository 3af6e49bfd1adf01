//! Draws the review of all answers before submission.

use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::WIDE_COLUMNS;
use super::body::Body;
use crate::full::model::Model;
use crate::full::theme::{Theme, truncate};
use crate::review;
use crate::safe_text::one_line;
use crate::sections::headings;
use crate::typography::quoted;

pub(super) fn draw(model: &Model, at: usize, theme: Theme) -> Body {
    let width = model.size.0;
    let mut body = Body::default();
    let progress = model.progress();
    if model.questions().is_empty() {
        introduce_nothing(&mut body, model, theme);
    }
    let headings = headings(&model.form, |field| progress.is_active(field.id()));
    let mut number = 0;
    for field in progress.active() {
        let index = model.form.position(field.id());
        if let Some(heading) = index.and_then(|index| headings[index]) {
            body.write_heading(heading, width, theme);
        }
        let is_highlighted = !field.is_fixed() && number == at;
        number += usize::from(!field.is_fixed());
        let answer = progress.answer(field.id());
        let mut words = answer.map_or_else(
            || model.texts.no_answer.to_owned(),
            |answer| review::in_full(&model.messages, field, answer),
        );
        if field.is_fixed() {
            words.push_str(", ");
            words.push_str(model.texts.read_only);
        }
        let start = body.lines.len();
        answer_rows(
            &mut body,
            width,
            &one_line(field.label()),
            &words,
            is_highlighted,
            theme,
        );
        if is_highlighted {
            body.focus = start..body.lines.len();
        }
    }
    body.blank();
    let start = body.lines.len();
    let is_send = at >= number;
    let words = match &model.asker {
        Some(asker) => (model.texts.send_button_to)(&quoted(asker)),
        None => model.texts.send_button.to_owned(),
    };
    let words = truncate(&words, width.saturating_sub(2));
    body.push(vec![
        Span::styled(if is_send { "> " } else { "  " }, theme.key()),
        Span::styled(
            words,
            if is_send {
                theme.highlighted()
            } else {
                theme.normal()
            },
        ),
    ]);
    if is_send {
        body.focus = start..body.lines.len();
    }
    let help = if number == 0 {
        model.texts.review_empty
    } else if is_send {
        model.texts.review_send
    } else {
        model.texts.review_change
    };
    body.write_own(help, width, theme.dim());
    body
}

/// Draws a label and its answer, side by side if there is room.
fn answer_rows(
    body: &mut Body,
    width: usize,
    label: &str,
    answer: &str,
    is_highlighted: bool,
    theme: Theme,
) {
    let is_wide = width >= WIDE_COLUMNS;
    let label_width = if is_wide {
        (width / 3).min(32)
    } else {
        width.saturating_sub(4)
    };
    let column = if is_wide { label_width + 6 } else { 6 };
    let style = if is_highlighted {
        theme.highlighted()
    } else {
        theme.normal()
    };
    let labels = textwrap::wrap(label, label_width.max(10));
    let answers = textwrap::wrap(answer, width.saturating_sub(column).max(10));
    let mut answers = answers.into_iter();
    for (i, row) in labels.iter().enumerate() {
        let mark = if is_highlighted && i == 0 { "> " } else { "  " };
        let mut spans = vec![
            Span::styled(mark, theme.key()),
            theme.bar(),
            Span::styled(row.clone().into_owned(), style),
        ];
        if is_wide && let Some(answer) = answers.next() {
            let gap = column.saturating_sub(4 + row.width());
            spans.push(Span::raw(" ".repeat(gap)));
            spans.push(Span::styled(answer.into_owned(), theme.bold()));
        }
        body.push(spans);
    }
    for answer in answers {
        let answer = Span::styled(answer.into_owned(), theme.bold());
        body.indented(column, &Line::from(answer));
    }
}

/// Draws the asker's message and the notices for a form without questions.
fn introduce_nothing(body: &mut Body, model: &Model, theme: Theme) {
    let width = model.size.0;
    if let Some(message) = &model.message {
        body.write_prose(message, model.text_format, width, theme);
    }
    let title = one_line(model.form.title());
    body.write_quoted(&title, width, theme, theme.normal());
    if let Some(description) = model.form.description() {
        body.write_prose(description, model.text_format, width, theme);
    }
    for notice in &model.notices {
        body.write_own(&one_line(notice), width, theme.warning());
    }
    body.blank();
    body.write_own(model.texts.nothing_to_fill_in, width, theme.normal());
    body.blank();
}
