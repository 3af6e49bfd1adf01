//! Fields as they are filled in, each type in the file of its name.
//!
//! An editor knows how a person gives an answer, and nothing of which answers are good: what it
//! holds goes to the form as it is.

mod boolean;
mod calendar;
mod date;
mod file;
mod line;
mod multi_select;
mod select;
mod text;
mod url;

use entreat_core::jiff::civil::Date;
use entreat_core::{Field, Kind};
use ratatui::text::{Line, Span};
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::edit::Edit;
use super::event::{Completion, Key};
use super::ink::Ink;
use crate::prompt::file::Fetched;

pub(crate) use file::FileEditor;

/// What a key came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It says nothing to this field.
    Nothing,
    /// Something moved; the answer is as it was.
    Moved,
    /// The answer is another.
    Changed,
    /// The person is done here.
    Next,
    /// A path is to be completed.
    Complete(String),
    /// A file is to be read.
    Fetch(String),
}

impl Said {
    fn of_edit(changed: Option<bool>) -> Self {
        match changed {
            None => Self::Nothing,
            Some(false) => Self::Moved,
            Some(true) => Self::Changed,
        }
    }
}

/// Where a field is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Sheet {
    pub(crate) ink: Ink,
    /// Columns for the answer.
    pub(crate) width: usize,
    /// Columns for what stands below it.
    pub(crate) wide: usize,
    /// Rows that a list may take.
    pub(crate) rows: usize,
}

/// A field while the person is at it.
#[derive(Default)]
pub(crate) struct Drawn {
    /// The answer.
    pub(crate) rows: Vec<Line<'static>>,
    /// Row and column of the cursor.
    pub(crate) cursor: Option<(usize, usize)>,
    /// What there is to choose from.
    pub(crate) below: Vec<Line<'static>>,
    /// What keys do here, in Entreat's words.
    pub(crate) help: &'static str,
}

/// How one field is filled in.
pub(crate) trait Editor: Send {
    /// Takes an answer: a default, or what was given before.
    fn load(&mut self, answer: &Value);

    /// What is to be sent; none if the field is empty.
    fn answer(&self) -> Option<Value>;

    fn key(&mut self, key: Key) -> Said;

    fn paste(&mut self, text: &str) -> Said;

    fn draw(&self, sheet: Sheet) -> Drawn;

    /// The person has gone on to another field.
    fn leave(&mut self) {}

    /// A path that was typed and not read yet.
    fn pending(&self) -> Option<&str> {
        None
    }

    /// A path was completed.
    fn completed(&mut self, _: &Completion) -> Said {
        Said::Nothing
    }

    /// A file was read.
    fn fetched(&mut self, _: Fetched) {}
}

/// An empty editor for a field; `today` is where calendars begin.
pub(crate) fn editor(field: &Field, today: Option<Date>) -> Box<dyn Editor> {
    let is_secret = field.is_sensitive();
    match field.kind() {
        Kind::Number(_) => Box::new(line::LineEditor::new(is_secret)),
        Kind::Boolean => Box::new(boolean::BooleanEditor::new(field.is_required())),
        Kind::Date(rules) => Box::new(date::DateEditor::new(rules, is_secret, today)),
        Kind::Select(options) => Box::new(select::SelectEditor::new(options)),
        Kind::MultiSelect(rules) => Box::new(multi_select::MultiSelectEditor::new(&rules.options)),
        Kind::Url(_) => Box::new(url::UrlEditor::new(is_secret)),
        Kind::File(rules) => Box::new(FileEditor::new(rules.max_items)),
        Kind::Text(_) => Box::new(text::TextEditor::new(field)),
    }
}

/// An answer as it would be typed.
fn as_text(answer: &Value) -> String {
    match answer {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The most rows of a text that are shown at once.
const MOST_ROWS: usize = 6;

/// How long the line is that an answer is written on, if the answer is shorter.
const LINE: usize = 40;

fn at_least(mut row: String, width: usize) -> String {
    let missing = width.saturating_sub(row.width());
    row.extend(std::iter::repeat_n(' ', missing));
    row
}

/// A text with its cursor; of a long one the part around it.
fn draw_edit(edit: &Edit, sheet: Sheet, is_secret: bool) -> Drawn {
    let mask = is_secret.then(|| sheet.ink.mask());
    let all = edit.rows(sheet.width, mask);
    let (row, column) = all.cursor;
    let first = (row + 1).saturating_sub(MOST_ROWS);
    let shown = all.rows.into_iter().skip(first).take(MOST_ROWS);
    let style = sheet.ink.own().underlined();
    // An empty field has to be seen too.
    let blank = sheet.width.min(LINE);
    let rows = shown.map(|row| Line::from(Span::styled(at_least(row, blank), style)));
    Drawn {
        rows: rows.collect(),
        cursor: Some((row - first, column)),
        ..Drawn::default()
    }
}
