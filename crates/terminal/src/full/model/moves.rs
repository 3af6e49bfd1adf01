//! Navigation between fields, to the review, and out.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{FileError, Model, Move, Pane};
use crate::full::event::{Effect, Key};
use crate::prompt::file::FetchedFile;
use crate::question::FormReply;

impl Model {
    /// Navigates; a typed path is read first.
    pub(super) fn go(&mut self, to: Move, effects: &mut Vec<Effect>) {
        if let Some(index) = self.focus
            && let Some(path) = self.editors[index].pending()
        {
            let path = path.to_owned();
            self.after_fetch = Some(to);
            return effects.push(Effect::Fetch { index, path });
        }
        let questions = self.questions();
        let here = self.focus.unwrap_or(0);
        let next = questions.iter().copied().find(|index| *index > here);
        let previous = questions.iter().rev().copied().find(|index| *index < here);
        match to {
            Move::Next => match next {
                Some(index) => self.focus_on(index, effects),
                None => self.finish(&questions, effects),
            },
            Move::Back => {
                if let Some(index) = previous {
                    self.focus_on(index, effects);
                } else {
                    // There may be text above the first field.
                    self.scroll = Some(0);
                }
            }
            // In place, there is nothing to review: the answer is on the screen.
            Move::Review if self.is_inline() => self.finish(&questions, effects),
            Move::Review => self.review(effects),
        }
    }

    fn focus_on(&mut self, index: usize, effects: &mut Vec<Effect>) {
        self.leave_field(effects);
        self.focus = Some(index);
        self.reached = self.reached.max(index);
        self.scroll = None;
    }

    fn leave_field(&mut self, effects: &mut Vec<Effect>) {
        if let Some(index) = self.focus {
            self.visited[index] = true;
            self.editors[index].leave();
        }
        if std::mem::take(&mut self.draft_changed) {
            effects.push(Effect::DraftChanged(self.answers.clone()));
        }
    }

    /// After the last question: a single answer is sent, several are reviewed.
    fn finish(&mut self, questions: &[usize], effects: &mut Vec<Effect>) {
        if self.is_inline() || questions.len() == 1 && self.notices.is_empty() {
            self.leave_field(effects);
            self.send(effects);
        } else {
            self.review(effects);
        }
    }

    fn review(&mut self, effects: &mut Vec<Effect>) {
        self.leave_field(effects);
        self.reached = self.form.fields().len();
        if self.may_send() {
            let at = self.questions().len();
            self.pane = Pane::Review { at };
            self.scroll = None;
        }
    }

    fn send(&mut self, effects: &mut Vec<Effect>) {
        if self.may_send() {
            let answers: Map<String, Value> = match &self.answers {
                Value::Object(answers) => answers.clone(),
                _ => Map::new(),
            };
            effects.push(Effect::Done(FormReply::Answered(answers)));
        }
    }

    /// Whether the form accepts the answers; if not, focuses the first error.
    fn may_send(&mut self) -> bool {
        let wrong = match self.form.check(&self.answers) {
            Ok(_) => return true,
            Err(violations) => {
                let fields = violations.iter().map(|v| violations.field_of(v).to_owned());
                fields.collect::<BTreeSet<String>>().len()
            }
        };
        self.tried_to_send = true;
        self.pane = Pane::Form;
        self.reached = self.form.fields().len();
        self.focus = self.first_invalid().or(self.focus);
        self.scroll = None;
        self.status = Some((self.texts.to_correct)(wrong));
        false
    }

    pub(super) fn key_on_review(&mut self, key: Key, at: usize, effects: &mut Vec<Effect>) {
        let before = self.scroll.take();
        let questions = self.questions();
        let last = questions.len();
        let at = at.min(last);
        self.status = None;
        let at = match key {
            Key::Up => at.saturating_sub(1),
            Key::Down | Key::Tab => (at + 1).min(last),
            Key::Home => 0,
            Key::End => last,
            Key::PageUp => return self.scroll_page(before, false),
            Key::PageDown => return self.scroll_page(before, true),
            Key::Enter => match questions.get(at) {
                Some(index) => return self.reopen(*index),
                None => return self.send(effects),
            },
            Key::BackTab | Key::Backspace | Key::Ctrl('r') => {
                if let Some(index) = self.focus.or(questions.last().copied()) {
                    self.reopen(index);
                }
                return;
            }
            _ => at,
        };
        self.pane = Pane::Review { at };
    }

    fn reopen(&mut self, index: usize) {
        self.pane = Pane::Form;
        self.focus = Some(index);
        self.scroll = None;
    }

    /// Handles a file that was read: it becomes the answer unless it is too large.
    pub(super) fn take_file(
        &mut self,
        index: usize,
        fetched: Result<FetchedFile, String>,
        effects: &mut Vec<Effect>,
    ) {
        let then = self.after_fetch.take();
        match fetched {
            Err(words) => self.file_errors[index] = Some(FileError::Unreadable(words)),
            Ok(FetchedFile::TooLarge(placeholder)) => {
                let words = self.too_large(index, placeholder);
                self.file_errors[index] = Some(FileError::Refused(words));
            }
            Ok(whole) => {
                self.editors[index].fetched(whole);
                self.change(index);
                let wants_more = self.form.fields()[index].takes_many() && then == Some(Move::Next);
                // The focused field may have become inactive.
                if self
                    .focus
                    .is_some_and(|index| !self.questions().contains(&index))
                {
                    self.focus = self.questions().first().copied();
                }
                if let Some(to) = then.filter(|_| self.focus == Some(index) && !wants_more) {
                    self.go(to, effects);
                }
            }
        }
    }
}
