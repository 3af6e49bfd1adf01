//! Asks on a separate screen whether a URL may be opened.
//!
//! Enter opens nothing: a key pressed for the previous question must not count as consent.

use ratatui_core::text::Line;

use super::event::Key;
use super::theme::{Theme, truncate};
use super::view::{Body, Frame, keys};
use crate::question::{CardReply, OpenedReply, TerminalStyle, UrlCard};
use crate::safe_text::one_line;
use crate::texts::Texts;
use crate::typography::quoted;

/// The effect of a key on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CardAction<R> {
    Reply(R),
    /// Copies the URL to the clipboard; the card stays.
    Copy,
    Scroll(isize),
}

pub(super) fn key_on_card(key: Key, may_be_opened: bool) -> Option<CardAction<CardReply>> {
    Some(match key {
        Key::Char('o' | 'O') if may_be_opened => CardAction::Reply(CardReply::Open),
        Key::Char('c' | 'C') => CardAction::Copy,
        Key::Ctrl('x') => CardAction::Reply(CardReply::Decline),
        Key::Escape | Key::Ctrl('c' | 'd') => CardAction::Reply(CardReply::Cancel),
        key => CardAction::Scroll(scroll(key)?),
    })
}

pub(super) fn key_when_opened(key: Key) -> Option<CardAction<OpenedReply>> {
    Some(match key {
        Key::Char('d' | 'D') => CardAction::Reply(OpenedReply::Done),
        Key::Char('o' | 'O') => CardAction::Reply(OpenedReply::Again),
        Key::Escape | Key::Ctrl('c' | 'd') => CardAction::Reply(OpenedReply::Cancel),
        key => CardAction::Scroll(scroll(key)?),
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

/// The state of the screen.
pub(super) struct CardScreen<'c> {
    pub(super) card: &'c UrlCard,
    pub(super) style: TerminalStyle,
    pub(super) texts: &'static Texts,
    pub(super) size: (usize, usize),
    pub(super) is_opened: bool,
    pub(super) is_copied: bool,
    pub(super) scroll: usize,
}

impl<'c> CardScreen<'c> {
    pub(super) fn new(
        card: &'c UrlCard,
        style: TerminalStyle,
        texts: &'static Texts,
        is_opened: bool,
    ) -> Self {
        Self {
            card,
            style,
            texts,
            size: (0, 0),
            is_opened,
            is_copied: false,
            scroll: 0,
        }
    }

    /// Scrolls within the content.
    pub(super) fn scroll_by(&mut self, rows: isize) {
        let most = self.body().lines.len().saturating_sub(self.rows());
        self.scroll = self.scroll.saturating_add_signed(rows).min(most);
    }

    fn rows(&self) -> usize {
        self.size.1.saturating_sub(3)
    }

    pub(super) fn view(&self) -> Frame {
        let theme = Theme::new(self.style);
        let width = self.size.0;
        let (texts, named) = (&self.texts.card, self.texts.keys);
        let asker = quoted(&self.card.asker);
        let title = if self.is_opened {
            (texts.opened_in_browser)(&asker)
        } else {
            (texts.wants_to_open)(&asker)
        };
        let mut lines = vec![Line::styled(truncate(&title, width), theme.bold())];
        let body = self.body();
        let most = body.lines.len().saturating_sub(self.rows());
        let body = body.lines.into_iter().skip(self.scroll.min(most));
        lines.extend(body.take(self.rows()));
        lines.resize(self.rows() + 1, Line::default());
        let copy = if self.is_copied {
            texts.copied
        } else {
            texts.copy
        };
        let mut moves = match (self.is_opened, self.card.may_be_opened) {
            (true, _) => vec![("d", texts.done), ("o", texts.open_again)],
            (false, true) => vec![("o", texts.open), ("c", copy)],
            (false, false) => vec![("c", copy)],
        };
        if self.scroll < most {
            moves.push(("PgDn", texts.more));
        }
        let ways_out: &[(&str, &str)] = if self.is_opened {
            &[("Esc", named.cancel)]
        } else {
            &[("Ctrl-X", named.decline), ("Esc", named.cancel)]
        };
        lines.push(keys(&moves, width, self.texts, theme));
        lines.push(keys(ways_out, width, self.texts, theme));
        lines.truncate(self.size.1);
        Frame::new(lines, theme)
    }

    fn body(&self) -> Body {
        let theme = Theme::new(self.style);
        let (width, texts) = (self.size.0, &self.texts.card);
        let mut body = Body::default();
        // The host and the warnings come first, so that no message, however long, pushes them off
        // the screen.
        if !self.card.host.is_empty() {
            body.write_own(texts.leads_to, width, theme.normal());
            body.write_quoted(&one_line(&self.card.host), width, theme, theme.bold());
        }
        for warning in &self.card.warnings {
            let words = format!("! {}", one_line(warning));
            body.write_own(&words, width, theme.warning());
        }
        if !self.card.may_be_opened {
            body.write_own(texts.cannot_be_opened, width, theme.warning());
        }
        body.blank();
        body.write_own(texts.full_address, width, theme.normal());
        body.write_quoted(&one_line(&self.card.url), width, theme, theme.normal());
        body.blank();
        body.write_quoted(&self.card.message, width, theme, theme.normal());
        body.blank();
        if self.is_opened {
            body.write_own(texts.press_done, width, theme.normal());
        }
        body
    }
}
