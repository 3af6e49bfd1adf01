//! The ways to break a form's rules, by name.

use std::fmt;

use entreat_core::form::Kind;
use entreat_core::{Constraint, Field, Format};

/// What an answer should break: a rule by its key, or a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// A rule by its key, such as `minLength`, or a custom validator by its name.
    Rule(Box<str>),
    /// A rule together with the kind of field that it is broken at.
    Scenario(Scenario),
}

impl Breakage {
    /// Reads the name of a scenario or the key of a rule; `None` for any other name.
    ///
    /// ```
    /// use entreat_testkit::{Breakage, Scenario};
    ///
    /// let breakage = Breakage::parse("too_short_text");
    /// assert_eq!(breakage, Some(Breakage::Scenario(Scenario::TooShortText)));
    /// assert_eq!(Breakage::parse("minLength").unwrap().constraint(), "minLength");
    /// assert_eq!(Breakage::parse("too_purple"), None);
    /// ```
    pub fn parse(name: &str) -> Option<Self> {
        Scenario::from_name(name).map(Self::Scenario).or_else(|| {
            let key = Constraint::KEYS.iter().find(|key| **key == name)?;
            Some(Self::Rule((*key).into()))
        })
    }

    /// The key of the rule that is broken.
    pub fn constraint(&self) -> &str {
        match self {
            Self::Rule(key) => key,
            Self::Scenario(scenario) => scenario.constraint(),
        }
    }

    /// Whether the rule is to be broken at this field; `None` is the answer as a whole.
    pub(super) fn is_at(&self, field: Option<&Field>) -> bool {
        match self {
            Self::Rule(_) => true,
            Self::Scenario(scenario) => scenario.is_at(field),
        }
    }
}

/// A name that is neither a scenario's nor a rule's is taken for a custom validator's.
impl From<&str> for Breakage {
    fn from(name: &str) -> Self {
        Self::parse(name).unwrap_or_else(|| Self::Rule(name.into()))
    }
}

impl From<&String> for Breakage {
    fn from(name: &String) -> Self {
        name.as_str().into()
    }
}

impl From<Scenario> for Breakage {
    fn from(scenario: Scenario) -> Self {
        Self::Scenario(scenario)
    }
}

impl From<&Constraint> for Breakage {
    fn from(constraint: &Constraint) -> Self {
        Self::Rule(constraint.key().into())
    }
}

/// Where a scenario applies.
#[derive(Clone, Copy)]
enum At {
    /// Any field, or none.
    Anywhere,
    /// The answer as a whole.
    Whole,
    /// Fields of these types.
    Types(&'static [&'static str]),
    /// Texts with the format `email`.
    Email,
}

const TEXT: At = At::Types(&["text"]);
const NUMBER: At = At::Types(&["number"]);
const DATE: At = At::Types(&["date"]);
const CHOICE: At = At::Types(&["select", "multi_select"]);
const CHOICES: At = At::Types(&["multi_select"]);
const URL: At = At::Types(&["url"]);
const FILE: At = At::Types(&["file"]);
const ANY_TYPE: At = At::Types(Kind::NAMES);

macro_rules! scenarios {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $constraint:literal, $at:expr;)*) => {
        /// A kind of invalid answer; each breaks one rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Scenario {
            $($(#[$doc])* $variant,)*
        }

        impl Scenario {
            /// Every scenario.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The scenario's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The key of the rule that it breaks.
            pub fn constraint(self) -> &'static str {
                match self { $(Self::$variant => $constraint,)* }
            }

            fn at(self) -> At {
                match self { $(Self::$variant => $at,)* }
            }
        }
    };
}

scenarios! {
    /// A required field has no answer, or a file lacks a part.
    MissingRequiredField = "missing_required_field", "required", ANY_TYPE;
    /// A value of another type than the field's.
    WrongType = "wrong_type", "type", ANY_TYPE;
    /// The answers are not an object.
    NotAnObject = "not_an_object", "type", At::Whole;
    /// A text below `minLength`.
    TooShortText = "too_short_text", "minLength", TEXT;
    /// A text above `maxLength`.
    TooLongText = "too_long_text", "maxLength", TEXT;
    /// A text in which the pattern is not found.
    PatternMismatch = "pattern_mismatch", "pattern", TEXT;
    /// A text that is not of its format.
    InvalidFormat = "invalid_format", "format", TEXT;
    /// A text that should be an e-mail address.
    InvalidEmail = "invalid_email", "format", At::Email;
    /// A number below `minimum`.
    NumberTooSmall = "number_too_small", "minimum", NUMBER;
    /// A number above `maximum`.
    NumberTooLarge = "number_too_large", "maximum", NUMBER;
    /// A number not above `exclusiveMinimum`.
    NumberNotAbove = "number_not_above", "exclusiveMinimum", NUMBER;
    /// A number not below `exclusiveMaximum`.
    NumberNotBelow = "number_not_below", "exclusiveMaximum", NUMBER;
    /// A number that is no multiple.
    NotAMultiple = "not_a_multiple", "multipleOf", NUMBER;
    /// A day that no calendar has, or no date at all.
    InvalidDate = "invalid_date", "format", DATE;
    /// A date before `minimum`.
    DateTooEarly = "date_too_early", "minimum", DATE;
    /// A date after `maximum`.
    DateTooLate = "date_too_late", "maximum", DATE;
    /// A choice that was not offered.
    NotAnOption = "not_an_option", "enum", CHOICE;
    /// Fewer choices than `minItems`.
    TooFewItems = "too_few_items", "minItems", CHOICES;
    /// More choices than `maxItems`.
    TooManyItems = "too_many_items", "maxItems", CHOICES;
    /// A duplicate choice.
    RepeatedItem = "repeated_item", "uniqueItems", CHOICES;
    /// A text that is no acceptable URL.
    InvalidUrl = "invalid_url", "format", URL;
    /// A URL above `maxLength`.
    TooLongUrl = "too_long_url", "maxLength", URL;
    /// A URL whose scheme is not allowed.
    InvalidUrlScheme = "invalid_url_scheme", "allowedSchemes", URL;
    /// A URL that leads to a private address.
    InvalidUrlPrivateIp = "invalid_url_private_ip", "blockPrivateIPs", URL;
    /// A URL that leads to this machine.
    InvalidUrlLocalhost = "invalid_url_localhost", "blockLocalhost", URL;
    /// A file above `maxSize`.
    FileTooLarge = "file_too_large", "maxSize", FILE;
    /// A file of a type that is not allowed.
    FileWrongType = "file_wrong_type", "allowedMimeTypes", FILE;
    /// A file with an extension that is not allowed.
    FileWrongExtension = "file_wrong_extension", "allowedExtensions", FILE;
    /// A file whose bytes are of another type than declared.
    FileTypeMismatch = "file_type_mismatch", "content_type", FILE;
    /// A file whose declared size is not that of its content.
    FileSizeMismatch = "file_size_mismatch", "size", FILE;
    /// A file with a name that is not safe.
    UnsafeFileName = "unsafe_file_name", "filename", FILE;
    /// A file reference instead of content.
    FileByReference = "file_by_reference", "reference", FILE;
    /// A file whose content is not base64.
    UndecodableFile = "undecodable_file", "format", FILE;
    /// Fewer files than `minItems`.
    TooFewFiles = "too_few_files", "minItems", FILE;
    /// More files than `maxItems`.
    TooManyFiles = "too_many_files", "maxItems", FILE;
    /// A readonly field that came back changed.
    ChangedReadonlyField = "changed_readonly_field", "readonly", At::Anywhere;
    /// A field without the other that must come along.
    MissingDependency = "missing_dependency", "dependencies", At::Anywhere;
    /// Two fields that compare the wrong way.
    BrokenComparison = "broken_comparison", "compare", At::Anywhere;
    /// None of several fields, where one is needed.
    NoneOfSeveral = "none_of_several", "at_least_one", At::Anywhere;
    /// None or many of several fields, where exactly one is needed.
    NotExactlyOne = "not_exactly_one", "exactly_one", At::Anywhere;
    /// Some of several fields, where all are needed or none.
    SomeButNotAll = "some_but_not_all", "all_or_none", At::Anywhere;
    /// A field that the form does not have.
    UnknownField = "unknown_field", "additionalProperties", At::Whole;
    /// Answers for another form.
    WrongForm = "wrong_form", "form_id", At::Whole;
}

impl Scenario {
    /// The scenario of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|scenario| scenario.name() == name)
    }

    fn is_at(self, field: Option<&Field>) -> bool {
        match (self.at(), field) {
            (At::Anywhere, _) | (At::Whole, None) => true,
            (At::Whole, Some(_)) | (At::Types(_) | At::Email, None) => false,
            (At::Types(types), Some(field)) => types.contains(&field.kind().name()),
            (At::Email, Some(field)) => {
                matches!(field.kind(), Kind::Text(rules) if rules.format == Some(Format::Email))
            }
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_scenario() {
        for key in Constraint::KEYS {
            let found = Scenario::ALL
                .iter()
                .any(|scenario| scenario.constraint() == *key);
            assert!(found, "no scenario breaks {key}");
        }
    }

    #[test]
    fn names_lead_to_their_scenarios_and_are_no_rule_keys() {
        for scenario in Scenario::ALL {
            assert_eq!(Scenario::from_name(scenario.name()), Some(*scenario));
            assert!(
                Constraint::KEYS.contains(&scenario.constraint()),
                "{scenario}"
            );
            assert!(!Constraint::KEYS.contains(&scenario.name()), "{scenario}");
        }
    }
}
