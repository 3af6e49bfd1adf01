//! Checked answers.
//!
//! [`Answers`] exist only as the result of a check. They borrow from what was checked where
//! they can; [`Answers::into_owned`] cuts them loose. Sensitive answers are not printed by
//! `Debug` and are serialised only when the caller says [`Answers::reveal`].

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::form::{Field, Form};
use crate::number::Number;
use crate::upload::Upload;

/// What stands in a secret's place where secrets must not go.
pub const SEALED: &str = "[sealed]";

/// One checked value, by the type of its field.
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
    /// `multi_select`: the chosen options' values in the order given.
    Choices(Vec<Cow<'a, str>>),
    /// `url`.
    Url(Cow<'a, str>),
    /// `file`.
    Files(Vec<Upload<'a>>),
    /// A part of an imported schema that is nested, answered as JSON.
    Json(Box<Value>),
}

/// A moment as it was written, offset included, and the instant it names.
#[derive(Clone, Debug)]
pub struct Moment<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) instant: Timestamp,
}

impl Moment<'_> {
    /// RFC 3339, as it was answered.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The instant, by which moments compare.
    pub fn instant(&self) -> Timestamp {
        self.instant
    }

    /// Cuts the moment loose from what it was read from.
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
    /// The text of a text, URL, choice or moment.
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

    /// Cuts the answer loose from what it was read from.
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

    /// The answer as JSON, whatever its field; an upload list of one stays a list.
    pub(crate) fn to_json(&self) -> Value {
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
}

/// The answers of one submission that passed its form.
#[derive(Clone)]
pub struct Answers<'a> {
    pub(crate) form: Form,
    /// One for each field, in field order.
    pub(crate) values: Vec<Option<Answer<'a>>>,
    pub(crate) missing: Vec<usize>,
}

impl<'a> Answers<'a> {
    /// The form that was answered.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// The answer to a field; `None` when it has none or the form has no such field.
    pub fn get(&self, field: &str) -> Option<&Answer<'a>> {
        self.values.get(self.form.position(field)?)?.as_ref()
    }

    /// Takes the answer to a field out.
    pub fn take(&mut self, field: &str) -> Option<Answer<'a>> {
        let position = self.form.position(field)?;
        self.values.get_mut(position)?.take()
    }

    /// The fields that have an answer, in field order.
    pub fn iter(&self) -> impl Iterator<Item = (&Field, &Answer<'a>)> {
        self.form
            .fields()
            .iter()
            .zip(&self.values)
            .filter_map(|(field, value)| Some((field, value.as_ref()?)))
    }

    /// The required fields that a form with `allow_partial` let pass.
    pub fn missing(&self) -> impl Iterator<Item = &Field> {
        self.missing.iter().map(|i| &self.form.fields()[*i])
    }

    /// Cuts the answers loose from what they were read from.
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

    /// The answers as a map that serialises, secrets included: for the asker only.
    pub fn reveal(&self) -> Shown<'_, 'a> {
        Shown {
            answers: self,
            secrets: true,
        }
    }

    /// The answers as a map that serialises, with [`SEALED`] in place of each secret.
    pub fn sealed(&self) -> Shown<'_, 'a> {
        Shown {
            answers: self,
            secrets: false,
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

/// A view of answers that serialises; made by [`Answers::reveal`] and [`Answers::sealed`].
#[derive(Clone, Copy)]
pub struct Shown<'s, 'a> {
    answers: &'s Answers<'a>,
    secrets: bool,
}

impl Shown<'_, '_> {
    /// The answers as a JSON object. Whole numbers beyond 64 bits become floats there;
    /// serialising to text keeps them.
    pub fn to_json(self) -> Map<String, Value> {
        self.answers
            .iter()
            .map(|(field, answer)| {
                let value = if self.hides(field) {
                    SEALED.into()
                } else {
                    match answer {
                        Answer::Files(files) if !field.takes_many() => {
                            files.first().map_or(Value::Null, Upload::to_json)
                        }
                        answer => answer.to_json(),
                    }
                };
                (field.id().to_owned(), value)
            })
            .collect()
    }

    fn hides(self, field: &Field) -> bool {
        field.is_sensitive() && !self.secrets
    }
}

impl Serialize for Shown<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (field, answer) in self.answers.iter() {
            if self.hides(field) {
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
                Answer::Files(files) if !field.takes_many() => {
                    map.serialize_entry(field.id(), &files.first().map(Upload::to_json))?;
                }
                answer => map.serialize_entry(field.id(), &answer.to_json())?,
            }
        }
        map.end()
    }
}
