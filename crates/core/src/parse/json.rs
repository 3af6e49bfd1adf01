//! Parses answers from JSON text, without building a document tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::envelope::{FORM_ID, RESPONSES, is_envelope_key};
use super::{AnswerParser, Raw};
use crate::form::Kind;
use crate::number::Number;

/// Parses an object of answers. If it is an envelope, returns the text of the answers inside.
pub(super) struct JsonAnswers<'i, 'f, 'a> {
    pub(super) parser: &'i mut AnswerParser<'f, 'a>,
    /// Whether the object may be an envelope rather than the content of one.
    pub(super) outermost: bool,
}

impl<'a> DeserializeSeed<'a> for JsonAnswers<'_, '_, 'a> {
    type Value = Option<&'a str>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for JsonAnswers<'_, '_, 'a> {
    type Value = Option<&'a str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of answers")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let form = self.parser.form;
        let mut next = 0;
        // Members that are not answers, or may turn out to belong to an envelope.
        let mut others: Vec<(Cow<'a, str>, Raw<'a>)> = Vec::new();
        let mut responses = None;
        while let Some(key) = entries.next_key_seed(JsonText)? {
            if self.outermost && key == RESPONSES {
                let raw: &RawValue = entries.next_value()?;
                let value = if form.is_content(raw.get().starts_with('{')) {
                    responses = Some(raw.get());
                    Raw::Absent
                } else {
                    JsonRaw.parse(raw.get()).map_err(serde::de::Error::custom)?
                };
                others.push((key, value));
                continue;
            }
            if let Some((index, field)) = form.find(next, &key)
                && !(self.outermost && is_envelope_key(&key))
            {
                next = index + 1;
                let raw = match field.kind() {
                    Kind::Number(_) => entries.next_value_seed(JsonNumber)?,
                    Kind::Text(_)
                    | Kind::Boolean
                    | Kind::Date(_)
                    | Kind::Select(_)
                    | Kind::MultiSelect(_)
                    | Kind::Url(_)
                    | Kind::File(_) => entries.next_value_seed(JsonRaw)?,
                };
                if !self.parser.set(index, field, raw) {
                    return Err(serde::de::Error::custom(DuplicateKey(&key)));
                }
            } else {
                others.push((key, entries.next_value_seed(JsonRaw)?));
            }
        }
        reject_duplicates(&others)?;
        if responses.is_some() {
            return Ok(responses);
        }
        for (key, value) in others {
            match form.find(0, &key) {
                Some((index, field)) => {
                    self.parser.set(index, field, value);
                }
                None => self.parser.unknown.push(key.into()),
            }
        }
        Ok(None)
    }
}

/// Records the members of an envelope other than `responses`, in document order.
pub(super) struct JsonEnvelope<'i, 'f, 'a>(pub(super) &'i mut AnswerParser<'f, 'a>);

impl<'a> DeserializeSeed<'a> for JsonEnvelope<'_, '_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for JsonEnvelope<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an envelope around answers")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key_seed(JsonText)? {
            if key == FORM_ID {
                let value = entries.next_value_seed(JsonRaw)?;
                self.0.envelope_key(&key, &value);
            } else {
                entries.next_value::<IgnoredAny>()?;
                self.0.envelope_key(&key, &Raw::Absent);
            }
        }
        Ok(())
    }
}

fn reject_duplicates<E: serde::de::Error>(members: &[(Cow<'_, str>, Raw<'_>)]) -> Result<(), E> {
    // For a handful, comparing is faster than sorting.
    let is_repeated = |(i, (key, _)): (usize, &(Cow<'_, str>, _))| {
        members[..i].iter().any(|(other, _)| other == key)
    };
    if members.len() <= 8 && !members.iter().enumerate().any(is_repeated) {
        return Ok(());
    }
    let mut keys: SmallVec<[&str; 16]> = members.iter().map(|(key, _)| &**key).collect();
    keys.sort_unstable();
    match keys.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(E::custom(DuplicateKey(pair[0]))),
        None => Ok(()),
    }
}

struct DuplicateKey<'k>(&'k str);

impl fmt::Display for DuplicateKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key `{}` appears more than once", self.0)
    }
}

/// Parses a string, borrowed if it has no escapes.
struct JsonText;

impl<'a> DeserializeSeed<'a> for JsonText {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for JsonText {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Parses a value for a field that is not a number.
struct JsonRaw;

impl<'a> DeserializeSeed<'a> for JsonRaw {
    type Value = Raw<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for JsonRaw {
    type Value = Raw<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw<'a>, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw<'a>, E> {
        Ok(Raw::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw<'a>, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw<'a>, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw<'a>, E> {
        Ok(Number::from_f64(value).map_or(Raw::Null, Raw::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Raw<'a>, E> {
        Ok(Raw::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw<'a>, E> {
        Ok(Raw::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<Raw<'a>, A::Error> {
        let mut list = Vec::with_capacity(4);
        while let Some(item) = items.next_element_seed(JsonRaw)? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut entries: A) -> Result<Raw<'a>, A::Error> {
        let mut members: Vec<(Cow<'a, str>, Raw<'a>)> = Vec::with_capacity(4);
        while let Some(key) = entries.next_key_seed(JsonText)? {
            members.push((key, entries.next_value_seed(JsonRaw)?));
        }
        reject_duplicates(&members)?;
        Ok(Raw::Object(members))
    }
}

impl JsonRaw {
    /// Parses a text that is a single value.
    fn parse(self, text: &str) -> Result<Raw<'_>, serde_json::Error> {
        self.deserialize(&mut serde_json::Deserializer::from_str(text))
    }
}

/// Parses a value for a number field from its source text, so that no digit is lost.
struct JsonNumber;

impl<'a> DeserializeSeed<'a> for JsonNumber {
    type Value = Raw<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Raw<'a>, D::Error> {
        let raw: &'a RawValue = serde::Deserialize::deserialize(deserializer)?;
        let text = raw.get();
        if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return Ok(Number::parse(text).map_or(Raw::Unreadable(text), Raw::Number));
        }
        JsonRaw.parse(text).map_err(serde::de::Error::custom)
    }
}
