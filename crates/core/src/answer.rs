//! Checked answers.
//!
//! [`Answers`] exist only as the result of a check. They borrow from the input where they can;
//! [`Answers::into_owned`] copies what is borrowed. `Debug` redacts sensitive answers, and they
//! are serialised only through [`Answers::reveal`].

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::form::{Field, Form};
use crate::number::Number;
use crate::upload::Upload;

/// The placeholder for a sensitive answer in redacted output.
pub const SEALED: &str = "[sealed]";

/// One valid answer, typed by its field.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<'a> {
    /// `text`.
    Text(Cow<'a, str>),
    /// `number`.
    Number(Number),
    /// `boolean`.
    Boolean(bool),
    /// `date`.
    Date(Date),
    /// `date` with `format: date-time`.
    Moment(Box<Moment<'a>>),
    /// `select`: the chosen option's value.
    Choice(Cow<'a, str>),
    /// `multi_select`: the values of the chosen options, in the order submitted.
    Choices(Vec<Cow<'a, str>>),
    /// `url`.
    Url(Cow<'a, str>),
    /// `file`.
    Files(Vec<Upload<'a>>),
    /// A nested part of an imported schema, answered as JSON.
    Json(Box<Value>),
}

/// A date-time: its text, offset included, and the instant it denotes.
#[derive(Clone, Debug)]
pub struct Moment<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) instant: Timestamp,
}

impl Moment<'_> {
    /// The RFC 3339 text, as submitted.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The instant. Two moments are equal if their instants are.
    pub fn instant(&self) -> Timestamp {
        self.instant
    }

    /// Returns a moment that owns its text.
    pub fn into_owned(self) -> Moment<'static> {
        Moment {
            text: Cow::Owned(self.text.into_owned()),
            instant: self.instant,
        }
    }
}

impl PartialEq for Moment<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.instant == other.instant
    }
}

impl Answer<'_> {
    /// Returns the text of a text, URL, choice or moment, and `None` for other answers.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Choice(text) | Self::Url(text) => Some(text),
            Self::Moment(moment) => Some(&moment.text),
            Self::Number(_)
            | Self::Boolean(_)
            | Self::Date(_)
            | Self::Choices(_)
            | Self::Files(_)
            | Self::Json(_) => None,
        }
    }

    /// Returns an answer that owns its data.
    pub fn into_owned(self) -> Answer<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Text(text) => Answer::Text(own(text)),
            Self::Number(number) => Answer::Number(number),
            Self::Boolean(value) => Answer::Boolean(value),
            Self::Date(date) => Answer::Date(date),
            Self::Moment(moment) => Answer::Moment(Box::new(moment.into_owned())),
            Self::Choice(text) => Answer::Choice(own(text)),
            Self::Choices(texts) => Answer::Choices(texts.into_iter().map(own).collect()),
            Self::Url(text) => Answer::Url(own(text)),
            Self::Files(files) => {
                Answer::Files(files.into_iter().map(Upload::into_owned).collect())
            }
            Self::Json(value) => Answer::Json(value),
        }
    }

    /// Converts the answer to JSON. Uploads become a list, even if the field takes a single file.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) | Self::Choice(text) | Self::Url(text) => text.as_ref().into(),
            Self::Number(number) => number.to_json(),
            Self::Boolean(value) => (*value).into(),
            Self::Date(date) => date.to_string().into(),
            Self::Moment(moment) => moment.text.as_ref().into(),
            Self::Choices(texts) => texts
                .iter()
                .map(|text| Value::from(text.as_ref()))
                .collect(),
            Self::Files(files) => files.iter().map(Upload::to_json).collect(),
            Self::Json(value) => value.as_ref().clone(),
        }
    }

    /// The answer as it is submitted: a single upload unless the field takes many.
    pub(crate) fn to_json_in(&self, field: &Field) -> Value {
        let mut value = self.to_json();
        match &mut value {
            Value::Array(files) if field.kind().file_rules().is_some() && !field.takes_many() => {
                files.pop().unwrap_or_default()
            }
            _ => value,
        }
    }
}

/// The answers of one submission that passed the checks of its form.
#[derive(Clone)]
pub struct Answers<'a> {
    pub(crate) form: Form,
    /// One per field, in field order.
    pub(crate) values: Vec<Option<Answer<'a>>>,
    pub(crate) missing: Vec<usize>,
}

impl<'a> Answers<'a> {
    /// The form that was answered.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Returns the answer to a field, or `None` if it has none or the form has no such field.
    pub fn get(&self, field: &str) -> Option<&Answer<'a>> {
        self.values.get(self.form.position(field)?)?.as_ref()
    }

    /// Removes and returns the answer to a field.
    pub fn take(&mut self, field: &str) -> Option<Answer<'a>> {
        let position = self.form.position(field)?;
        self.values.get_mut(position)?.take()
    }

    /// Iterates over the fields that have an answer, in field order.
    pub fn iter(&self) -> impl Iterator<Item = (&Field, &Answer<'a>)> {
        self.form
            .fields()
            .iter()
            .zip(&self.values)
            .filter_map(|(field, value)| Some((field, value.as_ref()?)))
    }

    /// The required fields left without an answer, which a form with `allow_partial` accepts.
    pub fn missing(&self) -> impl Iterator<Item = &Field> {
        self.missing.iter().map(|i| &self.form.fields()[*i])
    }

    /// Returns answers that own their data.
    pub fn into_owned(self) -> Answers<'static> {
        Answers {
            form: self.form,
            values: self
                .values
                .into_iter()
                .map(|value| value.map(Answer::into_owned))
                .collect(),
            missing: self.missing,
        }
    }

    /// Returns a serialisable map of the answers, sensitive ones included. For the asker only.
    pub fn reveal(&self) -> AnswersView<'_, 'a> {
        AnswersView {
            answers: self,
            with_sensitive: true,
        }
    }

    /// Returns a serialisable map of the answers, with [`SEALED`] in place of sensitive ones.
    pub fn sealed(&self) -> AnswersView<'_, 'a> {
        AnswersView {
            answers: self,
            with_sensitive: false,
        }
    }
}

impl fmt::Debug for Answers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (field, answer) in self.iter() {
            if field.is_sensitive() {
                map.entry(&field.id(), &SEALED);
            } else {
                map.entry(&field.id(), answer);
            }
        }
        map.finish()
    }
}

/// A serialisable view of answers, returned by [`Answers::reveal`] and [`Answers::sealed`].
#[derive(Clone, Copy)]
pub struct AnswersView<'s, 'a> {
    answers: &'s Answers<'a>,
    with_sensitive: bool,
}

impl AnswersView<'_, '_> {
    /// Converts the answers to a JSON object. Whole numbers beyond 64 bits become floats here;
    /// serialising to text keeps them exact.
    pub fn to_json(self) -> Map<String, Value> {
        self.answers
            .iter()
            .map(|(field, answer)| {
                let value = if self.redacts(field) {
                    SEALED.into()
                } else {
                    answer.to_json_in(field)
                };
                (field.id().to_owned(), value)
            })
            .collect()
    }

    fn redacts(self, field: &Field) -> bool {
        field.is_sensitive() && !self.with_sensitive
    }
}

impl Serialize for AnswersView<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (field, answer) in self.answers.iter() {
            if self.redacts(field) {
                map.serialize_entry(field.id(), SEALED)?;
                continue;
            }
            match answer {
                Answer::Text(text) | Answer::Choice(text) | Answer::Url(text) => {
                    map.serialize_entry(field.id(), text)?;
                }
                Answer::Number(number) => map.serialize_entry(field.id(), number)?,
                Answer::Boolean(value) => map.serialize_entry(field.id(), value)?,
                Answer::Choices(texts) => map.serialize_entry(field.id(), texts)?,
                Answer::Date(_) | Answer::Moment(_) | Answer::Files(_) | Answer::Json(_) => {
                    map.serialize_entry(field.id(), &answer.to_json_in(field))?;
                }
            }
        }
        map.end()
    }
}
