//! German.

use std::time::Duration;

use entreat_core::{CalendarNames, CancelReason, Outcome, RoughTime};

#[cfg(feature = "sign-in")]
use super::SignInTexts;
use super::{Bounds, FileLimits, HomeTexts, NoticeTexts, Texts, UnnamedTexts, board, exactly};

pub(super) const TEXTS: Texts = Texts {
    language: "de",
    skip: "Zum Hauptinhalt springen",
    asked_by: "Frage von",
    introduced_as: ("für ein Programm, das sich „", "“ nennt"),
    unnamed: UnnamedTexts {
        name: "Ein Programm auf diesem Rechner",
        asks: "Frage von einem Programm auf diesem Rechner",
        claims: ("Frage von einem Programm, das sich „", "“ nennt"),
        program: ("Ein Programm, das sich „", "“ nennt"),
        recipient: "das Programm, das fragt",
    },
    error_prefix: "Fehler:",
    summary_title: "Es gibt ein Problem",
    time: "Verbleibende Zeit",
    left_templates: [
        "noch 1 Sekunde",
        "noch {} Sekunden",
        "noch etwa eine Minute",
        "noch etwa {} Minuten",
        "noch etwa eine Stunde",
        "noch etwa {} Stunden",
        "noch etwa ein Tag",
        "noch etwa {} Tage",
    ],
    warning: "Sie haben nur noch wenig Zeit. Senden Sie Ihre Antwort, oder verlängern Sie die Zeit.",
    extend: "Mehr Zeit",
    extended: "Sie haben jetzt mehr Zeit.",
    not_extended: "Diese Frage kann nicht weiter verlängert werden.",
    nothing_to_fill_in: "Hier ist nichts auszufüllen. Zum Zustimmen drücken Sie „Senden“.",
    required_hint: "Beantworten Sie alle Fragen, die nicht als freiwillig gekennzeichnet sind.",
    optional: "(freiwillig)",
    send: "Senden",
    next: "Weiter",
    review: "Antworten prüfen",
    step: "Fragen aktualisieren",
    more_questions: "Aus Ihren Antworten ergeben sich weitere Fragen. Beantworten Sie diese unten.",
    saved: "Entwurf gespeichert. Es wurde noch nichts gesendet.",
    saving: "Wird gespeichert …",
    not_saved: "Ihre Änderungen konnten nicht gespeichert werden. Sie stehen noch auf dieser Seite. Versuchen Sie es gleich noch einmal.",
    unsaved: "Sie haben ungespeicherte Änderungen.",
    too_large: "Ihre Antworten sind zu lang. Kürzen Sie sie, und versuchen Sie es noch einmal.",
    leave: "Ich möchte nicht antworten",
    decline: "Nicht antworten",
    decline_means: "Es wird nur mitgeteilt, dass Sie nicht antworten möchten.",
    decline_is_not_no: "Es wird nur mitgeteilt, dass Sie nicht antworten möchten. Das bedeutet nicht „Nein“.",
    cancel: "Jetzt nicht",
    cancel_means: "Sie treffen keine Entscheidung. Vielleicht wird erneut gefragt.",
    what_happens: "Was mit Ihrer Antwort geschieht",
    goes_to: "Sie geht nur an",
    secrets_sealed: "Geheime Angaben werden sofort verschlüsselt und erscheinen nie in Listen oder Protokollen.",
    saved_there: " und wird in der oben genannten Datei gespeichert",
    files_kept: "Dateien sind bis dahin verschlüsselt gespeichert.",
    nothing_until_sent: "Es wird nichts gesendet, bis Sie „Senden“ drücken.",
    sent_at_once: "Sie wird gesendet, sobald Sie „Ja“ oder „Nein“ drücken.",
    reveal: "Anzeigen",
    conceal: "Verbergen",
    secret_kept: "Sie haben schon einen Wert eingegeben. Um ihn zu behalten, lassen Sie das Feld leer.",
    secret_given: "eingegeben, wird nicht angezeigt",
    secret_not_kept: "Ihre Eingabe wurde nicht gespeichert. Geben Sie sie noch einmal ein.",
    secret_not_shown: "geheim, wird nicht angezeigt",
    forget: "Gespeicherten Wert löschen",
    test: "Adresse prüfen",
    test_good: "Diese Adresse ist verwendbar. Sie wurde nicht geöffnet.",
    test_warnings: "Prüfen Sie, bevor Sie sie verwenden:",
    test_unknown: "Diese Adresse ist erlaubt, aber ihr Rechner wurde nicht gefunden.",
    test_empty: "Geben Sie eine Adresse ein.",
    choose: "Bitte wählen …",
    chosen: "ausgewählt",
    search: "Suchen",
    no_answer: "Keine Antwort",
    nothing: "–",
    yes: "Ja",
    no: "Nein",
    day: "Tag",
    day_and_time: "Tag und Uhrzeit",
    offset: "Abstand zu UTC",
    preview_of: "Vorschau von",
    remove: "Entfernen",
    replace_file: "Andere Datei wählen",
    add_file: "Weitere Datei hinzufügen",
    drop_here: "oder Dateien hierher ziehen oder einfügen",
    uploading: "Wird hochgeladen",
    upload_failed: "Die Datei konnte nicht hochgeladen werden. Versuchen Sie es noch einmal.",
    upload_busy: "Es werden gerade zu viele Dateien hochgeladen. Versuchen Sie es gleich noch einmal.",
    upload_no_room: "Für diese Datei reicht der Platz nicht. Entfernen Sie zuerst eine andere Datei, oder wählen Sie eine kleinere.",
    upload_full: "Für Dateien reicht der Platz gerade nicht. Versuchen Sie es später noch einmal, oder wenden Sie sich an den Absender der Frage.",
    stop_upload: "Anhalten",
    review_title: "Antworten prüfen",
    review_lead: "Diese Antworten werden gesendet an",
    change: "Ändern",
    back: "Zurück",
    typed_title: "Ihre Eingaben",
    typed_lead: "Sie können Ihre Eingaben kopieren. Sie sind nur in diesem Browser sichtbar.",
    may_close: "Sie können diese Seite schließen.",
    inbox: "Eingang",
    inbox_title: "Wartet auf Sie",
    nothing_waits: "Nichts wartet auf Sie.",
    settled_title: "Erledigt",
    notify_me: "Benachrichtigen",
    new_question: "Eine neue Frage wartet",
    look_again: "Aktualisieren",
    not_found: NoticeTexts {
        title: "Dieser Link funktioniert nicht",
        lead: "Hier gibt es keine Frage.",
    },
    not_found_lines: [
        "Die Frage ist vielleicht schon beendet, oder sie ist für jemand anderen.",
        "Diese Adresse funktioniert nur in dem Browser, der den Link zuerst geöffnet hat, und nur mit \
         Cookies. Wenn Sie den ursprünglichen Link noch haben, öffnen Sie ihn erneut.",
    ],
    home: HomeTexts {
        what: "Mit diesem Dienst stellen Programme Menschen Fragen.",
        how: "Um eine Frage zu beantworten, öffnen Sie den Link, den Sie bekommen haben.",
        inbox: "Eingang öffnen",
        inbox_by_link: "Alle Fragen, die auf Sie warten, sehen Sie über den Link zu Ihrem Eingang. Ihn \
                        gibt der Befehl „entreat inbox“ aus.",
        docs: "Die Dokumentation von Entreat im Ordner „docs“ des Projekts erklärt, wie der Dienst \
               funktioniert und wie man Fragen stellt.",
    },
    #[cfg(feature = "sign-in")]
    sign_in: SignInTexts {
        needed: NoticeTexts {
            title: "Melden Sie sich an, um zu antworten",
            lead: "Fragen sieht nur die Person, für die sie bestimmt sind.",
        },
        button: "Anmelden",
        again: NoticeTexts {
            title: "Melden Sie sich zum Senden noch einmal an",
            lead: "Bei dieser Frage müssen Sie bestätigen, dass Sie es sind. Ihre Eingaben sind \
                   gespeichert. Gesendet wurde noch nichts.",
        },
        again_button: "Noch einmal anmelden",
        failed: "Sie wurden nicht angemeldet. Versuchen Sie es noch einmal.",
        later: "Die Anmeldung funktioniert gerade nicht. Versuchen Sie es in ein paar Minuten \
                noch einmal.",
        other_account: "Anderes Konto verwenden",
        signed_out: NoticeTexts {
            title: "Sie sind abgemeldet",
            lead: "Sie können diese Seite schließen.",
        },
        not_signed_out: NoticeTexts {
            title: "Sie sind noch angemeldet",
            lead: "Die Abmeldung funktioniert gerade nicht. Gehen Sie zurück und versuchen Sie es \
                   in ein paar Minuten noch einmal.",
        },
        sign_out_of_provider: "Auch vom Konto abmelden",
        to_inbox: "Wieder anmelden",
    },
    signed_in_as: "Angemeldet als",
    sign_out: "Abmelden",
    signed_out_meanwhile: "Gespeichert, aber Sie wurden abgemeldet oder haben das Konto gewechselt. \
                           Melden Sie sich in einem anderen Tab wieder an und laden Sie diese Seite \
                           dann neu.",
    no_inbox: NoticeTexts {
        title: "Öffnen Sie den Eingang mit seinem Link",
        lead: "Den Link gibt der Befehl „entreat inbox“ auf dem Rechner dieses Dienstes aus.",
    },
    refused: NoticeTexts {
        title: "Diese Seite lässt sich von hier aus nicht öffnen",
        lead: "Dieser Dienst ist nur für Personen an seinem eigenen Rechner oder für solche, die sich über seinen Proxy anmelden.",
    },
    forged: NoticeTexts {
        title: "Dieses Formular kam nicht von unserer Seite",
        lead: "Es wurde nichts geändert. Öffnen Sie den Link erneut und antworten Sie dort.",
    },
    too_many: NoticeTexts {
        title: "Zu viele Versuche",
        lead: "Warten Sie einen Moment und öffnen Sie Ihren Link dann erneut.",
    },
    failed: NoticeTexts {
        title: "Etwas ist schiefgegangen",
        lead: "Ihre Eingaben sind gespeichert. Gehen Sie zurück und versuchen Sie es gleich noch einmal.",
    },
    unreadable: NoticeTexts {
        title: "Das Formular war nicht lesbar",
        lead: "Das Formular kam nicht vollständig an. Gehen Sie zurück und versuchen Sie es noch einmal.",
    },
    too_much: NoticeTexts {
        title: "Ihre Antworten sind zu lang",
        lead: "Gehen Sie zurück, kürzen Sie Ihre Antworten und versuchen Sie es noch einmal.",
    },
    busy: NoticeTexts {
        title: "Der Dienst ist ausgelastet",
        lead: "Gehen Sie zurück und versuchen Sie es gleich noch einmal.",
    },
    sent: NoticeTexts {
        title: "Antwort gesendet",
        lead: "Vielen Dank.",
    },
    answered: NoticeTexts {
        title: "Schon beantwortet",
        lead: "Diese Frage wurde bereits beantwortet. Sie müssen nichts mehr tun.",
    },
    declined: NoticeTexts {
        title: "Sie haben nicht geantwortet",
        lead: "Nur das wurde mitgeteilt, sonst nichts.",
    },
    declined_by_another: NoticeTexts {
        title: "Nicht beantwortet",
        lead: "Jemand anderes wollte diese Frage nicht beantworten. Sie müssen nichts mehr tun.",
    },
    declined_yes_no: NoticeTexts {
        title: "Sie haben nicht geantwortet",
        lead: "Nur das wurde mitgeteilt. Es bedeutet nicht „Nein“.",
    },
    cancelled: NoticeTexts {
        title: "Abgebrochen",
        lead: "Es wurde nichts gesendet. Vielleicht wird erneut gefragt.",
    },
    withdrawn: NoticeTexts {
        title: "Frage zurückgezogen",
        lead: "Diese Frage wurde zurückgezogen. Es wurde nichts gesendet.",
    },
    nobody_waits: NoticeTexts {
        title: "Niemand wartet mehr auf Ihre Antwort",
        lead: "Das Programm, das gefragt hat, wurde beendet oder hat aufgegeben. Es wurde nichts \
               gesendet.",
    },
    nobody_waits_kept: NoticeTexts {
        title: "Niemand wartet mehr auf Ihre Antwort",
        lead: "Das Programm, das gefragt hat, wurde beendet oder hat aufgegeben. Es wurde nichts \
               gesendet, aber Ihre Eingaben bleiben erhalten: Wird die Frage innerhalb einer \
               Stunde erneut gestellt, sind sie schon eingetragen.",
    },
    attempts_used: NoticeTexts {
        title: "Keine Versuche mehr",
        lead: "Ihre Antworten wurden nicht angenommen, und Sie haben keine Versuche mehr. Es wurde nichts gesendet.",
    },
    expired: NoticeTexts {
        title: "Die Zeit für diese Frage ist abgelaufen",
        lead: "Es wurde nichts gesendet.",
    },
    kept_for,
    attempts_left: |left| match left {
        1 => "Dies ist Ihr letzter Versuch.".to_owned(),
        left => format!("Sie haben noch {left} Versuche."),
    },
    limits,
    characters,
    characters_left: [
        "noch 1 Zeichen",
        "noch {} Zeichen",
        "1 Zeichen zu viel",
        "{} Zeichen zu viel",
    ],
    numbers,
    choices,
    waiting: |count| match count {
        1 => "1 Frage wartet".to_owned(),
        count => format!("{count} Fragen warten"),
    },
    outcome,
    settled_by,
    older: "Ältere Fragen",
    board: &board::de::TEXTS,
    date_format: "D. MMMM YYYY",
    time_format: "D. MMMM YYYY, HH:mm",
    calendar: CalendarNames::GERMAN,
};

fn kept_for(retention: Duration) -> String {
    let time = match exactly(retention) {
        RoughTime::Seconds(seconds) => format!("{seconds} Sekunden"),
        RoughTime::Minutes(1) => "eine Minute".to_owned(),
        RoughTime::Minutes(minutes) => format!("{minutes} Minuten"),
        RoughTime::Hours(1) => "eine Stunde".to_owned(),
        RoughTime::Hours(hours) => format!("{hours} Stunden"),
        RoughTime::Days(1) => "einen Tag".to_owned(),
        RoughTime::Days(days) => format!("{days} Tage"),
    };
    format!(
        "Entreat löscht seine Kopie {time} nach dem Senden. Wer gefragt hat, kann sie behalten."
    )
}

fn characters(bounds: &Bounds) -> String {
    match bounds {
        Bounds::AtLeast(low) => format!("Mindestens {low} Zeichen"),
        Bounds::AtMost(high) => format!("Höchstens {high} Zeichen"),
        Bounds::Between(low, high) => format!("{low} bis {high} Zeichen"),
        Bounds::Exactly(count) => format!("Genau {count} Zeichen"),
    }
}

fn numbers(bounds: &Bounds) -> String {
    match bounds {
        Bounds::AtLeast(low) => format!("{low} oder mehr"),
        Bounds::AtMost(high) => format!("{high} oder weniger"),
        Bounds::Between(low, high) => format!("{low} bis {high}"),
        Bounds::Exactly(number) => format!("Genau {number}"),
    }
}

fn choices(bounds: &Bounds) -> String {
    match bounds {
        Bounds::AtLeast(low) => format!("Wählen Sie mindestens {low}"),
        Bounds::AtMost(high) => format!("Wählen Sie höchstens {high}"),
        Bounds::Between(low, high) => format!("Wählen Sie {low} bis {high}"),
        Bounds::Exactly(count) => format!("Wählen Sie genau {count}"),
    }
}

fn limits(limits: &FileLimits<'_>) -> String {
    let FileLimits { most, size, kinds } = *limits;
    let count = if most > 1 {
        format!("Bis zu {most} Dateien, jede bis {size}")
    } else {
        format!("Eine Datei, bis {size}")
    };
    if kinds.is_empty() {
        return format!("{count}.");
    }
    format!("{count}: {kinds}.")
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "beantwortet",
        Outcome::Declined => "nicht beantwortet",
        Outcome::Cancelled(CancelReason::MaxRetriesExceeded) => "keine Versuche mehr",
        Outcome::Cancelled(_) => "abgebrochen",
        Outcome::TimedOut => "Zeit abgelaufen",
    }
}

fn settled_by(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Completed => ("Beantwortet von ", ""),
        Outcome::Declined => ("", " wollte nicht antworten"),
        Outcome::Cancelled(_) => ("Abgebrochen von ", ""),
        Outcome::TimedOut => ("", ""),
    }
}
