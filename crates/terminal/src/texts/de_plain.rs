//! German, in plain mode. Commands have the same names in all languages.

use super::plain::{Need, PlainTexts, RefusalTexts};

pub(super) const PLAIN: PlainTexts = PlainTexts {
    question: "Frage:",
    how_to_answer: "Tippen Sie jede Antwort und drücken Sie Enter, oder tippen Sie einen Befehl:",
    commands: [
        ":back     die vorige Frage noch einmal",
        ":empty    keine Antwort, auch wenn eine vorgeschlagen ist",
        ":help     die Frage und diese Befehle noch einmal",
        ":decline  die Antwort ablehnen",
        ":cancel   abbrechen, ohne zu entscheiden",
    ],
    extend: ":extend   um mehr Zeit bitten",
    colon: "Beginnt eine Antwort mit einem Doppelpunkt, tippen Sie zwei.",
    no_command: "Diesen Befehl gibt es nicht; siehe :help. Beginnt eine Antwort mit einem Doppelpunkt, \
                 tippen Sie zwei.",
    no_text: "Das ist nicht verwendbar: Eine Zeile muss Text sein und darf höchstens 1 MB haben.",
    refused: |asker| match asker {
        Some(asker) => format!("Die Antworten an {asker} wurden nicht angenommen:"),
        None => "Die Antworten wurden nicht angenommen:".to_owned(),
    },
    not_accepted: "Nicht angenommen:",
    to_correct: "Einige Antworten müssen korrigiert werden:",
    is_first: "Vor dieser Frage gibt es keine.",
    section: |heading| format!("Abschnitt {heading}"),
    question_of: |number, all, need| {
        let need = match need {
            Need::Required => "Pflichtfeld",
            Need::RequiredLater => "Pflichtfeld, kann aber später beantwortet werden",
            Need::Optional => "freiwillig",
        };
        format!("Frage {number} von {all}, {need}:")
    },
    read_only: "Zu Ihrer Information (nicht änderbar):",
    it_is: |answer| format!("Das ist {answer}."),
    your_answer: "Ihre Antwort",
    enter_keeps: |answer, is_required| format!("Enter behält {answer}{}", clear(is_required)),
    enter_takes: |answer, is_required| format!("Enter übernimmt {answer}{}", clear(is_required)),
    enter_leaves_empty: "Enter lässt die Antwort leer.",
    files_so_far: |count| {
        let en = if count == 1 { "" } else { "en" };
        format!("Bisher {count} Datei{en}. Tippen Sie noch einen Pfad, oder drücken Sie Enter.")
    },
    your_answers: "Ihre Antworten:",
    send: |asker| match asker {
        Some(asker) => format!("An {asker} senden? [J]a / "),
        None => "Senden? [J]a / ".to_owned(),
    },
    cannot_be_sent: "Das kann nicht gesendet werden: ",
    change: "Nummer zum Ändern / ",
    time: |left| format!("Sie haben {left}."),
    more_time: "Mit :extend bitten Sie um mehr.",
};

fn clear(is_required: bool) -> &'static str {
    if is_required {
        "."
    } else {
        "; :empty löscht die Antwort."
    }
}

pub(super) const REFUSALS: RefusalTexts = RefusalTexts {
    number_or_name: "Das ist die Nummer einer Option und der Name einer anderen. Tippen Sie vor die \
                     Nummer ein #.",
    several_options: "Das passt auf mehrere Optionen. Tippen Sie eine Nummer.",
    unreadable: |path, why| format!("{path} kann nicht gelesen werden: {why}."),
    no_such_file: "diese Datei gibt es nicht",
    no_permission: "Sie dürfen sie nicht lesen",
    is_folder: "das ist ein Ordner",
    is_no_file: "das ist keine gewöhnliche Datei",
    file_too_large: "Die Datei ist für diese Frage zu groß.",
};
