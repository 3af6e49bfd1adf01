//! Random forms and random keys.

use entreat_core::Form;
use entreat_testkit::arbitrary;
use proptest::prelude::*;
use serde_json::Value;

use super::{Sitting, question, style};
use crate::full::event::{Event, Key};
use crate::question::FormReply;

const KEYS: &[Key] = &[
    Key::Enter,
    Key::Tab,
    Key::BackTab,
    Key::Up,
    Key::Down,
    Key::Left,
    Key::Right,
    Key::WordLeft,
    Key::WordRight,
    Key::Home,
    Key::End,
    Key::PageUp,
    Key::PageDown,
    Key::Backspace,
    Key::Delete,
    Key::Ctrl('r'),
    Key::Ctrl('u'),
    Key::Ctrl('k'),
    Key::Ctrl('w'),
    Key::Ctrl('t'),
    Key::Char(' '),
    Key::Char('1'),
    Key::Char('-'),
    Key::Char('a'),
    Key::Char('y'),
    Key::Char('é'),
    Key::Char('日'),
    Key::Char('\u{301}'),
];

#[derive(Clone, Debug)]
enum CardAction {
    Press(usize),
    Paste(String),
    Resize(usize, usize),
}

fn deed() -> impl Strategy<Value = CardAction> {
    prop_oneof![
        12 => (0..KEYS.len()).prop_map(CardAction::Press),
        1 => "\\PC{0,20}".prop_map(CardAction::Paste),
        1 => (0..120usize, 0..40usize).prop_map(|(w, h)| CardAction::Resize(w, h)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_keys_ever_break_the_screen_or_send_what_is_not_valid(
        seed in any::<u64>(),
        deeds in proptest::collection::vec(deed(), 0..80),
    ) {
        let form = Form::from_value(&arbitrary::form(seed)).unwrap();
        let mut sitting = Sitting::sized(&question(&form), style(), (60, 20));
        for deed in deeds {
            match deed {
                CardAction::Press(key) => sitting.hear(Event::Key(KEYS[key])),
                CardAction::Paste(text) => sitting.hear(Event::Paste(text)),
                CardAction::Resize(columns, rows) => sitting.hear(Event::Resized(columns, rows)),
            }
            let frame = sitting.model.view();
            prop_assert!(frame.lines.len() <= sitting.model.size.1);
            if let Some(FormReply::Answered(answers)) = &sitting.done {
                prop_assert!(form.check(&Value::from(answers.clone())).is_ok());
                break;
            }
            prop_assert!(sitting.done.is_none(), "nobody declined or left");
        }
    }
}
