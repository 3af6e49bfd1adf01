//! What presenters say in words of their own, by language.

use entreat_core::Messages;

/// The texts of a language.
pub(super) struct Texts {
    pub(super) asks: fn(&str, &str) -> String,
    pub(super) no_browser: &'static str,
    pub(super) open_title: &'static str,
    pub(super) blocked_title: &'static str,
    pub(super) address: fn(&str) -> String,
    pub(super) leads_to: fn(&str) -> String,
    pub(super) careful: fn(&str) -> String,
    pub(super) opened_title: &'static str,
    pub(super) what_next: &'static str,
    pub(super) done: &'static str,
    pub(super) again: &'static str,
}

const ENGLISH: Texts = Texts {
    asks: |server, link| format!("{server} asks: {link}"),
    no_browser: "No browser opened: open the address yourself.",
    open_title: "Open this address?",
    blocked_title: "This address cannot be opened",
    address: |url| format!("Address: {url}"),
    leads_to: |host| format!("It leads to: {host}"),
    careful: |warning| format!("Careful: {warning}"),
    opened_title: "The address was opened",
    what_next: "What next?",
    done: "I am done",
    again: "Open it again",
};

const GERMAN: Texts = Texts {
    asks: |server, link| format!("{server} fragt: {link}"),
    no_browser: "Es hat sich kein Browser geöffnet. Öffnen Sie die Adresse selbst.",
    open_title: "Diese Adresse öffnen?",
    blocked_title: "Diese Adresse kann nicht geöffnet werden",
    address: |url| format!("Adresse: {url}"),
    leads_to: |host| format!("Sie führt zu: {host}"),
    careful: |warning| format!("Achtung: {warning}"),
    opened_title: "Die Adresse wurde geöffnet",
    what_next: "Wie geht es weiter?",
    done: "Ich bin dort fertig",
    again: "Noch einmal öffnen",
};

impl Texts {
    /// The texts in the language of these messages; English if there are none.
    pub(super) fn of(messages: &Messages) -> &'static Self {
        match messages.language().split('-').next() {
            Some("de") => &GERMAN,
            _ => &ENGLISH,
        }
    }
}
