//! Answers in words: as they are shown before they are sent, and after they could not be.

use std::collections::HashMap;

use entreat_core::{Answer, Field, Form, Kind};
use serde_json::{Map, Value};

use super::calendar;
use super::words::Words;

/// A question and what was said.
pub(super) struct Line<'a> {
    pub(super) label: &'a str,
    pub(super) anchor: String,
    pub(super) value: Said,
}

/// What was said.
pub(super) enum Said {
    Nothing,
    Secret,
    Text(String),
    List(Vec<String>),
}

/// The answers to fields that are chosen by `is_shown`, in their order.
pub(super) fn lines<'f>(
    form: &'f Form,
    values: &Map<String, Value>,
    words: &Words,
    is_shown: impl Fn(&Field) -> bool,
) -> Vec<Line<'f>> {
    let shown = form.fields().iter().enumerate();
    shown
        .filter(|(_, field)| is_shown(field))
        .map(|(place, field)| Line {
            label: field.label(),
            anchor: format!("q{place}"),
            value: said(field, values.get(field.id()), words),
        })
        .collect()
}

fn said(field: &Field, value: Option<&Value>, words: &Words) -> Said {
    let default;
    let value = match (value, field.default()) {
        (Some(value), _) => value,
        (None, Some(answer)) => {
            default = plain(answer);
            &default
        }
        (None, None) => return Said::Nothing,
    };
    if is_empty(value) {
        return Said::Nothing;
    }
    if field.is_sensitive() {
        return Said::Secret;
    }
    match (field.kind(), value) {
        (Kind::Boolean, value) => {
            let is_on = matches!(text_of(value).as_str(), "true");
            Said::Text(if is_on { words.yes } else { words.no }.to_owned())
        }
        (Kind::Select(options), value) => {
            let chosen = text_of(value);
            let mut options = options.iter();
            let title = options.find(|(value, _)| *value == chosen);
            Said::Text(title.map_or(chosen.as_str(), |(_, title)| title).to_owned())
        }
        (Kind::MultiSelect(rules), Value::Array(items)) => {
            let titles: HashMap<&str, &str> = rules.options.iter().collect();
            let title = |item: &Value| {
                let chosen = text_of(item);
                titles
                    .get(&*chosen)
                    .map_or(chosen, |title| (*title).to_owned())
            };
            Said::List(items.iter().map(title).collect())
        }
        (Kind::File(_), Value::Array(files)) => Said::List(files.iter().map(file_name).collect()),
        (Kind::File(_), file) => Said::Text(file_name(file)),
        (Kind::Date(_), value) => {
            let text = text_of(value);
            let format = field.rendering().display_format.as_deref();
            let shown = format.and_then(|format| calendar::shown(&text, format, words));
            Said::Text(shown.unwrap_or(text))
        }
        (_, value) => Said::Text(text_of(value)),
    }
}

/// An answer as it could have been typed.
pub(super) fn plain(answer: &Answer<'_>) -> Value {
    match answer {
        Answer::Number(number) => number.to_string().into(),
        Answer::Boolean(value) => (*value).into(),
        Answer::Date(date) => date.to_string().into(),
        Answer::Choices(values) => values.iter().map(|value| Value::from(&**value)).collect(),
        Answer::Json(value) => value.to_string().into(),
        answer => answer.as_str().unwrap_or_default().into(),
    }
}

/// Whether there is no answer in it.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

fn file_name(file: &Value) -> String {
    let name = file["filename"].as_str().unwrap_or_default();
    match file["size"].as_u64() {
        Some(size) => format!("{name} ({})", readable_size(size)),
        None => name.to_owned(),
    }
}

/// `1.2 MB`, as people say it.
pub(super) fn readable_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KB", "MB", "GB"];
    let mut tenths = u128::from(bytes) * 10;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    match (unit, tenths % 10) {
        (0, _) | (_, 0) => format!("{} {}", tenths / 10, UNITS[unit]),
        (_, tenth) => format!("{}.{tenth} {}", tenths / 10, UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_as_people_say_them() {
        for (bytes, said) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1 KB"),
            (1_234_567, "1.2 MB"),
            (10 << 20, "10.4 MB"),
            (u64::MAX, "18446744073.7 GB"),
        ] {
            assert_eq!(readable_size(bytes), said);
        }
    }
}
