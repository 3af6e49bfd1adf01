//! Walks a definition and collects every problem with its JSON pointer.
//!
//! Nothing here fails early: a getter that finds the wrong type reports it and returns `None`,
//! so that one pass finds every problem.

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::document::push_token;
use crate::number::Number;
use crate::pattern::{Pattern, PatternBudget};
use crate::problem::{Problem, ProblemCode, ProblemList, Problems};
use crate::suggestion::closest;

/// A definition's JSON object.
pub(crate) type Object = Map<String, Value>;

/// The reader's current path and the problems found so far.
pub(crate) struct Reader<'v> {
    path: Vec<Step<'v>>,
    problems: ProblemList,
    pub(crate) budget: PatternBudget,
    /// Set for a form imported from a schema, which is exempt from the limits on names and
    /// counts (spec 1.1).
    pub(crate) imported: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

impl<'v> From<&'v str> for Step<'v> {
    fn from(key: &'v str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl<'v> Reader<'v> {
    pub(crate) fn new(imported: bool) -> Self {
        Self {
            path: Vec::with_capacity(8),
            problems: ProblemList::default(),
            budget: PatternBudget::default(),
            imported,
        }
    }

    pub(crate) fn into_problems(self) -> Problems {
        self.problems.into_problems()
    }

    pub(crate) fn has_no_problems(&self) -> bool {
        self.problems.is_empty()
    }

    /// Runs `read` one step deeper in the definition.
    pub(crate) fn within<T>(
        &mut self,
        step: impl Into<Step<'v>>,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.path.push(step.into());
        let result = read(self);
        self.path.pop();
        result
    }

    /// Records a problem at the current path.
    pub(crate) fn report(&mut self, code: ProblemCode, message: impl Into<String>) {
        self.record(code, message.into(), None);
    }

    /// Records a problem one step below the current path.
    pub(crate) fn report_at(
        &mut self,
        step: impl Into<Step<'v>>,
        code: ProblemCode,
        message: impl Into<String>,
    ) {
        self.within(step, |reader| reader.report(code, message));
    }

    /// Records an unknown word and suggests the closest known one.
    pub(crate) fn report_unknown(
        &mut self,
        code: ProblemCode,
        message: impl Into<String>,
        word: &str,
        known: &[&str],
    ) {
        if !self.problems.is_full() {
            self.record(code, message.into(), closest(word, known));
        }
    }

    /// Reports a word that is not known, with what was probably meant.
    pub(crate) fn report_meant(&mut self, code: ProblemCode, message: String, meant: &str) {
        self.record(code, message, Some(meant));
    }

    fn record(&mut self, code: ProblemCode, message: String, suggestion: Option<&str>) {
        if self.problems.is_full() {
            return;
        }
        let mut pointer = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) => push_token(&mut pointer, key),
                Step::Index(index) => push_token(&mut pointer, &index.to_string()),
            }
        }
        self.problems.push(Problem {
            pointer,
            code,
            message,
            suggestion: suggestion.map(str::to_owned),
        });
    }

    /// Reports every unknown key.
    pub(crate) fn check_keys(&mut self, object: &'v Object, known: &[&str]) {
        self.check_keys_with(object, known, |_| None);
    }

    /// Reports unknown keys, with a hint for those that have one.
    pub(crate) fn check_keys_with(
        &mut self,
        object: &'v Object,
        known: &[&str],
        hint: impl Fn(&str) -> Option<String>,
    ) {
        for key in object.keys() {
            if known.contains(&key.as_str()) {
                continue;
            }
            if self.problems.is_full() {
                return;
            }
            let suggestion = closest(key, known);
            let mut message = format!("`{key}` is not a known key here.");
            if let Some(hint) = hint(key) {
                message.extend([" ", &hint]);
            } else if suggestion.is_none() && !known.is_empty() {
                message.extend([" The keys here are ", &join_quoted(known), "."]);
            }
            self.within(key.as_str(), |reader| {
                reader.record(ProblemCode::UnknownKey, message, suggestion);
            });
        }
    }

    /// Converts a value, or reports that it is not what is wanted.
    fn typed<T>(
        &mut self,
        value: &'v Value,
        wanted: &str,
        convert: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Option<T> {
        let converted = convert(value);
        if converted.is_none() {
            self.wrong_type(wanted, value);
        }
        converted
    }

    fn typed_at<T>(
        &mut self,
        object: &'v Object,
        key: &'v str,
        wanted: &str,
        convert: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Option<T> {
        let value = object.get(key)?;
        self.within(key, |reader| reader.typed(value, wanted, convert))
    }

    pub(crate) fn object(&mut self, value: &'v Value) -> Option<&'v Object> {
        self.typed(value, "an object", Value::as_object)
    }

    pub(crate) fn object_at(&mut self, object: &'v Object, key: &'v str) -> Option<&'v Object> {
        self.typed_at(object, key, "an object", Value::as_object)
    }

    pub(crate) fn list_at(&mut self, object: &'v Object, key: &'v str) -> Option<&'v [Value]> {
        let list = self.typed_at(object, key, "a list", Value::as_array);
        list.map(Vec::as_slice)
    }

    pub(crate) fn text(&mut self, value: &'v Value) -> Option<&'v str> {
        self.typed(value, "a text", Value::as_str)
    }

    pub(crate) fn text_at(&mut self, object: &'v Object, key: &'v str) -> Option<&'v str> {
        self.typed_at(object, key, "a text", Value::as_str)
    }

    /// Reports a missing key.
    pub(crate) fn require(&mut self, object: &Object, key: &'v str, message: impl Display) {
        if !object.contains_key(key) {
            self.report_at(key, ProblemCode::MissingKey, message.to_string());
        }
    }

    /// A required text of 1 to `max` characters.
    pub(crate) fn required_text(
        &mut self,
        object: &'v Object,
        key: &'v str,
        max: usize,
    ) -> Option<&'v str> {
        self.require(object, key, format_args!("`{key}` is required here."));
        self.nonempty_text_at(object, key, max)
    }

    /// A text of 1 to `max` characters.
    pub(crate) fn nonempty_text_at(
        &mut self,
        object: &'v Object,
        key: &'v str,
        max: usize,
    ) -> Option<&'v str> {
        let text = self.text_at(object, key)?;
        if text.is_empty() && !self.imported {
            self.report_at(
                key,
                ProblemCode::Empty,
                format!("`{key}` must not be empty."),
            );
        } else if !self.imported && text.chars().nth(max).is_some() {
            self.report_at(
                key,
                ProblemCode::TooLong,
                format!("`{key}` has more than {max} characters."),
            );
        }
        Some(text)
    }

    /// A list of texts with their indices. An entry of another type is reported and skipped.
    pub(crate) fn texts_at(
        &mut self,
        object: &'v Object,
        key: &'v str,
    ) -> Option<Vec<(usize, &'v str)>> {
        let list = self.list_at(object, key)?;
        Some(self.within(key, |reader| {
            let read = |(i, value)| Some((i, reader.within(i, |reader| reader.text(value))?));
            list.iter().enumerate().filter_map(read).collect()
        }))
    }

    pub(crate) fn flag_at(&mut self, object: &'v Object, key: &'v str) -> Option<bool> {
        self.typed_at(object, key, "true or false", Value::as_bool)
    }

    /// A whole number of at least zero; `2.0` is one.
    pub(crate) fn count_at(&mut self, object: &'v Object, key: &'v str) -> Option<u64> {
        self.typed_at(object, key, "a whole number of at least 0", |value| {
            u64::try_from(number(value)?.as_integer()?).ok()
        })
    }

    pub(crate) fn number_at(&mut self, object: &'v Object, key: &'v str) -> Option<Number> {
        self.typed_at(object, key, "a number", number)
    }

    /// One of a fixed set of words.
    pub(crate) fn word_at<T: Copy>(
        &mut self,
        object: &'v Object,
        key: &'v str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let text = self.text_at(object, key)?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*meaning);
        }
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        self.within(key, |reader| {
            let message = format!("`{text}` is not one of {}.", join_quoted(&known));
            reader.report_unknown(ProblemCode::BadValue, message, text, &known);
        });
        None
    }

    pub(crate) fn pattern_at(&mut self, object: &'v Object, key: &'v str) -> Option<Pattern> {
        let source = self.text_at(object, key)?;
        self.within(key, |reader| reader.pattern(source))
    }

    pub(crate) fn pattern(&mut self, source: &str) -> Option<Pattern> {
        match Pattern::compile(source, &mut self.budget) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let message = format!("This pattern cannot be used: {error}.");
                self.report(ProblemCode::BadPattern, message);
                None
            }
        }
    }

    /// Reports a lower bound that exceeds the upper bound.
    pub(crate) fn check_bounds<T: PartialOrd>(
        &mut self,
        (low_key, low): (&'v str, Option<T>),
        (high_key, high): (&'v str, Option<T>),
    ) {
        if let (Some(low), Some(high)) = (low, high)
            && low > high
        {
            self.report_at(
                low_key,
                ProblemCode::Contradiction,
                format!("`{low_key}` lies above `{high_key}`: no value can satisfy both."),
            );
        }
    }

    pub(crate) fn wrong_type(&mut self, wanted: &str, found: &Value) {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.report(
            ProblemCode::WrongType,
            format!("Expected {wanted}, found {found}."),
        );
    }
}

pub(crate) fn number(value: &Value) -> Option<Number> {
    value.as_number().and_then(Number::from_json)
}

/// Joins words as `a`, `b` and `c`, each in backquotes.
pub(crate) fn join_quoted(words: &[&str]) -> String {
    let mut text = String::new();
    for (i, word) in words.iter().enumerate() {
        if i > 0 {
            text.push_str(if i + 1 == words.len() { " and " } else { ", " });
        }
        text.push('`');
        text.push_str(word);
        text.push('`');
    }
    text
}
