//! Texts of askers: what they show grows with what was written, and nests no deeper than allowed.

use entreat_core::TextFormat;
use entreat_core::markdown::{Block, MAX_NESTING, Run};

use super::Meter;

/// Reads a text as Markdown.
pub fn run(data: &[u8], meter: &mut Meter) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let read = meter.call("read", || TextFormat::Markdown.read(text));
    let Some(blocks) = read else {
        return;
    };
    let mut shown = Shown::default();
    shown.blocks(&blocks, 0);
    // An address of a link is shown beside its text, and an entity is a few characters.
    assert!(
        shown.bytes <= 4 * text.len(),
        "{} bytes: {text:?}",
        shown.bytes
    );
    assert!(
        shown.parts <= 4 * text.len() + 1,
        "{} parts: {text:?}",
        shown.parts
    );
}

/// How much there is to show.
#[derive(Default)]
struct Shown {
    bytes: usize,
    parts: usize,
}

impl Shown {
    fn blocks(&mut self, blocks: &[Block], depth: usize) {
        assert!(depth <= MAX_NESTING);
        self.parts += blocks.len();
        for block in blocks {
            match block {
                Block::Paragraph(runs) => self.runs(runs),
                Block::Quote(blocks) => self.blocks(blocks, depth + 1),
                Block::Code { text, .. } => self.bytes += text.len(),
                Block::List { items, .. } => {
                    self.parts += items.len();
                    for item in items {
                        self.blocks(item, depth + 1);
                    }
                }
                Block::Table { head, rows } => {
                    self.parts += rows.len();
                    for cell in head.iter().chain(rows.iter().flatten()) {
                        self.parts += 1;
                        self.runs(cell);
                    }
                }
            }
        }
    }

    fn runs(&mut self, runs: &[Run]) {
        self.parts += runs.len();
        self.bytes += runs.iter().map(|run| run.text.len()).sum::<usize>();
    }
}
