//! Owns the terminal while the full screen is in use.

use std::io::{self, BufWriter, Stderr, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui_core::backend::Backend as _;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_crossterm::CrosstermBackend;

use super::Surface;
use super::view::Frame;
use crate::console::size;

/// A guard over the alternate screen in raw mode; dropping it restores the terminal.
///
/// Not the `Terminal` of ratatui, which queries the cursor position: a terminal that does not
/// respond would block, and keys typed meanwhile could be taken for the response.
pub(super) struct Screen {
    backend: CrosstermBackend<BufWriter<Stderr>>,
    /// The frame on the terminal now.
    drawn: Buffer,
    size: (usize, usize),
}

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        let size = size();
        // Created first, so that dropping it undoes a partial failure.
        let mut screen = Self {
            backend: CrosstermBackend::new(BufWriter::new(io::stderr())),
            drawn: Buffer::empty(area(size)),
            size,
        };
        enable_raw_mode()?;
        execute!(
            screen.backend,
            EnterAlternateScreen,
            EnableBracketedPaste,
            Clear(ClearType::All)
        )?;
        Ok(screen)
    }

    pub(super) fn size(&self) -> (usize, usize) {
        self.size
    }

    /// Asks the terminal to copy text to the clipboard; not all support it.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        write!(self.backend, "\x1b]52;c;{}\x1b\\", STANDARD.encode(text))?;
        io::Write::flush(&mut self.backend)
    }
}

impl Surface for Screen {
    /// Measures the window again and clears it.
    fn resize(&mut self) -> io::Result<(usize, usize)> {
        self.size = size();
        self.drawn = Buffer::empty(area(self.size));
        execute!(self.backend, Clear(ClearType::All))?;
        Ok(self.size)
    }

    /// Draws the difference to the previous frame.
    fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        let area = area(self.size);
        let mut next = Buffer::empty(area);
        for (row, line) in (area.top()..area.bottom()).zip(&frame.lines) {
            next.set_line(area.left(), row, line, area.width);
        }
        // Terminals that support it show a frame only when it is complete.
        queue!(self.backend, BeginSynchronizedUpdate, cursor::Hide)?;
        let changes = self.drawn.diff(&next);
        self.backend.draw(changes.into_iter())?;
        if let Some((column, row)) = frame.cursor {
            let cell = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
            let position = Position::new(cell(column), cell(row));
            if area.contains(position) {
                queue!(
                    self.backend,
                    cursor::MoveTo(position.x, position.y),
                    cursor::Show
                )?;
            }
        }
        self.drawn = next;
        execute!(self.backend, EndSynchronizedUpdate)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is no fallback if this fails.
        let _ = execute!(
            self.backend,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            cursor::Show
        );
        let _ = disable_raw_mode();
    }
}

fn area((columns, rows): (usize, usize)) -> Rect {
    let cells = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    Rect::new(0, 0, cells(columns), cells(rows))
}
