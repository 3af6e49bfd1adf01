//! Formats answers for the review page and the closing page.

use std::collections::HashMap;
use std::ops::Range;

use entreat_core::{Answer, Field, Form, Kind, Messages};
use serde_json::{Map, Value};

use super::calendar;
use super::texts::Texts;

/// A question and its answer.
pub(super) struct AnswerLine<'a> {
    pub(super) label: &'a str,
    pub(super) anchor: String,
    pub(super) value: AnswerText,
}

/// An answer, formatted.
pub(super) enum AnswerText {
    Nothing,
    Secret,
    Text(String),
    List(Vec<String>),
}

/// The answers of a section, under its heading.
pub(super) struct AnswerSection<'a> {
    pub(super) heading: Option<&'a str>,
    pub(super) lines: Vec<AnswerLine<'a>>,
}

/// The answers to all fields selected by `is_shown`, by section; sections without one are left out.
pub(super) fn answer_sections<'f>(
    form: &'f Form,
    values: &Map<String, Value>,
    words: (&Texts, &Messages),
    is_shown: impl Fn(&Field) -> bool,
) -> Vec<AnswerSection<'f>> {
    let sections = form.sections().map(|section| AnswerSection {
        heading: section.heading,
        lines: lines_within(form, section.fields, values, words, &is_shown),
    });
    sections
        .filter(|section| !section.lines.is_empty())
        .collect()
}

/// The answers to all fields selected by `is_shown`, in order.
pub(super) fn answer_lines<'f>(
    form: &'f Form,
    values: &Map<String, Value>,
    words: (&Texts, &Messages),
    is_shown: impl Fn(&Field) -> bool,
) -> Vec<AnswerLine<'f>> {
    lines_within(form, 0..form.fields().len(), values, words, is_shown)
}

fn lines_within<'f>(
    form: &'f Form,
    places: Range<usize>,
    values: &Map<String, Value>,
    (texts, messages): (&Texts, &Messages),
    is_shown: impl Fn(&Field) -> bool,
) -> Vec<AnswerLine<'f>> {
    places
        .map(|place| (place, &form.fields()[place]))
        .filter(|(_, field)| is_shown(field))
        .map(|(place, field)| AnswerLine {
            label: field.label(),
            anchor: format!("q{place}"),
            value: answer_text(field, values.get(field.id()), texts, messages),
        })
        .collect()
}

fn answer_text(
    field: &Field,
    value: Option<&Value>,
    texts: &Texts,
    messages: &Messages,
) -> AnswerText {
    let default;
    let value = match (value, field.default()) {
        (Some(value), _) => value,
        (None, Some(answer)) => {
            default = as_typed(answer);
            &default
        }
        (None, None) => return AnswerText::Nothing,
    };
    if is_empty(value) {
        return AnswerText::Nothing;
    }
    if field.is_sensitive() {
        return AnswerText::Secret;
    }
    match (field.kind(), value) {
        (Kind::Boolean, value) => {
            let is_on = matches!(text_of(value).as_str(), "true");
            AnswerText::Text(if is_on { texts.yes } else { texts.no }.to_owned())
        }
        (Kind::Select(options), value) => {
            let chosen = text_of(value);
            let mut options = options.iter();
            let title = options.find(|(value, _)| *value == chosen);
            AnswerText::Text(title.map_or(chosen.as_str(), |(_, title)| title).to_owned())
        }
        (Kind::MultiSelect(rules), Value::Array(items)) => {
            let titles: HashMap<&str, &str> = rules.options.iter().collect();
            let title = |item: &Value| {
                let chosen = text_of(item);
                titles
                    .get(&*chosen)
                    .map_or(chosen, |title| (*title).to_owned())
            };
            AnswerText::List(items.iter().map(title).collect())
        }
        (Kind::File(_), Value::Array(files)) => {
            AnswerText::List(files.iter().map(|file| file_name(file, messages)).collect())
        }
        (Kind::File(_), file) => AnswerText::Text(file_name(file, messages)),
        (Kind::Date(_), value) => {
            let text = text_of(value);
            let shown = match field.rendering().display_format.as_deref() {
                Some(format) => calendar::display(&text, format, texts),
                None => calendar::readable(&text, texts),
            };
            AnswerText::Text(shown.unwrap_or(text))
        }
        (_, value) => AnswerText::Text(text_of(value)),
    }
}

/// An answer as it could have been typed.
pub(super) fn as_typed(answer: &Answer<'_>) -> Value {
    match answer {
        Answer::Number(number) => number.to_string().into(),
        Answer::Boolean(value) => (*value).into(),
        Answer::Date(date) => date.to_string().into(),
        Answer::Choices(values) => values.iter().map(|value| Value::from(&**value)).collect(),
        Answer::Json(value) => value.to_string().into(),
        answer => answer.as_str().unwrap_or_default().into(),
    }
}

/// Whether a value is no answer.
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

fn file_name(file: &Value, messages: &Messages) -> String {
    let name = file["filename"].as_str().unwrap_or_default();
    match file["size"].as_u64() {
        Some(size) => format!("{name} ({})", messages.size(size)),
        None => name.to_owned(),
    }
}
