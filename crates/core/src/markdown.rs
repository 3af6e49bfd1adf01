//! Markdown in the texts of askers: what is let through. Pages and terminals share it.
//!
//! The text is `CommonMark` with tables. Let through are paragraphs, strong and emphasised text,
//! code, lists, block quotes, code blocks, diffs and tables. Everything else becomes text:
//!
//! | in the text | becomes |
//! |---|---|
//! | a heading | a strong paragraph, which cannot pass for a heading of Entreat's |
//! | a link | its text and its address; nothing leads anywhere |
//! | an image | its alternative text; nothing is loaded |
//! | HTML, a thematic break, a reference and its definition | the characters as written |
//! | a block indented by four spaces | a paragraph: messages are often indented in source code |
//!
//! A line break stays a line break, because people write messages that way.
//!
//! Hostile texts cost linear time and memory: `cost.rs` keeps from the parser what it is slow at,
//! nesting is bounded, and an address appears only where it was written, however often it is
//! referred to.

mod cost;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, OffsetIter, Options, Parser, Tag, TagEnd};
use serde::{Deserialize, Serialize};

/// How the message of a question and the descriptions in its form are formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextFormat {
    /// Markdown.
    #[default]
    Markdown,
    /// Shown as it is: for texts from others, who did not write for Entreat.
    Plain,
}

impl TextFormat {
    /// Both formats.
    pub const ALL: [Self; 2] = [Self::Markdown, Self::Plain];

    /// The format's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Plain => "plain",
        }
    }

    /// Returns the format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// Reads the formatting of a text. `None` if it has none, and is to be shown as it is.
    ///
    /// ```
    /// use entreat_core::TextFormat;
    /// use entreat_core::markdown::Block;
    ///
    /// let blocks = TextFormat::Markdown.read("- *one*\n- two").unwrap();
    /// assert!(matches!(&blocks[..], [Block::List { items, .. }] if items.len() == 2));
    ///
    /// assert_eq!(TextFormat::Markdown.read("Version 7 is ready.\nDeploy it?"), None);
    /// assert_eq!(TextFormat::Plain.read("- *one*\n- two"), None);
    /// ```
    pub fn read(self, text: &str) -> Option<Vec<Block>> {
        let is_read = self == Self::Markdown && text.len() <= MAX_LENGTH;
        if !is_read || cost::is_too_deep(text) {
            return None;
        }
        let mut reader = Reader::new(text);
        let mut blocks = reader.blocks(0);
        let definitions = reader.definitions.iter();
        blocks.extend(definitions.map(|it| Block::text(it.trim_end())));
        let is_formatted = reader.is_formatted || !is_same(text, &blocks);
        is_formatted.then_some(blocks)
    }

    /// Whether it is the default.
    pub fn is_markdown(&self) -> bool {
        *self == Self::Markdown
    }
}

/// Longer texts are shown as they are, in bytes.
pub const MAX_LENGTH: usize = 64 * 1024;

/// How deep lists and quotes nest. What is deeper joins the innermost one.
pub const MAX_NESTING: usize = 6;

/// A part of a formatted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A paragraph.
    Paragraph(Vec<Run>),
    /// A list.
    List {
        /// The first number; `None` for bullets.
        first: Option<u64>,
        /// The items.
        items: Vec<Vec<Block>>,
    },
    /// A block quote.
    Quote(Vec<Block>),
    /// A code block.
    Code {
        /// The code, with line breaks between its lines.
        text: String,
        /// Whether it is a diff; see [`DiffLine::of`].
        is_diff: bool,
    },
    /// A table. Rows may be shorter than the head.
    Table {
        /// The cells of the head.
        head: Vec<Vec<Run>>,
        /// The cells of each row.
        rows: Vec<Vec<Vec<Run>>>,
    },
}

impl Block {
    fn text(text: &str) -> Self {
        Self::Paragraph(vec![Run::new(text, Style::default())])
    }
}

/// Text in one style. May contain line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The text.
    pub text: String,
    /// Its style.
    pub style: Style,
}

impl Run {
    fn new(text: &str, style: Style) -> Self {
        Self {
            text: text.to_owned(),
            style,
        }
    }
}

/// The style of a [`Run`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Strong, usually bold.
    pub strong: bool,
    /// Emphasised, usually italic.
    pub emphasis: bool,
    /// Code.
    pub code: bool,
}

/// What a line of a diff means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffLine {
    /// Added.
    Added,
    /// Removed.
    Removed,
    /// Says which file or lines follow.
    Position,
    /// Unchanged.
    Context,
}

impl DiffLine {
    /// Classifies a line by its first characters.
    pub fn of(line: &str) -> Self {
        match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] | [b'@', b'@', ..] => {
                Self::Position
            }
            [b'+', ..] => Self::Added,
            [b'-', ..] => Self::Removed,
            _ => Self::Context,
        }
    }
}

/// Reads blocks from the parser's events.
struct Reader<'t> {
    source: &'t str,
    events: OffsetIter<'t>,
    /// Definitions of references, which the parser takes out of the text.
    definitions: Vec<&'t str>,
    /// The text of the current paragraph or cell.
    runs: Vec<Run>,
    /// How many open tags make text strong or emphasised.
    strong: usize,
    emphasis: usize,
    link: Option<OpenLink>,
    is_formatted: bool,
}

/// A link whose text is being read.
struct OpenLink {
    address: String,
    text: String,
}

impl<'t> Reader<'t> {
    fn new(source: &'t str) -> Self {
        let mut options = Options::empty();
        options.set(Options::ENABLE_TABLES, cost::may_have_tables(source));
        let parser = Parser::new_ext(source, options);
        let definitions = parser.reference_definitions().iter();
        let mut spans: Vec<_> = definitions.map(|(_, it)| it.span.clone()).collect();
        spans.sort_by_key(|span| span.start);
        Self {
            source,
            definitions: spans.into_iter().map(|span| &source[span]).collect(),
            events: parser.into_offset_iter(),
            runs: Vec::new(),
            strong: 0,
            emphasis: 0,
            link: None,
            is_formatted: false,
        }
    }

    /// Reads blocks up to the end of the container that they are in.
    fn blocks(&mut self, depth: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        // Open containers that are too deep, whose blocks join these.
        let mut flattened = 0;
        while let Some((event, range)) = self.events.next() {
            let Some(event) = self.inline(event, &range) else {
                continue;
            };
            // Only a block ends here: text without tags of its own is a paragraph.
            self.end_paragraph(&mut blocks);
            match event {
                Event::Start(Tag::Heading { .. }) => {
                    self.is_formatted = true;
                    self.strong += 1;
                }
                Event::End(TagEnd::Heading(_)) => self.strong -= 1,
                Event::Start(Tag::List(first)) if depth < MAX_NESTING => {
                    self.is_formatted = true;
                    let items = self.items(depth + 1);
                    blocks.push(Block::List { first, items });
                }
                Event::Start(Tag::BlockQuote(_)) if depth < MAX_NESTING => {
                    self.is_formatted = true;
                    blocks.push(Block::Quote(self.blocks(depth + 1)));
                }
                Event::Start(Tag::List(_) | Tag::BlockQuote(_) | Tag::Item) => flattened += 1,
                Event::End(TagEnd::List(_) | TagEnd::BlockQuote(_) | TagEnd::Item) => {
                    if flattened == 0 {
                        return blocks;
                    }
                    flattened -= 1;
                }
                Event::Start(Tag::CodeBlock(kind)) => blocks.extend(self.code(&kind)),
                Event::Start(Tag::Table(_)) => blocks.push(self.table()),
                Event::Rule => blocks.push(Block::text(self.source[range].trim())),
                // Paragraphs and blocks of HTML; everything else is off or was handled.
                _ => {}
            }
        }
        self.end_paragraph(&mut blocks);
        blocks
    }

    /// Reads the items of a list.
    fn items(&mut self, depth: usize) -> Vec<Vec<Block>> {
        let mut items = Vec::new();
        while let Some((Event::Start(Tag::Item), _)) = self.events.next() {
            items.push(self.blocks(depth));
        }
        items
    }

    fn code(&mut self, kind: &CodeBlockKind<'_>) -> Option<Block> {
        let mut text = String::new();
        while let Some((Event::Text(line), _)) = self.events.next() {
            text.push_str(&line);
        }
        text.truncate(text.trim_end_matches('\n').len());
        match kind {
            CodeBlockKind::Indented => (!text.is_empty()).then(|| Block::text(&text)),
            CodeBlockKind::Fenced(info) => {
                self.is_formatted = true;
                let language = info.split([' ', ',']).next().unwrap_or_default();
                let is_diff = ["diff", "patch"]
                    .iter()
                    .any(|it| language.eq_ignore_ascii_case(it));
                Some(Block::Code { text, is_diff })
            }
        }
    }

    fn table(&mut self) -> Block {
        self.is_formatted = true;
        let mut rows = Vec::new();
        let mut row = Vec::new();
        while let Some((event, range)) = self.events.next() {
            match self.inline(event, &range) {
                Some(Event::End(TagEnd::TableCell)) => row.push(std::mem::take(&mut self.runs)),
                Some(Event::End(TagEnd::TableHead | TagEnd::TableRow)) => {
                    // Without those that the parser filled up.
                    let length = row.iter().rposition(|cell| !cell.is_empty());
                    row.truncate(length.map_or(0, |last| last + 1));
                    rows.push(std::mem::take(&mut row));
                }
                Some(Event::End(TagEnd::Table)) => break,
                _ => {}
            }
        }
        let head = if rows.is_empty() {
            Vec::new()
        } else {
            rows.remove(0)
        };
        Block::Table { head, rows }
    }

    /// Handles what is within a paragraph; returns any other event.
    fn inline(&mut self, event: Event<'t>, range: &Range<usize>) -> Option<Event<'t>> {
        match event {
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.push(&text),
            Event::SoftBreak | Event::HardBreak => self.push("\n"),
            Event::Code(text) => {
                self.is_formatted = true;
                let style = Style {
                    code: true,
                    ..self.style()
                };
                self.push_styled(&text, style);
            }
            Event::Start(Tag::Strong) => self.strong += 1,
            Event::End(TagEnd::Strong) => self.strong -= 1,
            Event::Start(Tag::Emphasis) => self.emphasis += 1,
            Event::End(TagEnd::Emphasis) => self.emphasis -= 1,
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => match link_type {
                LinkType::Inline | LinkType::Autolink | LinkType::Email => {
                    self.is_formatted = true;
                    self.link = Some(OpenLink {
                        address: dest_url.into_string(),
                        text: String::new(),
                    });
                }
                _ => self.push_source(range),
            },
            Event::End(TagEnd::Link) => self.end_link(),
            Event::Start(Tag::Image { .. }) => self.is_formatted = true,
            Event::End(TagEnd::Image) => {}
            event => return Some(event),
        }
        None
    }

    /// Adds the characters of a reference as written, instead of what is in it.
    fn push_source(&mut self, range: &Range<usize>) {
        let source = self.source;
        self.push(&source[range.clone()]);
        let mut open = 1;
        while open > 0 {
            match self.events.next() {
                Some((Event::Start(_), _)) => open += 1,
                Some((Event::End(_), _)) => open -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    /// Adds the address of a link, unless it is the link's text.
    fn end_link(&mut self) {
        if let Some(link) = self.link.take()
            && link.text != link.address
        {
            self.push(&format!(" ({})", link.address));
        }
    }

    fn style(&self) -> Style {
        Style {
            strong: self.strong > 0,
            emphasis: self.emphasis > 0,
            code: false,
        }
    }

    fn push(&mut self, text: &str) {
        self.push_styled(text, self.style());
    }

    fn push_styled(&mut self, text: &str, style: Style) {
        self.is_formatted |= style != Style::default();
        if let Some(link) = &mut self.link {
            link.text.push_str(text);
        }
        match self.runs.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.runs.push(Run::new(text, style)),
        }
    }

    /// Turns the text read so far into a paragraph, if there is any.
    fn end_paragraph(&mut self, blocks: &mut Vec<Block>) {
        let mut runs = std::mem::take(&mut self.runs);
        if let Some(last) = runs.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
        if runs.iter().any(|run| !run.text.trim().is_empty()) {
            blocks.push(Block::Paragraph(runs));
        }
    }
}

/// Whether paragraphs have the same characters as a text, except whitespace.
fn is_same(text: &str, blocks: &[Block]) -> bool {
    let runs = blocks.iter().flat_map(|block| match block {
        Block::Paragraph(runs) => &runs[..],
        _ => &[],
    });
    let shown = runs.flat_map(|run| run.text.chars());
    text.chars()
        .filter(|c| !c.is_whitespace())
        .eq(shown.filter(|c| !c.is_whitespace()))
}

#[cfg(test)]
mod tests;
