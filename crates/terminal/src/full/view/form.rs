//! Draws the fields, the focused one in detail.

use entreat_core::{Field, FieldError, Progress, ScriptStep};
use ratatui_core::text::{Line, Span};

use super::WIDE_COLUMNS;
use super::body::{Body, wrapped};
use crate::full::field::DrawContext;
use crate::full::model::{FileError, Model};
use crate::full::theme::{Theme, fit, truncate};
use crate::review;
use crate::safe_text::one_line;
use crate::sections::headings;
use crate::typography::quoted;

/// The indentation of text below a field.
const BELOW: usize = 4;

pub(super) fn draw(model: &Model, theme: Theme) -> Body {
    let mut body = Body::default();
    introduce(&mut body, model, theme);
    let progress = model.progress();
    let errors = model.errors();
    let view = FormView {
        model,
        theme,
        progress: &progress,
        errors: &errors,
        headings: headings(&model.form, |field| progress.is_shown(field)),
    };
    view.unplaced_errors(&mut body);
    match &model.script {
        None => {
            for index in 0..model.form.fields().len() {
                view.field(&mut body, index);
            }
        }
        Some(script) => {
            let mut index = 0;
            for step in script.steps() {
                match step {
                    ScriptStep::Say(text, _) if progress.includes(&step) => {
                        body.blank();
                        body.write_prose(text, model.text_format, model.size.0, theme);
                    }
                    ScriptStep::Say(..) => {}
                    ScriptStep::Ask(_) => {
                        // Later steps are not shown yet.
                        if index > model.reached {
                            break;
                        }
                        view.field(&mut body, index);
                        index += 1;
                    }
                }
            }
        }
    }
    body
}

/// Draws the asker's message and the notices.
fn introduce(body: &mut Body, model: &Model, theme: Theme) {
    let width = model.size.0;
    if let Some(message) = &model.message {
        body.write_prose(message, model.text_format, width, theme);
    }
    if model.script.is_none() {
        body.write_quoted(&one_line(model.form.title()), width, theme, theme.bold());
    }
    if let Some(description) = model.form.description() {
        body.write_prose(description, model.text_format, width, theme);
    }
    for notice in &model.notices {
        body.write_own(&one_line(notice), width, theme.warning());
    }
    body.blank();
}

struct FormView<'s> {
    model: &'s Model,
    theme: Theme,
    progress: &'s Progress<'s>,
    errors: &'s [FieldError],
    headings: Vec<Option<&'s str>>,
}

impl FormView<'_> {
    fn is_wide(&self) -> bool {
        self.model.size.0 >= WIDE_COLUMNS
    }

    /// The width of a label.
    fn label_width(&self) -> usize {
        if self.is_wide() {
            (self.model.size.0 / 3).min(32)
        } else {
            self.model.size.0.saturating_sub(6)
        }
    }

    /// The column where answers start.
    fn answer_column(&self) -> usize {
        if self.is_wide() {
            // Mark, bar, label, star.
            2 + 2 + self.label_width() + 2
        } else {
            BELOW
        }
    }

    fn answer_width(&self) -> usize {
        self.model
            .size
            .0
            .saturating_sub(self.answer_column())
            .max(10)
    }

    /// Draws errors of fields that are not shown.
    fn unplaced_errors(&self, body: &mut Body) {
        let is_here = |error: &&FieldError| {
            let field = self.model.form.field(&error.field);
            field.is_some_and(|field| self.progress.is_shown(field))
        };
        for error in self.errors.iter().filter(|error| !is_here(error)) {
            self.error(body, &error.message, 0);
        }
    }

    fn field(&self, body: &mut Body, index: usize) {
        let field = &self.model.form.fields()[index];
        if !self.progress.is_shown(field) {
            return;
        }
        if let Some(heading) = self.headings[index] {
            body.write_heading(heading, self.model.size.0, self.theme);
        }
        if self.model.focus == Some(index) {
            let start = body.lines.len();
            self.focused(body, index, field);
            body.focus = start..body.lines.len();
        } else {
            self.collapsed(body, field);
            self.field_errors(body, index, field);
        }
    }

    /// Draws the errors of a field.
    fn field_errors(&self, body: &mut Body, index: usize, field: &Field) {
        for error in self.errors.iter().filter(|error| error.field == field.id()) {
            self.error(body, &error.message, BELOW);
        }
        match self.model.file_errors(index) {
            Some(FileError::Refused(words)) => self.error(body, words, BELOW),
            Some(FileError::Unreadable(words)) => {
                let room = self.model.size.0.saturating_sub(BELOW);
                for line in wrapped(&format!("! {words}"), room, self.theme.error()) {
                    body.indented(BELOW, &line);
                }
            }
            None => {}
        }
    }

    /// Draws mark, bar, label and star.
    fn label(&self, field: &Field, is_focus: bool) -> Vec<Span<'static>> {
        let theme = self.theme;
        let label = one_line(field.label());
        let style = if is_focus {
            theme.bold()
        } else {
            theme.normal()
        };
        let star = if field.is_required() && !field.is_fixed() {
            "* "
        } else {
            "  "
        };
        vec![
            Span::styled(if is_focus { "> " } else { "  " }, theme.key()),
            theme.bar(),
            Span::styled(fit(&label, self.label_width()), style),
            Span::styled(star, theme.key()),
        ]
    }

    fn collapsed(&self, body: &mut Body, field: &Field) {
        let theme = self.theme;
        let is_active = self.progress.is_active(field.id());
        let answer = match self.progress.answer(field.id()) {
            _ if !is_active => Span::styled(self.model.texts.not_asked_now, theme.dim()),
            Some(answer) => {
                let words = review::in_brief(&self.model.messages, field, answer);
                let words = if field.is_fixed() {
                    format!("{words}, {}", self.model.texts.read_only)
                } else {
                    words
                };
                Span::styled(truncate(&words, self.answer_width()), theme.normal())
            }
            None => Span::styled(
                truncate(&self.unparsed_answer(field), self.answer_width()),
                theme.dim(),
            ),
        };
        self.beside(body, self.label(field, false), Line::from(answer));
    }

    /// Formats an answer that does not parse or is missing.
    fn unparsed_answer(&self, field: &Field) -> String {
        let given = self.model.answers.get(field.id());
        match given.and_then(|given| given.as_str()) {
            Some(_) if field.is_sensitive() => self.model.texts.secret.to_owned(),
            Some(text) => quoted(text),
            None => self.model.texts.no_answer.to_owned(),
        }
    }

    /// Draws an answer beside its label, or below it.
    fn beside(&self, body: &mut Body, mut label: Vec<Span<'static>>, answer: Line<'static>) {
        if self.is_wide() {
            label.extend(answer.spans);
            body.push(label);
        } else {
            body.push(label);
            body.indented(BELOW, &answer);
        }
    }

    fn focused(&self, body: &mut Body, index: usize, field: &Field) {
        let (theme, width) = (self.theme, self.model.size.0);
        let context = DrawContext {
            theme,
            width: self.answer_width(),
            full_width: width.saturating_sub(BELOW),
            max_rows: self.model.size.1.saturating_sub(10).clamp(3, 10),
            texts: self.model.texts,
            messages: &self.model.messages,
            is_inline: false,
        };
        let drawn = self.model.editors[index].draw(context);
        let label = self.label(field, true);
        let mut rows = drawn.rows.into_iter();
        let first = body.lines.len() + usize::from(!self.is_wide());
        self.beside(body, label, rows.next().unwrap_or_default());
        for row in rows {
            body.indented(self.answer_column(), &row);
        }
        if let Some((row, column)) = drawn.cursor {
            body.cursor = Some((self.answer_column() + column, first + row));
        }
        // Errors first: on a small screen the rest may not fit.
        self.field_errors(body, index, field);
        self.description(body, field, width);
        for line in &drawn.below {
            body.indented(BELOW, line);
        }
        for line in wrapped(drawn.help, width.saturating_sub(BELOW), theme.dim()) {
            if line.width() > 0 {
                body.indented(BELOW, &line);
            }
        }
    }

    /// Draws the asker's text about a field, then the hint.
    fn description(&self, body: &mut Body, field: &Field, width: usize) {
        let theme = self.theme;
        let mut theirs = Body::default();
        let label = one_line(field.label());
        if truncate(&label, self.label_width()) != label {
            theirs.write_quoted(&label, width.saturating_sub(BELOW), theme, theme.bold());
        }
        let rendering = field.rendering();
        let room = width.saturating_sub(BELOW);
        let parts = [field.description(), rendering.help_text.as_deref()];
        for text in parts.into_iter().flatten() {
            theirs.write_prose(text, self.model.text_format, room, theme);
        }
        if let Some(place) = self.model.messages.saved_to(field) {
            theirs.write_quoted(&place, room, theme, theme.normal());
        }
        if let Some(placeholder) = &rendering.placeholder {
            theirs.write_quoted(placeholder, room, theme, theme.normal());
        }
        for line in &theirs.lines {
            body.indented(BELOW, line);
        }
        let options = field.kind().options();
        let hint = match options {
            // The options are listed.
            Some(_) => String::new(),
            None => (self.model.texts.hint)(field, &self.model.messages),
        };
        let required = if field.is_required() {
            self.model.texts.required
        } else {
            ""
        };
        let hint = format!("{required} {hint}");
        for line in wrapped(hint.trim(), width.saturating_sub(BELOW), theme.dim()) {
            if line.width() > 0 {
                body.indented(BELOW, &line);
            }
        }
    }

    /// Draws an error as untrusted text: it contains labels, and may be the form author's own.
    fn error(&self, body: &mut Body, message: &str, indent: usize) {
        let theme = self.theme;
        let room = self.model.size.0.saturating_sub(indent + 4).max(10);
        let message = one_line(message);
        for (i, row) in textwrap::wrap(&message, room).iter().enumerate() {
            let sign = if i == 0 { "! " } else { "  " };
            let line = Line::from(vec![
                Span::styled(sign, theme.error()),
                theme.bar(),
                Span::styled(row.clone().into_owned(), theme.error()),
            ]);
            body.indented(indent, &line);
        }
    }
}
