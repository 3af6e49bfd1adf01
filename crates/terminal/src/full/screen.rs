//! The terminal while the whole of it is ours.

use std::io::{self, BufWriter, Stderr};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::view::Frame;
use crate::console::size;

/// Made when something is asked; whatever happens, the terminal is as it was when this is
/// dropped.
///
/// Not `ratatui::Terminal`, which asks the terminal where its cursor is: one that does not answer
/// would hold everything up, and what a person types meanwhile could be taken for the answer.
pub(super) struct Screen {
    backend: CrosstermBackend<BufWriter<Stderr>>,
    /// What is on the terminal now.
    drawn: Buffer,
    size: (usize, usize),
}

impl Screen {
    pub(super) fn enter() -> io::Result<Self> {
        let size = size();
        // Before anything is changed: what fails half-way is undone by the drop.
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

    /// Looks at how large the window is now, and begins with a blank one.
    pub(super) fn resize(&mut self) -> io::Result<(usize, usize)> {
        self.size = size();
        self.drawn = Buffer::empty(area(self.size));
        execute!(self.backend, Clear(ClearType::All))?;
        Ok(self.size)
    }

    /// Draws what is other than before.
    pub(super) fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        let area = area(self.size);
        let mut next = Buffer::empty(area);
        for (row, line) in (area.top()..area.bottom()).zip(&frame.lines) {
            next.set_line(area.left(), row, line, area.width);
        }
        // Terminals that know it show a frame when it is whole.
        queue!(self.backend, BeginSynchronizedUpdate, cursor::Hide)?;
        let changes = self.drawn.diff(&next);
        self.backend.draw(changes.into_iter())?;
        if let Some((column, row)) = frame.cursor {
            let cell = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
            let place = Position::new(cell(column), cell(row));
            if area.contains(place) {
                queue!(self.backend, cursor::MoveTo(place.x, place.y), cursor::Show)?;
            }
        }
        self.drawn = next;
        execute!(self.backend, EndSynchronizedUpdate)
    }

    /// Asks the terminal to put a text on the clipboard; not all of them do.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.backend, CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing is left to try if any of this fails.
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
