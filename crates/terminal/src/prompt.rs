//! Hints and parsing of typed lines, one file per field type.
//!
//! Each file has the English hint beside the question and turns a typed line into a raw answer. Nothing
//! here validates: input that does not parse is passed on unchanged, and the form reports the
//! error.

mod boolean;
mod choice;
mod date;
pub(crate) mod file;
pub(crate) mod line;
mod multi_select;
mod number;
mod select;
mod text;
mod url;

use entreat_core::{Answer, Field, Kind, Messages};
use serde_json::Value;

pub(crate) use choice::Ambiguity;

/// Returns the hint on how to answer, as Entreat's own text; may be empty.
pub(crate) fn hint(field: &Field, messages: &Messages) -> String {
    match field.kind() {
        Kind::Text(rules) => text::hint(rules),
        Kind::Number(rules) => number::hint(rules),
        Kind::Boolean => boolean::HINT.to_owned(),
        Kind::Date(rules) => date::hint(rules),
        Kind::Select(_) => select::HINT.to_owned(),
        Kind::MultiSelect(rules) => multi_select::hint(rules),
        Kind::Url(rules) => url::hint(rules),
        Kind::File(rules) => file::hint(rules, messages),
    }
}

/// Parses typed text into a raw answer, if it matches at most one option.
pub(crate) fn read(field: &Field, typed: &str) -> Result<Value, Ambiguity> {
    match field.kind() {
        Kind::Boolean => Ok(boolean::read(typed)),
        Kind::Select(options) => select::read(options, typed),
        Kind::MultiSelect(rules) => multi_select::read(&rules.options, typed),
        Kind::Number(_) | Kind::Date(_) | Kind::Url(_) => Ok(typed.trim().into()),
        // The caller fetches a file's content; see `file`.
        Kind::Text(_) | Kind::File(_) => Ok(typed.into()),
    }
}

/// Converts a default into a raw answer.
pub(crate) fn raw(answer: &Answer<'_>) -> Value {
    match answer {
        Answer::Number(number) => match number.as_i128() {
            Some(int) if i64::try_from(int).is_err() && u64::try_from(int).is_err() => {
                // As text it keeps its digits; a JSON number would become a float.
                int.to_string().into()
            }
            _ => number.to_json(),
        },
        Answer::Boolean(value) => (*value).into(),
        Answer::Date(date) => date.to_string().into(),
        Answer::Choices(values) => values
            .iter()
            .map(|value| Value::from(value.as_ref()))
            .collect(),
        Answer::Json(value) => (**value).clone(),
        // The remaining variants are text, except files, which have no defaults.
        other => other.as_str().into(),
    }
}

/// Formats `3 to 40`, `at least 3`, `at most 40` or `exactly 3`; `None` without bounds.
fn count(min: Option<u64>, max: Option<u64>) -> Option<String> {
    match (min.filter(|min| *min > 0), max) {
        (Some(min), Some(max)) if min == max => Some(format!("exactly {min}")),
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("at least {min}")),
        (None, Some(max)) => Some(format!("at most {max}")),
        (None, None) => None,
    }
}
