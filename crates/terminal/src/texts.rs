//! The texts of the terminal, by language.
//!
//! A language is a constant, so that no text can be missing. Messages about invalid answers are in
//! the core, and choose the language: a terminal speaks the one that its errors are in.

mod de;
mod de_hints;
mod de_plain;
mod en;
mod en_plain;
mod plain;

use entreat_core::{CalendarNames, Field, Messages, RoughTime};

pub(crate) use plain::{Need, PlainTexts, RefusalTexts};

/// All texts of a language.
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) language: &'static str,
    pub(crate) yes: &'static str,
    pub(crate) no: &'static str,
    pub(crate) secret: &'static str,
    pub(crate) asks: fn(&str) -> String,
    pub(crate) time_left: fn(&str) -> String,
    pub(crate) more_lines: fn(usize) -> String,
    pub(crate) too_small: &'static str,
    pub(crate) example: fn(&str) -> String,
    pub(crate) leave_again: &'static str,
    pub(crate) decline_again: &'static str,
    pub(crate) stay: &'static str,
    pub(crate) no_match: &'static str,
    pub(crate) matches: fn(usize, usize) -> String,
    pub(crate) selected: fn(usize) -> String,
    pub(crate) question: &'static str,
    pub(crate) your_answers: &'static str,
    pub(crate) your_answers_to: fn(&str) -> String,
    pub(crate) more_above: &'static str,
    pub(crate) more_below: &'static str,
    pub(crate) leave_form_again: &'static str,
    pub(crate) window_needs: fn(usize, usize) -> [String; 3],
    pub(crate) not_asked_now: &'static str,
    pub(crate) no_answer: &'static str,
    pub(crate) read_only: &'static str,
    pub(crate) required: &'static str,
    pub(crate) refused: &'static str,
    pub(crate) extended: fn(&str) -> String,
    pub(crate) running_out: fn(&str) -> String,
    pub(crate) not_extended: fn(&str) -> String,
    pub(crate) no_extension_left: &'static str,
    pub(crate) to_correct: fn(usize) -> String,
    pub(crate) send_button: &'static str,
    pub(crate) send_button_to: fn(&str) -> String,
    pub(crate) review_empty: &'static str,
    pub(crate) review_send: &'static str,
    pub(crate) review_change: &'static str,
    pub(crate) nothing_to_fill_in: &'static str,
    pub(crate) search: &'static str,
    pub(crate) options: fn(usize) -> String,
    pub(crate) found: fn(usize, usize) -> String,
    pub(crate) more_names: fn(usize) -> String,
    pub(crate) duration: fn(RoughTime) -> String,
    pub(crate) calendar: &'static CalendarNames,
    /// How to answer a field; may be empty.
    pub(crate) hint: fn(&Field, &Messages) -> String,
    pub(crate) plain: PlainTexts,
    pub(crate) refusals: RefusalTexts,
    pub(crate) help: HelpTexts,
    pub(crate) keys: KeyTexts,
    /// Parts of the names of keys, as they are written on keyboards of this language.
    pub(crate) key_names: &'static [(&'static str, &'static str)],
    pub(crate) card: CardTexts,
}

/// The card of a URL that an asker wants to open.
#[derive(Debug)]
pub(crate) struct CardTexts {
    pub(crate) opened_in_browser: fn(&str) -> String,
    pub(crate) wants_to_open: fn(&str) -> String,
    pub(crate) copy: &'static str,
    pub(crate) copied: &'static str,
    pub(crate) open: &'static str,
    pub(crate) open_again: &'static str,
    pub(crate) done: &'static str,
    pub(crate) more: &'static str,
    pub(crate) leads_to: &'static str,
    pub(crate) cannot_be_opened: &'static str,
    pub(crate) full_address: &'static str,
    pub(crate) press_done: &'static str,
    pub(crate) asks_to_open: fn(&str) -> String,
    pub(crate) address: &'static str,
    pub(crate) leads_to_host: fn(&str) -> String,
    pub(crate) careful: fn(&str) -> String,
    pub(crate) type_open: &'static str,
    pub(crate) type_closed: &'static str,
    pub(crate) was_opened: fn(&str) -> String,
    pub(crate) type_opened: &'static str,
}

/// How to fill in a field of a form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HelpTexts {
    pub(crate) boolean: &'static str,
    pub(crate) optional_boolean: &'static str,
    pub(crate) select: &'static str,
    pub(crate) multi_select: &'static str,
    pub(crate) in_calendar: &'static str,
    pub(crate) calendar: &'static str,
    pub(crate) secret: &'static str,
    pub(crate) lines: &'static str,
    pub(crate) first_file: &'static str,
    pub(crate) more_files: &'static str,
    pub(crate) one_file: &'static str,
}

/// What keys do. Each is the key's name and its effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyTexts {
    pub(crate) send: &'static str,
    pub(crate) choose: &'static str,
    pub(crate) select: &'static str,
    pub(crate) search: (&'static str, &'static str),
    pub(crate) answer: (&'static str, &'static str),
    pub(crate) new_line: &'static str,
    pub(crate) calendar: &'static str,
    pub(crate) day: &'static str,
    pub(crate) complete: &'static str,
    pub(crate) add: &'static str,
    pub(crate) clear: &'static str,
    pub(crate) cancel: &'static str,
    pub(crate) decline: &'static str,
    pub(crate) more_time: &'static str,
    pub(crate) next: &'static str,
    pub(crate) back: &'static str,
    pub(crate) review: &'static str,
    pub(crate) change: &'static str,
}

impl Texts {
    /// The name of a key, given in English, as it is written on keyboards of this language.
    pub(crate) fn key_name(&self, key: &str) -> String {
        let mut name = key.to_owned();
        for (english, own) in self.key_names {
            name = name.replace(english, own);
        }
        name
    }

    /// The texts in the language of these messages; English if there are none.
    pub(crate) fn of(messages: &Messages) -> &'static Self {
        let language = messages.language();
        let language = language.split('-').next();
        let all = Self::ALL.iter().copied();
        let mut found = all.filter(|texts| Some(texts.language) == language);
        found.next().unwrap_or(Self::ENGLISH)
    }

    /// English.
    pub(crate) const ENGLISH: &'static Self = &en::TEXTS;

    pub(crate) const ALL: [&'static Self; 2] = [&en::TEXTS, &de::TEXTS];
}

#[cfg(test)]
mod tests {
    use entreat_core::Catalogue;

    use super::*;

    #[test]
    fn a_language_without_texts_gets_english() {
        let language = |wanted| Texts::of(&Catalogue::default().messages([wanted])).language;
        assert_eq!(language("de-AT"), "de");
        assert_eq!(language("en-GB"), "en");
        assert_eq!(language("fr"), "en");
    }
}
