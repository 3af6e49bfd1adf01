//! Answers as a person sees them again.

use entreat_core::form::Options;
use entreat_core::{Answer, Field, Upload};

use crate::typography::{quoted, quoted_long, size};

/// What stands for an answer that is not there.
pub(crate) const NO_ANSWER: &str = "(no answer)";
/// What stands for a secret, whatever its length.
const SECRET: &str = "(a secret, not shown)";

/// An answer within a sentence, cut short.
pub(crate) fn in_brief(field: &Field, answer: &Answer<'_>) -> String {
    shown(field, answer, quoted)
}

/// An answer as the person should see it once more before it is sent.
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
            let file =
                |file: &Upload<'_>| format!("{} ({})", quote(file.filename()), size(file.size()));
            files.iter().map(file).collect::<Vec<_>>().join(", ")
        }
        Answer::Json(value) => quote(&value.to_string()),
        // The others are texts.
        other => quote(other.as_str().unwrap_or_default()),
    }
}
