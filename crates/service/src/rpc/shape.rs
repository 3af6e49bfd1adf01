//! Parameter types, each with its check and its JSON Schema.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message::text;

/// The type of a parameter.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Any JSON.
    Any,
    /// A string of at most this many characters.
    Text(usize),
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    Flag,
    /// A non-negative integer within bounds.
    Count {
        least: u64,
        most: u64,
    },
    /// An object.
    Object,
    /// An object of at most this many bytes of JSON.
    SmallObject(usize),
    /// A list.
    List,
    /// A timeout; its bounds depend on the asker and are checked later.
    Timeout,
    /// What a sign-in has to be.
    SignIn,
    /// The id of an elicitation. Any string: a malformed id is reported as not found.
    Id,
}

impl Shape {
    /// Checks a value; the error describes what was expected.
    pub(super) fn check(self, raw: &RawValue) -> Result<(), String> {
        let is = |first: char| raw.get().starts_with(first);
        let fits = match self {
            Self::Any | Self::Timeout => true,
            Self::Text(most) => text(raw).is_some_and(|text| text.chars().nth(most).is_none()),
            Self::Id => is('"'),
            Self::Word(words) => text(raw).is_some_and(|word| words().contains(&&*word)),
            Self::Flag => is('t') || is('f'),
            Self::Count { least, most } => {
                count(raw).is_some_and(|count| (least..=most).contains(&count))
            }
            Self::Object => is('{'),
            Self::SmallObject(most) => is('{') && raw.get().len() <= most,
            Self::List => is('['),
            Self::SignIn => is_sign_in(raw),
        };
        if fits { Ok(()) } else { Err(self.wanted()) }
    }

    /// Describes the expected value.
    fn wanted(self) -> String {
        match self {
            Self::Any | Self::Timeout => "JSON".to_owned(),
            Self::Text(most) => format!("a text of at most {most} characters"),
            Self::Id => "a text".to_owned(),
            Self::Word(words) => one_of(&words()),
            Self::Flag => "true or false".to_owned(),
            Self::Count { least, most } if most == u64::MAX => {
                format!("a whole number of at least {least}")
            }
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::Object => "an object".to_owned(),
            Self::SmallObject(most) => format!("an object of at most {most} bytes"),
            Self::List => "a list".to_owned(),
            Self::SignIn => format!(
                "an object with `maxAge`, a whole number of seconds up to {MAX_AGE}, or `acr`, a \
                 text of at most {MAX_ACR} characters without spaces, or both"
            ),
        }
    }

    /// The type as JSON Schema.
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Any => json!(true),
            Self::Text(most) => json!({"type": "string", "maxLength": most}),
            Self::Id => json!({"type": "string"}),
            Self::Word(words) => json!({"type": "string", "enum": words()}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Count { least, most } if most == u64::MAX => {
                json!({"type": "integer", "minimum": least})
            }
            Self::Count { least, most } => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            Self::Object | Self::SmallObject(_) => json!({"type": "object"}),
            Self::List => json!({"type": "array"}),
            Self::SignIn => json!({
                "type": "object",
                "properties": {
                    "maxAge": {"type": "integer", "minimum": 0, "maximum": MAX_AGE},
                    "acr": {"type": "string", "minLength": 1, "maxLength": MAX_ACR},
                },
                "minProperties": 1,
                "additionalProperties": false,
            }),
            Self::Timeout => {
                let millis = json!({"type": "integer", "minimum": 1});
                json!({"oneOf": [millis, {
                    "type": "object",
                    "properties": {
                        "initial_timeout": millis,
                        "extension_allowed": {"type": "boolean"},
                        "extension_duration": millis,
                        "max_extensions": {"type": "integer", "minimum": 0, "maximum": 100},
                        "warn_before": millis,
                    },
                    "additionalProperties": false,
                }]})
            }
        }
    }
}

/// The longest `maxAge`, in seconds: a year.
const MAX_AGE: u64 = 366 * 24 * 3600;
/// The longest `acr`, in characters.
const MAX_ACR: usize = 256;

fn is_sign_in(raw: &RawValue) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_str(raw.get()) else {
        return false;
    };
    let fits = |(name, value): (&String, &Value)| match name.as_str() {
        "maxAge" => value.as_u64().is_some_and(|seconds| seconds <= MAX_AGE),
        "acr" => value.as_str().is_some_and(|acr| {
            let is_one = acr.chars().all(|c| !c.is_whitespace() && !c.is_control());
            is_one && !acr.is_empty() && acr.chars().nth(MAX_ACR).is_none()
        }),
        _ => false,
    };
    !members.is_empty() && members.iter().all(fits)
}

/// Parses a non-negative integer without a fraction or exponent.
pub(super) fn count(raw: &RawValue) -> Option<u64> {
    raw.get().parse().ok()
}

/// Joins words as `a`, `b` or `c`.
pub(super) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".to_owned(),
    }
}
