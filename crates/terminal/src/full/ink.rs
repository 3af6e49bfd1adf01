//! Colours and signs, or what stands for them where there are none.
//!
//! Nothing is told by colour alone: each has its sign, or bold and reversed type beside it.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::question::Look;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ink {
    colour: bool,
    unicode: bool,
}

#[expect(
    clippy::unused_self,
    reason = "what depends on the terminal today is ink's to decide, and may be another thing tomorrow"
)]
impl Ink {
    pub(crate) fn new(look: Look) -> Self {
        Self {
            colour: look.colour,
            unicode: look.unicode,
        }
    }

    fn coloured(self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }

    pub(crate) fn own(self) -> Style {
        Style::new()
    }

    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The bar before what others wrote.
    pub(crate) fn bar(self) -> Span<'static> {
        let style = self.coloured(Style::new(), Color::Cyan);
        Span::styled(self.sign("│ ", "| "), style)
    }

    pub(crate) fn error(self) -> Style {
        self.coloured(self.strong(), Color::Red)
    }

    pub(crate) fn warning(self) -> Style {
        self.coloured(self.strong(), Color::Yellow)
    }

    /// What keys or choices are at hand.
    pub(crate) fn key(self) -> Style {
        self.coloured(self.strong(), Color::Cyan)
    }

    /// What Enter would act on.
    pub(crate) fn pointed(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn sign(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }

    pub(crate) fn rule(self) -> &'static str {
        self.sign("─", "-")
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

    /// A line as the terminal can show it.
    pub(crate) fn on_paper(self, line: Line<'static>) -> Line<'static> {
        if self.unicode {
            return line;
        }
        let spans = line.spans.into_iter();
        let plain = |span: Span<'static>| Span::styled(ascii_cells(&span.content), span.style);
        Line::from(spans.map(plain).collect::<Vec<_>>())
    }
}

/// ASCII in as many columns as before.
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

/// The text cut to a width, with a sign if something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
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

/// The text cut or filled up to a width.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let mut cell = cut(text, width);
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
