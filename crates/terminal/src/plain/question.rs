//! Asks one question until its answer is valid.

use std::io;

use entreat_core::form::FileRules;
use entreat_core::{CheckSettings, Constraint, Field, FieldError, Kind, ReferenceKind};
use serde_json::Value;

use super::dialogue::{Dialogue, Turn, is_across_fields};
use crate::prompt::file::{self, FetchedFile};
use crate::prompt::line::Line;
use crate::prompt::{self, Ambiguity};
use crate::texts::Need;
use crate::typography::quoted;
use crate::{Reply, review};

/// The effect of Enter on an empty line.
enum EnterAction {
    /// Keeps the draft's value.
    Keep,
    /// Takes the field's default.
    Default(Value),
    /// Leaves the field without an answer.
    NoAnswer,
}

/// The interpretation of a line.
enum LineOutcome {
    /// A raw answer, or none.
    Answer(Option<Value>),
    ReadMore,
    Leave(Turn),
}

impl Dialogue<'_> {
    /// Shows a field that cannot be changed.
    pub(super) fn show_fixed(&mut self, index: usize) -> io::Result<()> {
        let field = &self.form.fields()[index];
        let progress = self.progress();
        let answer = progress.answer(field.id());
        let answer = answer.map_or_else(
            || self.texts.no_answer.to_owned(),
            |answer| review::in_full(self.messages, field, answer),
        );
        drop(progress);
        self.show_section(index)?;
        self.writer.blank()?;
        self.writer.write_own(self.texts.plain.read_only)?;
        self.show_description(index)?;
        self.writer.write_own(&(self.texts.plain.it_is)(&answer))
    }

    /// Shows the heading of a field's section, unless the last field was in it too.
    fn show_section(&mut self, index: usize) -> io::Result<()> {
        let mut sections = self.form.sections();
        let section = sections.find(|section| section.fields.contains(&index));
        let last = std::mem::replace(&mut self.section, section.clone());
        match section.as_ref().and_then(|section| section.heading) {
            Some(heading) if section != last => {
                self.writer.blank()?;
                self.writer.write_section(heading)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn ask(&mut self, index: usize) -> io::Result<Turn> {
        self.show_section(index)?;
        self.show(index)?;
        let field = &self.form.fields()[index];
        // A path is not secret, and is hard to type without echo.
        let is_secret = field.is_sensitive() && !matches!(field.kind(), Kind::File(_));
        let mut files = Vec::new();
        loop {
            let line = self.writer.read(is_secret)?;
            let answer = match self.interpret(index, line, &mut files)? {
                LineOutcome::Answer(answer) => answer,
                LineOutcome::ReadMore => continue,
                LineOutcome::Leave(turn) => return Ok(turn),
            };
            let errors = self.try_answer(index, answer);
            if errors.is_empty() {
                return Ok(Turn::Done);
            }
            self.show_errors(self.texts.plain.not_accepted, &errors)?;
        }
    }

    /// Interprets a line for this field; `files` are the ones accepted so far.
    fn interpret(
        &mut self,
        index: usize,
        line: Line,
        files: &mut Vec<Value>,
    ) -> io::Result<LineOutcome> {
        let field = &self.form.fields()[index];
        let answer = match line {
            Line::Decline => return Ok(LineOutcome::Leave(Turn::Left(Reply::Declined))),
            Line::Cancel => return Ok(LineOutcome::Leave(Turn::Left(Reply::Cancelled))),
            Line::Back => return Ok(LineOutcome::Leave(Turn::Back)),
            Line::Help => {
                self.show(index)?;
                self.writer.commands()?;
                return Ok(LineOutcome::ReadMore);
            }
            // The writer has already reported it.
            Line::Unknown => return Ok(LineOutcome::ReadMore),
            Line::Enter if !files.is_empty() => Some(std::mem::take(files).into()),
            Line::Enter => match self.enter_action(field) {
                EnterAction::Keep => self.draft_value(field).cloned(),
                EnterAction::Default(value) => Some(value),
                EnterAction::NoAnswer => no_answer(field),
            },
            Line::Empty => {
                files.clear();
                no_answer(field)
            }
            Line::Typed(typed) => {
                if let Some(rules) = field.kind().file_rules() {
                    return self.take_file(index, rules, &typed, files);
                }
                match prompt::read(field, &typed) {
                    Ok(value) => Some(value),
                    Err(ambiguity) => {
                        let texts = &self.texts.refusals;
                        self.writer.write_own(match ambiguity {
                            Ambiguity::NumberOrName => texts.number_or_name,
                            Ambiguity::Several => texts.several_options,
                        })?;
                        return Ok(LineOutcome::ReadMore);
                    }
                }
            }
        };
        Ok(LineOutcome::Answer(answer))
    }

    /// Shows everything that a person needs to answer a question.
    fn show(&mut self, index: usize) -> io::Result<()> {
        let field = &self.form.fields()[index];
        let questions = self.questions();
        let number = questions.iter().position(|other| *other == index);
        let need = match (field.is_required(), self.form.allows_partial()) {
            (true, false) => Need::Required,
            (true, true) => Need::RequiredLater,
            (false, _) => Need::Optional,
        };
        self.writer.blank()?;
        let number = number.map_or(0, |number| number + 1);
        let heading = (self.texts.plain.question_of)(number, questions.len(), need);
        self.writer.write_own(&heading)?;
        self.show_description(index)?;
        if let Some(placeholder) = &field.rendering().placeholder {
            let example = (self.texts.example)(&quoted(placeholder));
            self.writer.write_own(&example)?;
        }
        self.writer
            .write_own(&(self.texts.hint)(field, self.messages))?;
        if let Some(options) = field.kind().options() {
            for (number, (_, title)) in options.iter().enumerate() {
                self.writer.write_quoted_item(number + 1, title)?;
            }
        }
        let hint = self.enter_hint(field);
        self.writer.write_own(&hint)
    }

    /// Shows the asker's text about a field.
    fn show_description(&mut self, index: usize) -> io::Result<()> {
        let field = &self.form.fields()[index];
        self.writer.write_quoted_line(field.label())?;
        let words = [field.description(), field.rendering().help_text.as_deref()];
        words
            .into_iter()
            .flatten()
            .try_for_each(|text| self.writer.write_prose(text, self.text_format))?;
        let saved_to = self.messages.saved_to(field);
        saved_to.map_or(Ok(()), |text| self.writer.write_quoted_line(&text))
    }

    fn enter_action(&self, field: &Field) -> EnterAction {
        match (self.draft_value(field), field.default()) {
            (Some(_), _) => EnterAction::Keep,
            (None, Some(default)) => EnterAction::Default(prompt::raw(default)),
            (None, None) => EnterAction::NoAnswer,
        }
    }

    /// Describes what Enter does.
    fn enter_hint(&self, field: &Field) -> String {
        let texts = &self.texts.plain;
        match self.enter_action(field) {
            EnterAction::Keep if self.draft_value(field).is_some_and(Value::is_null) => {
                texts.enter_leaves_empty.to_owned()
            }
            EnterAction::Keep => {
                let progress = self.progress();
                let answer = progress.answer(field.id());
                let answer = answer.map_or_else(
                    || texts.your_answer.to_owned(),
                    |answer| review::in_brief(self.messages, field, answer),
                );
                (texts.enter_keeps)(&answer, field.is_required())
            }
            EnterAction::Default(_) => {
                let default = field
                    .default()
                    .map(|answer| review::in_brief(self.messages, field, answer));
                (texts.enter_takes)(&default.unwrap_or_default(), field.is_required())
            }
            EnterAction::NoAnswer if field.is_required() && !self.form.allows_partial() => {
                String::new()
            }
            EnterAction::NoAnswer => texts.enter_leaves_empty.to_owned(),
        }
    }

    /// The draft's value of a field; null if an answer was cleared.
    fn draft_value(&self, field: &Field) -> Option<&Value> {
        self.answers.get(field.id())
    }

    /// Puts an answer into the draft, or returns its errors.
    ///
    /// Errors across fields are left for the end: the other field may be the one to fix, and may
    /// not have been asked yet. So are all errors of a field that is checked conditionally.
    fn try_answer(&mut self, index: usize, answer: Option<Value>) -> Vec<FieldError> {
        let before = self.replace(index, answer);
        if !self.form.fields()[index].checked_when().is_empty() {
            return Vec::new();
        }
        let errors = self.field_errors(index, &CheckSettings::default());
        if !errors.is_empty() {
            self.replace(index, before);
        }
        errors
    }

    fn replace(&mut self, index: usize, answer: Option<Value>) -> Option<Value> {
        let id = self.form.fields()[index].id();
        let draft = self.answers.as_object_mut()?;
        match answer {
            Some(answer) => draft.insert(id.to_owned(), answer),
            None => draft.shift_remove(id),
        }
    }

    /// Returns the errors of one field, without those across fields.
    fn field_errors(&self, index: usize, settings: &CheckSettings) -> Vec<FieldError> {
        let id = self.form.fields()[index].id();
        let progress = self.form.progress(&self.answers, settings);
        let is_missing = progress.missing().any(|field| field.id() == id);
        let mut errors = progress.errors(self.messages);
        if is_missing
            && !self.form.allows_partial()
            && let Err(violations) = self.form.check_with(&self.answers, settings)
        {
            // Progress only counts missing fields; the message comes with a check.
            errors = violations.errors(self.messages);
        }
        errors.retain(|error| error.field == id && !is_across_fields(error));
        errors
    }

    /// Reads the file at a path; a field for several files waits for more.
    fn take_file(
        &mut self,
        index: usize,
        rules: &FileRules,
        typed: &str,
        files: &mut Vec<Value>,
    ) -> io::Result<LineOutcome> {
        match file::fetch(rules, typed, &self.texts.refusals) {
            Ok(FetchedFile::Whole(upload)) if !self.form.fields()[index].takes_many() => {
                return Ok(LineOutcome::Answer(Some(upload)));
            }
            Ok(FetchedFile::Whole(upload)) => files.push(upload),
            Ok(FetchedFile::TooLarge(placeholder)) => self.report_too_large(index, placeholder)?,
            Err(words) => self.writer.write_own(&words)?,
        }
        if files.len() as u64 == rules.max_items {
            return Ok(LineOutcome::Answer(Some(std::mem::take(files).into())));
        }
        if !files.is_empty() {
            let so_far = (self.texts.plain.files_so_far)(files.len());
            self.writer.write_own(&so_far)?;
        }
        Ok(LineOutcome::ReadMore)
    }

    /// Reports that a file is too large, with the form's own message.
    fn report_too_large(&mut self, index: usize, placeholder: Value) -> io::Result<()> {
        let settings = CheckSettings {
            references: vec![ReferenceKind::Local],
            ..CheckSettings::default()
        };
        let takes_many = self.form.fields()[index].takes_many();
        let answer = if takes_many {
            vec![placeholder].into()
        } else {
            placeholder
        };
        let before = self.replace(index, Some(answer));
        let mut errors = self.field_errors(index, &settings);
        self.replace(index, before);
        errors.retain(|error| error.constraint == Constraint::MaxSize.key());
        if errors.is_empty() {
            // The rule is not active now; it still bounds what is read.
            return self.writer.write_own(self.texts.refusals.file_too_large);
        }
        self.show_errors(self.texts.plain.not_accepted, &errors)
    }
}

/// The draft value for "no answer": null overrides a default, absence does not.
fn no_answer(field: &Field) -> Option<Value> {
    field.default().map(|_| Value::Null)
}
