//! Lays out an asker's formatted text in rows, for both modes.
//!
//! Formatting stays readable without colours: code keeps its backquotes, lines of a diff their
//! signs, and a table that is too wide becomes a list of its cells. No row is wider than it may be,
//! so that none continues where Entreat's own lines start.

use entreat_core::TextFormat;
use entreat_core::markdown::{Block, DiffLine, Run};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::safe_text;

/// A part of a row in one tone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// How text is emphasised, where the terminal can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Normal,
    Strong,
    Emphasis,
    Code,
    Added,
    Removed,
    Quiet,
}

impl Tone {
    fn of(run: &Run) -> Self {
        if run.style.code {
            Self::Code
        } else if run.style.strong {
            Self::Strong
        } else if run.style.emphasis {
            Self::Emphasis
        } else {
            Self::Normal
        }
    }
}

/// Lays out a text; `None` if it has no formatting.
pub(crate) fn rows(text: &str, format: TextFormat, width: usize) -> Option<Vec<Vec<Piece>>> {
    // Tabs indent code; elsewhere they count as blanks.
    let text = safe_text::lines(&text.replace('\t', TAB));
    let blocks = format.read(&text)?;
    let mut layout = Layout {
        width: width.max(1),
        rows: Vec::new(),
        indent: String::new(),
        marker: None,
    };
    layout.blocks(&blocks);
    Some(layout.rows)
}

const TAB: &str = "    ";
/// The indentation of code.
const CODE: &str = "    ";
/// The width of a wide character.
const WIDE: usize = 2;
/// Between the columns of a table.
const GAP: &str = "   ";

struct Layout {
    width: usize,
    rows: Vec<Vec<Piece>>,
    /// Precedes each row.
    indent: String,
    /// Precedes the next row instead: the marker of a list item.
    marker: Option<String>,
}

impl Layout {
    fn blocks(&mut self, blocks: &[Block]) {
        for (index, block) in blocks.iter().enumerate() {
            // A list within an item follows its text closely.
            let is_close = !self.indent.is_empty() && matches!(block, Block::List { .. });
            if index > 0 && !is_close {
                self.push(Vec::new());
            }
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Paragraph(runs) => self.paragraph(pieces(runs)),
            Block::List { first, items } => self.list(*first, items),
            Block::Quote(blocks) => {
                if let Some(marker) = &mut self.marker {
                    marker.push_str("> ");
                }
                self.indented("> ", |layout| layout.blocks(blocks));
            }
            Block::Code { text, is_diff } => self.indented(CODE, |layout| {
                for line in text.split('\n') {
                    let tone = if *is_diff {
                        diff_tone(line)
                    } else {
                        Tone::Code
                    };
                    let text = safe_text::one_line(line);
                    layout.push(vec![Piece { text, tone }]);
                }
            }),
            Block::Table { head, rows } => self.table(head, rows),
        }
    }

    fn list(&mut self, first: Option<u64>, items: &[Vec<Block>]) {
        for (number, item) in (first.unwrap_or(0)..).zip(items) {
            let marker = match first {
                Some(_) => format!("{number}. "),
                None => "- ".to_owned(),
            };
            let before = self.marker.take().unwrap_or_else(|| self.indent.clone());
            self.marker = Some(before + &marker);
            self.indented(&" ".repeat(marker.len()), |layout| {
                layout.blocks(item);
                if layout.marker.is_some() {
                    // An empty item, or one that starts with nothing to show.
                    layout.push(Vec::new());
                }
            });
        }
    }

    /// Lays out what is indented further, as far as there is room.
    fn indented(&mut self, by: &str, lay_out: impl FnOnce(&mut Self)) {
        let before = self.indent.len();
        if self.indent.width() + by.len() <= self.width / 2 {
            self.indent.push_str(by);
        }
        lay_out(self);
        self.indent.truncate(before);
    }

    /// Wraps text between words.
    fn paragraph(&mut self, pieces: Vec<Piece>) {
        let mut line = Vec::new();
        for piece in pieces {
            let mut parts = piece.text.split('\n');
            let first = parts.next().unwrap_or_default();
            line.push(Piece {
                text: first.to_owned(),
                tone: piece.tone,
            });
            for part in parts {
                self.wrapped(&std::mem::take(&mut line));
                line.push(Piece {
                    text: part.to_owned(),
                    tone: piece.tone,
                });
            }
        }
        self.wrapped(&line);
    }

    fn wrapped(&mut self, line: &[Piece]) {
        let text: String = line.iter().map(|piece| &*piece.text).collect();
        let lead = self.marker.as_ref().unwrap_or(&self.indent).width();
        let room = self.width.saturating_sub(lead).max(1);
        let mut from = 0;
        for row in textwrap::wrap(&text, room) {
            // Only blanks were left out before it.
            let start = text[from..].find(&*row).map_or(from, |at| from + at);
            from = start + row.len();
            self.push(cut(line, start, from));
        }
    }

    /// Lays out a table in columns, or as a list of its cells if they don't fit.
    fn table(&mut self, head: &[Vec<Run>], rows: &[Vec<Vec<Run>>]) {
        let head: Vec<String> = head.iter().map(|cell| cell_text(cell)).collect();
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|cell| cell_text(cell)).collect())
            .collect();
        let mut widths: Vec<usize> = head.iter().map(|cell| cell.width()).collect();
        for row in &rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().max(*width);
            }
        }
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        let lead = self.marker.as_ref().unwrap_or(&self.indent).width();
        if widths.iter().sum::<usize>() + gaps + lead > self.width {
            return self.cells(&head, &rows);
        }
        self.push(columns(&head, &widths, Tone::Strong));
        let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        self.push(columns(&rules, &widths, Tone::Quiet));
        for row in &rows {
            self.push(columns(row, &widths, Tone::Normal));
        }
    }

    fn cells(&mut self, head: &[String], rows: &[Vec<String>]) {
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                self.push(Vec::new());
            }
            for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                let name = head.get(column).filter(|name| !name.is_empty());
                let name = name.map(|name| Piece {
                    text: format!("{name}: "),
                    tone: Tone::Strong,
                });
                let cell = Piece {
                    text: cell.clone(),
                    tone: Tone::Normal,
                };
                self.wrapped(&name.into_iter().chain([cell]).collect::<Vec<_>>());
            }
        }
    }

    /// Adds a row, in several if it is too wide.
    fn push(&mut self, pieces: Vec<Piece>) {
        let lead = self.marker.take().unwrap_or_else(|| self.indent.clone());
        let mut row = Row::new(lead, self.width);
        for piece in pieces {
            for character in piece.text.graphemes(true) {
                if row.is_full(character) {
                    let next = Row::new(self.indent.clone(), self.width);
                    self.rows.push(std::mem::replace(&mut row, next).pieces);
                }
                row.push(character, piece.tone);
            }
        }
        self.rows.push(row.pieces);
    }
}

/// A row that is being filled.
struct Row {
    pieces: Vec<Piece>,
    width: usize,
    most: usize,
    is_empty: bool,
}

impl Row {
    fn new(lead: String, most: usize) -> Self {
        // What precedes a row must leave room for it.
        let lead = if lead.width() + WIDE <= most {
            lead
        } else {
            String::new()
        };
        Self {
            width: lead.width(),
            pieces: vec![Piece {
                text: lead,
                tone: Tone::Normal,
            }],
            most,
            is_empty: true,
        }
    }

    fn is_full(&self, character: &str) -> bool {
        !self.is_empty && self.width + character.width() > self.most
    }

    fn push(&mut self, character: &str, tone: Tone) {
        self.is_empty = false;
        self.width += character.width();
        match self.pieces.last_mut() {
            Some(last) if last.tone == tone => last.text.push_str(character),
            _ => self.pieces.push(Piece {
                text: character.to_owned(),
                tone,
            }),
        }
    }
}

fn pieces(runs: &[Run]) -> Vec<Piece> {
    let piece = |run: &Run| {
        // What entities stand for is made safe here.
        let text = safe_text::lines(&run.text);
        Piece {
            text: if run.style.code {
                format!("`{text}`")
            } else {
                text
            },
            tone: Tone::of(run),
        }
    };
    runs.iter().map(piece).collect()
}

fn cell_text(cell: &[Run]) -> String {
    let text: String = pieces(cell).into_iter().map(|piece| piece.text).collect();
    safe_text::one_line(&text)
}

fn columns(cells: &[String], widths: &[usize], tone: Tone) -> Vec<Piece> {
    let mut text = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if index > 0 {
            text.push_str(GAP);
        }
        text.push_str(cell);
        if index + 1 < cells.len() {
            text.push_str(&" ".repeat(width - cell.width()));
        }
    }
    vec![Piece { text, tone }]
}

fn diff_tone(line: &str) -> Tone {
    match DiffLine::of(line) {
        DiffLine::Added => Tone::Added,
        DiffLine::Removed => Tone::Removed,
        DiffLine::Position => Tone::Quiet,
        DiffLine::Context => Tone::Normal,
    }
}

/// The pieces of a range of a line.
fn cut(line: &[Piece], start: usize, end: usize) -> Vec<Piece> {
    let mut at = 0;
    let mut pieces = Vec::new();
    for piece in line {
        let (from, to) = (start.max(at), end.min(at + piece.text.len()));
        if from < to {
            pieces.push(Piece {
                text: piece.text[from - at..to - at].to_owned(),
                tone: piece.tone,
            });
        }
        at += piece.text.len();
    }
    pieces
}

#[cfg(test)]
mod tests;
