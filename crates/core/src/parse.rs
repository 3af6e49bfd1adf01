//! Brings raw answers, whatever their source, to their fields.
//!
//! From JSON text no document tree is built: strings are borrowed from the text, and each
//! value is read as its field's type as it comes by. Decides nothing about validity.

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, IgnoredAny};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::check::CheckSettings;
use crate::form::findings::Findings;
use crate::form::kind::{Taken, Unreadable, is_no_answer};
use crate::form::{Field, Form};

mod json;
mod raw;

use json::{JsonAnswers, JsonEnvelope};
pub(crate) use raw::{Raw, Source};

/// Answers on their way in: each value is read as its field's type as it comes by.
pub(crate) struct Intake<'f, 'a> {
    form: &'f Form,
    /// What could be read, by field.
    pub(crate) values: Vec<Option<Answer<'a>>>,
    /// How many could.
    answered: usize,
    /// What could not.
    pub(crate) unreadable: Vec<(usize, Box<Unreadable<'a>>)>,
    /// Names that are no field's.
    pub(crate) strangers: Vec<Box<str>>,
    /// The `form_id` of an envelope, when it is not this form's.
    pub(crate) other_form: Option<Value>,
    /// Whether the answers were an object at all.
    pub(crate) is_object: bool,
    /// What is wrong with answers that can be judged as they come by.
    pub(crate) findings: Findings<'f>,
    /// One bit for each field that was mentioned and has no value all the same, as far as
    /// there is one: most submissions have none.
    mentioned: Vec<u64>,
}

impl<'f, 'a> Intake<'f, 'a> {
    pub(crate) fn new(form: &'f Form, settings: &'f CheckSettings) -> Self {
        Self {
            form,
            values: form.fields().iter().map(|_| None).collect(),
            answered: 0,
            unreadable: Vec::new(),
            strangers: Vec::new(),
            other_form: None,
            is_object: true,
            findings: Findings::new(settings),
            mentioned: Vec::new(),
        }
    }

    /// Takes parsed JSON: bare answers or an envelope around them.
    pub(crate) fn take_value(&mut self, value: &'a Value) {
        match value {
            Value::Object(members) => match self.form.enveloped(members) {
                Some(responses) => self.take_envelope(members, responses),
                None => self.take_members(members),
            },
            _ => self.is_object = false,
        }
        self.fill_in();
    }

    #[cold]
    fn take_envelope(
        &mut self,
        envelope: &'a Map<String, Value>,
        responses: &'a Map<String, Value>,
    ) {
        for (key, value) in envelope {
            self.envelope_key(key, &value.into());
        }
        self.take_members(responses);
    }

    /// Takes each member as an answer.
    fn take_members(&mut self, members: &'a Map<String, Value>) {
        let form = self.form;
        let mut next = 0;
        for (key, value) in members {
            match form.find(next, key) {
                Some((place, field)) => {
                    next = place + 1;
                    self.put(place, field, value);
                }
                None => self.strangers.push(key.as_str().into()),
            }
        }
    }

    /// Takes JSON text; the error says where it stops being JSON.
    pub(crate) fn take_text(&mut self, text: &'a str) -> Result<(), serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(text);
        if text.trim_start().starts_with('{') {
            let answers = JsonAnswers {
                outermost: self.form.may_be_enveloped(),
                intake: self,
            };
            if let Some(responses) = answers.deserialize(&mut json)? {
                // What was taken for answers so far were the envelope's own members.
                *self = Self::new(self.form, self.findings.settings);
                JsonEnvelope(self).deserialize(&mut serde_json::Deserializer::from_str(text))?;
                let answers = JsonAnswers {
                    intake: self,
                    outermost: false,
                };
                answers.deserialize(&mut serde_json::Deserializer::from_str(responses))?;
            }
        } else {
            self.is_object = false;
            IgnoredAny::deserialize(&mut json)?;
        }
        json.end()?;
        self.fill_in();
        Ok(())
    }

    /// Takes the raw answer to a field; false if there was one already.
    fn put(&mut self, place: usize, field: &Field, source: impl Source<'a>) -> bool {
        if self.is_mentioned(place) {
            return false;
        }
        // What is sent for a hidden field is ignored; what is sent empty was cleared.
        if field.rendering().hidden || source.is_empty() {
            self.mention(place);
            return true;
        }
        let taken = if self.form.is_plain() {
            let findings = self.findings.about(place, field);
            let slot = &mut self.values[place];
            field
                .kind()
                .take(source, field.is_required(), findings, slot)
        } else {
            field.kind().parse(source).map(|answer| {
                if is_no_answer(&answer, field.is_required()) {
                    return Taken::NoAnswer;
                }
                self.values[place] = Some(answer);
                Taken::Answer
            })
        };
        match taken {
            Ok(Taken::Answer) => self.answered += 1,
            Ok(Taken::NoAnswer) => self.mention(place),
            Err(unreadable) => {
                self.mention(place);
                self.unreadable.push((place, unreadable));
            }
        }
        true
    }

    #[inline]
    fn is_mentioned(&self, place: usize) -> bool {
        let is_noted = |words: &[u64]| {
            let word = words.get(place / 64).copied().unwrap_or(0);
            word & (1 << (place % 64)) != 0
        };
        self.values[place].is_some() || !self.mentioned.is_empty() && is_noted(&self.mentioned)
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
        for &place in self.form.with_default() {
            let field = &fields[place];
            let Some(default) = field.default() else {
                continue;
            };
            let is_mentioned = self.is_mentioned(place);
            let hints = field.rendering();
            let is_unanswered = || {
                self.values[place].is_none()
                    && !self.unreadable.iter().any(|(other, _)| *other == place)
            };
            let takes_default = match (hints.hidden, hints.readonly) {
                (true, _) => true,
                (false, true) => is_unanswered(),
                (false, false) => !is_mentioned && !field.is_required(),
            };
            if takes_default {
                self.answered += usize::from(self.values[place].is_none());
                self.values[place] = Some(default.clone());
            }
        }
    }

    /// Whether every field has an answer, nothing was found wrong with any of them, and
    /// nothing else was said.
    pub(crate) fn is_flawless(&self) -> bool {
        self.is_object
            && self.findings.list.is_empty()
            && self.unreadable.is_empty()
            && self.strangers.is_empty()
            && self.other_form.is_none()
            && self.answered == self.values.len()
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
