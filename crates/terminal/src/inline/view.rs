//! Draws a model in a few lines.

use entreat_core::{Field, FieldError, Kind};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use crate::full::{
    Body, DrawContext, FileError, Frame, Leaving, Model, Theme, clock, truncate, wrapped,
};
use crate::question::FormReply;
use crate::review;
use crate::safe_text::one_line;
use crate::texts::Texts;
use crate::typography::quoted;

/// The smallest usable window.
const MIN_SIZE: (usize, usize) = (12, 4);
/// The mark before a question, and the indentation of what belongs to it.
const MARK: &str = "? ";
/// The room that a typed answer needs beside its question.
const ANSWER_ROOM: usize = 24;
/// The rows of a list.
const LIST_ROWS: usize = 7;

pub(crate) fn is_too_small((columns, rows): (usize, usize)) -> bool {
    columns < MIN_SIZE.0 || rows < MIN_SIZE.1
}

/// Draws a question below its introduction, if that is still to be shown.
pub(crate) fn draw(model: &Model, has_introduction: bool) -> Frame {
    let theme = Theme::new(model.style);
    let texts = model.texts;
    let (columns, rows) = model.size;
    if is_too_small(model.size) {
        let words = truncate(texts.too_small, columns.saturating_sub(1));
        return Frame::new(vec![Line::from(words)], theme);
    }
    let view = InlineView {
        model,
        theme,
        texts,
        // Terminals differ in what they do after the last column.
        width: columns - 1,
    };
    let mut body = Body::default();
    if has_introduction {
        view.introduce(&mut body);
    }
    let above = body.lines.len();
    view.question(&mut body);
    view.fit(body, above, rows)
}

/// Draws who asks, and why. Empty if the question says everything.
pub(crate) fn introduction(model: &Model) -> Vec<Line<'static>> {
    let theme = Theme::new(model.style);
    let view = InlineView {
        model,
        theme,
        texts: model.texts,
        width: model.size.0.saturating_sub(1).max(1),
    };
    let mut body = Body::default();
    view.introduce(&mut body);
    let lines = body.lines.into_iter();
    lines.map(|line| theme.to_terminal(line)).collect()
}

/// Draws the line that stays: the question and, once sent, its answer.
pub(crate) fn closing_line(model: &Model, reply: Option<&FormReply>) -> Line<'static> {
    let theme = Theme::new(model.style);
    let Some(field) = model.form.fields().first() else {
        return Line::default();
    };
    let width = model.size.0.saturating_sub(1);
    let answer = match reply {
        Some(FormReply::Answered(_)) => answer(model, field),
        Some(FormReply::Declined | FormReply::Cancelled) | None => String::new(),
    };
    let room = width.saturating_sub(MARK.len());
    // The answer matters most; the question was read.
    let answer = truncate(&answer, room / 2);
    let taken = match answer.width() {
        0 => 0,
        answer => answer + 2,
    };
    let label = truncate(&one_line(field.label()), room.saturating_sub(taken));
    let mut spans = vec![
        Span::styled(MARK, theme.key()),
        Span::styled(label, theme.bold()),
    ];
    if taken > 0 {
        spans.push(Span::raw("  "));
        spans.push(Span::styled(answer, theme.answer()));
    }
    theme.to_terminal(Line::from(spans))
}

/// Formats the answer as the person knows it.
fn answer(model: &Model, field: &Field) -> String {
    let progress = model.progress();
    let answer = progress.answer(field.id());
    match (answer, field.kind()) {
        (None, _) => String::new(),
        (Some(answer), Kind::Text(_) | Kind::Url(_)) if !field.is_sensitive() => {
            one_line(answer.as_str().unwrap_or_default())
        }
        (Some(answer), Kind::Select(options)) if !field.is_sensitive() => {
            let value = answer.as_str().unwrap_or_default();
            let titled = options.iter().find(|(other, _)| *other == value);
            one_line(titled.map_or(value, |(_, title)| title))
        }
        (Some(answer), _) => review::in_brief(&model.messages, field, answer),
    }
}

struct InlineView<'m> {
    model: &'m Model,
    theme: Theme,
    texts: &'static Texts,
    width: usize,
}

impl InlineView<'_> {
    /// Draws the asker, its message, and what the form says about itself.
    fn introduce(&self, body: &mut Body) {
        let (model, theme, width) = (self.model, self.theme, self.width);
        if let Some(asker) = &model.asker {
            let words = (self.texts.asks)(&quoted(asker));
            body.write_own(&words, width, theme.bold());
        }
        let Some(field) = model.form.fields().first() else {
            return;
        };
        let title = one_line(model.form.title());
        let title = Some(title).filter(|title| *title != one_line(field.label()));
        if let Some(message) = &model.message {
            body.write_prose(message, model.text_format, width, theme);
        }
        if let Some(title) = title {
            body.write_quoted(&title, width, theme, theme.bold());
        }
        let parts = [
            model.form.description(),
            field.description(),
            field.rendering().help_text.as_deref(),
        ];
        for text in parts.into_iter().flatten() {
            body.write_prose(text, model.text_format, width, theme);
        }
        if let Some(place) = model.messages.saved_to(field) {
            body.write_quoted(&place, width, theme, theme.normal());
        }
        for notice in &model.notices {
            body.write_own(&one_line(notice), width, theme.warning());
        }
    }

    fn question(&self, body: &mut Body) {
        let Some((index, field)) = self.model.form.fields().iter().enumerate().next() else {
            return;
        };
        let (theme, indent) = (self.theme, MARK.len());
        let room = self.width.saturating_sub(indent).max(1);
        let label = one_line(field.label());
        let labels: Vec<String> = textwrap::wrap(label.trim(), room)
            .into_iter()
            .map(std::borrow::Cow::into_owned)
            .collect();
        let last = labels.last().map_or(0, |label| label.width());
        // Beside the question if there is room, else below it.
        let beside = indent + last + 2;
        let is_beside = beside + ANSWER_ROOM <= self.width || self.is_short(field, beside);
        let column = if is_beside { beside } else { indent };
        let context = DrawContext {
            theme,
            texts: self.texts,
            messages: &self.model.messages,
            width: self.width.saturating_sub(column).max(1),
            full_width: self.width,
            max_rows: self.model.size.1.saturating_sub(4).clamp(1, LIST_ROWS),
            is_inline: true,
        };
        let drawn = self.model.editors[index].draw(context);
        for (i, label) in labels.into_iter().enumerate() {
            let mark = if i == 0 { MARK } else { "  " };
            body.push(vec![
                Span::styled(mark, theme.key()),
                Span::styled(label, theme.bold()),
            ]);
        }
        // A list that is not searched needs no line for the search.
        let is_list = matches!(field.kind(), Kind::Select(_) | Kind::MultiSelect(_));
        let is_unsearched = is_list && drawn.rows.iter().all(|row| row.width() == 0);
        let (is_beside, column) = if is_unsearched {
            (true, beside)
        } else {
            (is_beside, column)
        };
        let mut rows = drawn.rows.into_iter();
        let mut first = body.lines.len();
        if is_beside {
            first -= 1;
            if let (Some(line), Some(row)) = (body.lines.last_mut(), rows.next()) {
                line.spans.push(Span::raw("  "));
                line.spans.extend(row.spans);
            }
        }
        for row in rows {
            body.indented(column, &row);
        }
        if let Some((row, at)) = drawn.cursor {
            let at = (column + at).min(self.width);
            body.cursor = Some((at, first + row));
        }
        for line in drawn.below {
            body.push(line);
        }
        self.errors(body, index);
        self.help(body, field, drawn.keys);
    }

    /// Whether an answer needs little room: yes or no.
    fn is_short(&self, field: &Field, column: usize) -> bool {
        let both = self.texts.yes.width() + self.texts.no.width() + 11;
        matches!(field.kind(), Kind::Boolean) && column + both <= self.width
    }

    fn errors(&self, body: &mut Body, index: usize) {
        for FieldError { message, .. } in self.model.errors() {
            self.marked(body, &one_line(&message), self.theme.error());
        }
        match self.model.file_errors(index) {
            Some(FileError::Refused(words) | FileError::Unreadable(words)) => {
                self.marked(body, &one_line(words), self.theme.error());
            }
            None => {}
        }
    }

    /// Draws a line with an exclamation mark.
    fn marked(&self, body: &mut Body, words: &str, style: Style) {
        let rows = wrapped(words, self.width.saturating_sub(2), style);
        for (i, row) in rows.into_iter().enumerate() {
            let mark = if i == 0 { "! " } else { "  " };
            let mut spans = vec![Span::styled(mark, style)];
            spans.extend(row.spans);
            body.push(spans);
        }
    }

    /// Draws what is expected, and what the keys do.
    fn help(&self, body: &mut Body, field: &Field, keys: Vec<(&'static str, &'static str)>) {
        let (model, theme, texts) = (self.model, self.theme, self.texts);
        if let Some(leaving) = model.leaving {
            let words = match leaving {
                Leaving::Cancel => texts.leave_again,
                Leaving::Decline => texts.decline_again,
            };
            self.marked(body, words, theme.warning());
            return body.write_own(texts.stay, self.width, theme.dim());
        }
        if let Some(status) = &model.status
            && model.errors().is_empty()
        {
            self.marked(body, status, theme.warning());
        }
        let example = field.rendering().placeholder.as_deref();
        let example = example.map(|example| (texts.example)(&quoted(example)));
        let hint = match field.kind() {
            // The options are listed, and the keys say the rest.
            Kind::Boolean | Kind::Select(_) | Kind::MultiSelect(_) => None,
            Kind::Text(_) | Kind::Number(_) | Kind::Date(_) | Kind::Url(_) | Kind::File(_) => {
                Some((texts.hint)(field, &model.messages)).filter(|hint| !hint.is_empty())
            }
        };
        for words in [hint, example].into_iter().flatten() {
            body.write_own(&words, self.width, theme.dim());
        }
        let mut all = keys;
        all.push(("Esc", texts.keys.cancel));
        all.push(("Ctrl-X", texts.keys.decline));
        // Quiet until it matters; the key works before.
        if model
            .time
            .is_some_and(|time| time.is_short && time.can_be_extended())
        {
            all.push(("Ctrl-T", texts.keys.more_time));
        }
        self.keys(body, &all);
    }

    /// Draws keys and their effects on as many lines as needed, and the time if it is short.
    fn keys(&self, body: &mut Body, keys: &[(&'static str, &'static str)]) {
        let theme = self.theme;
        let mut items: Vec<Vec<Span<'static>>> = Vec::new();
        if let Some(time) = self.model.time.filter(|time| time.is_short) {
            let words = (self.texts.time_left)(&clock(time.left, self.texts));
            items.push(vec![Span::styled(format!("! {words}"), theme.warning())]);
        }
        items.extend(keys.iter().map(|(key, words)| {
            vec![
                Span::styled(self.texts.key_name(key), theme.key()),
                Span::styled(format!(" {words}"), theme.dim()),
            ]
        }));
        let mut line: Vec<Span<'static>> = Vec::new();
        let mut taken = 0;
        for item in items {
            let width: usize = item.iter().map(|span| span.content.width()).sum();
            if taken > 0 && taken + 3 + width > self.width {
                body.push(std::mem::take(&mut line));
                taken = 0;
            }
            if taken > 0 {
                line.push(Span::raw("   "));
                taken += 3;
            }
            line.extend(item);
            taken += width;
        }
        body.push(line);
    }

    /// Cuts what does not fit into the window: first the introduction, then the help.
    fn fit(&self, mut body: Body, above: usize, rows: usize) -> Frame {
        let excess = body.lines.len().saturating_sub(rows);
        // One more for the line that says so.
        let cut = if excess > 0 {
            (excess + 1).min(above)
        } else {
            0
        };
        if cut > 0 {
            let words = (self.texts.more_lines)(cut);
            let words = truncate(&words, self.width);
            let notice = Line::from(Span::styled(words, self.theme.dim()));
            body.lines.splice(..cut, [notice]);
            body.cursor = body.cursor.map(|(column, row)| (column, row + 1 - cut));
        }
        body.lines.truncate(rows);
        let cursor = body.cursor.filter(|(_, row)| *row < rows);
        let lines = body.lines.into_iter().map(|line| clipped(line, self.width));
        Frame {
            cursor,
            ..Frame::new(lines.collect(), self.theme)
        }
    }
}

/// Cuts a line at a width, so that the terminal never wraps it.
fn clipped(line: Line<'static>, width: usize) -> Line<'static> {
    let mut room = width;
    let mut spans = Vec::with_capacity(line.spans.len());
    for span in line.spans {
        let taken = span.content.width();
        if taken <= room {
            room -= taken;
            spans.push(span);
            continue;
        }
        spans.push(Span::styled(truncate(&span.content, room), span.style));
        break;
    }
    Line::from(spans)
}
