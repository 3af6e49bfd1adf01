//! Brings raw answers, whatever their source, to their fields.
//!
//! From JSON text no document tree is built: strings are borrowed from the text, and each
//! value is read as its field's type as it comes by. Decides nothing about validity.

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, IgnoredAny};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::check::Settings;
use crate::form::Form;
use crate::form::findings::Findings;
use crate::form::kind::{Unreadable, is_no_answer};
use crate::violation::Violation;

mod json;
mod raw;

use json::{JsonAnswers, JsonEnvelope};
pub(crate) use raw::{Raw, Source};

/// Answers on their way in: each value is read as its field's type as it comes by.
pub(crate) struct Intake<'f, 'a> {
    form: &'f Form,
    /// What could be read, by field; those at the end come to be as they are needed.
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
    /// One bit for each field that was mentioned and has no value all the same, as far as
    /// there is one: most submissions have none.
    mentioned: Vec<u64>,
}

impl<'f, 'a> Intake<'f, 'a> {
    fn new(form: &'f Form, settings: &'f Settings) -> Self {
        Self {
            form,
            values: Vec::with_capacity(form.fields().len()),
            unreadable: Vec::new(),
            strangers: Vec::new(),
            other_form: None,
            is_object: true,
            violations: Vec::new(),
            settings,
            mentioned: Vec::new(),
        }
    }

    /// From parsed JSON: bare answers or an envelope around them.
    pub(crate) fn from_value(form: &'f Form, value: &'a Value, settings: &'f Settings) -> Self {
        let mut intake = Self::new(form, settings);
        let Some(object) = value.as_object() else {
            intake.is_object = false;
            intake.fill_in();
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
                    self.put(place, value);
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
    fn put(&mut self, place: usize, source: impl Source<'a>) -> bool {
        if self.is_mentioned(place) {
            return false;
        }
        let field = &self.form.fields()[place];
        // What is sent for a hidden field is ignored; what is sent empty was cleared.
        if field.rendering().hidden || source.is_empty() {
            self.mention(place);
            return true;
        }
        let taken = if self.form.is_plain() {
            let (list, sensitive) = (&mut self.violations, field.is_sensitive());
            let mut findings = Findings::new(list, self.settings, place, sensitive);
            let is_required = field.is_required();
            field.kind().take(source, is_required, &mut findings)
        } else {
            let is_answer = |answer: &Answer<'_>| !is_no_answer(answer, field.is_required());
            let parsed = field.kind().parse(source);
            parsed.map(|answer| Some(answer).filter(is_answer))
        };
        match taken {
            Ok(Some(answer)) => self.set(place, answer),
            Ok(None) => self.mention(place),
            Err(unreadable) => {
                self.mention(place);
                self.unreadable.push((place, unreadable));
            }
        }
        true
    }

    #[inline]
    fn set(&mut self, place: usize, answer: Answer<'a>) {
        // Answers mostly come in order.
        if place == self.values.len() {
            self.values.push(Some(answer));
        } else {
            self.set_out_of_order(place, answer);
        }
    }

    #[inline(never)]
    fn set_out_of_order(&mut self, place: usize, answer: Answer<'a>) {
        if place > self.values.len() {
            self.values.resize_with(place + 1, || None);
        }
        self.values[place] = Some(answer);
    }

    #[inline]
    fn is_mentioned(&self, place: usize) -> bool {
        // What comes in order is mentioned for the first time.
        if place >= self.values.len() && self.mentioned.is_empty() {
            return false;
        }
        let word = self.mentioned.get(place / 64).copied().unwrap_or(0);
        matches!(self.values.get(place), Some(Some(_))) || word & (1 << (place % 64)) != 0
    }

    /// Notes that a field was mentioned, though it gets no value.
    #[cold]
    fn mention(&mut self, place: usize) {
        let word = place / 64;
        if self.mentioned.len() <= word {
            self.mentioned.resize(word + 1, 0);
        }
        self.mentioned[word] |= 1 << (place % 64);
    }

    /// Gives fields that were not mentioned, or that nobody can change, their defaults.
    fn fill_in(&mut self) {
        let fields = self.form.fields();
        if self.values.len() < fields.len() {
            self.values.resize_with(fields.len(), || None);
        }
        for &place in self.form.with_default() {
            let field = &fields[place];
            let Some(default) = field.default() else {
                continue;
            };
            let is_mentioned = self.is_mentioned(place);
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

    /// Whether every field has an answer, nothing was found wrong with any of them, and
    /// nothing else was said.
    pub(crate) fn is_flawless(&self) -> bool {
        self.is_object
            && self.violations.is_empty()
            && self.unreadable.is_empty()
            && self.strangers.is_empty()
            && self.other_form.is_none()
            && self.values.iter().all(Option::is_some)
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
