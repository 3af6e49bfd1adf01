//! Rows of a body on their way to the screen.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::full::ink::Ink;
use crate::safe_text;

/// The longest text of others that is laid out; a whole novel helps nobody to answer.
const LONGEST: usize = 4000;

/// A body, as long as it needs to be.
#[derive(Default)]
pub(crate) struct Paper {
    pub(crate) lines: Vec<Line<'static>>,
    /// The rows that the person should see.
    pub(crate) focus: Range<usize>,
    /// Column and row.
    pub(crate) cursor: Option<(usize, usize)>,
}

impl Paper {
    pub(crate) fn push(&mut self, line: impl Into<Line<'static>>) {
        self.lines.push(line.into());
    }

    pub(crate) fn blank(&mut self) {
        // Never two, and none at the top.
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.push(Line::default());
        }
    }

    /// Entreat's own words.
    pub(crate) fn own(&mut self, words: &str, width: usize, style: Style) {
        self.lines.extend(wrapped(words, width, style));
    }

    /// What another wrote, with its lines kept.
    pub(crate) fn theirs(&mut self, text: &str, width: usize, ink: Ink, style: Style) {
        let (shown, hidden) = cut_off(text);
        let text = safe_text::lines(shown);
        let room = width.saturating_sub(2).max(10);
        for line in text.trim().lines() {
            let rows = textwrap::wrap(line, room);
            for row in rows {
                let row = Span::styled(row.trim_end().to_owned(), style);
                self.push(vec![ink.bar(), row]);
            }
        }
        if hidden > 0 {
            let words = format!("({hidden} more characters are not shown)");
            self.own(&words, width, ink.dim());
        }
    }

    /// Puts rows to the right of what the lines from `start` on hold, or below.
    pub(crate) fn indented(&mut self, by: usize, line: &Line<'static>) {
        let mut spans = vec![Span::raw(" ".repeat(by))];
        spans.extend(line.spans.iter().cloned());
        self.push(spans);
    }
}

/// The beginning of a text that is too long, and how many characters it lacks.
fn cut_off(text: &str) -> (&str, usize) {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    }
}

/// Words in rows of a width.
pub(crate) fn wrapped(words: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let rows = textwrap::wrap(words, width.max(10));
    rows.into_iter()
        .map(|row| Line::from(Span::styled(row.into_owned(), style)))
        .collect()
}
