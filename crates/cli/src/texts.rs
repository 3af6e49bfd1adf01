//! What commands that ask tell the person in words of their own, by language.
//!
//! Errors, which are for whoever wrote the command, are English.

use entreat::{CancelReason, Messages, Outcome};

/// The texts of a language.
pub(crate) struct Texts {
    pub(crate) answer_at: &'static str,
    pub(crate) page_opens: &'static str,
    pub(crate) open_link: &'static str,
    pub(crate) answered_without: &'static str,
    pub(crate) not_answered: &'static str,
    pub(crate) input_ended: &'static str,
    pub(crate) declined: &'static str,
    timed_out: &'static str,
    too_many_attempts: &'static str,
    pub(crate) cancelled: &'static str,
    still_open: &'static str,
    pub(crate) sent: &'static str,
    pub(crate) you_declined: &'static str,
    pub(crate) you_cancelled: &'static str,
    pub(crate) left_open: &'static str,
    pub(crate) already_settled: fn(&str) -> String,
    pub(crate) settled_elsewhere: fn(&str) -> String,
    pub(crate) too_late: fn(&str) -> String,
    pub(crate) not_called: fn(&str) -> String,
    pub(crate) asked_too_often: &'static str,
    pub(crate) question_timed_out: &'static str,
    pub(crate) sign_in: SignInTexts,
}

/// What a person reads who signs in at a server.
pub(crate) struct SignInTexts {
    pub(crate) first: fn(&str) -> String,
    pub(crate) ended: fn(&str) -> String,
    pub(crate) more_scopes: fn(&str) -> String,
    pub(crate) page_opens: &'static str,
    pub(crate) open_link: &'static str,
    pub(crate) paste: &'static str,
    pub(crate) not_the_address: &'static str,
    pub(crate) go_back: &'static str,
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
    sent: "sent",
    you_declined: "you declined",
    you_cancelled: "you cancelled",
    left_open: "left; the question is still open",
    already_settled: |status| format!("the question is already settled: {status}"),
    settled_elsewhere: |status| format!("the question was settled: {status}"),
    too_late: |status| format!("nothing was sent, the question was settled already: {status}"),
    not_called: |why| format!("not called: {why}"),
    asked_too_often: "the server asked too often",
    question_timed_out: "the question timed out",
    sign_in: SignInTexts {
        first: |name| format!("{name} wants you to sign in."),
        ended: |name| format!("Your sign-in at {name} has ended. Sign in again."),
        more_scopes: |name| format!("{name} wants you to allow more than before. Sign in again."),
        page_opens: "The page should open in your browser. If it doesn't, open",
        open_link: "Open this link in a browser:",
        paste: "If the browser is on another machine, the last page doesn't load. Paste its \
                address here:",
        not_the_address: "That is not the address. It has a code, and begins with",
        go_back: "You can close this page and go back to the program that sent you here.",
    },
};

const GERMAN: Texts = Texts {
    answer_at: "Beantworten Sie die Frage unter",
    page_opens: "Die Seite öffnet sich in Ihrem Browser. Mit Strg-C brechen Sie ab.",
    open_link: "Öffnen Sie den Link in einem Browser auf diesem Rechner. Mit Strg-C brechen Sie ab.",
    answered_without: "beantwortet, aber ohne",
    not_answered: "nicht beantwortet",
    input_ended: "die Eingabe endete, bevor die Antworten gesendet wurden; die Frage wurde \
                  abgebrochen",
    declined: "die Frage wurde abgelehnt",
    timed_out: "die Zeit ist abgelaufen; es wurde nichts gesendet",
    too_many_attempts: "es gab zu viele ungültige Antworten",
    cancelled: "die Frage wurde abgebrochen",
    still_open: "die Frage ist noch offen",
    sent: "gesendet",
    you_declined: "Sie haben abgelehnt",
    you_cancelled: "Sie haben abgebrochen",
    left_open: "verlassen; die Frage ist noch offen",
    already_settled: |status| format!("die Frage ist schon erledigt: {}", in_german(status)),
    settled_elsewhere: |status| format!("die Frage wurde anderswo erledigt: {}", in_german(status)),
    too_late: |status| {
        let status = in_german(status);
        format!("es wurde nichts gesendet, die Frage war schon erledigt: {status}")
    },
    not_called: |why| format!("nicht aufgerufen: {why}"),
    asked_too_often: "der Server hat zu oft gefragt",
    question_timed_out: "die Zeit für die Frage ist abgelaufen",
    sign_in: SignInTexts {
        first: |name| format!("{name} möchte, dass Sie sich anmelden."),
        ended: |name| format!("Ihre Anmeldung bei {name} gilt nicht mehr. Melden Sie sich neu an."),
        more_scopes: |name| {
            format!("{name} braucht mehr Rechte als bisher. Melden Sie sich neu an.")
        },
        page_opens: "Die Seite öffnet sich in Ihrem Browser. Falls nicht, öffnen Sie",
        open_link: "Öffnen Sie diesen Link in einem Browser:",
        paste: "Ist der Browser auf einem anderen Rechner, dann lädt die letzte Seite nicht. \
                Fügen Sie ihre Adresse hier ein:",
        not_the_address: "Das ist nicht die Adresse. Sie enthält einen Code und beginnt mit",
        go_back: "Sie können diese Seite schließen und zum Programm zurückkehren.",
    },
};

/// A status of the control API.
fn in_german(status: &str) -> &str {
    match status {
        "completed" => "beantwortet",
        "declined" => "abgelehnt",
        "cancelled" => "abgebrochen",
        "timeout" => "Zeit abgelaufen",
        other => other,
    }
}

impl Texts {
    /// The texts in the language of these messages; English if there are none.
    pub(crate) fn of(messages: &Messages) -> &'static Self {
        match messages.language().split('-').next() {
            Some("de") => &GERMAN,
            _ => &ENGLISH,
        }
    }

    /// Explains why a question has no answer; empty if it has one.
    pub(crate) fn why_unanswered(&self, outcome: Option<Outcome>) -> &'static str {
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
