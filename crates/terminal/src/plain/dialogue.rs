//! The control flow of one dialogue: what is asked next, and when it ends.
//!
//! Every turn either shows something once or reads a line, so a dialogue ends with its input at
//! the latest.

use std::io;

use entreat_core::form::Section;
use entreat_core::{
    CheckSettings, Constraint, Field, FieldError, Form, Messages, Progress, Script, ScriptStep,
    TextFormat,
};
use serde_json::{Map, Value};

use super::Plain;
use super::writer::ConsoleWriter;
use crate::prompt::line::Line;
use crate::safe_text::one_line;
use crate::sections::headings;
use crate::texts::Texts;
use crate::typography::{quoted, quoted_long};
use crate::{Console, Reply, review};

pub(crate) struct Dialogue<'d> {
    pub(super) form: &'d Form,
    pub(super) messages: &'d Messages,
    pub(super) texts: &'static Texts,
    asker: Option<&'d str>,
    message: Option<&'d str>,
    pub(super) text_format: TextFormat,
    script: Option<&'d Script>,
    /// By step of the script: whether it was shown.
    shown: Vec<bool>,
    notices: &'d [String],
    listener: Option<&'d dyn Fn(&Value)>,
    pub(super) writer: ConsoleWriter<'d>,
    /// The draft: an object of raw answers.
    pub(super) answers: Value,
    /// By field: asked or shown, and not due to be asked again.
    settled: Vec<bool>,
    /// Indices of the answered questions, in the order they were last asked.
    history: Vec<usize>,
    /// The field to ask next, before any unsettled one.
    next_up: Option<usize>,
    /// The field being changed from the review.
    changing: Option<usize>,
    /// The section of the last field.
    pub(super) section: Option<Section<'d>>,
}

/// The result of asking one question.
pub(super) enum Turn {
    Done,
    Back,
    Left(Reply),
}

impl<'d> Dialogue<'d> {
    pub(super) fn new(
        plain: &Plain<'d>,
        console: &'d mut dyn Console,
        mut draft: Map<String, Value>,
    ) -> Self {
        let texts = Texts::of(plain.messages);
        // The person could not fix an error in a value that is not asked here.
        draft.retain(|id, _| plain.form.field(id).is_some_and(|field| !field.is_fixed()));
        Self {
            form: plain.form,
            messages: plain.messages,
            texts,
            asker: plain.asker,
            message: plain.message,
            text_format: plain.text_format,
            script: plain.script,
            shown: vec![false; plain.script.map_or(0, |script| script.steps().len())],
            notices: plain.notices,
            listener: plain.listener,
            writer: ConsoleWriter::new(console, &texts.plain),
            answers: draft.into(),
            settled: vec![false; plain.form.fields().len()],
            history: Vec::new(),
            next_up: None,
            changing: None,
            section: None,
        }
    }

    pub(super) fn into_draft(self) -> Map<String, Value> {
        match self.answers {
            Value::Object(draft) => draft,
            _ => Map::new(),
        }
    }

    /// Shows who asks, why, and how to answer.
    pub(super) fn introduce(&mut self) -> io::Result<()> {
        match self.asker {
            Some(name) => {
                let asks = (self.texts.asks)(&quoted(name));
                self.writer.write_own(&format!("{asks}:"))?;
            }
            None => self.writer.write_own(self.texts.plain.question)?,
        }
        let title = one_line(self.form.title());
        // The title of a script's form is not the asker's text.
        let title = Some(&*title).filter(|_| self.script.is_none());
        let format = self.text_format;
        let parts = [
            (self.message, format),
            (title, TextFormat::Plain),
            (self.form.description(), format),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(text, format)| Some((text?, format)));
        for (index, (text, format)) in parts.enumerate() {
            if index > 0 {
                // An empty row of the quotation.
                self.writer.write_quoted("")?;
            }
            self.writer.write_prose(text, format)?;
        }
        for notice in self.notices {
            self.writer.write_own(&one_line(notice))?;
        }
        self.writer.blank()?;
        self.writer.write_own(self.texts.plain.how_to_answer)?;
        self.writer.commands()
    }

    /// Shows errors and asks the fields they name next.
    pub(super) fn reopen_refused(&mut self, errors: &[FieldError]) -> io::Result<()> {
        let progress = self.progress();
        let active: Vec<_> = self.indices_of(|field| progress.is_active(field.id()));
        drop(progress);
        for index in active {
            self.settled[index] = true;
        }
        let asker = self.asker.map(quoted);
        let refused = (self.texts.plain.refused)(asker.as_deref());
        self.show_errors(&refused, errors)?;
        self.reopen(errors);
        Ok(())
    }

    pub(super) fn run(&mut self) -> io::Result<Reply> {
        loop {
            let next = self.next_field();
            self.show_script_until(next)?;
            let Some(index) = next else {
                match self.finish()? {
                    Some(reply) => return Ok(reply),
                    None => continue,
                }
            };
            if self.form.fields()[index].is_fixed() {
                self.show_fixed(index)?;
                self.settled[index] = true;
                continue;
            }
            match self.ask(index)? {
                Turn::Done => {
                    self.settled[index] = true;
                    self.history.push(index);
                    self.changing = None;
                    if let Some(listener) = self.listener {
                        listener(&self.answers);
                    }
                }
                Turn::Back => self.step_back(index)?,
                Turn::Left(reply) => return Ok(reply),
            }
        }
    }

    /// Shows the script's texts up to a field, or to its end; each once.
    fn show_script_until(&mut self, index: Option<usize>) -> io::Result<()> {
        let Some(script) = self.script else {
            return Ok(());
        };
        let next = index.map(|index| self.form.fields()[index].id());
        let progress = self.form.progress(&self.answers, &CheckSettings::default());
        let mut words = Vec::new();
        for (shown, step) in self.shown.iter_mut().zip(script.steps()) {
            match step {
                ScriptStep::Ask(field) if Some(field.id()) == next => break,
                ScriptStep::Say(text, _) if !*shown && progress.includes(&step) => {
                    *shown = true;
                    words.push(text);
                }
                ScriptStep::Ask(_) | ScriptStep::Say(..) => {}
            }
        }
        drop(progress);
        for words in words {
            self.writer.blank()?;
            self.writer.write_prose(words, self.text_format)?;
        }
        Ok(())
    }

    /// Returns the first active field that was not asked or shown.
    ///
    /// Searches from the start each time: a condition may activate a field above the one that was
    /// just answered.
    fn next_field(&mut self) -> Option<usize> {
        let progress = self.form.progress(&self.answers, &CheckSettings::default());
        let takes_part = |index: &usize| {
            let field = &self.form.fields()[*index];
            progress.is_active(field.id()) && !field.rendering().hidden
        };
        let next_up = self.next_up.take().filter(takes_part);
        let mut unsettled = (0..self.settled.len()).filter(|index| !self.settled[*index]);
        next_up.or_else(|| unsettled.find(takes_part))
    }

    fn step_back(&mut self, from: usize) -> io::Result<()> {
        if self.changing.take() == Some(from) {
            // Back to the review, where this field was chosen.
            self.settled[from] = true;
            self.history.push(from);
            return Ok(());
        }
        let questions = self.questions();
        while let Some(previous) = self.history.pop() {
            self.settled[previous] = false;
            if questions.contains(&previous) {
                self.next_up = Some(previous);
                return Ok(());
            }
        }
        self.next_up = Some(from);
        self.writer.write_own(self.texts.plain.is_first)
    }

    /// Checks the answers as a whole; a reply ends the dialogue.
    fn finish(&mut self) -> io::Result<Option<Reply>> {
        let errors = match self.form.check(&self.answers) {
            Ok(_) => Vec::new(),
            Err(violations) => violations.errors(self.messages),
        };
        if !errors.is_empty() {
            self.writer.blank()?;
            self.show_errors(self.texts.plain.to_correct, &errors)?;
            if self.reopen(&errors) {
                return Ok(None);
            }
        }
        let is_only_question = self.questions().len() == 1 && !self.history.is_empty();
        if is_only_question && errors.is_empty() {
            return Ok(Some(Reply::Answered));
        }
        self.review(errors.is_empty())
    }

    /// Marks the fields that errors name to be asked again; false if they name none.
    fn reopen(&mut self, errors: &[FieldError]) -> bool {
        let questions = self.questions();
        let is_named = |index: &usize| {
            let id = self.form.fields()[*index].id();
            errors.iter().any(|error| {
                error.field == id || is_across_fields(error) && lists_field(&error.expected, id)
            })
        };
        let named: Vec<_> = questions.into_iter().filter(is_named).collect();
        for index in &named {
            self.settled[*index] = false;
        }
        self.history.retain(|index| !named.contains(index));
        !named.is_empty()
    }

    /// Shows all answers and asks whether to send them.
    fn review(&mut self, may_send: bool) -> io::Result<Option<Reply>> {
        let questions = self.questions();
        self.writer.blank()?;
        self.show_answers()?;
        self.writer
            .write_own(&self.closing_question(may_send, !questions.is_empty()))?;
        loop {
            match self.writer.read(false)? {
                Line::Enter if may_send => return Ok(Some(Reply::Answered)),
                Line::Decline => return Ok(Some(Reply::Declined)),
                Line::Cancel => return Ok(Some(Reply::Cancelled)),
                Line::Back => {
                    if let Some(last) = self.history.pop() {
                        self.settled[last] = false;
                        self.next_up = Some(last);
                    }
                    return Ok(None);
                }
                Line::Typed(typed) => match typed.trim().to_ascii_lowercase().as_str() {
                    "y" | "yes" | "j" | "ja" if may_send => return Ok(Some(Reply::Answered)),
                    number => {
                        let number = number.parse().ok().and_then(|n: usize| n.checked_sub(1));
                        if let Some(index) = number.and_then(|n| questions.get(n)).copied() {
                            self.settled[index] = false;
                            self.history.retain(|other| *other != index);
                            self.next_up = Some(index);
                            self.changing = Some(index);
                            return Ok(None);
                        }
                    }
                },
                Line::Help => {
                    self.show_answers()?;
                    self.writer.commands()?;
                }
                Line::Enter | Line::Empty | Line::Unknown => {}
            }
            self.writer
                .write_own(&self.closing_question(may_send, !questions.is_empty()))?;
        }
    }

    fn closing_question(&self, may_send: bool, may_change: bool) -> String {
        let texts = &self.texts.plain;
        let mut question = if may_send {
            (texts.send)(self.asker.map(quoted).as_deref())
        } else {
            texts.cannot_be_sent.to_owned()
        };
        if may_change {
            question.push_str(texts.change);
        }
        question + ":decline / :cancel"
    }

    fn show_answers(&mut self) -> io::Result<()> {
        let progress = self.form.progress(&self.answers, &CheckSettings::default());
        let headings = headings(self.form, |field| progress.is_active(field.id()));
        let mut number = 0;
        let mut lines = Vec::new();
        for field in progress.active() {
            let index = self.form.position(field.id());
            if let Some(heading) = index.and_then(|index| headings[index]) {
                lines.push((self.texts.plain.section)(&quoted_long(heading)));
            }
            let answer = progress.answer(field.id());
            let answer = answer.map_or_else(
                || self.texts.no_answer.to_owned(),
                |answer| review::in_full(self.messages, field, answer),
            );
            let label = quoted(field.label());
            if field.is_fixed() {
                lines.push(format!("{label}, {}: {answer}", self.texts.read_only));
            } else {
                number += 1;
                lines.push(format!("{number}. {label}: {answer}"));
            }
        }
        drop(progress);
        if lines.is_empty() {
            return self.writer.write_own(self.texts.nothing_to_fill_in);
        }
        self.writer.write_own(self.texts.plain.your_answers)?;
        lines
            .iter()
            .try_for_each(|line| self.writer.write_own(line))
    }

    pub(super) fn show_errors(&mut self, words: &str, errors: &[FieldError]) -> io::Result<()> {
        self.writer.write_own(words)?;
        // Messages contain labels, and may be the form author's own.
        errors
            .iter()
            .try_for_each(|error| self.writer.write_quoted(&error.message))
    }

    pub(super) fn progress(&self) -> Progress<'_> {
        self.form.progress(&self.answers, &CheckSettings::default())
    }

    /// Indices of the questions that are active now, in order.
    pub(super) fn questions(&self) -> Vec<usize> {
        let progress = self.progress();
        self.indices_of(|field| progress.is_active(field.id()) && !field.is_fixed())
    }

    fn indices_of(&self, filter: impl Fn(&Field) -> bool) -> Vec<usize> {
        let fields = self.form.fields().iter().enumerate();
        fields
            .filter(|(_, field)| filter(field))
            .map(|(index, _)| index)
            .collect()
    }
}

/// Whether an error concerns several answers together, so that another field may fix it.
pub(crate) fn is_across_fields(error: &FieldError) -> bool {
    [
        Constraint::Compare,
        Constraint::AtLeastOne,
        Constraint::ExactlyOne,
        Constraint::AllOrNone,
        Constraint::Dependencies,
    ]
    .iter()
    .any(|constraint| constraint.key() == error.constraint)
}

pub(crate) fn lists_field(expected: &Value, id: &str) -> bool {
    expected
        .as_array()
        .is_some_and(|ids| ids.iter().any(|other| other == id))
}
