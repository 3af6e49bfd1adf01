//! From field to field, to the review, and out.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Model, Move, Pane, Untaken};
use crate::full::event::{Effect, Key};
use crate::prompt::file::Fetched;
use crate::question::Filled;

impl Model {
    /// Goes somewhere; a path that was typed is read first.
    pub(super) fn go(&mut self, to: Move, effects: &mut Vec<Effect>) {
        if let Some(place) = self.focus
            && let Some(path) = self.editors[place].pending()
        {
            let path = path.to_owned();
            self.then = Some(to);
            return effects.push(Effect::Fetch { place, path });
        }
        let questions = self.questions();
        let here = self.focus.unwrap_or(0);
        let next = questions.iter().copied().find(|place| *place > here);
        let previous = questions.iter().rev().copied().find(|place| *place < here);
        match to {
            Move::Next => match next {
                Some(place) => self.focus_on(place, effects),
                None => self.finish(&questions, effects),
            },
            Move::Back => {
                if let Some(place) = previous {
                    self.focus_on(place, effects);
                } else {
                    // There may be something to read above the first.
                    self.scroll = Some(0);
                }
            }
            Move::Review => self.review(effects),
        }
    }

    fn focus_on(&mut self, place: usize, effects: &mut Vec<Effect>) {
        self.leave_field(effects);
        self.focus = Some(place);
        self.reached = self.reached.max(place);
        self.scroll = None;
    }

    fn leave_field(&mut self, effects: &mut Vec<Effect>) {
        if let Some(place) = self.focus {
            self.left[place] = true;
            self.editors[place].leave();
        }
        if std::mem::take(&mut self.untold) {
            effects.push(Effect::Drafted(self.answers.clone()));
        }
    }

    /// Behind the last question: an only one is sent, several are looked at once more.
    fn finish(&mut self, questions: &[usize], effects: &mut Vec<Effect>) {
        if questions.len() == 1 && self.notices.is_empty() {
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
            effects.push(Effect::Done(Filled::Answered(answers)));
        }
    }

    /// Whether the form takes the answers; if not, the person is led to what is wrong.
    fn may_send(&mut self) -> bool {
        let wrong = match self.form.check(&self.answers) {
            Ok(_) => return true,
            Err(violations) => {
                let fields = violations.iter().map(|v| violations.field_of(v).to_owned());
                fields.collect::<BTreeSet<String>>().len()
            }
        };
        self.attempted = true;
        self.pane = Pane::Form;
        self.reached = self.form.fields().len();
        self.focus = self.first_wrong().or(self.focus);
        self.scroll = None;
        self.status = Some(match wrong {
            1 => "One answer does not fit yet.".to_owned(),
            many => format!("{many} answers do not fit yet."),
        });
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
            Key::PageUp => return self.turn(before, false),
            Key::PageDown => return self.turn(before, true),
            Key::Enter => match questions.get(at) {
                Some(place) => return self.reopen(*place),
                None => return self.send(effects),
            },
            Key::BackTab | Key::Backspace | Key::Ctrl('r') => {
                if let Some(place) = self.focus.or(questions.last().copied()) {
                    self.reopen(place);
                }
                return;
            }
            _ => at,
        };
        self.pane = Pane::Review { at };
    }

    fn reopen(&mut self, place: usize) {
        self.pane = Pane::Form;
        self.focus = Some(place);
        self.scroll = None;
    }

    /// A file was read: it is the answer if the form takes it.
    pub(super) fn take_file(
        &mut self,
        place: usize,
        fetched: Result<Fetched, String>,
        effects: &mut Vec<Effect>,
    ) {
        let then = self.then.take();
        match fetched {
            Err(words) => self.untaken[place] = Some(Untaken::Unreadable(words)),
            Ok(Fetched::TooLarge(stand_in)) => {
                let words = self.too_large(place, stand_in);
                self.untaken[place] = Some(Untaken::Refused(words));
            }
            Ok(whole) => {
                self.editors[place].fetched(whole);
                self.change(place);
                let wants_more = self.form.fields()[place].takes_many() && then == Some(Move::Next);
                // What was asked elsewhere may have gone with it.
                if self
                    .focus
                    .is_some_and(|place| !self.questions().contains(&place))
                {
                    self.focus = self.questions().first().copied();
                }
                if let Some(to) = then.filter(|_| self.focus == Some(place) && !wants_more) {
                    self.go(to, effects);
                }
            }
        }
    }
}
