//! An address that somebody wants to be opened, on a screen of its own.
//!
//! Enter opens nothing: a key pressed for the question before must not be consent.

use ratatui::text::Line;

use super::event::Key;
use super::ink::{Ink, cut};
use super::view::{Frame, Paper, keys};
use crate::question::{CardReply, Look, OpenedReply, UrlCard};
use crate::safe_text::one_line;
use crate::typography::quoted;

/// What a key on a card says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed<R> {
    Reply(R),
    /// Puts the address on the clipboard; the card stays.
    Copy,
    Scroll(isize),
}

pub(super) fn key_on_card(key: Key, may_be_opened: bool) -> Option<Deed<CardReply>> {
    Some(match key {
        Key::Char('o' | 'O') if may_be_opened => Deed::Reply(CardReply::Open),
        Key::Char('c' | 'C') => Deed::Copy,
        Key::Ctrl('x') => Deed::Reply(CardReply::Decline),
        Key::Escape | Key::Ctrl('c' | 'd') => Deed::Reply(CardReply::Cancel),
        key => Deed::Scroll(scroll(key)?),
    })
}

pub(super) fn key_when_opened(key: Key) -> Option<Deed<OpenedReply>> {
    Some(match key {
        Key::Char('d' | 'D') => Deed::Reply(OpenedReply::Done),
        Key::Char('o' | 'O') => Deed::Reply(OpenedReply::Again),
        Key::Escape | Key::Ctrl('c' | 'd') => Deed::Reply(OpenedReply::Cancel),
        key => Deed::Scroll(scroll(key)?),
    })
}

fn scroll(key: Key) -> Option<isize> {
    match key {
        Key::Up => Some(-1),
        Key::Down => Some(1),
        Key::PageUp => Some(-5),
        Key::PageDown => Some(5),
        _ => None,
    }
}

/// What is on the screen.
pub(super) struct Card<'c> {
    pub(super) about: &'c UrlCard,
    pub(super) look: Look,
    pub(super) size: (usize, usize),
    pub(super) is_opened: bool,
    pub(super) is_copied: bool,
    pub(super) scroll: usize,
}

impl Card<'_> {
    /// Moves as far as there is something to see.
    pub(super) fn scroll_by(&mut self, rows: isize) {
        let most = self.body().lines.len().saturating_sub(self.rows());
        self.scroll = self.scroll.saturating_add_signed(rows).min(most);
    }

    fn rows(&self) -> usize {
        self.size.1.saturating_sub(3)
    }

    pub(super) fn view(&self) -> Frame {
        let ink = Ink::new(self.look);
        let width = self.size.0;
        let asker = quoted(&self.about.asker);
        let title = if self.is_opened {
            format!("{asker}: opened in your browser")
        } else {
            format!("{asker} wants to open a page")
        };
        let mut lines = vec![Line::styled(cut(&title, width), ink.strong())];
        let body = self.body();
        let most = body.lines.len().saturating_sub(self.rows());
        let body = body.lines.into_iter().skip(self.scroll.min(most));
        lines.extend(body.take(self.rows()));
        lines.resize(self.rows() + 1, Line::default());
        let copy = if self.is_copied { "copied" } else { "copy" };
        let mut moves = match (self.is_opened, self.about.may_be_opened) {
            (true, _) => vec![("d", "done"), ("o", "open again")],
            (false, true) => vec![("o", "open"), ("c", copy)],
            (false, false) => vec![("c", copy)],
        };
        if self.scroll < most {
            moves.push(("PgDn", "more"));
        }
        let ways_out: &[(&str, &str)] = if self.is_opened {
            &[("Esc", "cancel")]
        } else {
            &[("Ctrl-X", "decline"), ("Esc", "cancel")]
        };
        lines.push(keys(&moves, width, ink));
        lines.push(keys(ways_out, width, ink));
        lines.truncate(self.size.1);
        let lines = lines.into_iter().map(|line| ink.on_paper(line)).collect();
        Frame {
            lines,
            cursor: None,
        }
    }

    fn body(&self) -> Paper {
        let ink = Ink::new(self.look);
        let width = self.size.0;
        let mut paper = Paper::default();
        // Where it leads and what is wrong with it come first, so that no message, however long,
        // pushes them off the screen.
        if !self.about.host.is_empty() {
            paper.own("It leads to:", width, ink.own());
            paper.theirs(&one_line(&self.about.host), width, ink, ink.strong());
        }
        for warning in &self.about.warnings {
            let words = format!("! {}", one_line(warning));
            paper.own(&words, width, ink.warning());
        }
        if !self.about.may_be_opened {
            paper.own("It cannot be opened from here.", width, ink.warning());
        }
        paper.blank();
        paper.own("The whole address:", width, ink.own());
        paper.theirs(&one_line(&self.about.url), width, ink, ink.own());
        paper.blank();
        paper.theirs(&self.about.message, width, ink, ink.own());
        paper.blank();
        if self.is_opened {
            paper.own("Press d when you have finished there.", width, ink.own());
        }
        paper
    }
}
