//! `text`: a string with lengths in code points, a pattern and a format.

use std::borrow::Cow;

use serde_json::Value;

use crate::form::findings::Findings;
use crate::form::kind::{Mistake, Parsed};
use crate::form::reader::{Object, Reader};
use crate::format::Format;
use crate::parse::{Raw, Source};
use crate::pattern::Pattern;
use crate::violation::{Constraint, Expected};

/// The maximum length in code points, unless the form sets one.
pub(crate) const DEFAULT_MAX_LENGTH: u64 = 64 * 1024;

/// The rules of a `text` field.
#[derive(Clone, Debug, Default)]
pub struct TextRules {
    /// `minLength`, in code points.
    pub min_length: Option<u64>,
    /// `maxLength`, in code points; 64 Ki if absent.
    pub max_length: Option<u64>,
    /// `pattern`.
    pub pattern: Option<Pattern>,
    /// `format`.
    pub format: Option<Format>,
    /// The text is JSON: a nested part of an imported schema.
    pub(crate) is_json: bool,
}

impl TextRules {
    pub(crate) const KEYS: &[&str] = &["minLength", "maxLength", "pattern", "format"];

    pub(crate) fn read<'v>(reader: &mut Reader<'v>, validation: &'v Object) -> Self {
        let rules = Self {
            min_length: reader.count_at(validation, "minLength"),
            max_length: reader.count_at(validation, "maxLength"),
            pattern: reader.pattern_at(validation, "pattern"),
            format: reader.word_at(validation, "format", Format::WORDS),
            is_json: false,
        };
        reader.check_bounds(
            ("minLength", rules.min_length),
            ("maxLength", Some(rules.effective_max_length())),
        );
        rules
    }

    fn effective_max_length(&self) -> u64 {
        self.max_length.unwrap_or(DEFAULT_MAX_LENGTH)
    }

    pub(crate) fn check(&self, text: &str, findings: &mut Findings<'_>) {
        check_length(
            self.min_length,
            Some(self.effective_max_length()),
            text,
            findings,
        );
        if let Some(pattern) = &self.pattern
            && !pattern.is_match(text)
        {
            let expected = Expected::Text(pattern.source().clone());
            findings.add_text(Constraint::Pattern, expected, text);
        }
        if let Some(format) = self.format
            && !format.matches(text)
        {
            findings.add_text(Constraint::Format, Expected::Name(format.name()), text);
        }
    }
}

/// Checks a length in code points, and counts them only if the byte length does not decide.
#[inline]
pub(crate) fn check_length(
    min: Option<u64>,
    max: Option<u64>,
    text: &str,
    findings: &mut Findings<'_>,
) {
    // A code point has one to four bytes.
    let bytes = text.len() as u64;
    let surely_long_enough = min.is_none_or(|min| bytes >= min.saturating_mul(4));
    let surely_short_enough = max.is_none_or(|max| bytes <= max);
    if !(surely_long_enough && surely_short_enough) {
        count_length(min, max, text, findings);
    }
}

fn count_length(min: Option<u64>, max: Option<u64>, text: &str, findings: &mut Findings<'_>) {
    let length = if text.is_ascii() {
        text.len() as u64
    } else {
        text.chars().count() as u64
    };
    if let Some(min) = min
        && length < min
    {
        findings.add(Constraint::MinLength, Expected::Count(min), || {
            length.into()
        });
    }
    if let Some(max) = max
        && length > max
    {
        findings.add(Constraint::MaxLength, Expected::Count(max), || {
            length.into()
        });
    }
}

/// Parses a text.
#[inline]
pub(crate) fn parse<'a>(source: impl Source<'a>) -> Parsed<'a, Cow<'a, str>> {
    source
        .text()
        .map_err(|other| Mistake::wrong_type("string").of(other))
}

/// Parses a nested value: a JSON value, or text that contains JSON.
pub(crate) fn parse_json<'a>(source: impl Source<'a>) -> Parsed<'a, Box<Value>> {
    match source.text() {
        Ok(text) => serde_json::from_str(&text)
            .map_err(|_| Mistake::wrong_format("json").of(Raw::Text(text))),
        Err(other) => Ok(Box::new(other.to_json())),
    }
}
