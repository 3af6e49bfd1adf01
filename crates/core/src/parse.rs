//! Brings raw answers, whatever their source, to their fields.
//!
//! From JSON text no document tree is built: strings are borrowed from the text, and each
//! value is read as its field's type as it comes by. Decides nothing about validity.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use smallvec::SmallVec;

use crate::answer::Answer;
use crate::check::Settings;
use crate::form::findings::Findings;
use crate::form::kind::Unreadable;
use crate::form::{Field, Form, Kind};
use crate::number::Number;
use crate::violation::Violation;

/// A value as it came, not yet of any type.
#[derive(Clone, Debug, Default)]
pub(crate) enum Raw<'a> {
    /// The field was not mentioned.
    #[default]
    Absent,
    Null,
    Boolean(bool),
    Number(Number),
    /// A number that cannot be held without loss, as it was written.
    Unreadable(&'a str),
    Text(Cow<'a, str>),
    /// A list or an object of parsed JSON.
    Tree(&'a Value),
    /// A list read from text.
    List(Vec<Raw<'a>>),
    /// An object read from text.
    Object(Vec<(Cow<'a, str>, Raw<'a>)>),
}

impl<'a> From<&'a Value> for Raw<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Boolean(*value),
            Value::Number(number) => Number::from_json(number).map_or(Self::Null, Self::Number),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            tree @ (Value::Array(_) | Value::Object(_)) => Self::Tree(tree),
        }
    }
}

impl<'a> Raw<'a> {
    /// No answer is null, an empty text or an empty list (spec 1.2).
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Absent | Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::Tree(tree) => tree.as_array().is_some_and(Vec::is_empty),
            Self::List(items) => items.is_empty(),
            Self::Boolean(_) | Self::Number(_) | Self::Unreadable(_) | Self::Object(_) => false,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Absent | Self::Null => Value::Null,
            Self::Boolean(value) => (*value).into(),
            Self::Number(number) => number.to_json(),
            Self::Unreadable(text) => (*text).into(),
            Self::Text(text) => text.as_ref().into(),
            Self::Tree(tree) => (*tree).clone(),
            Self::List(items) => items.iter().map(Raw::to_json).collect(),
            Self::Object(members) => members
                .iter()
                .map(|(key, value)| (key.to_string(), value.to_json()))
                .collect(),
        }
    }

    /// Calls `visit` with each member of an object; false if it is none.
    pub(crate) fn each_member(&self, mut visit: impl FnMut(&str, Raw<'a>)) -> bool {
        match self {
            Self::Tree(Value::Object(members)) => {
                for (key, value) in members {
                    visit(key, value.into());
                }
            }
            Self::Object(members) => {
                for (key, value) in members {
                    visit(key, value.clone());
                }
            }
            _ => return false,
        }
        true
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Option<Vec<Raw<'a>>> {
        match self {
            Self::Tree(Value::Array(items)) => Some(items.iter().map(Raw::from).collect()),
            Self::List(items) => Some(items.clone()),
            _ => None,
        }
    }
}

/// Answers on their way in: each value is read as its field's type as it comes by.
pub(crate) struct Intake<'f, 'a> {
    form: &'f Form,
    /// What could be read, by field.
    pub(crate) values: Vec<Option<Answer<'a>>>,
    /// What could not.
    pub(crate) unreadable: Vec<(usize, Box<Unreadable<'a>>)>,
    /// Names that are no field's.
    pub(crate) strangers: Vec<Box<str>>,
    /// The `form_id` of an envelope, when it is not this form's.
    pub(crate) other_form: Option<Value>,
    /// Whether the answers were an object at all.
    pub(crate) is_object: bool,
    /// What is wrong with answers that can be judged as they come by.
    pub(crate) violations: Vec<Violation>,
    settings: &'f Settings,
    mentioned: SmallVec<[u64; 2]>,
}

impl<'f, 'a> Intake<'f, 'a> {
    fn new(form: &'f Form, settings: &'f Settings) -> Self {
        let fields = form.fields().len();
        let mut values = Vec::with_capacity(fields);
        values.resize_with(fields, || None);
        Self {
            form,
            values,
            unreadable: Vec::new(),
            strangers: Vec::new(),
            other_form: None,
            is_object: true,
            violations: Vec::new(),
            settings,
            mentioned: SmallVec::from_elem(0, fields.div_ceil(64)),
        }
    }

    /// From parsed JSON: bare answers or an envelope around them.
    pub(crate) fn from_value(form: &'f Form, value: &'a Value, settings: &'f Settings) -> Self {
        let mut intake = Self::new(form, settings);
        let Some(object) = value.as_object() else {
            intake.is_object = false;
            return intake;
        };
        if !intake.take_members(object, form.may_be_enveloped()) {
            // An envelope: what was taken so far were its own members.
            let mut inner = Self::new(form, settings);
            for (key, value) in object {
                inner.envelope_key(key, &value.into());
            }
            if let Some(Value::Object(responses)) = object.get(RESPONSES) {
                inner.take_members(responses, false);
            }
            intake = inner;
        }
        intake.fill_in();
        intake
    }

    /// Takes each member as an answer; false when it finds itself in an envelope.
    fn take_members(&mut self, object: &'a Map<String, Value>, outermost: bool) -> bool {
        let mut next = 0;
        for (key, value) in object {
            if outermost && key == RESPONSES && value.is_object() {
                return false;
            }
            match self.form.position_from(next, key) {
                Some(place) => {
                    next = place + 1;
                    self.put(place, value.into());
                }
                None => self.strangers.push(key.as_str().into()),
            }
        }
        true
    }

    /// From JSON text; the error says where it stops being JSON.
    pub(crate) fn from_text(
        form: &'f Form,
        text: &'a str,
        settings: &'f Settings,
    ) -> Result<Self, serde_json::Error> {
        let mut intake = Self::new(form, settings);
        let mut json = serde_json::Deserializer::from_str(text);
        if text.trim_start().starts_with('{') {
            let outermost = form.may_be_enveloped();
            let answers = JsonAnswers {
                intake: &mut intake,
                outermost,
            };
            if let Some(responses) = answers.deserialize(&mut json)? {
                // What was taken for answers so far were the envelope's own members.
                intake = Self::new(form, settings);
                JsonEnvelope(&mut intake)
                    .deserialize(&mut serde_json::Deserializer::from_str(text))?;
                let answers = JsonAnswers {
                    intake: &mut intake,
                    outermost: false,
                };
                answers.deserialize(&mut serde_json::Deserializer::from_str(responses))?;
            }
        } else {
            intake.is_object = false;
            IgnoredAny::deserialize(&mut json)?;
        }
        json.end()?;
        intake.fill_in();
        Ok(intake)
    }

    /// Takes the raw answer to a field; false if there was one already.
    fn put(&mut self, place: usize, raw: Raw<'a>) -> bool {
        let (word, bit) = (place / 64, 1 << (place % 64));
        if self.mentioned[word] & bit != 0 {
            return false;
        }
        self.mentioned[word] |= bit;
        let field = &self.form.fields()[place];
        // What is sent for a hidden field is ignored; what is sent empty was cleared.
        if field.rendering().hidden || raw.is_empty() {
            return true;
        }
        match field.kind().parse(raw) {
            Ok(answer) if is_no_answer(field, &answer) => {}
            Ok(answer) => {
                if self.form.is_plain() {
                    let findings = &mut self.violations;
                    let sensitive = field.is_sensitive();
                    let mut findings = Findings::new(findings, self.settings, place, sensitive);
                    field.kind().check(&answer, &mut findings);
                }
                self.values[place] = Some(answer);
            }
            Err(unreadable) => self.unreadable.push((place, unreadable)),
        }
        true
    }

    /// Gives fields that were not mentioned, or that nobody can change, their defaults.
    fn fill_in(&mut self) {
        for (place, field) in self.form.fields().iter().enumerate() {
            let Some(default) = field.default() else {
                continue;
            };
            let is_mentioned = self.mentioned[place / 64] & (1 << (place % 64)) != 0;
            let hints = field.rendering();
            let is_unanswered = self.values[place].is_none()
                && !self.unreadable.iter().any(|(other, _)| *other == place);
            let takes_default = match (hints.hidden, hints.readonly) {
                (true, _) => true,
                (false, true) => is_unanswered,
                (false, false) => !is_mentioned && !field.is_required(),
            };
            if takes_default {
                self.values[place] = Some(default.clone());
            }
        }
    }

    fn envelope_key(&mut self, key: &str, value: &Raw<'_>) {
        match (key, value) {
            (RESPONSES | "metadata", _) => {}
            (FORM_ID, Raw::Text(id)) if *id == self.form.id() => {}
            (FORM_ID, other) => self.other_form = Some(other.to_json()),
            (other, _) => self.strangers.push(other.into()),
        }
    }
}

pub(crate) const RESPONSES: &str = "responses";
const FORM_ID: &str = "form_id";

/// Whether what was read says nothing after all: a required text needs a character that
/// can be seen, and JSON that was typed may say `null`.
fn is_no_answer(field: &Field, answer: &Answer<'_>) -> bool {
    match answer {
        Answer::Text(text) => field.is_required() && is_blank(text),
        Answer::Json(value) => Raw::from(&**value).is_empty(),
        _ => false,
    }
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\u{feff}')
}

/// The members of an envelope.
fn is_envelope_key(key: &str) -> bool {
    matches!(key, RESPONSES | FORM_ID | "metadata")
}

/// Reads an object of answers from JSON text; finding an envelope, it returns the text of
/// the answers within.
struct JsonAnswers<'i, 'f, 'a> {
    intake: &'i mut Intake<'f, 'a>,
    /// An envelope may stand here.
    outermost: bool,
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
        let form = self.intake.form;
        let mut next = 0;
        // What is no answer, or may turn out to be a member of an envelope.
        let mut others: Vec<(Cow<'a, str>, Raw<'a>)> = Vec::new();
        let mut responses = None;
        while let Some(key) = entries.next_key_seed(JsonText)? {
            if self.outermost && key == RESPONSES {
                let raw: &RawValue = entries.next_value()?;
                let value = if raw.get().starts_with('{') {
                    responses = Some(raw.get());
                    Raw::Absent
                } else {
                    JsonRaw.of(raw.get()).map_err(serde::de::Error::custom)?
                };
                others.push((key, value));
                continue;
            }
            let place = form.position_from(next, &key);
            if let Some(place) = place
                && !(self.outermost && is_envelope_key(&key))
            {
                next = place + 1;
                let raw = match form.fields()[place].kind() {
                    Kind::Number(_) => entries.next_value_seed(JsonNumber)?,
                    _ => entries.next_value_seed(JsonRaw)?,
                };
                if !self.intake.put(place, raw) {
                    return Err(serde::de::Error::custom(DuplicateKey(&key)));
                }
            } else {
                others.push((key, entries.next_value_seed(JsonRaw)?));
            }
        }
        refuse_duplicates(&others)?;
        if responses.is_some() {
            return Ok(responses);
        }
        for (key, value) in others {
            match form.position(&key) {
                Some(place) => {
                    self.intake.put(place, value);
                }
                None => self.intake.strangers.push(key.into()),
            }
        }
        Ok(None)
    }
}

/// Notes the members of an envelope beside its `responses`, in the order of the text.
struct JsonEnvelope<'i, 'f, 'a>(&'i mut Intake<'f, 'a>);

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

fn refuse_duplicates<E: serde::de::Error>(members: &[(Cow<'_, str>, Raw<'_>)]) -> Result<(), E> {
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
        write!(f, "the key `{}` stands here more than once", self.0)
    }
}

/// A text, borrowed where it has no escapes.
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

/// A value for a field that takes no number.
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
        Ok(Raw::Number(Number::Int(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw<'a>, E> {
        Ok(Raw::Number(Number::Int(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw<'a>, E> {
        Ok(Raw::Number(Number::Float(value)))
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
        refuse_duplicates(&members)?;
        Ok(Raw::Object(members))
    }
}

impl JsonRaw {
    /// Reads a part of a text that is a value.
    fn of(self, text: &str) -> Result<Raw<'_>, serde_json::Error> {
        self.deserialize(&mut serde_json::Deserializer::from_str(text))
    }
}

/// A value for a number field: taken as it was written, so that no digit is lost.
struct JsonNumber;

impl<'a> DeserializeSeed<'a> for JsonNumber {
    type Value = Raw<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Raw<'a>, D::Error> {
        let raw: &'a RawValue = serde::Deserialize::deserialize(deserializer)?;
        let text = raw.get();
        if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return Ok(Number::parse(text).map_or(Raw::Unreadable(text), Raw::Number));
        }
        JsonRaw.of(text).map_err(serde::de::Error::custom)
    }
}
