//! The options of a `select` or `multi_select`.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::form::SCAN_UP_TO;
use crate::form::reader::{Object, Reader};
use crate::problem::ProblemCode;

/// The options of a choice, in display order.
#[derive(Clone, Debug)]
pub struct Options {
    values: Arc<[Arc<str>]>,
    /// One per value, or empty if the options have no titles.
    titles: Vec<Arc<str>>,
    index: HashSet<Arc<str>>,
}

impl Options {
    /// The values of the options, as they appear in answers.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    /// Iterates over value and title of each option. An option without a title is its own title.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().enumerate().map(|(i, value)| {
            let title = self.titles.get(i).unwrap_or(value);
            (&**value, &**title)
        })
    }

    /// Whether the options have titles.
    pub fn are_titled(&self) -> bool {
        !self.titles.is_empty()
    }

    /// Whether this value is one of the options.
    pub fn contains(&self, value: &str) -> bool {
        if self.are_few() {
            self.position(value).is_some()
        } else {
            self.index.contains(value)
        }
    }

    /// Whether there are few enough that a linear scan is fastest.
    pub(crate) fn are_few(&self) -> bool {
        self.values.len() <= SCAN_UP_TO
    }

    /// The index of an option, found by a linear scan.
    pub(crate) fn position(&self, value: &str) -> Option<usize> {
        self.values.iter().position(|option| **option == *value)
    }

    pub(crate) fn shared_values(&self) -> Arc<[Arc<str>]> {
        self.values.clone()
    }

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, field: &'v Object) -> Self {
        let mut values: Vec<Arc<str>> = Vec::new();
        let mut titles: Vec<Arc<str>> = Vec::new();
        let mut seen: HashSet<&'v str> = HashSet::new();
        let list = reader.list_at(field, "options").unwrap_or_default();
        if !field.contains_key("options") {
            let message = "A select field needs `options`.";
            reader.report_at("options", ProblemCode::MissingKey, message);
        } else if list.is_empty() && field["options"].is_array() && !reader.imported {
            let message = "There must be at least one option.";
            reader.report_at("options", ProblemCode::Empty, message);
        }
        reader.within("options", |reader| {
            for (i, option) in list.iter().enumerate() {
                let Some((value, title)) = reader.within(i, |r| read_option(r, option)) else {
                    continue;
                };
                if !seen.insert(value) {
                    let message = format!("Another option already has the value `{value}`.");
                    reader.report_at(i, ProblemCode::DuplicateOption, message);
                }
                values.push(value.into());
                titles.extend(title.map(Arc::from));
            }
            if !titles.is_empty() && titles.len() != values.len() {
                let message = "Plain and titled options are mixed; use one style for all.";
                reader.report(ProblemCode::MixedOptions, message);
            }
        });
        let index = if values.len() > SCAN_UP_TO {
            values.iter().cloned().collect()
        } else {
            HashSet::new()
        };
        Self {
            values: values.into(),
            titles,
            index,
        }
    }

    /// Reports an `enum` that differs from the options.
    pub(crate) fn check_enum<'v>(&self, reader: &mut Reader<'v>, validation: &'v Object) {
        let Some(listed) = reader.texts_at(validation, "enum") else {
            return;
        };
        if !listed.iter().map(|(_, text)| *text).eq(self.values()) {
            let message =
                "`enum` is derived from `options`; leave it out, or list the same values.";
            reader.report_at("enum", ProblemCode::Contradiction, message);
        }
    }
}

fn read_option<'v>(
    reader: &mut Reader<'v>,
    option: &'v Value,
) -> Option<(&'v str, Option<&'v str>)> {
    let (value, title) = match option {
        Value::String(value) => (value.as_str(), None),
        Value::Object(option) => {
            reader.check_keys(option, &["value", "title"]);
            let value = reader.required_text(option, "value", usize::MAX);
            let title = reader.required_text(option, "title", 256);
            return Some((value?, Some(title?)));
        }
        other => {
            reader.wrong_type("a text, or an object with `value` and `title`", other);
            return None;
        }
    };
    if value.is_empty() && !reader.imported {
        let message = "An option's value must not be empty: an empty text is no answer.";
        reader.report(ProblemCode::Empty, message);
    }
    Some((value, title))
}
