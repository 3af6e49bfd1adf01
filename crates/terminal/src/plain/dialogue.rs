//! The course of one dialogue: what is asked next, and when it ends.
//!
//! Every turn either tells something once or reads a line, so a dialogue ends at the latest
//! with its input.

use std::io;

use entreat_core::{
    CheckSettings, Constraint, Field, FieldError, Form, Messages, Progress, Script, ScriptStep,
};
use serde_json::{Map, Value};

use super::Plain;
use super::page::ConsolePage;
use crate::prompt::line::Line;
use crate::safe_text::one_line;
use crate::typography::quoted;
use crate::{Console, Reply, review};

pub(crate) struct Dialogue<'d> {
    pub(super) form: &'d Form,
    pub(super) messages: &'d Messages,
    asker: Option<&'d str>,
    message: Option<&'d str>,
    script: Option<&'d Script>,
    /// By step of the script: said already.
    said: Vec<bool>,
    notices: &'d [String],
    listener: Option<&'d dyn Fn(&Value)>,
    pub(super) page: ConsolePage<'d>,
    /// The draft: an object of raw answers.
    pub(super) answers: Value,
    /// By field: asked or told, and not to be asked again by itself.
    settled: Vec<bool>,
    /// The places of the questions answered, in the order of their last asking.
    history: Vec<usize>,
    /// What is asked next, before all that is not settled.
    ahead: Option<usize>,
    /// What is changed by wish, from the review.
    changing: Option<usize>,
}

/// What a question came to.
pub(super) enum Turn {
    Settled,
    Back,
    Left(Reply),
}

impl<'d> Dialogue<'d> {
    pub(super) fn new(
        plain: &Plain<'d>,
        console: &'d mut dyn Console,
        mut draft: Map<String, Value>,
    ) -> Self {
        // What nobody can answer here would be refused with nobody able to mend it.
        draft.retain(|id, _| plain.form.field(id).is_some_and(|field| !field.is_fixed()));
        Self {
            form: plain.form,
            messages: plain.messages,
            asker: plain.asker,
            message: plain.message,
            script: plain.script,
            said: vec![false; plain.script.map_or(0, |script| script.steps().len())],
            notices: plain.notices,
            listener: plain.listener,
            page: ConsolePage::new(console),
            answers: draft.into(),
            settled: vec![false; plain.form.fields().len()],
            history: Vec::new(),
            ahead: None,
            changing: None,
        }
    }

    pub(super) fn into_draft(self) -> Map<String, Value> {
        match self.answers {
            Value::Object(draft) => draft,
            _ => Map::new(),
        }
    }

    /// Says who asks, what for, and how to answer.
    pub(super) fn introduce(&mut self) -> io::Result<()> {
        match self.asker {
            Some(name) => self.page.own(&format!("{} asks:", quoted(name)))?,
            None => self.page.own("You are asked:")?,
        }
        let title = one_line(self.form.title());
        // A script has no title of its asker's.
        let title = Some(&*title).filter(|_| self.script.is_none());
        let parts = [self.message, title, self.form.description()];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        self.page.theirs(&parts.join("\n\n"))?;
        for notice in self.notices {
            self.page.own(&one_line(notice))?;
        }
        self.page.blank()?;
        self.page
            .own("Type each answer and press Enter, or type a command:")?;
        self.page.commands()
    }

    /// Shows errors and makes the fields that they name the next questions.
    pub(super) fn reopen_refused(&mut self, errors: &[FieldError]) -> io::Result<()> {
        let progress = self.progress();
        let active: Vec<_> = self.places(|field| progress.is_active(field.id()));
        drop(progress);
        for place in active {
            self.settled[place] = true;
        }
        let to = self.asker.map(|asker| format!(" to {}", quoted(asker)));
        let to = to.unwrap_or_default();
        self.show_errors(&format!("The answers{to} were not accepted:"), errors)?;
        self.reopen(errors);
        Ok(())
    }

    pub(super) fn run(&mut self) -> io::Result<Reply> {
        loop {
            let next = self.next_place();
            self.say_before(next)?;
            let Some(place) = next else {
                match self.finish()? {
                    Some(reply) => return Ok(reply),
                    None => continue,
                }
            };
            if self.form.fields()[place].is_fixed() {
                self.tell(place)?;
                self.settled[place] = true;
                continue;
            }
            match self.ask(place)? {
                Turn::Settled => {
                    self.settled[place] = true;
                    self.history.push(place);
                    self.changing = None;
                    if let Some(listener) = self.listener {
                        listener(&self.answers);
                    }
                }
                Turn::Back => self.step_back(place)?,
                Turn::Left(reply) => return Ok(reply),
            }
        }
    }

    /// Says what the script says before the field at a place, or at its end; each thing once.
    fn say_before(&mut self, place: Option<usize>) -> io::Result<()> {
        let Some(script) = self.script else {
            return Ok(());
        };
        let next = place.map(|place| self.form.fields()[place].id());
        let progress = self.form.progress(&self.answers, &CheckSettings::default());
        let mut words = Vec::new();
        for (said, step) in self.said.iter_mut().zip(script.steps()) {
            match step {
                ScriptStep::Ask(field) if Some(field.id()) == next => break,
                ScriptStep::Say(text, _) if !*said && progress.takes(&step) => {
                    *said = true;
                    words.push(text);
                }
                ScriptStep::Ask(_) | ScriptStep::Say(..) => {}
            }
        }
        drop(progress);
        for words in words {
            self.page.blank()?;
            self.page.theirs(words)?;
        }
        Ok(())
    }

    /// The first field that takes part and was not asked or told.
    ///
    /// From the start each time: a condition may bring in a field above the one that was
    /// just answered.
    fn next_place(&mut self) -> Option<usize> {
        let progress = self.form.progress(&self.answers, &CheckSettings::default());
        let takes_part = |place: &usize| {
            let field = &self.form.fields()[*place];
            progress.is_active(field.id()) && !field.rendering().hidden
        };
        let ahead = self.ahead.take().filter(takes_part);
        let mut unsettled = (0..self.settled.len()).filter(|place| !self.settled[*place]);
        ahead.or_else(|| unsettled.find(takes_part))
    }

    fn step_back(&mut self, from: usize) -> io::Result<()> {
        if self.changing.take() == Some(from) {
            // Back to the review, where this was chosen.
            self.settled[from] = true;
            self.history.push(from);
            return Ok(());
        }
        let questions = self.questions();
        while let Some(previous) = self.history.pop() {
            self.settled[previous] = false;
            if questions.contains(&previous) {
                self.ahead = Some(previous);
                return Ok(());
            }
        }
        self.ahead = Some(from);
        self.page.own("There is no question before this one.")
    }

    /// Looks at the answers as a whole; a reply ends the dialogue.
    fn finish(&mut self) -> io::Result<Option<Reply>> {
        let errors = match self.form.check(&self.answers) {
            Ok(_) => Vec::new(),
            Err(violations) => violations.errors(self.messages),
        };
        if !errors.is_empty() {
            self.page.blank()?;
            self.show_errors("The answers do not fit yet:", &errors)?;
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

    /// Makes the fields that errors name questions again; false if they name none.
    fn reopen(&mut self, errors: &[FieldError]) -> bool {
        let questions = self.questions();
        let is_named = |place: &usize| {
            let id = self.form.fields()[*place].id();
            errors.iter().any(|error| {
                error.field == id || is_across_fields(error) && names(&error.expected, id)
            })
        };
        let named: Vec<_> = questions.into_iter().filter(is_named).collect();
        for place in &named {
            self.settled[*place] = false;
        }
        self.history.retain(|place| !named.contains(place));
        !named.is_empty()
    }

    /// Shows all answers and asks whether to send them.
    fn review(&mut self, may_send: bool) -> io::Result<Option<Reply>> {
        let questions = self.questions();
        self.page.blank()?;
        self.show_answers()?;
        self.page
            .own(&self.closing_question(may_send, !questions.is_empty()))?;
        loop {
            match self.page.read(false)? {
                Line::Enter if may_send => return Ok(Some(Reply::Answered)),
                Line::Decline => return Ok(Some(Reply::Declined)),
                Line::Cancel => return Ok(Some(Reply::Cancelled)),
                Line::Back => {
                    if let Some(last) = self.history.pop() {
                        self.settled[last] = false;
                        self.ahead = Some(last);
                    }
                    return Ok(None);
                }
                Line::Typed(typed) => match typed.trim().to_ascii_lowercase().as_str() {
                    "y" | "yes" if may_send => return Ok(Some(Reply::Answered)),
                    number => {
                        let number = number.parse().ok().and_then(|n: usize| n.checked_sub(1));
                        if let Some(place) = number.and_then(|n| questions.get(n)).copied() {
                            self.settled[place] = false;
                            self.history.retain(|other| *other != place);
                            self.ahead = Some(place);
                            self.changing = Some(place);
                            return Ok(None);
                        }
                    }
                },
                Line::Help => {
                    self.show_answers()?;
                    self.page.commands()?;
                }
                Line::Enter | Line::Empty | Line::Unknown => {}
            }
            self.page
                .own(&self.closing_question(may_send, !questions.is_empty()))?;
        }
    }

    fn closing_question(&self, may_send: bool, may_change: bool) -> String {
        let mut question = match (may_send, self.asker) {
            (true, Some(asker)) => format!("Send to {}? [Y]es / ", quoted(asker)),
            (true, None) => "Send? [Y]es / ".to_owned(),
            (false, _) => "This cannot be sent: ".to_owned(),
        };
        if may_change {
            question.push_str("number to change / ");
        }
        question + ":decline / :cancel"
    }

    fn show_answers(&mut self) -> io::Result<()> {
        let progress = self.form.progress(&self.answers, &CheckSettings::default());
        let mut number = 0;
        let mut lines = Vec::new();
        for field in progress.active() {
            let answer = progress.answer(field.id());
            let answer = answer.map_or_else(
                || review::NO_ANSWER.to_owned(),
                |answer| review::in_full(field, answer),
            );
            let label = quoted(field.label());
            if field.is_fixed() {
                lines.push(format!("{label}, not to be changed: {answer}"));
            } else {
                number += 1;
                lines.push(format!("{number}. {label}: {answer}"));
            }
        }
        drop(progress);
        if lines.is_empty() {
            return self.page.own("There is nothing to fill in.");
        }
        self.page.own("Your answers:")?;
        lines.iter().try_for_each(|line| self.page.own(line))
    }

    pub(super) fn show_errors(&mut self, words: &str, errors: &[FieldError]) -> io::Result<()> {
        self.page.own(words)?;
        // Sentences hold labels, and may be the form author's own.
        errors
            .iter()
            .try_for_each(|error| self.page.theirs(&error.message))
    }

    pub(super) fn progress(&self) -> Progress<'_> {
        self.form.progress(&self.answers, &CheckSettings::default())
    }

    /// The places of what is asked as things stand, in order.
    pub(super) fn questions(&self) -> Vec<usize> {
        let progress = self.progress();
        self.places(|field| progress.is_active(field.id()) && !field.is_fixed())
    }

    fn places(&self, is_meant: impl Fn(&Field) -> bool) -> Vec<usize> {
        let fields = self.form.fields().iter().enumerate();
        fields
            .filter(|(_, field)| is_meant(field))
            .map(|(place, _)| place)
            .collect()
    }
}

/// Whether an error is about how answers fit together, and so may be mended elsewhere.
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

pub(crate) fn names(expected: &Value, id: &str) -> bool {
    expected
        .as_array()
        .is_some_and(|ids| ids.iter().any(|other| other == id))
}
