//! One question: shown, read, judged by the form, and asked again until it fits.

use std::io;

use entreat_core::form::FileRules;
use entreat_core::{CheckSettings, Constraint, Field, FieldError, Kind, ReferenceKind};
use serde_json::Value;

use super::dialogue::{Dialogue, Turn, is_across_fields};
use crate::prompt::file::{self, Fetched};
use crate::prompt::line::Line;
use crate::prompt::{self, hint};
use crate::typography::quoted;
use crate::{Reply, review};

/// What Enter alone does.
enum Offer {
    /// Keeps what the draft holds.
    Kept,
    /// Takes a value that the draft does not hold yet.
    Default(Value),
    /// Says no: a boolean that is shown off and left off.
    Off,
    /// Gives no answer.
    Nothing,
}

/// What a line comes to.
enum Said {
    /// A raw answer, or none.
    Answer(Option<Value>),
    NotYet,
    Leave(Turn),
}

impl Dialogue<'_> {
    /// Shows a field that nobody can change.
    pub(super) fn tell(&mut self, place: usize) -> io::Result<()> {
        let field = &self.form.fields()[place];
        let progress = self.progress();
        let answer = progress.answer(field.id());
        let answer = answer.map_or_else(
            || review::NO_ANSWER.to_owned(),
            |answer| review::in_full(field, answer),
        );
        drop(progress);
        self.page.blank()?;
        self.page.own("For your information, not to be changed:")?;
        self.show_words(place)?;
        self.page.own(&format!("It is {answer}."))
    }

    pub(super) fn ask(&mut self, place: usize) -> io::Result<Turn> {
        self.show(place)?;
        let field = &self.form.fields()[place];
        // A path is no secret, and is hard to type unseen.
        let is_secret = field.is_sensitive() && !matches!(field.kind(), Kind::File(_));
        let mut files = Vec::new();
        loop {
            let line = self.page.read(is_secret)?;
            let answer = match self.understand(place, line, &mut files)? {
                Said::Answer(answer) => answer,
                Said::NotYet => continue,
                Said::Leave(turn) => return Ok(turn),
            };
            let errors = self.put(place, answer);
            if errors.is_empty() {
                return Ok(Turn::Settled);
            }
            self.show_errors("Not accepted:", &errors)?;
        }
    }

    /// Finds out what a line means here; `files` are those that were taken before it.
    fn understand(&mut self, place: usize, line: Line, files: &mut Vec<Value>) -> io::Result<Said> {
        let field = &self.form.fields()[place];
        let answer = match line {
            Line::Decline => return Ok(Said::Leave(Turn::Left(Reply::Declined))),
            Line::Cancel => return Ok(Said::Leave(Turn::Left(Reply::Cancelled))),
            Line::Back => return Ok(Said::Leave(Turn::Back)),
            Line::Help => {
                self.show(place)?;
                self.page.commands()?;
                return Ok(Said::NotYet);
            }
            // The page has said what there is to say.
            Line::Unknown => return Ok(Said::NotYet),
            Line::Enter if !files.is_empty() => Some(std::mem::take(files).into()),
            Line::Enter => match self.offer(field) {
                Offer::Kept => self.given(field).cloned(),
                Offer::Default(value) => Some(value),
                Offer::Off => Some(false.into()),
                Offer::Nothing => no_answer(field),
            },
            Line::Empty => {
                files.clear();
                no_answer(field)
            }
            Line::Typed(typed) => match field.kind() {
                Kind::File(rules) => return self.take_file(place, rules, &typed, files),
                _ => match prompt::read(field, &typed) {
                    Ok(value) => Some(value),
                    Err(words) => {
                        self.page.own(&words)?;
                        return Ok(Said::NotYet);
                    }
                },
            },
        };
        Ok(Said::Answer(answer))
    }

    /// Shows everything about a question that a person needs to answer it.
    fn show(&mut self, place: usize) -> io::Result<()> {
        let field = &self.form.fields()[place];
        let questions = self.questions();
        let number = questions.iter().position(|other| *other == place);
        let need = match (field.is_required(), self.form.allows_partial()) {
            (true, false) => "required",
            (true, true) => "required, but may be left for later",
            (false, _) => "optional",
        };
        self.page.blank()?;
        self.page.own(&format!(
            "Question {} of {}, {need}:",
            number.map_or(0, |number| number + 1),
            questions.len()
        ))?;
        self.show_words(place)?;
        if let Some(placeholder) = &field.rendering().placeholder {
            self.page
                .own(&format!("Example: {}.", quoted(placeholder)))?;
        }
        self.page.own(&hint(field))?;
        if let Some(options) = field.kind().options() {
            for (number, (_, title)) in options.iter().enumerate() {
                self.page.their_item(number + 1, title)?;
            }
        }
        let offered = self.offered(field);
        self.page.own(&offered)
    }

    /// The asker's words about a field.
    fn show_words(&mut self, place: usize) -> io::Result<()> {
        let field = &self.form.fields()[place];
        self.page.their_line(field.label())?;
        let words = [field.description(), field.rendering().help_text.as_deref()];
        words
            .into_iter()
            .flatten()
            .try_for_each(|words| self.page.theirs(words))
    }

    fn offer(&self, field: &Field) -> Offer {
        match (self.given(field), field.default()) {
            (Some(_), _) => Offer::Kept,
            (None, Some(default)) => Offer::Default(prompt::raw(default)),
            (None, None) if matches!(field.kind(), Kind::Boolean) && field.is_required() => {
                Offer::Off
            }
            (None, None) => Offer::Nothing,
        }
    }

    /// What Enter does, in Entreat's words.
    fn offered(&self, field: &Field) -> String {
        let what = match self.offer(field) {
            Offer::Kept if self.given(field).is_some_and(Value::is_null) => {
                return "Enter leaves it without an answer.".to_owned();
            }
            Offer::Kept => {
                let progress = self.progress();
                let answer = progress.answer(field.id());
                let answer = answer.map_or_else(
                    || "what you gave".to_owned(),
                    |answer| review::in_brief(field, answer),
                );
                format!("Enter keeps {answer}")
            }
            Offer::Default(_) => {
                let default = field
                    .default()
                    .map(|answer| review::in_brief(field, answer));
                format!("Enter takes {}", default.unwrap_or_default())
            }
            Offer::Off => return "Enter says no.".to_owned(),
            Offer::Nothing if field.is_required() && !self.form.allows_partial() => {
                return String::new();
            }
            Offer::Nothing => return "Enter leaves it without an answer.".to_owned(),
        };
        if field.is_required() {
            what + "."
        } else {
            what + "; :empty leaves it without an answer."
        }
    }

    /// What the draft holds for a field; null if an answer was cleared.
    fn given(&self, field: &Field) -> Option<&Value> {
        self.answers.get(field.id())
    }

    /// Puts an answer into the draft, unless the form objects to it.
    ///
    /// Objections to several answers at once are left for the end: the other one may be the
    /// one to mend, and may not have been asked yet. So are all objections to a field that is
    /// judged under a condition.
    fn put(&mut self, place: usize, answer: Option<Value>) -> Vec<FieldError> {
        let before = self.replace(place, answer);
        if !self.form.fields()[place].checked_when().is_empty() {
            return Vec::new();
        }
        let errors = self.objections(place, &CheckSettings::default());
        if !errors.is_empty() {
            self.replace(place, before);
        }
        errors
    }

    fn replace(&mut self, place: usize, answer: Option<Value>) -> Option<Value> {
        let id = self.form.fields()[place].id();
        let draft = self.answers.as_object_mut()?;
        match answer {
            Some(answer) => draft.insert(id.to_owned(), answer),
            None => draft.shift_remove(id),
        }
    }

    /// What the form has against the answer to one field, taken alone.
    fn objections(&self, place: usize, settings: &CheckSettings) -> Vec<FieldError> {
        let id = self.form.fields()[place].id();
        let progress = self.form.progress(&self.answers, settings);
        let is_missing = progress.missing().any(|field| field.id() == id);
        let mut errors = progress.errors(self.messages);
        if is_missing
            && !self.form.allows_partial()
            && let Err(violations) = self.form.check_with(&self.answers, settings)
        {
            // Progress counts what is missing; the sentence for it comes with a check.
            errors = violations.errors(self.messages);
        }
        errors.retain(|error| error.field == id && !is_across_fields(error));
        errors
    }

    /// Reads the file at a path; where several are taken, waits for the others.
    fn take_file(
        &mut self,
        place: usize,
        rules: &FileRules,
        typed: &str,
        files: &mut Vec<Value>,
    ) -> io::Result<Said> {
        match file::fetch(rules, typed) {
            Ok(Fetched::Whole(upload)) if !self.form.fields()[place].takes_many() => {
                return Ok(Said::Answer(Some(upload)));
            }
            Ok(Fetched::Whole(upload)) => files.push(upload),
            Ok(Fetched::TooLarge(stand_in)) => self.refuse_size(place, stand_in)?,
            Err(words) => self.page.own(&words)?,
        }
        if files.len() as u64 == rules.max_items {
            return Ok(Said::Answer(Some(std::mem::take(files).into())));
        }
        match files.len() {
            0 => {}
            1 => self.page.own("1 file so far. Another path, or Enter.")?,
            count => self
                .page
                .own(&format!("{count} files so far. Another path, or Enter."))?,
        }
        Ok(Said::NotYet)
    }

    /// Says that a file is too large, in the form's own sentence.
    fn refuse_size(&mut self, place: usize, stand_in: Value) -> io::Result<()> {
        let settings = CheckSettings {
            references: vec![ReferenceKind::Local],
            ..CheckSettings::default()
        };
        let takes_many = self.form.fields()[place].takes_many();
        let answer = if takes_many {
            vec![stand_in].into()
        } else {
            stand_in
        };
        let before = self.replace(place, Some(answer));
        let mut errors = self.objections(place, &settings);
        self.replace(place, before);
        errors.retain(|error| error.constraint == Constraint::MaxSize.key());
        if errors.is_empty() {
            // The rule does not hold just now; it still bounds what we read.
            return self
                .page
                .own("The file is larger than this question takes.");
        }
        self.show_errors("Not accepted:", &errors)
    }
}

/// What says that there is no answer: null overrules a default, absence does not.
fn no_answer(field: &Field) -> Option<Value> {
    field.default().map(|_| Value::Null)
}
