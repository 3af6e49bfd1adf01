//! How to answer a field, in German. The English hints are in `prompt/`.

use entreat_core::form::{
    DateBound, DateRules, FileRules, MultiSelectRules, NumberRules, TextRules,
};
use entreat_core::{Field, Format, Kind, Messages};

use crate::typography::quoted;

/// Returns the hint on how to answer; may be empty.
pub(super) fn hint(field: &Field, messages: &Messages) -> String {
    match field.kind() {
        Kind::Text(rules) => text(rules),
        Kind::Number(rules) => number(rules),
        Kind::Boolean => "Ja oder Nein: j oder n.".to_owned(),
        Kind::Date(rules) => date(rules),
        Kind::Select(_) => "Eine von diesen, mit Nummer oder Name:".to_owned(),
        Kind::MultiSelect(rules) => multi_select(rules),
        Kind::Url(rules) => {
            let schemes: Vec<String> = rules
                .policy
                .schemes()
                .map(|scheme| quoted(&format!("{scheme}:")))
                .collect();
            format!(
                "Eine vollständige Adresse, die mit {} beginnt.",
                either(&schemes)
            )
        }
        Kind::File(rules) => file(rules, messages),
    }
}

fn text(rules: &TextRules) -> String {
    let what = rules.format.map(|format| match format {
        Format::Email => "Eine E-Mail-Adresse",
        Format::Uri => "Eine vollständige Adresse wie https://example.com/",
        Format::Uuid => "Eine UUID",
        Format::Hostname => "Ein Rechnername",
        Format::Ipv4 => "Eine IPv4-Adresse",
        Format::Ipv6 => "Eine IPv6-Adresse",
        Format::Date => "Ein Datum als JJJJ-MM-TT",
        Format::DateTime => MOMENT,
        Format::Time => "Eine Uhrzeit mit Zeitzone wie 09:30:00Z",
    });
    let length = count(rules.min_length, rules.max_length);
    let length = length.map(|count| format!(" mit {count} Zeichen"));
    // A pattern is for programs; the placeholder is the example for people.
    if what.is_none() && length.is_none() {
        return String::new();
    }
    format!("{}{}.", what.unwrap_or("Text"), length.unwrap_or_default())
}

fn multi_select(rules: &MultiSelectRules) -> String {
    let how_many = count(rules.min_items, rules.max_items);
    format!(
        "Wählen Sie {} davon, mit Nummer oder Name, durch Kommas getrennt:",
        how_many.as_deref().unwrap_or("beliebig viele")
    )
}

fn number(rules: &NumberRules) -> String {
    let what = if rules.is_integer() {
        "Eine ganze Zahl"
    } else {
        "Eine Zahl"
    };
    let range = match (rules.minimum, rules.maximum) {
        (Some(min), Some(max)) => Some(format!(" von {min} bis {max}")),
        (Some(min), None) => Some(format!(", mindestens {min}")),
        (None, Some(max)) => Some(format!(", höchstens {max}")),
        (None, None) => None,
    };
    let above = rules.exclusive_minimum.map(|n| format!(", mehr als {n}"));
    let below = rules
        .exclusive_maximum
        .map(|n| format!(", weniger als {n}"));
    let step = rules
        .multiple_of
        .filter(|step| step.as_integer() != Some(1))
        .map(|step| format!(", ein Vielfaches von {step}"));
    let bounds: String = [range, above, below, step].into_iter().flatten().collect();
    format!("{what}{bounds}.")
}

const MOMENT: &str = "Datum und Uhrzeit mit Zeitzone wie 2026-02-28T09:30:00+01:00";

fn date(rules: &DateRules) -> String {
    let what = if rules.has_time {
        MOMENT
    } else {
        "Ein Datum als JJJJ-MM-TT"
    };
    // Bounds were parsed as dates, so they need no sanitizing.
    let bound = |bound: &Option<DateBound>| bound.as_ref().map(|b| b.as_str().to_owned());
    match (bound(&rules.minimum), bound(&rules.maximum)) {
        (Some(first), Some(last)) => format!("{what}, von {first} bis {last}."),
        (Some(first), None) => format!("{what}, nicht vor {first}."),
        (None, Some(last)) => format!("{what}, nicht nach {last}."),
        (None, None) => format!("{what}."),
    }
}

fn file(rules: &FileRules, messages: &Messages) -> String {
    let size = messages.size(rules.max_size);
    let what = if rules.max_items > 1 {
        let how_many = count(rules.min_items, Some(rules.max_items)).unwrap_or_default();
        format!(
            "Die Pfade von {how_many} Dateien, einer je Zeile, Enter nach dem letzten; jede bis {size}"
        )
    } else {
        format!("Der Pfad einer Datei bis {size}")
    };
    let kinds = rules
        .mime_types()
        .map(|types| format!(": {}", messages.file_kinds(types)));
    let extensions = rules.extensions().map(|extensions| {
        let extensions: Vec<String> = extensions.map(quoted).collect();
        format!("; mit der Endung {}", either(&extensions))
    });
    format!(
        "{what}{}{}.",
        kinds.unwrap_or_default(),
        extensions.unwrap_or_default()
    )
}

/// Formats `3 bis 40`, `mindestens 3`, `höchstens 40` or `genau 3`; `None` without bounds.
fn count(min: Option<u64>, max: Option<u64>) -> Option<String> {
    match (min.filter(|min| *min > 0), max) {
        (Some(min), Some(max)) if min == max => Some(format!("genau {min}")),
        (Some(min), Some(max)) => Some(format!("{min} bis {max}")),
        (Some(min), None) => Some(format!("mindestens {min}")),
        (None, Some(max)) => Some(format!("höchstens {max}")),
        (None, None) => None,
    }
}

/// Formats alternatives as `a`, `a oder b` or `a, b oder c`.
fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} oder {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use entreat_core::{Catalogue, Form};
    use serde_json::{Value, json};

    fn hint(mut field: Value) -> String {
        field["id"] = "a".into();
        field["label"] = "A".into();
        let form = json!({"id": "f", "title": "F", "fields": [field]});
        let german = Catalogue::default().messages(["de"]);
        super::hint(&Form::from_value(&form).unwrap().fields()[0], &german)
    }

    #[test]
    fn bounds_are_said_in_words() {
        for (field, words) in [
            (json!({"type": "text"}), ""),
            (
                json!({"type": "text", "validation": {"format": "email", "minLength": 6}}),
                "Eine E-Mail-Adresse mit mindestens 6 Zeichen.",
            ),
            (
                json!({"type": "number", "validation": {"minimum": 1, "maximum": 9, "multipleOf": 1}}),
                "Eine ganze Zahl von 1 bis 9.",
            ),
            (
                json!({"type": "date", "validation": {"minimum": "2026-02-28"}}),
                "Ein Datum als JJJJ-MM-TT, nicht vor 2026-02-28.",
            ),
            (
                json!({"type": "text", "validation": {"minLength": 2, "pattern": "^[a-z]+$"}}),
                "Text mit mindestens 2 Zeichen.",
            ),
            (
                json!({"type": "text", "validation": {"pattern": "^[a-z]+$"}}),
                "",
            ),
            (
                json!({"type": "multi_select", "options": ["a", "b", "c"],
                       "validation": {"minItems": 1, "maxItems": 2}}),
                "Wählen Sie 1 bis 2 davon, mit Nummer oder Name, durch Kommas getrennt:",
            ),
            (
                json!({"type": "file", "validation": {"maxSize": 1_600_000, "maxItems": 3,
                       "allowedMimeTypes": ["image/*"], "allowedExtensions": [".png", ".jpg"]}}),
                "Die Pfade von höchstens 3 Dateien, einer je Zeile, Enter nach dem letzten; \
                 jede bis 1,5 MB: Bilder; mit der Endung “.png” oder “.jpg”.",
            ),
            (
                json!({"type": "file", "validation": {"maxSize": 65536}}),
                "Der Pfad einer Datei bis 64 KB.",
            ),
            (
                json!({"type": "url", "validation": {"allowedSchemes": ["http", "https"]}}),
                "Eine vollständige Adresse, die mit “http:” oder “https:” beginnt.",
            ),
        ] {
            assert_eq!(hint(field.clone()), words, "{field}");
        }
    }
}
