//! Translates key events of the terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::event::Key;

/// Translates a key event; `None` if the key has no meaning here.
pub(super) fn read(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let has = |modifiers| event.modifiers.intersects(modifiers);
    // Windows reports AltGr, which many layouts need for characters such as @, as both.
    let is_alt_gr = event
        .modifiers
        .contains(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let is_word = has(KeyModifiers::CONTROL | KeyModifiers::ALT);
    Some(match event.code {
        KeyCode::Char(c) if is_alt_gr && !c.is_ascii_alphanumeric() => Key::Char(c),
        KeyCode::Char(c) if has(KeyModifiers::CONTROL) => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char('b') if has(KeyModifiers::ALT) => Key::WordLeft,
        KeyCode::Char('f') if has(KeyModifiers::ALT) => Key::WordRight,
        KeyCode::Char(_) if has(KeyModifiers::ALT | KeyModifiers::META) => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab if has(KeyModifiers::SHIFT) => Key::BackTab,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left if is_word => Key::WordLeft,
        KeyCode::Right if is_word => Key::WordRight,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Backspace if has(KeyModifiers::ALT) => Key::Ctrl('w'),
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_with_alt_gr_is_text() {
        let both = KeyModifiers::CONTROL | KeyModifiers::ALT;
        let read = |c| read(KeyEvent::new(KeyCode::Char(c), both));
        for c in ['@', '€', '\\', 'ą'] {
            assert_eq!(read(c), Some(Key::Char(c)));
        }
        assert_eq!(read('x'), Some(Key::Ctrl('x')));
    }
}
