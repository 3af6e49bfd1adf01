//! The fields, the one that the person is at with all there is to know about it.

use entreat_core::{Field, FieldError, Progress, ScriptStep};
use ratatui::text::{Line, Span};

use super::WIDE;
use super::paper::{Paper, wrapped};
use crate::full::field::Sheet;
use crate::full::ink::{Ink, cut, fit};
use crate::full::model::{Model, Untaken};
use crate::prompt::hint;
use crate::review;
use crate::safe_text::one_line;
use crate::typography::quoted;

/// What stands below a field is indented by this.
const BELOW: usize = 4;

pub(super) fn draw(model: &Model, ink: Ink) -> Paper {
    let mut paper = Paper::default();
    introduce(&mut paper, model, ink);
    let progress = model.progress();
    let errors = model.errors();
    let scene = Scene {
        model,
        ink,
        progress: &progress,
        errors: &errors,
    };
    scene.strays(&mut paper);
    match &model.script {
        None => {
            for place in 0..model.form.fields().len() {
                scene.field(&mut paper, place);
            }
        }
        Some(script) => {
            let mut place = 0;
            for step in script.steps() {
                match step {
                    ScriptStep::Say(text, _) if progress.takes(&step) => {
                        paper.blank();
                        paper.theirs(text, model.size.0, ink, ink.own());
                    }
                    ScriptStep::Say(..) => {}
                    ScriptStep::Ask(_) => {
                        // Step by step: what comes later is not shown yet.
                        if place > model.reached {
                            break;
                        }
                        scene.field(&mut paper, place);
                        place += 1;
                    }
                }
            }
        }
    }
    paper
}

/// Why it is asked, and what to know beforehand.
fn introduce(paper: &mut Paper, model: &Model, ink: Ink) {
    let width = model.size.0;
    if let Some(message) = &model.message {
        paper.theirs(message, width, ink, ink.own());
    }
    if model.script.is_none() {
        paper.theirs(&one_line(model.form.title()), width, ink, ink.strong());
    }
    if let Some(description) = model.form.description() {
        paper.theirs(description, width, ink, ink.own());
    }
    for notice in &model.notices {
        paper.own(&one_line(notice), width, ink.warning());
    }
    paper.blank();
}

struct Scene<'s> {
    model: &'s Model,
    ink: Ink,
    progress: &'s Progress<'s>,
    errors: &'s [FieldError],
}

impl Scene<'_> {
    fn is_wide(&self) -> bool {
        self.model.size.0 >= WIDE
    }

    /// Columns of a label.
    fn label_width(&self) -> usize {
        if self.is_wide() {
            (self.model.size.0 / 3).min(32)
        } else {
            self.model.size.0.saturating_sub(6)
        }
    }

    /// The column that answers begin at.
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

    /// Errors about nothing that is on the screen.
    fn strays(&self, paper: &mut Paper) {
        let is_here = |error: &&FieldError| {
            let field = self.model.form.field(&error.field);
            field.is_some_and(|field| self.progress.is_shown(field))
        };
        for error in self.errors.iter().filter(|error| !is_here(error)) {
            self.error(paper, &error.message, 0);
        }
    }

    fn field(&self, paper: &mut Paper, place: usize) {
        let field = &self.model.form.fields()[place];
        if !self.progress.is_shown(field) {
            return;
        }
        if self.model.focus == Some(place) {
            let start = paper.lines.len();
            self.focused(paper, place, field);
            paper.focus = start..paper.lines.len();
        } else {
            self.collapsed(paper, field);
            self.wrong(paper, place, field);
        }
    }

    /// What is wrong with a field.
    fn wrong(&self, paper: &mut Paper, place: usize, field: &Field) {
        for error in self.errors.iter().filter(|error| error.field == field.id()) {
            self.error(paper, &error.message, BELOW);
        }
        match self.model.untaken(place) {
            Some(Untaken::Refused(words)) => self.error(paper, words, BELOW),
            Some(Untaken::Unreadable(words)) => {
                let room = self.model.size.0.saturating_sub(BELOW);
                for line in wrapped(&format!("! {words}"), room, self.ink.error()) {
                    paper.indented(BELOW, &line);
                }
            }
            None => {}
        }
    }

    /// Mark, bar, label and star.
    fn label(&self, field: &Field, is_focus: bool) -> Vec<Span<'static>> {
        let ink = self.ink;
        let label = one_line(field.label());
        let style = if is_focus { ink.strong() } else { ink.own() };
        let star = if field.is_required() && !field.is_fixed() {
            "* "
        } else {
            "  "
        };
        vec![
            Span::styled(if is_focus { "> " } else { "  " }, ink.key()),
            ink.bar(),
            Span::styled(fit(&label, self.label_width()), style),
            Span::styled(star, ink.key()),
        ]
    }

    fn collapsed(&self, paper: &mut Paper, field: &Field) {
        let ink = self.ink;
        let is_active = self.progress.is_active(field.id());
        let answer = match self.progress.answer(field.id()) {
            _ if !is_active => Span::styled("(not asked now)", ink.dim()),
            Some(answer) => {
                let words = review::in_brief(field, answer);
                let words = if field.is_fixed() {
                    format!("{words}, not to be changed")
                } else {
                    words
                };
                Span::styled(cut(&words, self.answer_width()), ink.own())
            }
            None => Span::styled(cut(&self.unread(field), self.answer_width()), ink.dim()),
        };
        self.beside(paper, self.label(field, false), Line::from(answer));
    }

    /// What stands for an answer that the form cannot read, or that is not there.
    fn unread(&self, field: &Field) -> String {
        let given = self.model.answers.get(field.id());
        match given.and_then(|given| given.as_str()) {
            Some(_) if field.is_sensitive() => "(a secret, not shown)".to_owned(),
            Some(text) => quoted(text),
            None => review::NO_ANSWER.to_owned(),
        }
    }

    /// An answer beside its label, or below it.
    fn beside(&self, paper: &mut Paper, mut label: Vec<Span<'static>>, answer: Line<'static>) {
        if self.is_wide() {
            label.extend(answer.spans);
            paper.push(label);
        } else {
            paper.push(label);
            paper.indented(BELOW, &answer);
        }
    }

    fn focused(&self, paper: &mut Paper, place: usize, field: &Field) {
        let (ink, width) = (self.ink, self.model.size.0);
        let sheet = Sheet {
            ink,
            width: self.answer_width(),
            wide: width.saturating_sub(BELOW),
            rows: self.model.size.1.saturating_sub(10).clamp(3, 10),
        };
        let drawn = self.model.editors[place].draw(sheet);
        let label = self.label(field, true);
        let mut rows = drawn.rows.into_iter();
        let first = paper.lines.len() + usize::from(!self.is_wide());
        self.beside(paper, label, rows.next().unwrap_or_default());
        for row in rows {
            paper.indented(self.answer_column(), &row);
        }
        if let Some((row, column)) = drawn.cursor {
            paper.cursor = Some((self.answer_column() + column, first + row));
        }
        // Before all else: on a small screen the rest may have no room.
        self.wrong(paper, place, field);
        self.words(paper, field, width);
        for line in &drawn.below {
            paper.indented(BELOW, line);
        }
        for line in wrapped(drawn.help, width.saturating_sub(BELOW), ink.dim()) {
            if line.width() > 0 {
                paper.indented(BELOW, &line);
            }
        }
    }

    /// What there is to know about a field: the asker's words, then the hint.
    fn words(&self, paper: &mut Paper, field: &Field, width: usize) {
        let ink = self.ink;
        let mut theirs = Paper::default();
        let label = one_line(field.label());
        if cut(&label, self.label_width()) != label {
            theirs.theirs(&label, width.saturating_sub(BELOW), ink, ink.strong());
        }
        let rendering = field.rendering();
        let parts = [
            field.description(),
            rendering.help_text.as_deref(),
            rendering.placeholder.as_deref(),
        ];
        for words in parts.into_iter().flatten() {
            theirs.theirs(words, width.saturating_sub(BELOW), ink, ink.own());
        }
        for line in &theirs.lines {
            paper.indented(BELOW, line);
        }
        let options = field.kind().options();
        let hint = match options {
            // The list speaks for itself.
            Some(_) => String::new(),
            None => hint(field),
        };
        let required = if field.is_required() {
            "Required. "
        } else {
            ""
        };
        let hint = format!("{required}{hint}");
        for line in wrapped(hint.trim(), width.saturating_sub(BELOW), ink.dim()) {
            if line.width() > 0 {
                paper.indented(BELOW, &line);
            }
        }
    }

    /// Sentences about errors hold labels, and may be the form author's own.
    fn error(&self, paper: &mut Paper, message: &str, indent: usize) {
        let ink = self.ink;
        let room = self.model.size.0.saturating_sub(indent + 4).max(10);
        let message = one_line(message);
        for (i, row) in textwrap::wrap(&message, room).iter().enumerate() {
            let sign = if i == 0 { "! " } else { "  " };
            let line = Line::from(vec![
                Span::styled(sign, ink.error()),
                ink.bar(),
                Span::styled(row.clone().into_owned(), ink.error()),
            ]);
            paper.indented(indent, &line);
        }
    }
}
