//! Colours and symbols, with fallbacks for terminals without them.
//!
//! Colour is never the only signal: there is always a symbol, or bold or reversed text.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::prose::Tone;
use crate::question::TerminalStyle;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    colour: bool,
    unicode: bool,
}

#[expect(
    clippy::unused_self,
    reason = "styles are the theme's to decide, and may depend on the terminal later"
)]
impl Theme {
    pub(crate) fn new(style: TerminalStyle) -> Self {
        Self {
            colour: style.colour,
            unicode: style.unicode,
        }
    }

    fn coloured(self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }

    pub(crate) fn normal(self) -> Style {
        Style::new()
    }

    pub(crate) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The bar in front of untrusted text.
    pub(crate) fn bar(self) -> Span<'static> {
        let style = self.coloured(Style::new(), Color::Cyan);
        Span::styled(self.symbol("│ ", "| "), style)
    }

    pub(crate) fn error(self) -> Style {
        self.coloured(self.bold(), Color::Red)
    }

    pub(crate) fn warning(self) -> Style {
        self.coloured(self.bold(), Color::Yellow)
    }

    /// The style of a part of a formatted text.
    pub(crate) fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Normal => self.normal(),
            Tone::Strong => self.bold(),
            Tone::Emphasis => Style::new().add_modifier(Modifier::ITALIC),
            Tone::Code => self.coloured(self.normal(), Color::Yellow),
            Tone::Added => self.coloured(self.normal(), Color::Green),
            Tone::Removed => self.coloured(self.normal(), Color::Red),
            Tone::Quiet => self.dim(),
        }
    }

    /// The style of an answer that was sent.
    pub(crate) fn answer(self) -> Style {
        self.coloured(Style::new(), Color::Cyan)
    }

    /// The style of key names and marks.
    pub(crate) fn key(self) -> Style {
        self.coloured(self.bold(), Color::Cyan)
    }

    /// The style of what Enter acts on.
    pub(crate) fn highlighted(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn symbol(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    pub(crate) fn rule(self) -> &'static str {
        self.symbol("─", "-")
    }

    pub(crate) fn mask(self) -> char {
        if self.unicode { '•' } else { '*' }
    }

    pub(crate) fn radio(self, on: bool) -> &'static str {
        match (on, self.unicode) {
            (true, true) => "(•) ",
            (true, false) => "(*) ",
            (false, _) => "( ) ",
        }
    }

    pub(crate) fn check(self, on: bool) -> &'static str {
        if on { "[x] " } else { "[ ] " }
    }

    /// Converts a line to what the terminal can show.
    pub(crate) fn to_terminal(self, line: Line<'static>) -> Line<'static> {
        if self.unicode {
            return line;
        }
        let spans = line.spans.into_iter();
        let plain = |span: Span<'static>| Span::styled(ascii_cells(&span.content), span.style);
        Line::from(spans.map(plain).collect::<Vec<_>>())
    }
}

/// Converts text to ASCII of the same width.
fn ascii_cells(text: &str) -> String {
    let mut cells = String::with_capacity(text.len());
    for character in text.graphemes(true) {
        match character {
            "│" => cells.push('|'),
            "─" => cells.push('-'),
            "“" | "”" => cells.push('"'),
            "…" => cells.push('~'),
            character if character.is_ascii() => cells.push_str(character),
            character => cells.extend(std::iter::repeat_n('?', character.width().max(1))),
        }
    }
    cells
}

/// Truncates text to a width, with an ellipsis.
pub(crate) fn truncate(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut taken = 0;
    for character in text.graphemes(true) {
        taken += character.width();
        if taken >= width {
            break;
        }
        short.push_str(character);
    }
    if width > 0 {
        short.push('…');
    }
    short
}

/// Truncates or pads text to a width.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let mut cell = truncate(text, width);
    let missing = width.saturating_sub(cell.width());
    cell.extend(std::iter::repeat_n(' ', missing));
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_their_width() {
        assert_eq!(fit("abc", 5), "abc  ");
        assert_eq!(fit("abcdef", 4), "abc…");
        assert_eq!(fit("日本語", 4), "日… ");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(ascii_cells("“日…”"), "\"??~\"");
    }
}
