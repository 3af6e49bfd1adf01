//! Matches raw answers to fields and parses them.
//!
//! JSON text is parsed without building a document tree: strings are borrowed from the text, and
//! each value is parsed as the type of its field right away.

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, IgnoredAny};
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::check::CheckSettings;
use crate::form::findings::Findings;
use crate::form::kind::Unreadable;
use crate::form::{Field, Form};

mod envelope;
mod json;
mod raw;

use json::{JsonAnswers, JsonEnvelope};
pub(crate) use raw::{Raw, Source};

/// Parses each value as the type of its field and collects the results.
pub(crate) struct AnswerParser<'f, 'a> {
    form: &'f Form,
    /// Answers that could be parsed, by field.
    pub(crate) values: Vec<Option<Answer<'a>>>,
    /// The number of `values` that are set.
    answered: usize,
    /// Answers that could not be parsed, by field.
    pub(crate) unreadable: Vec<(usize, Box<Unreadable<'a>>)>,
    /// Names of fields that the form does not have.
    pub(crate) unknown: Vec<Box<str>>,
    /// The `form_id` of the envelope, if it names another form.
    pub(crate) other_form: Option<Value>,
    /// Whether the submission is an object.
    pub(crate) is_object: bool,
    /// Violations of the fields' own rules, in the order of the submission.
    pub(crate) findings: Findings<'f>,
    /// A bit set of the fields that are present in the submission but have no value. Empty for
    /// most submissions.
    present: Vec<u64>,
}

impl<'f, 'a> AnswerParser<'f, 'a> {
    pub(crate) fn new(form: &'f Form, settings: &'f CheckSettings) -> Self {
        Self {
            form,
            values: form.fields().iter().map(|_| None).collect(),
            answered: 0,
            unreadable: Vec::new(),
            unknown: Vec::new(),
            other_form: None,
            is_object: true,
            findings: Findings::new(settings),
            present: Vec::new(),
        }
    }

    /// Parses answers in parsed JSON, either bare or in an envelope.
    pub(crate) fn parse_value(&mut self, value: &'a Value) {
        match value {
            Value::Object(members) => match self.form.enveloped(members) {
                Some(responses) => self.parse_envelope(members, responses),
                None => self.parse_members(members),
            },
            _ => self.is_object = false,
        }
        self.apply_defaults();
    }

    #[cold]
    fn parse_envelope(
        &mut self,
        envelope: &'a Map<String, Value>,
        responses: &'a Map<String, Value>,
    ) {
        for (key, value) in envelope {
            self.envelope_key(key, &value.into());
        }
        self.parse_members(responses);
    }

    /// Parses each member as an answer.
    fn parse_members(&mut self, members: &'a Map<String, Value>) {
        let form = self.form;
        let mut next = 0;
        for (key, value) in members {
            match form.find(next, key) {
                Some((index, field)) => {
                    next = index + 1;
                    self.set(index, field, value);
                }
                None => self.unknown.push(key.as_str().into()),
            }
        }
    }

    /// Parses answers in JSON text. The error has the position of the syntax error.
    pub(crate) fn parse_text(&mut self, text: &'a str) -> Result<(), serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(text);
        if text.trim_start().starts_with('{') {
            let answers = JsonAnswers {
                outermost: true,
                parser: self,
            };
            if let Some(responses) = answers.deserialize(&mut json)? {
                // Members parsed as answers so far belong to the envelope.
                *self = Self::new(self.form, self.findings.settings);
                JsonEnvelope(self).deserialize(&mut serde_json::Deserializer::from_str(text))?;
                let answers = JsonAnswers {
                    parser: self,
                    outermost: false,
                };
                answers.deserialize(&mut serde_json::Deserializer::from_str(responses))?;
            }
        } else {
            self.is_object = false;
            IgnoredAny::deserialize(&mut json)?;
        }
        json.end()?;
        self.apply_defaults();
        Ok(())
    }

    /// Parses the answer to a field. Returns false if the field is present already.
    fn set(&mut self, index: usize, field: &Field, source: impl Source<'a>) -> bool {
        if self.is_present(index) {
            return false;
        }
        // Values of hidden fields are ignored; an empty value clears the field.
        if field.rendering().hidden || source.is_empty() {
            self.mark_present(index);
            return true;
        }
        let findings = self.findings.set_field(index, field);
        let slot = &mut self.values[index];
        let parsed = field
            .kind()
            .parse(source, field.is_required(), findings, slot);
        match parsed {
            Ok(true) => self.answered += 1,
            Ok(false) => self.mark_present(index),
            Err(unreadable) => {
                self.mark_present(index);
                self.unreadable.push((index, unreadable));
            }
        }
        true
    }

    #[inline]
    fn is_present(&self, index: usize) -> bool {
        let is_set = |words: &[u64]| {
            let word = words.get(index / 64).copied().unwrap_or(0);
            word & (1 << (index % 64)) != 0
        };
        self.values[index].is_some() || !self.present.is_empty() && is_set(&self.present)
    }

    /// Records that a field is present without a value.
    #[cold]
    fn mark_present(&mut self, index: usize) {
        let word = index / 64;
        if self.present.len() <= word {
            self.present.resize(word + 1, 0);
        }
        self.present[word] |= 1 << (index % 64);
    }

    /// Sets the defaults of fields that are absent or cannot be changed.
    fn apply_defaults(&mut self) {
        let fields = self.form.fields();
        for &index in self.form.with_default() {
            let field = &fields[index];
            let Some(default) = field.default() else {
                continue;
            };
            let is_present = self.is_present(index);
            let hints = field.rendering();
            let is_unanswered = || {
                self.values[index].is_none()
                    && !self.unreadable.iter().any(|(other, _)| *other == index)
            };
            let takes_default = match (hints.hidden, hints.readonly) {
                (true, _) => true,
                (false, true) => is_unanswered(),
                (false, false) => !is_present && !field.is_required(),
            };
            if takes_default {
                self.answered += usize::from(self.values[index].is_none());
                self.values[index] = Some(default.clone());
            }
        }
    }

    /// Whether every field has a valid answer and nothing else was submitted.
    pub(crate) fn is_complete_and_valid(&self) -> bool {
        self.is_object
            && self.findings.list.is_empty()
            && self.unreadable.is_empty()
            && self.unknown.is_empty()
            && self.other_form.is_none()
            && self.answered == self.values.len()
    }
}
