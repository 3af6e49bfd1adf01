//! What `entreat ask` tells the person in words of its own, by language.
//!
//! Errors, which are for whoever wrote the command, are English.

use entreat::{CancelReason, Messages, Outcome};

/// The texts of a language.
pub(super) struct Texts {
    pub(super) answer_at: &'static str,
    pub(super) page_opens: &'static str,
    pub(super) open_link: &'static str,
    pub(super) answered_without: &'static str,
    pub(super) not_answered: &'static str,
    pub(super) input_ended: &'static str,
    declined: &'static str,
    timed_out: &'static str,
    too_many_attempts: &'static str,
    cancelled: &'static str,
    still_open: &'static str,
}

const ENGLISH: Texts = Texts {
    answer_at: "Answer the question at",
    page_opens: "The page should open in your browser. To cancel, press Ctrl-C.",
    open_link: "Open the link in a browser on this machine. To cancel, press Ctrl-C.",
    answered_without: "answered without",
    not_answered: "not answered",
    input_ended: "the input ended before the answers were sent, so the question was cancelled",
    declined: "the question was declined",
    timed_out: "the question timed out; nothing was sent",
    too_many_attempts: "there were too many invalid answers",
    cancelled: "the question was cancelled",
    still_open: "the question is still open",
};

const GERMAN: Texts = Texts {
    answer_at: "Beantworten Sie die Frage unter",
    page_opens: "Die Seite öffnet sich in Ihrem Browser. Mit Strg-C brechen Sie ab.",
    open_link: "Öffnen Sie den Link in einem Browser auf diesem Rechner. Mit Strg-C brechen Sie ab.",
    answered_without: "beantwortet, aber ohne",
    not_answered: "nicht beantwortet",
    input_ended: "die Eingabe endete, bevor die Antworten gesendet wurden; die Frage wurde \
                  abgebrochen",
    declined: "die Antwort wurde abgelehnt",
    timed_out: "die Zeit ist abgelaufen; es wurde nichts gesendet",
    too_many_attempts: "es gab zu viele ungültige Antworten",
    cancelled: "die Frage wurde abgebrochen",
    still_open: "die Frage ist noch offen",
};

impl Texts {
    /// The texts in the language of these messages; English if there are none.
    pub(super) fn of(messages: &Messages) -> &'static Self {
        match messages.language().split('-').next() {
            Some("de") => &GERMAN,
            _ => &ENGLISH,
        }
    }

    /// Explains why a question has no answer; empty if it has one.
    pub(super) fn why_unanswered(&self, outcome: Option<Outcome>) -> &'static str {
        match outcome {
            Some(Outcome::Completed) => "",
            Some(Outcome::Declined) => self.declined,
            Some(Outcome::TimedOut) => self.timed_out,
            Some(Outcome::Cancelled(CancelReason::MaxRetriesExceeded)) => self.too_many_attempts,
            Some(Outcome::Cancelled(_)) => self.cancelled,
            // Not reached for an awaited outcome.
            None => self.still_open,
        }
    }
}
