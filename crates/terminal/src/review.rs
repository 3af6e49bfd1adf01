//! Formats answers for display.

use entreat_core::form::Options;
use entreat_core::{Answer, Field, Messages, Upload};

use crate::texts::Texts;
use crate::typography::{quoted, quoted_long};

/// Formats an answer for use within a sentence, truncated.
pub(crate) fn in_brief(messages: &Messages, field: &Field, answer: &Answer<'_>) -> String {
    shown(messages, field, answer, quoted)
}

/// Formats an answer for the review before submission.
pub(crate) fn in_full(messages: &Messages, field: &Field, answer: &Answer<'_>) -> String {
    shown(messages, field, answer, quoted_long)
}

fn shown(
    messages: &Messages,
    field: &Field,
    answer: &Answer<'_>,
    quote: fn(&str) -> String,
) -> String {
    let texts = Texts::of(messages);
    if field.is_sensitive() {
        // Whatever its length.
        return texts.secret.to_owned();
    }
    let title = |value: &str| {
        let mut options = field.kind().options().into_iter().flat_map(Options::iter);
        let titled = options.find(|(other, _)| *other == value);
        quote(titled.map_or(value, |(_, title)| title))
    };
    match answer {
        Answer::Boolean(true) => texts.yes.to_owned(),
        Answer::Boolean(false) => texts.no.to_owned(),
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
                    messages.size(file.size())
                )
            };
            files.iter().map(file).collect::<Vec<_>>().join(", ")
        }
        Answer::Json(value) => quote(&value.to_string()),
        // The remaining variants are text.
        other => quote(other.as_str().unwrap_or_default()),
    }
}
