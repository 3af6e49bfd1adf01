//! Dispatch over the eight field types.
//!
//! Each type has a file of its name: how its rules are read, how a raw value is parsed into an
//! [`Answer`], and how an answer is checked.

use serde_json::Value;

use crate::answer::Answer;
use crate::form::date::DateRules;
use crate::form::file::FileRules;
use crate::form::multi_select::MultiSelectRules;
use crate::form::number::NumberRules;
use crate::form::options::Options;
use crate::form::reader::{Object, Reader, join_quoted};
use crate::form::text::TextRules;
use crate::form::url::UrlRules;
use crate::form::{boolean, multi_select, number, select, text};
use crate::parse::{Raw, Source};
use crate::problem::ProblemCode;
use crate::violation::{Constraint, Expected};

use super::findings::Findings;

/// A field's type with its rules.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A string.
    Text(TextRules),
    /// An integer or a float.
    Number(NumberRules),
    /// True or false.
    Boolean,
    /// A day or a date-time.
    Date(DateRules),
    /// One of several options.
    Select(Options),
    /// Any of several options.
    MultiSelect(MultiSelectRules),
    /// A URL.
    Url(UrlRules),
    /// One or more uploads.
    File(FileRules),
}

/// Why a raw value is not of the field's type.
pub(crate) struct Mistake {
    pub(crate) constraint: Constraint,
    pub(crate) expected: Expected,
    /// The part of the value to show instead of the whole.
    pub(crate) actual: Option<Value>,
    pub(crate) item: Option<usize>,
    pub(crate) part: Option<&'static str>,
}

impl Mistake {
    pub(crate) fn new(constraint: Constraint, expected: Expected) -> Self {
        Self {
            constraint,
            expected,
            actual: None,
            item: None,
            part: None,
        }
    }

    /// Pairs the mistake with the raw value.
    #[expect(
        clippy::unnecessary_box_returns,
        reason = "it is the error of a `Parsed`"
    )]
    pub(crate) fn of<'a>(self, value: impl Into<Raw<'a>>) -> Box<Unreadable<'a>> {
        Box::new(Unreadable {
            raw: value.into(),
            mistakes: vec![self],
        })
    }

    pub(crate) fn wrong_type(name: &'static str) -> Self {
        Self::new(Constraint::Type, Expected::Name(name))
    }

    pub(crate) fn wrong_format(name: &'static str) -> Self {
        Self::new(Constraint::Format, Expected::Name(name))
    }
}

/// A raw value that could not be parsed, and why. Boxed to keep the success path small.
pub(crate) struct Unreadable<'a> {
    pub(crate) raw: Raw<'a>,
    /// At least one; several if the value has parts.
    pub(crate) mistakes: Vec<Mistake>,
}

/// The result of parsing a raw value.
pub(crate) type Parsed<'a, T = Answer<'a>> = Result<T, Box<Unreadable<'a>>>;

/// The `validation` keys of all types, to tell a misplaced key from a misspelt one.
const ALL_KEYS: &[&[&str]] = &[
    TextRules::KEYS,
    NumberRules::KEYS,
    DateRules::KEYS,
    MultiSelectRules::KEYS,
    UrlRules::KEYS,
    FileRules::KEYS,
    &["enum"],
];

/// Field types of other form languages, with ours, and how to get what they mean.
const FOREIGN_TYPES: &[(&str, &str, &str)] = &[
    ("string", "text", ""),
    (
        "textarea",
        "text",
        " For several lines, set `rendering.rows`.",
    ),
    (
        "password",
        "text",
        " For a secret, set `sensitive` to true.",
    ),
    ("secret", "text", " For a secret, set `sensitive` to true."),
    (
        "email",
        "text",
        " For an address, set `validation.format` to `email`.",
    ),
    (
        "integer",
        "number",
        " For whole numbers, set `validation.multipleOf` to 1.",
    ),
    (
        "int",
        "number",
        " For whole numbers, set `validation.multipleOf` to 1.",
    ),
    ("float", "number", ""),
    ("checkbox", "boolean", ""),
    ("yes_no", "boolean", ""),
    ("confirm", "boolean", ""),
    (
        "datetime",
        "date",
        " For a time of day, set `validation.format` to `date-time`.",
    ),
    ("radio", "select", ""),
    ("dropdown", "select", ""),
    ("choice", "select", ""),
    ("enum", "select", ""),
    ("checkboxes", "multi_select", ""),
    ("array", "multi_select", ""),
    ("link", "url", ""),
    ("uri", "url", ""),
    ("upload", "file", ""),
    ("image", "file", ""),
];

impl Kind {
    /// The names of all field types.
    pub const NAMES: &[&'static str] = &[
        "text",
        "number",
        "boolean",
        "date",
        "select",
        "multi_select",
        "url",
        "file",
    ];

    /// The `validation` keys of all types; some are of several types.
    pub fn rule_keys() -> impl Iterator<Item = &'static str> {
        ALL_KEYS.iter().copied().flatten().copied()
    }

    /// The `validation` key that a word means.
    pub(crate) fn rule_meant(word: &str) -> Option<&'static str> {
        match word {
            "min" => Some("minimum"),
            "max" => Some("maximum"),
            "step" => Some("multipleOf"),
            "regex" => Some("pattern"),
            _ => Self::rule_keys().find(|key| *key == word),
        }
    }

    /// The type's name in definitions.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Number(_) => "number",
            Self::Boolean => "boolean",
            Self::Date(_) => "date",
            Self::Select(_) => "select",
            Self::MultiSelect(_) => "multi_select",
            Self::Url(_) => "url",
            Self::File(_) => "file",
        }
    }

    /// The options of a select or multi-select.
    pub fn options(&self) -> Option<&Options> {
        match self {
            Self::Select(options) => Some(options),
            Self::MultiSelect(rules) => Some(&rules.options),
            Self::Text(_)
            | Self::Number(_)
            | Self::Boolean
            | Self::Date(_)
            | Self::Url(_)
            | Self::File(_) => None,
        }
    }

    /// The rules of a file field.
    pub fn file_rules(&self) -> Option<&FileRules> {
        match self {
            Self::File(rules) => Some(rules),
            Self::Text(_)
            | Self::Number(_)
            | Self::Boolean
            | Self::Date(_)
            | Self::Select(_)
            | Self::MultiSelect(_)
            | Self::Url(_) => None,
        }
    }

    /// Whether an answer may be a JSON object: an upload, or nested JSON.
    pub(crate) fn takes_objects(&self) -> bool {
        match self {
            Self::File(_) => true,
            Self::Text(rules) => rules.is_json,
            Self::Number(_)
            | Self::Boolean
            | Self::Date(_)
            | Self::Select(_)
            | Self::MultiSelect(_)
            | Self::Url(_) => false,
        }
    }

    /// Reads the rules of a type. Reports an unknown type and returns `None`.
    pub(crate) fn read<'v>(
        reader: &mut Reader<'v>,
        name: &str,
        field: &'v Object,
        validation: &'v Object,
    ) -> Option<Self> {
        let options = |reader: &mut Reader<'v>| Options::read(reader, field);
        let rules = |reader: &mut Reader<'v>, keys| check_keys(reader, name, validation, keys);
        let kind = match name {
            "text" => {
                rules(reader, TextRules::KEYS);
                Self::Text(reader.within("validation", |r| TextRules::read(r, validation)))
            }
            "number" => {
                rules(reader, NumberRules::KEYS);
                Self::Number(reader.within("validation", |r| NumberRules::read(r, validation)))
            }
            "boolean" => {
                rules(reader, &[]);
                Self::Boolean
            }
            "date" => {
                rules(reader, DateRules::KEYS);
                Self::Date(reader.within("validation", |r| DateRules::read(r, validation)))
            }
            "select" => {
                rules(reader, &["enum"]);
                let options = options(reader);
                reader.within("validation", |r| options.check_enum(r, validation));
                Self::Select(options)
            }
            "multi_select" => {
                rules(reader, MultiSelectRules::KEYS);
                let options = options(reader);
                Self::MultiSelect(reader.within("validation", |r| {
                    MultiSelectRules::read(r, validation, options)
                }))
            }
            "url" => {
                rules(reader, UrlRules::KEYS);
                Self::Url(reader.within("validation", |r| UrlRules::read(r, validation)))
            }
            "file" => {
                rules(reader, FileRules::KEYS);
                Self::File(reader.within("validation", |r| FileRules::read(r, validation)))
            }
            other => {
                reader.within("type", |reader| {
                    let names = join_quoted(Self::NAMES);
                    let message = format!("`{other}` is not a field type. The types are {names}.");
                    let code = ProblemCode::BadValue;
                    match FOREIGN_TYPES.iter().find(|(name, ..)| *name == other) {
                        Some((_, meant, how)) => {
                            reader.report_meant(code, format!("{message}{how}"), meant);
                        }
                        None => reader.report_unknown(code, message, other, Self::NAMES),
                    }
                });
                return None;
            }
        };
        if kind.options().is_none() && field.contains_key("options") {
            reader.report_at(
                "options",
                ProblemCode::NotApplicable,
                format!("A field of type `{name}` has no options."),
            );
        }
        Some(kind)
    }

    /// Parses a value that is not empty, checks it, and puts the answer into its empty slot.
    /// Returns whether there is an answer: a required text that is blank is none, and neither is
    /// JSON that is empty, such as `null`.
    ///
    /// The answer is written directly into its slot: moving the enum takes longer than most checks.
    #[inline]
    pub(crate) fn parse<'a>(
        &self,
        source: impl Source<'a>,
        is_required: bool,
        findings: &mut Findings<'_>,
        slot: &mut Option<Answer<'a>>,
    ) -> Parsed<'a, bool> {
        match self {
            Self::Text(rules) if rules.is_json => {
                let value = text::parse_json(source)?;
                if Source::is_empty(&&*value) {
                    return Ok(false);
                }
                *slot = Some(Answer::Json(value));
            }
            Self::Text(rules) => {
                let text = text::parse(source)?;
                if is_required && is_blank(&text) {
                    return Ok(false);
                }
                rules.check(&text, findings);
                *slot = Some(Answer::Text(text));
            }
            Self::Number(rules) => {
                let number = number::parse(source)?;
                if let Answer::Number(number) = slot.insert(Answer::Number(number)) {
                    rules.check(number, findings);
                }
            }
            Self::Boolean => *slot = Some(Answer::Boolean(boolean::parse(source)?)),
            Self::Date(rules) => {
                let answer = rules.parse(source)?;
                rules.check(slot.insert(answer), findings);
            }
            Self::Select(options) => {
                let choice = text::parse(source)?;
                select::check(options, &choice, findings);
                *slot = Some(Answer::Choice(choice));
            }
            Self::MultiSelect(rules) => {
                let choices = multi_select::parse(source)?;
                if let Answer::Choices(choices) = slot.insert(Answer::Choices(choices)) {
                    rules.check(choices, findings);
                }
            }
            Self::Url(rules) => {
                let url = text::parse(source)?;
                rules.check(&url, findings);
                *slot = Some(Answer::Url(url));
            }
            Self::File(rules) => {
                let files = rules.parse(source)?;
                if let Answer::Files(files) = slot.insert(Answer::Files(files)) {
                    rules.check(files, findings);
                }
            }
        }
        Ok(true)
    }
}

fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\u{feff}')
}

/// Reports keys of `validation` that do not apply to this type.
fn check_keys<'v>(reader: &mut Reader<'v>, name: &str, validation: &'v Object, keys: &[&str]) {
    for key in validation.keys().map(String::as_str) {
        if key == "messages" || keys.contains(&key) {
            continue;
        }
        reader.within("validation", |reader| {
            reader.within(key, |reader| {
                if ALL_KEYS.iter().any(|known| known.contains(&key)) {
                    let message = format!("`{key}` is not a rule for a field of type `{name}`.");
                    reader.report(ProblemCode::NotApplicable, message);
                } else {
                    let message = format!("`{key}` is not a validation rule.");
                    let known: Vec<_> = keys.iter().copied().chain(["messages"]).collect();
                    reader.report_unknown(ProblemCode::UnknownKey, message, key, &known);
                }
            });
        });
    }
}
