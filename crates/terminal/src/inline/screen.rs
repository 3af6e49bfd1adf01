//! Owns the lines of the terminal that a question is drawn on.
//!
//! All movements are relative to the line where the question began, so the terminal is never asked
//! for the position of its cursor: one that does not respond would block.

use std::io::{self, BufWriter, Stderr, Write as _};

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::{Print, PrintStyledContent, StyledContent};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{cursor, queue};
use ratatui_core::text::Line;
use ratatui_crossterm::IntoCrossterm as _;
use unicode_width::UnicodeWidthStr as _;

use crate::console::size;
use crate::full::{Frame, Surface};

/// A guard over raw mode and the drawn lines. Dropping it replaces them with the closing line and
/// restores the terminal.
pub(crate) struct InlineScreen {
    out: BufWriter<Stderr>,
    size: (usize, usize),
    /// The frame on the terminal now.
    frame: Option<Frame>,
    /// The widths of its lines.
    drawn: Vec<usize>,
    /// Rows between the first line and the cursor.
    cursor_row: usize,
    cursor_column: usize,
    closing: Line<'static>,
}

impl InlineScreen {
    /// Takes the terminal; `closing` is the line that stays if the question is not answered.
    pub(crate) fn enter(closing: Line<'static>) -> io::Result<Self> {
        // Created first, so that dropping it undoes a partial failure.
        let mut screen = Self {
            out: BufWriter::new(io::stderr()),
            size: size(),
            frame: None,
            drawn: Vec::new(),
            cursor_row: 0,
            cursor_column: 0,
            closing,
        };
        enable_raw_mode()?;
        queue!(screen.out, EnableBracketedPaste)?;
        screen.out.flush()?;
        Ok(screen)
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Writes lines that are not redrawn.
    pub(crate) fn print(&mut self, lines: Vec<Line<'static>>) -> io::Result<()> {
        for line in lines {
            self.line(&line)?;
            queue!(self.out, Print("\r\n"))?;
        }
        self.out.flush()
    }

    /// Sets the line that stays when the question ends.
    pub(crate) fn close_with(&mut self, closing: Line<'static>) {
        self.closing = closing;
    }

    /// Moves to the first line and clears everything that was drawn.
    fn clear(&mut self) -> io::Result<()> {
        if let Some(rows) = cells(self.cursor_row) {
            queue!(self.out, cursor::MoveUp(rows))?;
        }
        (self.cursor_row, self.cursor_column) = (0, 0);
        self.drawn.clear();
        queue!(
            self.out,
            cursor::MoveToColumn(0),
            Clear(ClearType::FromCursorDown)
        )
    }

    fn line(&mut self, line: &Line<'static>) -> io::Result<()> {
        for span in &line.spans {
            let style = line.style.patch(span.style).into_crossterm();
            // Text is sanitized before it gets here; nothing may slip through to the terminal.
            let content: String = span.content.chars().filter(|c| !c.is_control()).collect();
            let content = StyledContent::new(style, content);
            queue!(self.out, PrintStyledContent(content))?;
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.clear()?;
        let closing = std::mem::take(&mut self.closing);
        if closing.width() > 0 {
            self.line(&closing)?;
            queue!(self.out, Print("\r\n"))?;
        }
        queue!(self.out, DisableBracketedPaste, cursor::Show)?;
        self.out.flush()
    }
}

impl Surface for InlineScreen {
    fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        if self.frame.as_ref() == Some(frame) {
            return Ok(());
        }
        self.frame = Some(frame.clone());
        // Terminals that support it show a frame only when it is complete.
        queue!(self.out, BeginSynchronizedUpdate, cursor::Hide)?;
        self.clear()?;
        for (row, line) in frame.lines.iter().enumerate() {
            if row > 0 {
                queue!(self.out, Print("\r\n"))?;
            }
            self.line(line)?;
            let width: usize = line.spans.iter().map(|span| span.content.width()).sum();
            self.drawn.push(width);
        }
        let last = self.drawn.len().saturating_sub(1);
        self.cursor_row = last;
        self.cursor_column = self.drawn.last().copied().unwrap_or(0);
        if let Some((column, row)) = frame.cursor {
            if let Some(rows) = cells(last.saturating_sub(row)) {
                queue!(self.out, cursor::MoveUp(rows))?;
            }
            let column_cells = u16::try_from(column).unwrap_or(u16::MAX);
            queue!(self.out, cursor::MoveToColumn(column_cells), cursor::Show)?;
            (self.cursor_row, self.cursor_column) = (row.min(last), column);
        }
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()
    }

    fn resize(&mut self) -> io::Result<(usize, usize)> {
        self.size = size();
        // What is on the terminal has moved.
        self.frame = None;
        let columns = self.size.0.max(1);
        // A terminal that becomes narrower wraps the lines it shows.
        let above = &self.drawn[..self.cursor_row.min(self.drawn.len())];
        let wrapped: usize = above
            .iter()
            .map(|width| width.div_ceil(columns).max(1))
            .sum();
        self.cursor_row = wrapped + self.cursor_column / columns;
        self.cursor_column %= columns;
        Ok(self.size)
    }
}

impl Drop for InlineScreen {
    fn drop(&mut self) {
        // There is no fallback if this fails.
        let _ = self.close();
        let _ = disable_raw_mode();
    }
}

/// A distance to move; `None` for zero, which terminals take for one.
fn cells(count: usize) -> Option<u16> {
    (count > 0).then(|| u16::try_from(count).unwrap_or(u16::MAX))
}
