//! German.

use std::time::Duration;

use entreat_core::{CancelReason, Outcome};

use super::{FileLimits, Left, NoticeTexts, Texts};

pub(super) const TEXTS: Texts = Texts {
    language: "de",
    skip: "Zur Frage springen",
    asked_by: "Es fragt",
    error_prefix: "Fehler:",
    summary_title: "Bitte noch einmal hinsehen",
    time: "Verbleibende Zeit",
    left_template: "noch etwa {} Minuten",
    left_template_one: "noch etwa eine Minute",
    left_seconds_template: "noch {} Sekunden",
    warning: "Die Zeit für diese Frage ist fast um. Antwort senden oder um mehr Zeit bitten.",
    extend: "Mehr Zeit",
    extended: "Sie haben jetzt mehr Zeit.",
    not_extended: "Diese Frage kann nicht weiter verlängert werden.",
    nothing_to_fill_in: "Hier ist nichts auszufüllen. Senden heißt Ja.",
    required_hint: "Was nicht als freiwillig gekennzeichnet ist, braucht eine Antwort.",
    optional: "(freiwillig)",
    send: "Senden",
    next: "Weiter",
    review: "Antworten prüfen",
    step: "Zeigen, was aus meinen Antworten folgt",
    more_questions: "Aus Ihren Antworten folgen weitere Fragen. Sie stehen unten.",
    saved: "Als Entwurf gespeichert. Noch wurde nichts gesendet.",
    saving: "Wird gespeichert …",
    not_saved: "Das konnte nicht gespeichert werden. Es steht noch hier; bitte gleich noch einmal versuchen.",
    unsaved: "Ihre Eingaben sind noch nicht gespeichert.",
    too_large: "Das ist mehr, als gesendet werden kann. Bitte kürzen.",
    leave: "Ich möchte nicht antworten",
    decline: "Ablehnen",
    decline_means: "Sie entscheiden sich gegen eine Antwort. Nur das wird mitgeteilt.",
    cancel: "Abbrechen",
    cancel_means: "Sie lassen es offen. Mitgeteilt wird, dass niemand entschieden hat; es kann erneut gefragt werden.",
    what_happens: "Was mit Ihrer Antwort geschieht",
    goes_to: "Sie geht an niemanden außer an",
    secrets_sealed: "Geheimnisse werden sofort verschlüsselt. Sie stehen in keiner Liste und keinem Protokoll.",
    files_kept: "Dateien liegen verschlüsselt und werden danach entfernt.",
    nothing_until_sent: "Gesendet wird erst, wenn Sie „Senden“ drücken.",
    reveal: "Anzeigen",
    conceal: "Verbergen",
    secret_kept: "Ihre frühere Eingabe ist gespeichert. Leer lassen, um sie zu verwenden.",
    secret_given: "angegeben, nicht gezeigt",
    secret_not_shown: "ein Geheimnis, nicht gezeigt",
    forget: "Vergessen",
    test: "Adresse prüfen",
    test_good: "Diese Adresse ist verwendbar. Es wurde nichts von ihr abgerufen.",
    test_unknown: "Diese Adresse ist erlaubt, ihr Rechner wurde von hier aus aber nicht gefunden.",
    test_empty: "Noch steht hier keine Adresse.",
    choose: "Bitte wählen …",
    chosen: "gewählt",
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
    drop_here: "oder Dateien hierher ziehen oder einfügen",
    uploading: "Wird hochgeladen",
    upload_failed: "Die Datei konnte nicht hochgeladen werden. Bitte noch einmal versuchen.",
    upload_busy: "Gerade werden zu viele Dateien hochgeladen. Versuchen Sie es gleich noch einmal.",
    upload_no_room: "Für diese Datei ist kein Platz. Entfernen Sie zuerst eine andere, oder wählen Sie eine kleinere.",
    upload_full: "Für Dateien ist gerade kein Platz. Versuchen Sie es später noch einmal, und sagen Sie dem Bescheid, der fragt.",
    stop_upload: "Anhalten",
    review_title: "Antworten prüfen",
    review_lead: "Das wird gesendet an",
    change: "Ändern",
    back: "Zurück",
    typed_title: "Ihre Eingaben",
    typed_lead: "Sie stehen hier zum Kopieren. Nur dieser Browser bekommt sie gezeigt.",
    may_close: "Sie können diese Seite schließen.",
    inbox: "Eingang",
    inbox_title: "Wartet auf Sie",
    nothing_waits: "Nichts wartet auf Sie.",
    settled_title: "Erledigt",
    notify_me: "Benachrichtigen",
    new_question: "Eine neue Frage wartet",
    look_again: "Aktualisieren",
    not_found: NoticeTexts {
        title: "Dieser Link führt hier zu nichts",
        lead: "Es gibt nichts zu zeigen.",
    },
    not_found_lines: [
        "Die Frage ist vielleicht längst vorbei, oder sie gilt jemand anderem.",
        "Ein Link öffnet sich nur in dem Browser, in dem er zuerst geöffnet wurde, und braucht ein \
         Cookie. Wenn Sie den Link noch haben, den Sie bekommen haben, öffnen Sie ihn erneut.",
    ],
    no_inbox: NoticeTexts {
        title: "Der Eingang öffnet sich mit seinem Link",
        lead: "Der Dienst hat den Link zu Ihrem Eingang beim Start ausgegeben.",
    },
    refused: NoticeTexts {
        title: "Nicht von hier aus",
        lead: "Dieser Dienst antwortet nur Menschen an seinem eigenen Rechner oder denen, die sein Proxy nennt.",
    },
    forged: NoticeTexts {
        title: "Das kam nicht von dieser Seite",
        lead: "Es wurde nichts geändert. Öffnen Sie den Link erneut und antworten Sie dort.",
    },
    too_many: NoticeTexts {
        title: "Zu viele Versuche",
        lead: "Warten Sie einen Moment und öffnen Sie Ihren Link dann erneut.",
    },
    failed: NoticeTexts {
        title: "Etwas ist schiefgegangen",
        lead: "Das liegt an uns, und Ihre Eingaben sind aufgehoben. Gehen Sie zurück und versuchen Sie es gleich noch einmal.",
    },
    unreadable: NoticeTexts {
        title: "Das war nicht lesbar",
        lead: "Das Formular kam nicht vollständig an. Gehen Sie zurück und versuchen Sie es noch einmal.",
    },
    too_much: NoticeTexts {
        title: "Das ist zu viel",
        lead: "Das Formular hat mehr gesendet, als diese Frage annimmt. Gehen Sie zurück, kürzen Sie Ihre Antworten und versuchen Sie es noch einmal.",
    },
    busy: NoticeTexts {
        title: "Gerade wird zu viel gesendet",
        lead: "Gehen Sie zurück und versuchen Sie es gleich noch einmal.",
    },
    sent: NoticeTexts {
        title: "Gesendet. Vielen Dank.",
        lead: "Ihre Antwort ist angekommen.",
    },
    answered: NoticeTexts {
        title: "Schon beantwortet",
        lead: "Diese Frage hat ihre Antwort. Es ist nichts mehr zu tun.",
    },
    declined: NoticeTexts {
        title: "Abgelehnt",
        lead: "Mitgeteilt wurde die Ablehnung, sonst nichts.",
    },
    cancelled: NoticeTexts {
        title: "Abgebrochen",
        lead: "Es wurde nichts gesendet. Vielleicht wird erneut gefragt.",
    },
    withdrawn: NoticeTexts {
        title: "Nicht mehr gefragt",
        lead: "Die Frage wurde zurückgenommen. Es wurde nichts gesendet.",
    },
    attempts_used: NoticeTexts {
        title: "Keine Versuche mehr",
        lead: "Die Antworten konnten nicht angenommen werden, und es gibt keine weiteren Versuche. Es wurde nichts gesendet.",
    },
    expired: NoticeTexts {
        title: "Die Zeit ist um",
        lead: "Es wurde nichts gesendet.",
    },
    left,
    kept_for,
    attempts_left: |left| match left {
        1 => "Dies ist der letzte Versuch.".to_owned(),
        left => format!("Es bleiben {left} Versuche."),
    },
    limits,
    waiting: |count| match count {
        1 => "1 Frage wartet".to_owned(),
        count => format!("{count} Fragen warten"),
    },
    outcome,
    months: [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
    weekdays: [
        "Montag",
        "Dienstag",
        "Mittwoch",
        "Donnerstag",
        "Freitag",
        "Samstag",
        "Sonntag",
    ],
};

fn left(left: Duration) -> String {
    match Left::from(left) {
        Left::Seconds(seconds) => format!("noch {seconds} Sekunden"),
        Left::Minutes(1) => "noch etwa eine Minute".to_owned(),
        Left::Minutes(minutes) => format!("noch etwa {minutes} Minuten"),
    }
}

fn kept_for(retention: Duration) -> String {
    let time = match Left::from(retention) {
        Left::Seconds(seconds) => format!("{seconds} Sekunden"),
        Left::Minutes(1) => "eine Minute".to_owned(),
        Left::Minutes(60) => "eine Stunde".to_owned(),
        Left::Minutes(minutes @ 0..120) => format!("{minutes} Minuten"),
        Left::Minutes(minutes) => format!("{} Stunden", minutes / 60),
    };
    format!("Nach dem Senden bleibt sie {time} hier liegen und wird dann gelöscht.")
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
        Outcome::Declined => "abgelehnt",
        Outcome::Cancelled(CancelReason::MaxRetriesExceeded) => "keine Versuche mehr",
        Outcome::Cancelled(_) => "abgebrochen",
        Outcome::TimedOut => "Zeit um",
    }
}
