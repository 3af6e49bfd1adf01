//! Formats answers for display.

use entreat_core::form::Options;
use entreat_core::{Answer, Field, Upload, readable_size};

use crate::texts::Texts;
use crate::typography::{quoted, quoted_long};

/// Shown in place of a missing answer.
pub(crate) const NO_ANSWER: &str = "(no answer)";
/// Shown in place of a secret, whatever its length.
const SECRET: &str = "(secret, not shown)";

/// Formats an answer in the person's language, with `format` for what has no words.
pub(crate) fn in_language(
    texts: &Texts,
    field: &Field,
    answer: &Answer<'_>,
    format: fn(&Field, &Answer<'_>) -> String,
) -> String {
    match answer {
        _ if field.is_sensitive() => texts.secret.to_owned(),
        Answer::Boolean(true) => texts.yes.to_owned(),
        Answer::Boolean(false) => texts.no.to_owned(),
        answer => format(field, answer),
    }
}

/// Formats an answer for use within a sentence, truncated.
pub(crate) fn in_brief(field: &Field, answer: &Answer<'_>) -> String {
    shown(field, answer, quoted)
}

/// Formats an answer for the review before submission.
pub(crate) fn in_full(field: &Field, answer: &Answer<'_>) -> String {
    shown(field, answer, quoted_long)
}

fn shown(field: &Field, answer: &Answer<'_>, quote: fn(&str) -> String) -> String {
    if field.is_sensitive() {
        return SECRET.to_owned();
    }
    let title = |value: &str| {
        let mut options = field.kind().options().into_iter().flat_map(Options::iter);
        let titled = options.find(|(other, _)| *other == value);
        quote(titled.map_or(value, |(_, title)| title))
    };
    match answer {
        Answer::Boolean(true) => "yes".to_owned(),
        Answer::Boolean(false) => "no".to_owned(),
        Answer::Number(number) => number.to_string(),
        Answer::Date(date) => date.to_string(),
        Answer::Choice(value) => title(value),
        Answer::Choices(values) => {
            let titles: Vec<_> = values.iter().map(|value| title(value)).collect();
            titles.join(", ")
        }
        Answer::Files(files) => {
            let file = |file: &Upload<'_>| {
                format!(
                    "{} ({})",
                    quote(file.filename()),
                    readable_size(file.size())
                )
            };
            files.iter().map(file).collect::<Vec<_>>().join(", ")
        }
        Answer::Json(value) => quote(&value.to_string()),
        // The remaining variants are text.
        other => quote(other.as_str().unwrap_or_default()),
    }
}
