//! A form on a screen: what keys do to it, and what is to be done about it.
//!
//! Pure: no terminal, no clock, no files. What happens comes in as an [`Event`], what is wanted
//! goes out as [`Effect`]s, and `view.rs` draws what is there. Rules are the form's: it is asked
//! after every change which fields take part and what is wrong.

mod errors;
mod moves;

use std::time::Duration;

use entreat_core::{CheckSettings, FieldError, Form, Messages, Progress, Script};
use serde_json::{Map, Value};

use super::event::{Effect, Event, Key};
use super::field::{self, Editor, Said};
use super::view;
use crate::prompt;
use crate::question::{Filled, Look, TerminalQuestion};
use crate::typography::time_left;

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and they happen in all mixtures"
)]
pub(crate) struct Model {
    pub(super) form: Form,
    pub(super) messages: Messages,
    pub(super) asker: Option<String>,
    pub(super) message: Option<String>,
    pub(super) notices: Vec<String>,
    pub(super) script: Option<Script>,
    pub(super) look: Look,
    /// Columns and rows of the window.
    pub(super) size: (usize, usize),
    pub(super) editors: Vec<Box<dyn Editor>>,
    /// The draft: an object of raw answers.
    pub(super) answers: Value,
    /// The field that the person is at.
    pub(super) focus: Option<usize>,
    /// How far a script has come, as a place of the form.
    pub(super) reached: usize,
    pub(super) pane: Pane,
    /// By field: the person was there and went on.
    left: Vec<bool>,
    /// By field: why a file was not taken.
    untaken: Vec<Option<Untaken>>,
    /// What was refused when the answers were sent, as long as it was not changed.
    refused: Vec<FieldError>,
    /// The answers were to be sent once, so that everything wrong is told.
    attempted: bool,
    pub(super) time: Option<Clock>,
    /// One line of Entreat's words.
    pub(super) status: Option<String>,
    /// What a second press of the same key would do.
    pub(super) leaving: Option<Leaving>,
    begun: bool,
    /// Something was changed, so that it would be lost.
    touched: bool,
    /// Something was changed since the draft was told.
    untold: bool,
    /// Where to go when a file was read.
    then: Option<Move>,
    /// The first row of the body that is shown, if not the one that the focus wants.
    pub(super) scroll: Option<usize>,
}

/// Why a file was not taken.
pub(super) enum Untaken {
    /// It cannot be read, in Entreat's words.
    Unreadable(String),
    /// The form does not take it, in the form's words.
    Refused(String),
}

/// What is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    Form,
    /// All answers once more; this one is pointed at, or sending if it is none of them.
    Review {
        at: usize,
    },
}

/// How long the question is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) left: Duration,
    pub(super) extensions_left: u32,
    pub(super) is_short: bool,
}

/// A way out that loses what was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    Cancel,
    Decline,
}

/// Where the person wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Next,
    Back,
    Review,
}

impl Model {
    pub(crate) fn new(question: &TerminalQuestion, look: Look, size: (usize, usize)) -> Self {
        let form = question.form.clone();
        let count = form.fields().len();
        let mut model = Self {
            editors: form
                .fields()
                .iter()
                .map(|field| field::editor(field, question.today))
                .collect(),
            form,
            messages: question.messages.clone(),
            asker: question.asker.clone(),
            message: question.message.clone(),
            notices: question.notices.clone(),
            script: question.script.clone(),
            look,
            size,
            answers: Map::new().into(),
            focus: None,
            reached: 0,
            pane: Pane::Form,
            left: vec![false; count],
            untaken: (0..count).map(|_| None).collect(),
            refused: question.errors.clone(),
            attempted: false,
            time: question.time.map(|time| Clock {
                left: time.left(),
                extensions_left: time.extensions_left,
                is_short: false,
            }),
            status: None,
            leaving: None,
            begun: false,
            touched: false,
            untold: false,
            then: None,
            scroll: Some(0),
        };
        model.load(&question.draft);
        model.begin();
        model
    }

    /// Fills in what was given before, and defaults.
    fn load(&mut self, draft: &Map<String, Value>) {
        for place in 0..self.editors.len() {
            let field = &self.form.fields()[place];
            if field.is_fixed() {
                continue;
            }
            let default = field.default().map(prompt::raw);
            // Null is an answer that was cleared, and stays so.
            if let Some(answer) = draft.get(field.id()).or(default.as_ref()) {
                self.editors[place].load(answer);
            }
            self.put(place);
        }
    }

    fn begin(&mut self) {
        self.focus = self.questions().first().copied();
        self.reached = self.focus.unwrap_or(self.form.fields().len());
        if !self.refused.is_empty() {
            self.reached = self.form.fields().len();
            self.status = Some("The answers were not accepted.".to_owned());
            let first = self.first_wrong();
            self.focus = first.or(self.focus);
            self.scroll = None;
        }
        if self.focus.is_none() {
            self.pane = Pane::Review { at: 0 };
        }
    }

    /// Takes what happened.
    pub(crate) fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Key(key) => {
                self.begin_with(&mut effects);
                self.key(key, &mut effects);
            }
            Event::Paste(text) => {
                self.begin_with(&mut effects);
                self.paste(&text, &mut effects);
            }
            Event::Resized(columns, rows) => self.size = (columns, rows),
            Event::Left(left) => {
                if let Some(time) = &mut self.time {
                    time.left = left;
                }
            }
            Event::Deadline(left, extensions_left) => {
                self.time = Some(Clock {
                    left,
                    extensions_left,
                    is_short: false,
                });
                self.status = Some(format!("You have {} now.", time_left(left)));
            }
            Event::Warned(left) => {
                if let Some(time) = &mut self.time {
                    time.is_short = true;
                }
                self.status = Some(format!("Time runs out: {} left.", time_left(left)));
            }
            Event::NotExtended(why) => self.status = Some(format!("No more time: {why}.")),
            Event::Completed(completion) => {
                let place = completion.place;
                let said = self.editors[place].completed(&completion);
                self.heed(place, said, Some(Move::Next), &mut effects);
            }
            Event::Fetched { place, fetched } => self.take_file(place, fetched, &mut effects),
        }
        effects
    }

    /// The screen as it is now.
    pub(crate) fn view(&self) -> view::Frame {
        view::draw(self)
    }

    fn begin_with(&mut self, effects: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.begun, true) {
            effects.push(Effect::Begun);
        }
    }

    fn key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        if let Some(leaving) = self.leaving.take() {
            match (leaving, key) {
                (Leaving::Decline, Key::Ctrl('x')) => effects.push(Effect::Done(Filled::Declined)),
                // Ctrl-C always leaves; any other key stays, and does nothing else.
                (Leaving::Cancel, Key::Escape) | (_, Key::Ctrl('c' | 'd')) => {
                    effects.push(Effect::Done(Filled::Cancelled));
                }
                _ => {}
            }
            return;
        }
        match key {
            Key::Ctrl('c' | 'd') => return effects.push(Effect::Done(Filled::Cancelled)),
            Key::Escape => return self.leave(Leaving::Cancel, effects),
            Key::Ctrl('x') => return self.leave(Leaving::Decline, effects),
            Key::Ctrl('t') => return self.extend(effects),
            _ => {}
        }
        if view::is_too_small(self.size) {
            // Nobody types what they cannot see.
            return;
        }
        match self.pane {
            Pane::Form => self.key_on_form(key, effects),
            Pane::Review { at } => self.key_on_review(key, at, effects),
        }
    }

    /// Leaves at once if nothing is lost, else asks for the same key again.
    fn leave(&mut self, leaving: Leaving, effects: &mut Vec<Effect>) {
        if self.touched {
            self.leaving = Some(leaving);
            return;
        }
        effects.push(Effect::Done(match leaving {
            Leaving::Cancel => Filled::Cancelled,
            Leaving::Decline => Filled::Declined,
        }));
    }

    fn extend(&mut self, effects: &mut Vec<Effect>) {
        match self.time {
            Some(time) if time.extensions_left > 0 => effects.push(Effect::Extend),
            Some(_) => self.status = Some("There is no more time to be had.".to_owned()),
            None => {}
        }
    }

    fn key_on_form(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let before = self.scroll.take();
        self.status = None;
        let Some(place) = self.focus else {
            return self.go(Move::Review, effects);
        };
        let said = if key == Key::Ctrl('r') {
            Said::Nothing
        } else {
            self.editors[place].key(key)
        };
        if said != Said::Nothing {
            return self.heed(place, said, Some(Move::Next), effects);
        }
        match key {
            Key::Tab | Key::Down | Key::Enter => self.go(Move::Next, effects),
            Key::BackTab | Key::Up => self.go(Move::Back, effects),
            Key::Ctrl('r') => self.go(Move::Review, effects),
            Key::PageUp => self.turn(before, false),
            Key::PageDown => self.turn(before, true),
            _ => {}
        }
    }

    fn paste(&mut self, text: &str, effects: &mut Vec<Effect>) {
        self.leaving = None;
        if self.pane != Pane::Form || view::is_too_small(self.size) {
            return;
        }
        self.scroll = None;
        if let Some(place) = self.focus {
            let said = self.editors[place].paste(text);
            self.heed(place, said, None, effects);
        }
    }

    /// Does what an editor says.
    fn heed(&mut self, place: usize, said: Said, then: Option<Move>, effects: &mut Vec<Effect>) {
        match said {
            Said::Nothing => {}
            Said::Moved => {
                self.untaken[place] = None;
                self.touched |= self.editors[place].pending().is_some();
            }
            Said::Changed => self.change(place),
            Said::Next => {
                self.change(place);
                self.go(Move::Next, effects);
            }
            Said::Complete(typed) => effects.push(Effect::Complete { place, typed }),
            Said::Fetch(path) => {
                self.then = then;
                effects.push(Effect::Fetch { place, path });
            }
        }
    }

    /// Moves what is seen by a page, and leaves the focus where it is.
    fn turn(&mut self, before: Option<usize>, down: bool) {
        self.scroll = before;
        let extent = view::extent(self);
        let page = extent.rows.saturating_sub(1).max(1);
        self.scroll = Some(if down {
            (extent.first + page).min(extent.last)
        } else {
            extent.first.saturating_sub(page)
        });
    }

    /// Takes over what an editor holds; whether it was another before.
    fn put(&mut self, place: usize) -> bool {
        let field = &self.form.fields()[place];
        let answer = self.editors[place].answer();
        // Null overrules a default, absence does not.
        let answer = answer.or_else(|| field.default().map(|_| Value::Null));
        let Some(draft) = self.answers.as_object_mut() else {
            return false;
        };
        if draft.get(field.id()) == answer.as_ref() {
            return false;
        }
        match answer {
            Some(answer) => draft.insert(field.id().to_owned(), answer),
            None => draft.shift_remove(field.id()),
        };
        true
    }

    fn change(&mut self, place: usize) {
        if !self.put(place) {
            return;
        }
        self.touched = true;
        self.untold = true;
        self.untaken[place] = None;
        self.forgive(place);
    }

    pub(super) fn progress(&self) -> Progress<'_> {
        self.form.progress(&self.answers, &CheckSettings::default())
    }

    /// The places of what is asked as things stand, in order.
    pub(super) fn questions(&self) -> Vec<usize> {
        let progress = self.progress();
        let fields = self.form.fields().iter().enumerate();
        fields
            .filter(|(_, field)| !field.is_fixed() && progress.is_active(field.id()))
            .map(|(place, _)| place)
            .collect()
    }
}
