//! The state of a form on the screen, and how events change it.
//!
//! Pure: no terminal, no clock, no files. An [`Event`] comes in, [`Effect`]s go out, and `view.rs`
//! draws the state. Rules are the form's: after every change it determines which fields are active
//! and which errors there are.

mod errors;
mod moves;

use std::time::Duration;

use entreat_core::jiff::civil::Date;
use entreat_core::{CheckSettings, FieldError, Form, Messages, Progress, Script, TextFormat};
use serde_json::{Map, Value};

use super::event::{Effect, Event, Key};
use super::field::{self, Editor, KeyOutcome};
use super::view;
use crate::inline;
use crate::prompt;
use crate::question::{FormReply, TerminalQuestion, TerminalStyle};
use crate::texts::Texts;
use crate::typography::time_left;

#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent, and all combinations occur"
)]
pub(crate) struct Model {
    pub(crate) form: Form,
    pub(crate) messages: Messages,
    pub(crate) asker: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) text_format: TextFormat,
    pub(crate) notices: Vec<String>,
    pub(super) script: Option<Script>,
    pub(crate) style: TerminalStyle,
    pub(crate) texts: &'static Texts,
    layout: Layout,
    /// Columns and rows of the window.
    pub(crate) size: (usize, usize),
    pub(crate) editors: Vec<Box<dyn Editor>>,
    /// The draft: an object of raw answers.
    pub(super) answers: Value,
    /// The focused field.
    pub(super) focus: Option<usize>,
    /// How far a script has progressed, as a field index.
    pub(super) reached: usize,
    pub(super) pane: Pane,
    /// By field: whether it has lost the focus once.
    visited: Vec<bool>,
    /// By field: why a file was not accepted.
    file_errors: Vec<Option<FileError>>,
    /// Errors of an earlier submission, until the answer changes.
    refused: Vec<FieldError>,
    /// The person tried to send, so that all errors are shown.
    tried_to_send: bool,
    pub(crate) time: Option<Countdown>,
    /// The status line, as Entreat's own text.
    pub(crate) status: Option<String>,
    /// The exit that a second press of the same key confirms.
    pub(crate) leaving: Option<Leaving>,
    started: bool,
    /// There is input that would be lost.
    edited: bool,
    /// The draft changed since it was last reported.
    draft_changed: bool,
    /// Where to move once a file was read.
    after_fetch: Option<Move>,
    /// The first visible row of the body; `None` follows the focus.
    pub(super) scroll: Option<usize>,
}

/// Why a file was not accepted.
pub(crate) enum FileError {
    /// It cannot be read; Entreat's own text.
    Unreadable(String),
    /// The form rejects it; the form's message.
    Refused(String),
}

/// How the model is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// On the whole screen.
    Full,
    /// In place; `has_introduction` is whether the introduction is redrawn too.
    Inline { has_introduction: bool },
}

/// What is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    Form,
    /// The review of all answers; `at` is the highlighted one, or one past the last for "Send".
    Review {
        at: usize,
    },
}

/// The time left for the question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Countdown {
    pub(crate) left: Duration,
    pub(super) extensions_left: u32,
    pub(crate) is_short: bool,
}

impl Countdown {
    pub(crate) fn can_be_extended(self) -> bool {
        self.extensions_left > 0
    }
}

/// An exit that loses the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaving {
    Cancel,
    Decline,
}

/// A navigation target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Next,
    Back,
    Review,
}

impl Model {
    /// A form on the whole screen.
    pub(crate) fn new(
        question: &TerminalQuestion,
        style: TerminalStyle,
        size: (usize, usize),
        today: Date,
    ) -> Self {
        Self::with_layout(question, style, size, today, Layout::Full)
    }

    /// A single question in place.
    pub(crate) fn inline(
        question: &TerminalQuestion,
        style: TerminalStyle,
        size: (usize, usize),
        today: Date,
    ) -> Self {
        let layout = Layout::Inline {
            has_introduction: true,
        };
        Self::with_layout(question, style, size, today, layout)
    }

    /// The introduction was printed, and is not drawn any more.
    pub(crate) fn mark_introduced(&mut self) {
        self.layout = Layout::Inline {
            has_introduction: false,
        };
    }

    fn with_layout(
        question: &TerminalQuestion,
        style: TerminalStyle,
        size: (usize, usize),
        today: Date,
        layout: Layout,
    ) -> Self {
        let form = question.form.clone();
        let count = form.fields().len();
        let mut model = Self {
            editors: form
                .fields()
                .iter()
                .map(|field| field::editor(field, today))
                .collect(),
            form,
            texts: Texts::of(&question.messages),
            layout,
            messages: question.messages.clone(),
            asker: question.asker.clone(),
            message: question.message.clone(),
            text_format: question.text_format,
            notices: question.notices.clone(),
            script: question.script.clone(),
            style,
            size,
            answers: Map::new().into(),
            focus: None,
            reached: 0,
            pane: Pane::Form,
            visited: vec![false; count],
            file_errors: (0..count).map(|_| None).collect(),
            refused: question.errors.clone(),
            tried_to_send: false,
            time: question.time.map(|time| Countdown {
                left: time.left(),
                extensions_left: time.extensions_left,
                is_short: false,
            }),
            status: None,
            leaving: None,
            started: false,
            edited: false,
            draft_changed: false,
            after_fetch: None,
            scroll: Some(0),
        };
        model.load(&question.draft);
        model.begin();
        model
    }

    /// Loads the draft and the defaults.
    fn load(&mut self, draft: &Map<String, Value>) {
        for index in 0..self.editors.len() {
            let field = &self.form.fields()[index];
            if field.is_fixed() {
                continue;
            }
            let default = field.default().map(prompt::raw);
            // Null is an answer that was cleared, and stays cleared.
            if let Some(answer) = draft.get(field.id()).or(default.as_ref()) {
                self.editors[index].load(answer);
            }
            self.update_draft(index);
        }
    }

    fn begin(&mut self) {
        self.focus = self.questions().first().copied();
        self.reached = self.focus.unwrap_or(self.form.fields().len());
        if !self.refused.is_empty() {
            self.reached = self.form.fields().len();
            self.status = Some(self.texts.refused.to_owned());
            let first = self.first_invalid();
            self.focus = first.or(self.focus);
            self.scroll = None;
        }
        if self.focus.is_none() {
            self.pane = Pane::Review { at: 0 };
        }
    }

    /// Handles an event.
    pub(crate) fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Key(key) => {
                self.mark_started(&mut effects);
                self.key(key, &mut effects);
            }
            Event::Paste(text) => {
                self.mark_started(&mut effects);
                self.paste(&text, &mut effects);
            }
            Event::Resized(columns, rows) => self.size = (columns, rows),
            Event::TimeLeft(left) => {
                if let Some(time) = &mut self.time {
                    time.left = left;
                }
            }
            Event::Deadline(left, extensions_left) => {
                self.time = Some(Countdown {
                    left,
                    extensions_left,
                    is_short: false,
                });
                self.status = Some((self.texts.extended)(&time_left(left, self.texts)));
            }
            Event::ExpiryWarning(left) => {
                if let Some(time) = &mut self.time {
                    time.is_short = true;
                }
                self.status = Some((self.texts.running_out)(&time_left(left, self.texts)));
            }
            Event::ExtensionRefused(why) => {
                self.status = Some((self.texts.not_extended)(&why));
            }
            Event::Completed(completion) => {
                let index = completion.index;
                let outcome = self.editors[index].completed(&completion);
                self.apply(index, outcome, Some(Move::Next), &mut effects);
            }
            Event::Fetched { index, fetched } => self.take_file(index, fetched, &mut effects),
        }
        effects
    }

    /// Draws the current screen.
    pub(crate) fn view(&self) -> view::Frame {
        match self.layout {
            Layout::Full => view::draw(self),
            Layout::Inline { has_introduction } => inline::draw(self, has_introduction),
        }
    }

    /// Whether the person could not see what they type.
    fn is_too_small(&self) -> bool {
        match self.layout {
            Layout::Full => view::is_too_small(self.size),
            Layout::Inline { .. } => inline::is_too_small(self.size),
        }
    }

    fn is_inline(&self) -> bool {
        matches!(self.layout, Layout::Inline { .. })
    }

    fn mark_started(&mut self, effects: &mut Vec<Effect>) {
        if !std::mem::replace(&mut self.started, true) {
            effects.push(Effect::Started);
        }
    }

    fn key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        if let Some(leaving) = self.leaving.take() {
            match (leaving, key) {
                (Leaving::Decline, Key::Ctrl('x')) => {
                    effects.push(Effect::Done(FormReply::Declined));
                }
                // Ctrl-C always exits; any other key stays, and does nothing else.
                (Leaving::Cancel, Key::Escape) | (_, Key::Ctrl('c' | 'd')) => {
                    effects.push(Effect::Done(FormReply::Cancelled));
                }
                _ => {}
            }
            return;
        }
        match key {
            Key::Ctrl('c' | 'd') => return effects.push(Effect::Done(FormReply::Cancelled)),
            Key::Escape => return self.leave(Leaving::Cancel, effects),
            Key::Ctrl('x') => return self.leave(Leaving::Decline, effects),
            Key::Ctrl('t') => return self.extend(effects),
            _ => {}
        }
        if self.is_too_small() {
            // No input that the person cannot see.
            return;
        }
        match self.pane {
            Pane::Form => self.key_on_form(key, effects),
            Pane::Review { at } => self.key_on_review(key, at, effects),
        }
    }

    /// Exits at once if nothing is lost, else asks for the same key again.
    fn leave(&mut self, leaving: Leaving, effects: &mut Vec<Effect>) {
        if self.edited {
            self.leaving = Some(leaving);
            return;
        }
        effects.push(Effect::Done(match leaving {
            Leaving::Cancel => FormReply::Cancelled,
            Leaving::Decline => FormReply::Declined,
        }));
    }

    fn extend(&mut self, effects: &mut Vec<Effect>) {
        match self.time {
            Some(time) if time.extensions_left > 0 => effects.push(Effect::RequestExtension),
            Some(_) => {
                self.status = Some(self.texts.no_extension_left.to_owned());
            }
            None => {}
        }
    }

    fn key_on_form(&mut self, key: Key, effects: &mut Vec<Effect>) {
        let before = self.scroll.take();
        self.status = None;
        let Some(index) = self.focus else {
            return self.go(Move::Review, effects);
        };
        let outcome = if key == Key::Ctrl('r') {
            KeyOutcome::Ignored
        } else {
            self.editors[index].key(key)
        };
        if outcome != KeyOutcome::Ignored {
            return self.apply(index, outcome, Some(Move::Next), effects);
        }
        match key {
            // In place, an arrow too many must not send the answer.
            Key::Down if self.is_inline() => {}
            Key::Tab | Key::Down | Key::Enter => self.go(Move::Next, effects),
            Key::BackTab | Key::Up => self.go(Move::Back, effects),
            Key::Ctrl('r') => self.go(Move::Review, effects),
            Key::PageUp => self.scroll_page(before, false),
            Key::PageDown => self.scroll_page(before, true),
            _ => {}
        }
    }

    fn paste(&mut self, text: &str, effects: &mut Vec<Effect>) {
        self.leaving = None;
        if self.pane != Pane::Form || self.is_too_small() {
            return;
        }
        self.scroll = None;
        if let Some(index) = self.focus {
            let outcome = self.editors[index].paste(text);
            self.apply(index, outcome, None, effects);
        }
    }

    /// Applies the outcome of a key in an editor.
    fn apply(
        &mut self,
        index: usize,
        outcome: KeyOutcome,
        then: Option<Move>,
        effects: &mut Vec<Effect>,
    ) {
        match outcome {
            KeyOutcome::Ignored => {}
            KeyOutcome::Moved => {
                self.file_errors[index] = None;
                self.edited |= self.editors[index].pending().is_some();
            }
            KeyOutcome::Changed => self.change(index),
            KeyOutcome::Next => {
                self.change(index);
                self.go(Move::Next, effects);
            }
            KeyOutcome::Complete(typed) => effects.push(Effect::Complete { index, typed }),
            KeyOutcome::Fetch(path) => {
                self.after_fetch = then;
                effects.push(Effect::Fetch { index, path });
            }
        }
    }

    /// Scrolls by a page without moving the focus.
    fn scroll_page(&mut self, before: Option<usize>, down: bool) {
        self.scroll = before;
        let viewport = view::viewport(self);
        let page = viewport.rows.saturating_sub(1).max(1);
        self.scroll = Some(if down {
            (viewport.first + page).min(viewport.last)
        } else {
            viewport.first.saturating_sub(page)
        });
    }

    /// Copies an editor's value into the draft; returns whether it changed.
    fn update_draft(&mut self, index: usize) -> bool {
        let field = &self.form.fields()[index];
        let answer = self.editors[index].answer();
        // Null overrides a default, absence does not.
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

    fn change(&mut self, index: usize) {
        if !self.update_draft(index) {
            return;
        }
        self.edited = true;
        self.draft_changed = true;
        self.file_errors[index] = None;
        self.clear_refusals(index);
    }

    pub(crate) fn progress(&self) -> Progress<'_> {
        self.form.progress(&self.answers, &CheckSettings::default())
    }

    /// Indices of the questions that are active now, in order.
    pub(super) fn questions(&self) -> Vec<usize> {
        let progress = self.progress();
        let fields = self.form.fields().iter().enumerate();
        fields
            .filter(|(_, field)| !field.is_fixed() && progress.is_active(field.id()))
            .map(|(index, _)| index)
            .collect()
    }
}
