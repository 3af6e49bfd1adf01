//! Field editors, one file per type.
//!
//! An editor handles input and drawing. It does not validate: its value goes to the form
//! unchanged.

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
use entreat_core::{Field, Kind, Messages};
use ratatui_core::text::{Line, Span};
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::edit::Edit;
use super::event::{Completion, Key};
use super::theme::Theme;
use crate::prompt::file::FetchedFile;
use crate::texts::Texts;

pub(crate) use file::FileEditor;

/// The effect of a key on an editor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeyOutcome {
    /// The editor does not use this key.
    Ignored,
    /// The display changed; the answer did not.
    Moved,
    /// The answer changed.
    Changed,
    /// The person moves on to the next field.
    Next,
    /// Complete this path.
    Complete(String),
    /// Read the file at this path.
    Fetch(String),
}

impl KeyOutcome {
    fn from_edit(changed: Option<bool>) -> Self {
        match changed {
            None => Self::Ignored,
            Some(false) => Self::Moved,
            Some(true) => Self::Changed,
        }
    }
}

/// The style and space available to a field.
#[derive(Clone, Copy)]
pub(crate) struct DrawContext<'m> {
    pub(crate) theme: Theme,
    /// Columns for the answer.
    pub(crate) width: usize,
    /// Columns for what is drawn below it.
    pub(crate) full_width: usize,
    /// Rows that a list may take.
    pub(crate) max_rows: usize,
    pub(crate) texts: &'static Texts,
    pub(crate) messages: &'m Messages,
    /// Whether a single question is drawn in place.
    pub(crate) is_inline: bool,
}

/// The rendering of the focused field.
#[derive(Default)]
pub(crate) struct RenderedField {
    /// The answer.
    pub(crate) rows: Vec<Line<'static>>,
    /// Row and column of the cursor.
    pub(crate) cursor: Option<(usize, usize)>,
    /// Lines below the answer, such as options.
    pub(crate) below: Vec<Line<'static>>,
    /// Help on the keys, as Entreat's own text.
    pub(crate) help: &'static str,
    /// Keys and their effects, for a question in place.
    pub(crate) keys: Vec<(&'static str, &'static str)>,
}

/// An editor for one field.
pub(crate) trait Editor: Send {
    /// Loads a default or a previous answer.
    fn load(&mut self, answer: &Value);

    /// Returns the raw answer; `None` if the field is empty.
    fn answer(&self) -> Option<Value>;

    fn key(&mut self, key: Key) -> KeyOutcome;

    fn paste(&mut self, text: &str) -> KeyOutcome;

    fn draw(&self, context: DrawContext<'_>) -> RenderedField;

    /// Called when the focus moves to another field.
    fn leave(&mut self) {}

    /// Returns a typed path that was not read yet.
    fn pending(&self) -> Option<&str> {
        None
    }

    /// Called when a path was completed.
    fn completed(&mut self, _: &Completion) -> KeyOutcome {
        KeyOutcome::Ignored
    }

    /// Called when a file was read.
    fn fetched(&mut self, _: FetchedFile) {}
}

/// Creates an empty editor for a field; calendars start at `today`.
pub(crate) fn editor(field: &Field, today: Date) -> Box<dyn Editor> {
    let is_secret = field.is_sensitive();
    match field.kind() {
        Kind::Number(_) => Box::new(line::LineEditor::new(is_secret)),
        Kind::Boolean => Box::new(boolean::BooleanEditor::new(field.is_required())),
        Kind::Date(rules) => Box::new(date::DateEditor::new(rules, is_secret, today)),
        Kind::Select(options) => Box::new(select::SelectEditor::new(options)),
        Kind::MultiSelect(rules) => Box::new(multi_select::MultiSelectEditor::new(&rules.options)),
        Kind::Url(_) => Box::new(url::UrlEditor::new(is_secret)),
        Kind::File(rules) => Box::new(FileEditor::new(rules.max_items)),
        Kind::Text(rules) => Box::new(text::TextEditor::new(field, rules)),
    }
}

/// Formats an answer as it would be typed.
fn as_text(answer: &Value) -> String {
    match answer {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The maximum number of rows shown of a text.
const MAX_ROWS: usize = 6;

/// The minimum width of the line under an answer.
const MIN_LINE_WIDTH: usize = 40;

fn padded(mut row: String, width: usize) -> String {
    let missing = width.saturating_sub(row.width());
    row.extend(std::iter::repeat_n(' ', missing));
    row
}

/// Draws a text with its cursor; of a long text, the part around the cursor.
fn draw_edit(edit: &Edit, context: DrawContext<'_>, is_secret: bool) -> RenderedField {
    let mask = is_secret.then(|| context.theme.mask());
    let all = edit.rows(context.width, mask);
    let (row, column) = all.cursor;
    let first = (row + 1).saturating_sub(MAX_ROWS);
    let shown = all.rows.into_iter().skip(first).take(MAX_ROWS);
    let (style, blank) = if context.is_inline {
        // The cursor shows where to type.
        (context.theme.normal(), 0)
    } else {
        // An empty field must be visible too.
        let blank = context.width.min(MIN_LINE_WIDTH);
        (context.theme.normal().underlined(), blank)
    };
    let rows = shown.map(|row| Line::from(Span::styled(padded(row, blank), style)));
    RenderedField {
        rows: rows.collect(),
        cursor: Some((row - first, column)),
        keys: vec![("Enter", context.texts.keys.send)],
        ..RenderedField::default()
    }
}
