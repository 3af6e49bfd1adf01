//! `date`: a day, or a date-time with an offset.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::answer::{Answer, Moment};
use crate::calendar;
use crate::condition::order;
use crate::form::findings::Findings;
use crate::form::kind::{Mistake, Parsed};
use crate::form::reader::{Object, Reader};
use crate::parse::{Raw, Source};
use crate::problem::ProblemCode;
use crate::violation::{Constraint, Expected};

/// The rules of a `date` field.
#[derive(Clone, Debug, Default)]
pub struct DateRules {
    /// `format: date-time`: a date-time instead of a day.
    pub has_time: bool,
    /// `minimum`, inclusive.
    pub minimum: Option<DateBound>,
    /// `maximum`, inclusive.
    pub maximum: Option<DateBound>,
}

/// A bound: its text and the value compared against.
#[derive(Clone, Debug)]
pub struct DateBound {
    text: Arc<str>,
    value: Answer<'static>,
}

impl DateBound {
    /// The text of the bound in the definition.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl DateRules {
    pub(crate) const KEYS: &[&str] = &["format", "minimum", "maximum"];

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, validation: &'v Object) -> Self {
        let formats = [("date", false), ("date-time", true)];
        let mut rules = Self {
            has_time: reader
                .word_at(validation, "format", &formats)
                .unwrap_or(false),
            minimum: None,
            maximum: None,
        };
        rules.minimum = rules.read_bound(reader, validation, "minimum");
        rules.maximum = rules.read_bound(reader, validation, "maximum");
        if let (Some(low), Some(high)) = (&rules.minimum, &rules.maximum)
            && order(&low.value, &high.value) == Some(Ordering::Greater)
        {
            let message = "`minimum` lies above `maximum`: no date can satisfy both.";
            reader.report_at("minimum", ProblemCode::Contradiction, message);
        }
        rules
    }

    fn read_bound<'v>(
        &self,
        reader: &mut Reader<'v>,
        validation: &'v Object,
        key: &'v str,
    ) -> Option<DateBound> {
        let text = reader.text_at(validation, key)?;
        let value = self.parse_text(text);
        if value.is_none() {
            let message = format!("`{text}` is not of the format `{}`.", self.format_name());
            reader.report_at(key, ProblemCode::BadValue, message);
        }
        Some(DateBound {
            text: text.into(),
            value: value?.into_owned(),
        })
    }

    /// The name of the format: `date` or `date-time`.
    pub fn format_name(&self) -> &'static str {
        if self.has_time { "date-time" } else { "date" }
    }

    fn parse_text<'a>(&self, text: &'a str) -> Option<Answer<'a>> {
        if self.has_time {
            calendar::parse_date_time(text).map(|instant| {
                Answer::Moment(Box::new(Moment {
                    text: text.into(),
                    instant,
                }))
            })
        } else {
            calendar::parse_date(text).map(Answer::Date)
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "returning an answer through memory takes longer than the check"
    )]
    #[inline(always)]
    pub(crate) fn parse<'a>(&self, source: impl Source<'a>) -> Parsed<'a> {
        let text = match source.text() {
            Ok(text) => text,
            Err(other) => return Err(Mistake::wrong_type("string").of(other)),
        };
        if self.has_time {
            if let Some(instant) = calendar::parse_date_time(&text) {
                return Ok(Answer::Moment(Box::new(Moment { text, instant })));
            }
        } else if let Some(date) = calendar::parse_date(&text) {
            return Ok(Answer::Date(date));
        }
        Err(Mistake::wrong_format(self.format_name()).of(Raw::Text(text)))
    }

    pub(crate) fn check(&self, answer: &Answer<'_>, findings: &mut Findings<'_>) {
        let mut add = |constraint, bound: &DateBound| {
            let expected = Expected::Text(bound.text.clone());
            findings.add(constraint, expected, || answer.to_json());
        };
        if let Some(bound) = &self.minimum
            && order(answer, &bound.value) == Some(Ordering::Less)
        {
            add(Constraint::Minimum, bound);
        }
        if let Some(bound) = &self.maximum
            && order(answer, &bound.value) == Some(Ordering::Greater)
        {
            add(Constraint::Maximum, bound);
        }
    }
}
