//! The scrollable body between header and footer.

use std::ops::Range;

use entreat_core::TextFormat;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use crate::full::theme::Theme;
use crate::{prose, safe_text};

/// The maximum length of untrusted text that is laid out.
const MAX_CHARACTERS: usize = 4000;

/// Rows of any number; the view shows a part.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) lines: Vec<Line<'static>>,
    /// The rows to keep visible.
    pub(crate) focus: Range<usize>,
    /// Column and row.
    pub(crate) cursor: Option<(usize, usize)>,
}

impl Body {
    pub(crate) fn push(&mut self, line: impl Into<Line<'static>>) {
        self.lines.push(line.into());
    }

    pub(crate) fn blank(&mut self) {
        // Never two in a row, and none at the top.
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.push(Line::default());
        }
    }

    /// Adds Entreat's own text.
    pub(crate) fn write_own(&mut self, words: &str, width: usize, style: Style) {
        self.lines.extend(wrapped(words, width, style));
    }

    /// Adds untrusted text as a block quote, with its line breaks.
    pub(crate) fn write_quoted(&mut self, text: &str, width: usize, theme: Theme, style: Style) {
        let (shown, hidden) = split_at_limit(text);
        let text = safe_text::lines(shown);
        let room = quoted_width(width);
        for line in text.trim().lines() {
            let rows = textwrap::wrap(line, room);
            for row in rows {
                let row = Span::styled(row.trim_end().to_owned(), style);
                self.push(vec![theme.bar(), row]);
            }
        }
        self.write_hidden(hidden, width, theme);
    }

    /// Adds untrusted text that may be formatted.
    pub(crate) fn write_prose(
        &mut self,
        text: &str,
        format: TextFormat,
        width: usize,
        theme: Theme,
    ) {
        let (shown, hidden) = split_at_limit(text);
        let Some(rows) = prose::rows(shown, format, quoted_width(width)) else {
            return self.write_quoted(text, width, theme, theme.normal());
        };
        for row in rows {
            let pieces = row
                .into_iter()
                .map(|piece| Span::styled(piece.text, theme.tone(piece.tone)));
            self.push(
                std::iter::once(theme.bar())
                    .chain(pieces)
                    .collect::<Vec<_>>(),
            );
        }
        self.write_hidden(hidden, width, theme);
    }

    /// Adds the heading of a section, after a blank row.
    pub(crate) fn write_heading(&mut self, heading: &str, width: usize, theme: Theme) {
        self.blank();
        self.write_quoted(&safe_text::one_line(heading), width, theme, theme.bold());
    }

    /// Says how much of a text is not shown.
    fn write_hidden(&mut self, hidden: usize, width: usize, theme: Theme) {
        if hidden > 0 {
            let words = format!("({hidden} more characters are not shown)");
            self.write_own(&words, width, theme.dim());
        }
    }

    /// Adds a line with indentation.
    pub(crate) fn indented(&mut self, by: usize, line: &Line<'static>) {
        let mut spans = vec![Span::raw(" ".repeat(by))];
        spans.extend(line.spans.iter().cloned());
        self.push(spans);
    }
}

/// The width for text after a bar.
fn quoted_width(width: usize) -> usize {
    width.saturating_sub(2).max(10)
}

/// Returns the text up to the limit, and the number of characters beyond it.
fn split_at_limit(text: &str) -> (&str, usize) {
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    }
}

/// Wraps text into styled rows.
pub(crate) fn wrapped(words: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let rows = textwrap::wrap(words, width.max(10));
    rows.into_iter()
        .map(|row| Line::from(Span::styled(row.into_owned(), style)))
        .collect()
}
